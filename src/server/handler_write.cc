// SPDX-License-Identifier: GPL-2.0-only
// Changes of rows.
#include "server/handler.h"

#include "codec/value_copy.h"
#include "server/killed.h"
#include "server/sysvars.h"
#include "server/table_map.h"

namespace cairn::server {

using codec::ColumnSet;

namespace {

constexpr uint64_t kCopiedBytesMax = uint64_t{4} << 20;

// Whether a change of a row may have changed the column. Blobs are not compared: they may be large, and are seldom in an index. Virtual columns
// of the old record may not have been computed.
bool MayDiffer(const codec::ColumnLayout& column, const uchar* old_record, const uchar* new_record) {
  if (!column.stored || column.type == codec::ColumnType::kBlob) return true;
  return !codec::SameBytes(column, old_record, new_record);
}

}  // namespace

void Handler::BindWriter() {
  if (writer_bound_ && !IsSequence()) return;
  writer_.Bind(&ActiveTransaction(), access_.get(), LockSettings(ha_thd()));
  if (is_refereed_) writer_.SetGuard(referee_.get());
  // REPLACE, ON DUPLICATE KEY UPDATE, and rows of a replica in idempotent mode. HA_EXTRA_WRITE_CAN_REPLACE is not told of a table with
  // triggers for deletions.
  if (ha_thd()->lex->duplicates != DUP_ERROR) writer_.SetChangesDuplicates();
  writer_bound_ = true;
}

// Ends a change. A sequence's change is committed at once, whatever becomes of the statement.
int Handler::FinishWrite(const Status& status) {
  if (status.ok()) {
    if (!IsSequence()) return 0;
    scan_.Detach();
    return Fail(autonomous_->Commit(engine::DurabilityOf(FlushSetting())));
  }
  NoteForeignKeyError(status);
  if (status.Is(Status::Code::kDuplicateKey)) NoteDuplicateKey(writer_.duplicate_index());
  return Fail(status);
}

void Handler::NoteDuplicateKey(size_t index) {
  session_->duplicate_key = MAX_KEY;
  for (uint key = 0; key < table_share->keys; ++key) {
    if (IndexOf(key) == index) session_->duplicate_key = key;
  }
}

// A copy is committed in pieces, so that its memory does not grow with the table. The server does not ask whether it is killed while it
// copies partitions.
Status Handler::CommitCopiedRows() {
  if (!FillsCopy() || session_->transaction().write_bytes() < kCopiedBytesMax) return Status::Ok();
  if (IsKilled(ha_thd())) return Status::Of(Status::Code::kInterrupted);
  return session_->CommitAndContinue(store::Durability::kOs);
}

// The id of the row that was read last stays: where partitions are read in an index's order, one that this has read ahead may be changed after
// another was moved here.
dml::RowRef Handler::NewRowOf(const uchar* record) const {
  return {.record = record, .hidden_row_id = access_->primary().has_hidden_row_id() ? access_->table().TakeRowId() : 0};
}

int Handler::write_row(const uchar* record) {
  if (const int error = BeginUntold(); error != 0) return error;
  if (table->next_number_field != nullptr && record == table->record[0]) {
    if (const int error = update_auto_increment(); error != 0) return error;
  }
  if (const int error = ComputeVirtualColumns(record); error != 0) return error;
  KeepStoredTexts(record, &written_texts_);
  ComputeOfNewRow(record, &written_texts_);
  if (copy_begun_ && !load_decided_) {
    if (const int error = Fail(BeginLoad()); error != 0) return error;
  }
  NoteChangeInFunction();
  const dml::RowRef row = NewRowOf(record);
  if (const int error = LookWhereNothingIsRead(); error != 0) return error;
  if (load_ != nullptr) return LoadRow(row);
  if (statement_load_ != nullptr) return AddToStatementLoad(row);
  if (IsLoaded()) return RefuseLoaded();
  BindWriter();
  Status status = writer_.Insert(row);
  if (status.ok()) NoteAutoIncrement(record);
  if (status.ok() && bulk_insert_begun_) status = ConsiderStatementLoad();
  if (status.ok()) status = CommitCopiedRows();
  return FinishWrite(status);
}

// Plain UPDATEs tell exactly which columns they assign. Whatever else changes rows may change any: by the records it is seen which, so that the
// entries of other columns need not be made and compared.
ColumnSet Handler::TouchedColumns(const uchar* old_record, const uchar* new_record) const {
  const std::vector<codec::ColumnLayout>& columns = access_->layout().columns;
  if (table_share->long_unique_table) return ColumnSet::All(columns.size());
  const int command = thd_sql_command(ha_thd());
  const bool is_told = (command == SQLCOM_UPDATE || command == SQLCOM_UPDATE_MULTI) && !table->versioned() && table->triggers == nullptr;
  ColumnSet touched(columns.size());
  for (uint column = 0; column < columns.size(); ++column) {
    const bool is_touched = is_told ? bitmap_is_set(table->write_set, column) != 0 : MayDiffer(columns[column], old_record, new_record);
    if (is_touched) touched.Add(column);
  }
  return touched;
}

// Whether nothing is to be written, which the server wants to be told and does not count. It compares rows itself where it has asked for all
// columns that are assigned; else, and for REPLACE, it is for the engine to say. So it is of a versioned row that the statement has made itself:
// the server takes its beginning for a change, which is the same.
bool Handler::IsUnchanged(const uchar* old_record, const uchar* new_record) const {
  const bool is_replace = ha_thd()->lex->duplicates == DUP_REPLACE;
  if (!is_replace && !table->versioned() && bitmap_is_subset(table->write_set, table->read_set)) return false;
  if (IsSequence()) return false;
  return old_record == table->record[1] && new_record == table->record[0] && RecordsAreEqual();
}

// The server's own comparison leaves out the columns that a REPLACE does not name.
bool Handler::RecordsAreEqual() const {
  for (Field** at = table->field; *at != nullptr; ++at) {
    const Field& field = **at;
    if (!field.stored_in_db()) continue;
    if (field.is_null() != field.is_null_in_record(table->record[1])) return false;
    if (!field.is_null() && (*at)->cmp_binary_offset(table_share->rec_buff_length) != 0) return false;
  }
  return true;
}

int Handler::update_row(const uchar* old_record, const uchar* new_record) {
  if (!MayHaveChangedSinceRead() && MayHaveStoredAnew()) {
    const uchar* const past_record = EndsRow(old_record, new_record) ? new_record : nullptr;
    if (const int error = Fail(RestoreStored(old_record, past_record)); error != 0) return error;
  }
  if (IsUnchanged(old_record, new_record)) return HA_ERR_RECORD_IS_THE_SAME;
  if (IsLoaded()) return RefuseLoaded();
  if (MayHaveChangedSinceRead()) {
    const Status caught_up = CatchUp(old_record, new_record);
    // A DELETE changes a row to what a portion of time leaves of it: it does not take that answer, and would log a change that was not made.
    if (caught_up.Is(Status::Code::kNotFound) && thd_sql_command(ha_thd()) == SQLCOM_DELETE) {
      return Fail(Status::NotSupported("DELETE FOR PORTION OF, of a row that a function or trigger has removed meanwhile"));
    }
    // As if it had gone before it was read; and the server logs no change.
    if (caught_up.Is(Status::Code::kNotFound)) return HA_ERR_RECORD_IS_THE_SAME;
    if (!caught_up.ok()) return Fail(caught_up);
  }
  NoteChangeInFunction();
  if (const int error = ComputeVirtualColumns(new_record); error != 0) return error;
  KeepStoredTexts(new_record, &changed_texts_);
  ComputeOfNewRow(new_record, &changed_texts_);
  ComputeOfOldRow(old_record);
  if (const int error = LookWhereNothingIsRead(); error != 0) return error;
  BindWriter();
  const ColumnSet touched = TouchedColumns(old_record, new_record);
  const auto change = [&] { return writer_.Update(RowOf(old_record), RowOf(new_record), touched); };
  const bool leads_on = is_refereed_ && referee_->UpdateChangesChildren(touched);
  const Status status = !leads_on ? change() : ChangeWithChildren([&] {
    CAIRN_RETURN_IF_ERROR(change());
    return referee_->AfterUpdate(old_record, new_record, touched);
  });
  if (status.ok()) NoteChangedAutoIncrement(old_record, new_record);
  return FinishWrite(status);
}

int Handler::delete_row(const uchar* record) {
  if (IsLoaded()) return RefuseLoaded();
  if (MayHaveChangedSinceRead()) {
    const Status caught_up = CatchUp(record, nullptr);
    // It has gone, as is wanted.
    if (caught_up.Is(Status::Code::kNotFound)) return 0;
    if (!caught_up.ok()) return Fail(caught_up);
  } else if (MayHaveStoredAnew()) {
    if (const int error = Fail(RestoreStored(record, nullptr)); error != 0) return error;
  }
  NoteChangeInFunction();
  ComputeOfOldRow(record);
  BindWriter();
  if (!is_refereed_) return FinishWrite(writer_.Delete(RowOf(record)));
  const auto change = [&] {
    CAIRN_RETURN_IF_ERROR(referee_->BeforeDelete(record));
    CAIRN_RETURN_IF_ERROR(writer_.Delete(RowOf(record)));
    return referee_->AfterDelete(record);
  };
  return FinishWrite(referee_->DeleteChangesChildren() ? ChangeWithChildren(change) : change());
}

}  // namespace cairn::server
