// SPDX-License-Identifier: GPL-2.0-only
// Beginning of statements, and how they lock the rows they read.
#include "server/handler.h"

#include <sql_parse.h>

#include "server/commands.h"
#include "server/partitions.h"
#include "server/sysvars.h"

namespace cairn::server {
namespace {

// Statements whose plain reads, those of their functions and triggers included, lock nothing at READ COMMITTED, as InnoDB's users know
// it. What others read (DELETE, UPDATE of several tables, INSERT ... VALUES, DO, SET) is locked there, too: they join it with the newest
// rows.
bool ReadsCommitted(int sql_command) {
  switch (sql_command) {
    case SQLCOM_SELECT:
    case SQLCOM_INSERT_SELECT:
    case SQLCOM_REPLACE_SELECT:
    case SQLCOM_UPDATE:
    case SQLCOM_CREATE_TABLE:
      return true;
    default:
      return false;
  }
}

// HANDLER locks nothing at any isolation level, as InnoDB's users know it, and the server asks at its opening only. Statements after LOCK TABLES
// say anew how they read.
bool ReadsLockNothing(int sql_command) {
  return sql_command == SQLCOM_HA_OPEN || sql_command == SQLCOM_HA_READ || sql_command == SQLCOM_LOCK_TABLES;
}

// At SERIALIZABLE what a transaction of several statements reads must stay as it is until it ends. A
// single SELECT needs no locks: its read view is a moment in the order of commits.
bool LocksPlainReads(THD* thd) {
  return thd_tx_isolation(thd) == ISO_SERIALIZABLE && thd_test_options(thd, OPTION_NOT_AUTOCOMMIT | OPTION_BEGIN) != 0;
}

}  // namespace

void Handler::SetReadMode(bool locking, txn::LockMode mode, bool skip_locked) {
  locking_ = locking;
  lock_mode_ = mode;
  skip_locked_ = skip_locked;
}

// A merge of index scans reads by clones, which the server does not tell how the statement uses the table.
handler* Handler::clone(const char* name, MEM_ROOT* memory) {
  handler* const copy = handler::clone(name, memory);
  if (copy != nullptr) static_cast<Handler*>(copy)->SetReadMode(locking_, lock_mode_, skip_locked_);
  return copy;
}

// The server does not keep table locks for this engine (lock_count() is 0); it only says here how
// a statement means to use the table.
THR_LOCK_DATA** Handler::store_lock(THD* thd, THR_LOCK_DATA** to, thr_lock_type lock_type) {
  if (lock_type == TL_IGNORE) return to;
  const int command = thd_sql_command(thd);
  const bool repeatable = thd_tx_isolation(thd) >= ISO_REPEATABLE_READ;
  if (DefinesTables(command) && lock_type < TL_FIRST_WRITE) {
    SetReadMode(false, txn::LockMode::kShared, false);
  } else if (lock_type >= TL_FIRST_WRITE) {
    SetReadMode(true, txn::LockMode::kExclusive, lock_type == TL_WRITE_SKIP_LOCKED);
  } else if (lock_type == TL_READ_WITH_SHARED_LOCKS || lock_type == TL_READ_SKIP_LOCKED) {
    SetReadMode(true, txn::LockMode::kShared, lock_type == TL_READ_SKIP_LOCKED);
  } else {
    // What a statement that writes elsewhere reads here must not change before it commits.
    const bool reads_to_write = lock_type == TL_READ_NO_INSERT || command != SQLCOM_SELECT;
    const bool locks = reads_to_write ? repeatable || !ReadsCommitted(command) : LocksPlainReads(thd);
    SetReadMode(locks && !ReadsLockNothing(command), txn::LockMode::kShared, false);
  }
  called_by_plain_select_ = command == SQLCOM_SELECT && !locking_;
  reads_committed_in_functions_ = ReadsCommitted(command);
  return to;
}

// A read view that is older than the table would see it without the rows that were copied into it, and
// one that is older than an index would miss the entries of rows that have changed since.
int Handler::CheckReadView(unsigned index) {
  const uint64_t visible_since = access_->table().visible_since(index);
  if (reader_.mode().locking || reader_.mode().only_look || visible_since == 0) return 0;
  return ActiveTransaction().ReadView()->sequence() < visible_since ? HA_ERR_TABLE_DEF_CHANGED : 0;
}

bool Handler::IsSequence() const { return table_share->table_type == TABLE_TYPE_SEQUENCE; }

txn::Transaction& Handler::ActiveTransaction() {
  if (!IsSequence()) return session_->transaction();
  if (!autonomous_) autonomous_ = GlobalEngine()->transactions().NewTransaction();
  if (!autonomous_->is_active()) {
    autonomous_->Begin(txn::Isolation::kReadCommitted);
    autonomous_->StartStatement();
  }
  return *autonomous_;
}

// Ends what a sequence's own transaction has left: a change that was refused, or a view. A later statement under the same lock would take the
// one for written, and see by the other what is past.
int Handler::EndAutonomous() { return autonomous_ && autonomous_->is_active() ? Fail(autonomous_->Rollback()) : 0; }

// A temporary table that a transaction has made after it took its view. Nobody else changes it, so that what there is is what may be
// seen, as locking reads do. (ALTER TABLE ends the transaction.)
bool Handler::IsYoungTemporary() {
  if (table_share->tmp_table == NO_TMP_TABLE || IsSequence() || !ActiveTransaction().has_read_view()) return false;
  return ActiveTransaction().ReadView()->sequence() < access_->table().visible_since();
}

void Handler::BindReader() {
  scan::ReadMode mode;
  mode.locking = (locking_ && !IsSequence()) || IsYoungTemporary();
  mode.skip_locked = skip_locked_;
  // READ COMMITTED lets others insert where it has read, and nobody else inserts into a temporary table.
  mode.ranges = mode.locking && ActiveTransaction().isolation() != txn::Isolation::kReadCommitted &&
                table_share->tmp_table == NO_TMP_TABLE;
  mode.lock = LockSettings(ha_thd());
  mode.lock.mode = lock_mode_;
  if (skip_locked_) mode.lock.wait = txn::LockWait::kNoWait;
  reader_.Bind(&GlobalEngine()->store(), &ActiveTransaction(), access_.get(), mode);
}

int Handler::BeginStatement(THD* thd) {
  session_ = Session::Of(thd);
  // Another handler may have truncated the table since this one looked.
  const auto* share = static_cast<TableShare*>(get_ha_share_ptr());
  if (share != nullptr && share->version() != access_version_) TakeAccess(*share);
  // Writers are kept away by now, and the server does not ask again before it has begun to drop.
  if (DropsHeldPartition(thd, *table, access_->def())) return HA_ERR_LOCK_WAIT_TIMEOUT;
  const Status status = session_->BeginStatement();
  if (!status.ok()) return Fail(status);
  if (IsLoaded()) return RefuseLoaded();
  BindReader();
  scan_.SetSemiConsistent(false);
  writer_bound_ = false;
  is_refereed_ = false;
  return 0;
}

// The server's handler of sequences passes on that its table is locked, but not that a statement begins. Nothing is locked when the row of a new
// temporary one is written, nor under LOCK TABLES when a temporary one is opened once more.
int Handler::BeginUntold() { return session_ == nullptr ? BeginStatement(ha_thd()) : 0; }

int Handler::external_lock(THD* thd, int lock_type) {
  locked_for_writes_ = writes_rows_ = lock_type == F_WRLCK;
  if (lock_type == F_UNLCK) {
    LeaveSession();
    // An open HANDLER waits for its next statement without a reset.
    if (thd_sql_command(thd) == SQLCOM_HA_READ) reader_.Reset();
    if (const int error = EndAutonomous(); error != 0) return error;
    return CheckLoadEnded();
  }
  if (lock_type == F_WRLCK && !locking_) SetReadMode(true, txn::LockMode::kExclusive, false);
  const int error = BeginStatement(thd);
  return error == 0 && lock_type == F_WRLCK && thd_sql_command(thd) != SQLCOM_SELECT ? BeginForeignKeys(thd) : error;
}

// A statement under LOCK TABLES, or on a temporary table that is locked already, or within a function or trigger; also the one that calls
// these, right after store_lock. A plain SELECT reads as ever, also where another statement has the table for writing. What only computes
// there (RETURN, SET, IF) and is called by a plain SELECT reads as that does, but at SERIALIZABLE, as a later statement of the function may
// write what it came to.
int Handler::start_stmt(THD* thd, thr_lock_type lock_type) {
  const auto command = static_cast<enum_sql_command>(thd_sql_command(thd));
  const bool is_plain = lock_type == TL_READ || lock_type == TL_READ_HIGH_PRIORITY;
  const bool skips = lock_type == TL_WRITE_SKIP_LOCKED || lock_type == TL_READ_SKIP_LOCKED;
  const bool only_reads = lock_type < TL_FIRST_WRITE && (DefinesTables(command) || (command == SQLCOM_SELECT && is_plain));
  writes_rows_ = lock_type >= TL_FIRST_WRITE || (locked_for_writes_ && !only_reads);
  if (WritesRows()) {
    SetReadMode(true, txn::LockMode::kExclusive, skips);
  } else if (command == SQLCOM_SELECT && is_plain) {
    SetReadMode(LocksPlainReads(thd), txn::LockMode::kShared, false);
  } else if (thd->locked_tables_mode != LTM_NONE) {
    const bool belongs_to_select = is_plain && thd->locked_tables_mode == LTM_PRELOCKED && called_by_plain_select_ &&
                                   !is_update_query(command) && thd_tx_isolation(thd) != ISO_SERIALIZABLE;
    const bool reads_committed = (is_plain || lock_type == TL_READ_NO_INSERT) && reads_committed_in_functions_ &&
                                 thd_tx_isolation(thd) <= ISO_READ_COMMITTED;
    SetReadMode(!DefinesTables(command) && !belongs_to_select && !reads_committed, txn::LockMode::kShared, skips);
  }
  const int error = BeginStatement(thd);
  return error == 0 && lock_type >= TL_FIRST_WRITE && command != SQLCOM_SELECT ? BeginForeignKeys(thd) : error;
}

// UPDATE looks at the last committed version of a row that another transaction has locked first. What it passes over at REPEATABLE READ
// must stay as it is.
void Handler::try_semi_consistent_read(bool yes) {
  scan_.SetSemiConsistent(yes && ActiveTransaction().isolation() == txn::Isolation::kReadCommitted);
}

// The server found that the row read last does not match. READ COMMITTED gives its lock back.
void Handler::unlock_row() {
  if (scan_.gave_unlocked()) return scan_.PassUnlocked();
  if (ActiveTransaction().isolation() == txn::Isolation::kReadCommitted) reader_.UnlockLast();
}

}  // namespace cairn::server
