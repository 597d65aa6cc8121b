// SPDX-License-Identifier: GPL-2.0-only
// Many rows of one statement for an empty table: LOAD DATA, INSERT ... SELECT, and INSERT of many rows.
#include "server/handler.h"

#include <algorithm>
#include <string_view>

#include "server/killed.h"
#include "server/sysvars.h"

namespace cairn::server {

namespace {

// A transaction of so many changes is about what files begin to pay for. The rows of smaller ones are never touched.
constexpr uint64_t kLoadedBytesMin = uint64_t{4} << 20;

// Without any answer to duplicates but an error.
bool InsertsPlainly(THD* thd) {
  switch (thd_sql_command(thd)) {
    case SQLCOM_LOAD:
    case SQLCOM_INSERT:
    case SQLCOM_INSERT_SELECT:
      return thd->lex->duplicates == DUP_ERROR && !thd->lex->ignore;
    default:
      return false;
  }
}

// Whether the transaction ends with the statement, so that no other one reads in it what this one has written. The statements of
// stored functions, and of triggers, would be others in it: for them the server has tables locked before. A replica's transaction
// goes on with its position, and that of a BINLOG statement with its next event of rows.
bool IsItsOwnTransaction(THD* thd) {
  return !thd_test_options(thd, OPTION_NOT_AUTOCOMMIT | OPTION_BEGIN | OPTION_GTID_BEGIN) && thd->in_sub_stmt == 0 &&
         thd->locked_tables_mode <= LTM_LOCK_TABLES && thd->rgi_slave == nullptr &&
         thd->rgi_fake == nullptr;
}

// Whether the statement may read the table that it fills: subqueries among VALUES, in RETURNING or in the condition of a
// view do so row by row, and must see the rows before. Whatever reads it in this statement has it open in this connection; what
// was locked by LOCK TABLES under another name, and is not used now, is told apart by nobody.
bool HasOpenTwice(THD* thd, const TABLE& table) {
  const auto name_of = [](const TABLE& of) { return std::string_view(of.s->table_cache_key.str, of.s->table_cache_key.length); };
  for (const TABLE* other = thd->open_tables; other != nullptr; other = other->next) {
    if (other != &table && name_of(*other) == name_of(table)) return true;
  }
  return false;
}

}  // namespace

// All that must hold for rows that get nothing but their entries written, and are read by nobody before the commit. Errors of
// single rows must end the statement: they are found at its end.
bool Handler::MayLoadStatement() const {
  THD* const thd = ha_thd();
  return bulk_insert_begun_ && !copy_begun_ && !tolerates_duplicates_ && InsertsPlainly(thd) && IsItsOwnTransaction(thd) &&
         !StrictSnapshot(thd) && !IsSequence() && !is_refereed_ && table->triggers == nullptr && !table->versioned() &&
         table_share->tmp_table == NO_TMP_TABLE && table->part_info == nullptr && !table_share->long_unique_table &&
         table_share->period.unique_keys == 0 && access_->table().build() == nullptr && !HasOpenTwice(thd, *table);
}

// When the statement's rows have become many: once, as what keeps it from being done does not go away before long. But others may give back
// the memory for sorting at any time, so where they have it all it is asked for again.
Status Handler::TryStatementLoad() {
  statement_load_decided_ = true;
  if (!MayLoadStatement() || access_->table().row_count() != 0) return Status::Ok();
  engine::Engine& engine = *GlobalEngine();
  sort_memory_ = session_->TakeSortMemory(access_->indexes().size() * bulk::ExternalSorter::kMemoryBytesMin);
  if (sort_memory_->bytes() == 0) {
    sort_memory_.reset();  // else the session would give it once more
    bytes_without_sort_memory_ = session_->transaction().write_bytes();
    statement_load_decided_ = false;
    return Status::Ok();
  }
  CAIRN_RETURN_IF_ERROR(engine.catalog().AllowLoads());
  THD* const thd = ha_thd();
  statement_load_ = std::make_unique<bulk::StatementLoad>(
      engine.store(), access_,
      bulk::LoadOptions{.memory_bytes = sort_memory_->bytes(),
                        .interrupted = [thd] { return IsKilled(thd); },
                        .sorted = [this] { sort_memory_.reset(); }});
  bool begun = false;
  session_->DetachCursors();  // what they lie over is taken back
  Status status = statement_load_->Begin(&session_->transaction(), &begun);
  if (status.ok() && begun) {
    session_->has_open_load = true;
    return status;
  }
  DropLoad();
  return status;
}

// After each row that was inserted as ever.
Status Handler::ConsiderStatementLoad() {
  if (statement_load_decided_ || !bulk_insert_begun_) return Status::Ok();
  const uint64_t bytes_min = std::max(kLoadedBytesMin, 2 * bytes_without_sort_memory_);
  return session_->transaction().write_bytes() < bytes_min ? Status::Ok() : TryStatementLoad();
}

int Handler::AddToStatementLoad(const dml::RowRef& row) {
  const Status status = statement_load_->Add(row);
  if (!status.ok()) return FailStatementLoad(status);
  NoteAutoIncrement(row.record);
  return 0;
}

int Handler::FailStatementLoad(const Status& status) {
  if (status.Is(Status::Code::kDuplicateKey)) ShowDuplicate(statement_load_->duplicate());
  DropLoad();
  return Fail(status);
}

// The rows are on their way with the transaction from here on. After an error the server rolls it back.
int Handler::end_bulk_insert() {
  statement_load_decided_ = true;
  if (statement_load_ == nullptr) return 0;
  if (ha_thd()->is_error()) {
    DropLoad();
    return 0;
  }
  BindWriter();
  const Status status = statement_load_->Finish(&session_->transaction(), &writer_);
  if (!status.ok()) {
    ha_thd()->get_stmt_da()->reset_current_row_for_warning(0);  // it is not known which row it was
    return my_errno = FailStatementLoad(status);
  }
  if (statement_load_->by_files()) session_->loaded_index = access_->primary().id();
  DropLoad();
  session_->has_open_load = false;
  return 0;
}

// Rows that wait for the commit are seen by nobody, also not by their transaction: it must have nothing more to do with the table.
// No statement is known that gets here.
int Handler::RefuseLoaded() {
  return Fail(Status::InvalidArgument("rows of a statement wait in files for their commit, which the same transaction cannot read or change: " + name_));
}

}  // namespace cairn::server
