// SPDX-License-Identifier: GPL-2.0-only
// Rows that fill a new table: ALTER TABLE by copying, whole tables or partitions, and CREATE TABLE ... SELECT.
#include "server/handler.h"

#include <algorithm>
#include <utility>

#include "server/commands.h"
#include "server/killed.h"
#include "server/partitions.h"

namespace cairn::server {

using codec::ColumnSet;

namespace {

// The least for sorting is taken up to this also where there never was so much. A table without partitions has no more indexes; where there are
// many partitions, their files in the making take memory, too.
constexpr uint64_t kLeastBytesMax = (uint64_t{MAX_KEY} + 1) * bulk::ExternalSorter::kMemoryBytesMin;

}  // namespace

void Handler::start_bulk_insert(ha_rows, uint) { bulk_insert_begun_ = true; }

// Whether ALTER TABLE copies rows into this table, which nobody sees before it takes the place of another one, and which is
// dropped when the statement fails. It may be a partition.
bool Handler::FillsCopy() const { return copy_begun_ && DefinesTables(thd_sql_command(ha_thd())); }

// All that must be known to hold of the statement, as nothing is checked row by row. That it copies into a table which
// nobody else can use is what the server says by HA_EXTRA_BEGIN_COPY. Where it looks things up in rows already written, it does so
// for the kinds of keys that are named here, and in CREATE TABLE ... SELECT also where it has not called start_bulk_insert().
bool Handler::MayLoad() const {
  if (!copy_begun_ || copy_ignores_duplicates_ || IsSequence()) return false;
  if (table_share->long_unique_table || table_share->period.unique_keys != 0) return false;
  if (FillsCopy()) return true;
  if (is_refereed_ || !bulk_insert_begun_) return false;
  // A temporary table's rows are rolled back with the transaction while the table stays, and so it is when a
  // replica applies the statement as a part of a transaction.
  THD* const thd = ha_thd();
  return thd_sql_command(thd) == SQLCOM_CREATE_TABLE && table_share->tmp_table == NO_TMP_TABLE &&
         !thd_test_options(thd, OPTION_GTID_BEGIN);
}

// Decides with the first row. Where others have the memory for sorting a copy is committed in pieces, row by row. CREATE TABLE ... SELECT
// would be one transaction, with all its rows in memory: it takes the least that sorting can do with, as a build of an index does. Few rows
// take less than that.
Status Handler::BeginLoad() {
  load_decided_ = true;
  if (!MayLoad() || session_->transaction().HasWritten(access_->primary().id())) return Status::Ok();
  const unsigned tables = CountFilled(*table);
  const uint64_t bytes_min = tables * access_->indexes().size() * bulk::ExternalSorter::kMemoryBytesMin;
  sort_memory_ = session_->TakeSortMemory(bytes_min);
  const bool takes_least = !FillsCopy() && bytes_min <= std::max(GlobalEngine()->sort_memory().total_bytes(), kLeastBytesMax);
  if (sort_memory_->bytes() == 0 && !takes_least) return Status::Ok();
  THD* const thd = ha_thd();
  load_ = std::make_unique<bulk::TableLoad>(
      GlobalEngine()->store(), access_,
      bulk::LoadOptions{.memory_bytes = std::max(sort_memory_->bytes(), bytes_min) / tables,
                        .interrupted = [thd] { return IsKilled(thd); },
                        .tables_at_once = tables,
                        .sorted = [this] { sort_memory_.reset(); }});
  return Status::Ok();
}

// The server prints the values of the key from the record.
void Handler::ShowDuplicate(const bulk::LoadDuplicate& duplicate) {
  NoteDuplicateKey(duplicate.index);
  if (duplicate.primary_key.empty()) return;
  const ColumnSet all = ColumnSet::All(access_->layout().columns.size());
  kept_value_.Assign(duplicate.row_value);
  uchar* const record = table->record[0];
  (void)access_->rows().Decode(access_->rows().Plan(all), duplicate.primary_key, kept_value_.view(), record);
  if (duplicate.index == 0) return;
  // Virtual columns are not in the row, and of some the entry has the beginning only.
  if (table->vfield != nullptr) ComputeWanted(table_share->all_set, record, &written_texts_);
  const codec::IndexCodec& codec = access_->indexes()[duplicate.index];
  (void)codec.DecodeColumns(codec.Plan(all), duplicate.key, duplicate.value, record);
}

int Handler::FailLoad(const Status& status) {
  if (status.Is(Status::Code::kDuplicateKey)) ShowDuplicate(load_->duplicate());
  DropLoad();
  return Fail(status);
}

int Handler::LoadRow(const dml::RowRef& row) {
  if (is_refereed_) {
    const Status allowed = referee_->BeforeInsert(row);
    if (!allowed.ok()) return FinishWrite(allowed);
  }
  const Status status = load_->Add(row);
  if (!status.ok()) return FailLoad(status);
  NoteAutoIncrement(row.record);
  return 0;
}

// The rows come into the store here, the counters with the commit. INSERT … SELECT ends a copy, too, but begins none; and CREATE … SELECT
// begins one only if it may.
int Handler::FinishLoad() {
  copy_ignores_duplicates_ = false;
  if (!std::exchange(copy_begun_, false)) return 0;
  if (IsLostAlready()) {
    DropLoad();
    return 0;
  }
  txn::Transaction& transaction = session_->transaction();
  // Whoever took a view before the copy is committed would see the table without what was copied, or without what was not because it had
  // been deleted since.
  access_->table().NoteLoad();
  transaction.AddTableCounters(access_->def().id, {});
  THD* const thd = ha_thd();
  const bool replaces_table = thd_sql_command(thd) != SQLCOM_CREATE_TABLE || thd->lex->create_info.or_replace();
  // Files survive a loss of power as soon as they are in the store: then the counters must, too, or numbers that rows have are given again.
  const bool comes_as_files = load_ != nullptr && load_->by_files();
  if ((replaces_table || comes_as_files) && !access_->def().temporary) session_->syncs_commit = true;
  if (load_ == nullptr) return 0;
  const bulk::LoadTarget target{
      .put = [&](ByteView key, ByteView value) { return transaction.Put(store::Family::kData, key, value); },
      .get = [&](ByteView key, std::string* value) {
        store::PinnedValue found;
        CAIRN_RETURN_IF_ERROR(transaction.Get(store::Family::kData, key, txn::View::kNewest, &found));
        *value = found.view();
        return Status::Ok();
      }};
  const Status status = load_->Finish(target);
  if (!status.ok()) return bulk_insert_begun_ ? FailLoad(status) : FailUnseen(FailLoad(status));
  transaction.AddTableCounters(access_->def().id,
                               {.row_count = static_cast<int64_t>(load_->row_count()), .auto_increment_next = 0});
  DropLoad();
  return 0;
}

// Where the server reorganizes partitions, which is where it copies without start_bulk_insert(), it does not look at how the copy into one
// ends, but at whether the transaction can be committed. The rows that are not there must keep it from that.
int Handler::FailUnseen(int error) {
  print_error(error, MYF(0));
  session_->has_open_load = true;
  return error;
}

// Whether the copy into another partition has ended that way: the server ends the others nevertheless, and their rows would fill the disk again.
bool Handler::IsLostAlready() const { return !bulk_insert_begun_ && session_->has_open_load; }

// Rows of a load that the server neither ends nor gives up must not get lost silently.
int Handler::CheckLoadEnded() {
  const bool lost = (load_ != nullptr || statement_load_ != nullptr) && !ha_thd()->is_error();
  EndCopy();
  return lost ? Fail(Status::InvalidArgument("the load into " + name_ + " was not ended")) : 0;
}

// Of a table, or of a statement.
void Handler::DropLoad() {
  load_.reset();
  statement_load_.reset();
  sort_memory_.reset();
}

void Handler::EndCopy() {
  DropLoad();
  statement_load_decided_ = false;
  bytes_without_sort_memory_ = 0;
  copy_begun_ = copy_ignores_duplicates_ = false;
  bulk_insert_begun_ = false;
  load_decided_ = false;
}

}  // namespace cairn::server
