// SPDX-License-Identifier: GPL-2.0-only
// Many rows of one statement for an empty table: LOAD DATA, INSERT ... SELECT, and INSERT of many rows.
#include "server/handler.h"

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

// Whether the transaction ends with the statement, so that nothing reads in it what the statement has written.
bool IsItsOwnTransaction(THD* thd) {
  return !thd_test_options(thd, OPTION_NOT_AUTOCOMMIT | OPTION_BEGIN | OPTION_GTID_BEGIN) && thd->in_sub_stmt == 0 &&
         thd->locked_tables_mode <= LTM_LOCK_TABLES;
}

}  // namespace

// All that must hold for rows that get nothing but their entries written, and are read by nobody before the commit. Errors of
// single rows must end the statement: they are found at its end.
bool Handler::MayLoadStatement() const {
  THD* const thd = ha_thd();
  return bulk_insert_begun_ && !copy_begun_ && !tolerates_duplicates_ && InsertsPlainly(thd) && IsItsOwnTransaction(thd) &&
         !StrictSnapshot(thd) && !IsSequence() && !is_refereed_ && table->triggers == nullptr && !table->versioned() &&
         table_share->tmp_table == NO_TMP_TABLE && table->part_info == nullptr && !table_share->long_unique_table &&
         table_share->period.unique_keys == 0 && access_->table().build() == nullptr;
}

// When the statement's rows have become many: once, as what keeps it from being done does not go away before long.
Status Handler::TryStatementLoad() {
  statement_load_decided_ = true;
  if (!MayLoadStatement() || access_->table().row_count() != 0) return Status::Ok();
  engine::Engine& engine = *GlobalEngine();
  load_memory_ = engine.load_memory().Take(access_->indexes().size() * bulk::TableLoad::kMemoryBytesPerIndexMin);
  if (load_memory_.bytes() == 0) return Status::Ok();
  CAIRN_RETURN_IF_ERROR(engine.catalog().AllowLoads());
  THD* const thd = ha_thd();
  statement_load_ = std::make_unique<bulk::StatementLoad>(
      engine.store(), access_,
      bulk::LoadOptions{.memory_bytes = load_memory_.bytes(),
                        .interrupted = [thd] { return thd_kill_level(thd) != THD_IS_NOT_KILLED; }});
  bool begun = false;
  Status status = statement_load_->Begin(&session_->transaction(), &begun);
  if (status.ok() && begun) {
    session_->has_open_load = true;
    return status;
  }
  if (status.Is(Status::Code::kDuplicateKey)) ShowDuplicate(statement_load_->duplicate());
  DropStatementLoad();
  return status;
}

// After each row that was inserted as ever.
Status Handler::ConsiderStatementLoad() {
  if (statement_load_decided_ || !bulk_insert_begun_ || session_->transaction().write_bytes() < kLoadedBytesMin) {
    return Status::Ok();
  }
  return TryStatementLoad();
}

int Handler::AddToStatementLoad(const uchar* record) {
  const Status status = statement_load_->Add(RowOf(record));
  if (!status.ok()) return FailStatementLoad(status);
  NoteAutoIncrement(record);
  return 0;
}

int Handler::FailStatementLoad(const Status& status) {
  if (status.Is(Status::Code::kDuplicateKey)) ShowDuplicate(statement_load_->duplicate());
  DropStatementLoad();
  return Fail(status);
}

// The rows are on their way with the transaction from here on. After an error the server rolls it back.
int Handler::end_bulk_insert() {
  statement_load_decided_ = true;
  if (statement_load_ == nullptr) return 0;
  if (ha_thd()->is_error()) {
    DropStatementLoad();
    return 0;
  }
  BindWriter();
  const Status status = statement_load_->Finish(&session_->transaction(), &writer_);
  if (!status.ok()) return my_errno = FailStatementLoad(status);
  DropStatementLoad();
  session_->has_open_load = false;
  return 0;
}

void Handler::DropStatementLoad() {
  statement_load_.reset();
  load_memory_ = bulk::SortMemory::Share();
}

}  // namespace cairn::server
