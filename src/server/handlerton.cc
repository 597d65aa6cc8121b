// SPDX-License-Identifier: GPL-2.0-only
// Commit, rollback, savepoints, two-phase commit: each call becomes a call of the session.
#include "server/server_headers.h"

#include "server/handlerton.h"

#include <algorithm>
#include <vector>

#include "server/ddl_recovery.h"
#include "server/errors.h"
#include "server/handler.h"
#include "server/name_round.h"
#include "server/partitions.h"
#include "server/plain_select.h"
#include "server/session.h"
#include "server/show_status.h"
#include "server/sysvars.h"
#include "server/xid_name.h"

namespace cairn::server {
namespace {

// What the X/Open XA specification has a resource manager answer.
constexpr int kXaUnknownXid = -4;
constexpr int kXaFailed = -7;

// Whether a call with `all` false ends the transaction all the same: autocommit.
bool EndsTransaction(THD* thd, bool all) {
  return all || !thd_test_options(thd, OPTION_NOT_AUTOCOMMIT | OPTION_BEGIN);
}

// Whether what is prepared here is committed elsewhere by the time the engine is told: the server's own in another engine or in the binary
// log, which at the start does not ask how it went and may never ask again; a user's in the binary log, where this connection writes it.
bool IsPromised(THD* thd, XID* xid) {
  return xid->get_my_xid() != 0 || (thd != nullptr && !thd->is_current_stmt_binlog_disabled());
}

// The server is about to strike a user's XID off its list, whatever comes of the commit, and nobody could name or find it any more. So it is
// listed anew, as those found at a start are, and the connection has one that means nothing to be struck off instead.
void KeepListed(THD* thd) {
  XID other;
  const std::string name = "cairn " + std::to_string(thd->thread_id);
  other.set(static_cast<long>(name.size()), 0, name.data());
  XID_STATE other_state{};
  if (xid_cache_insert(thd, &other_state, &other)) return;  // no memory: the engine's thread lists it later
  xid_cache_delete(thd, &thd->transaction->xid_state);
  thd->transaction->xid_state = other_state;
  GlobalEngine()->transactions().VisitPrepared(ListXid);
}

// Of what somebody has prepared, and not that there is no such transaction.
bool HasFailed(const Status& status) { return !status.ok() && !status.Is(Status::Code::kNotFound); }

// What was promised, only a start can still commit here, which asks who has it or is told by its user. Other transactions of users stay
// prepared, with their locks, for XA COMMIT by name.
Status CommitXa(THD* thd, XID* xid, store::Durability durability) {
  Status status = GlobalEngine()->transactions().CommitPrepared(NameOfXid(*xid), durability);
  if (HasFailed(status) && IsPromised(thd, xid)) GlobalEngine()->store().StopForPromised(status);
  return status;
}

// XA COMMIT in the connection that has prepared.
int CommitOwnXa(THD* thd, Session* session) {
  const Status status = CommitXa(thd, thd->transaction->xid_state.get_xid(), engine::DurabilityOf(FlushSetting()));
  (void)session->TakeXa();
  if (!HasFailed(status)) {
    thd_wakeup_subsequent_commits(thd, 0);
    return 0;
  }
  KeepListed(thd);
  return RaiseError(thd, status);
}

// XA ROLLBACK there, or an XA PREPARE that another engine has refused. Nobody asks for it again: the server strikes the XID off its list.
int RollbackOwnXa(THD* thd, Session* session) {
  txn::TransactionManager& transactions = GlobalEngine()->transactions();
  const std::string name = session->TakeXa();
  const Status status = transactions.RollbackPrepared(name);
  if (!HasFailed(status)) return 0;
  transactions.RollBackLater(name);
  return RaiseError(thd, status);
}

int CloseConnection(handlerton*, THD* thd) {
  Session* session = Session::Existing(thd);
  if (session == nullptr) return 0;
  const int error = ServerError(thd, session->Rollback(), nullptr);
  thd_set_ha_data(thd, GlobalHandlerton(), nullptr);
  delete session;
  return error;
}

void KillQuery(handlerton*, THD* thd, thd_kill_levels) {
  Session* session = Session::Existing(thd);
  if (session != nullptr) session->Interrupt();
}

// A replica keeps its position in a table for each engine of gtid_pos_auto_engines, made or to be made, and in one of any engine for all
// others. Only its workers may ask.
bool HasPositionIn(const handlerton* hton) {
  const auto* table = rpl_global_gtid_slave_state->gtid_pos_tables.load(std::memory_order_acquire);
  while (table != nullptr && table->table_hton != hton) table = table->next;
  return table != nullptr;
}

bool HasPositionElsewhere() {
  const auto* table = rpl_global_gtid_slave_state->gtid_pos_tables.load(std::memory_order_acquire);
  while (table != nullptr && table->table_hton == GlobalHandlerton()) table = table->next;
  return table != nullptr;
}

my_bool FlushIfPositionIsIn(THD*, plugin_ref plugin, void*) {
  handlerton* const hton = plugin_hton(plugin);
  if (hton == GlobalHandlerton() || hton->flush_logs == nullptr || !HasPositionIn(hton)) return 0;
  return hton->flush_logs(hton) ? 1 : 0;
}

// Who had the turn before may have committed in another engine alone, its position included, and been durable no sooner than the next one was let
// on: InnoDB does so, too. What it has committed is in that engine's log by then. Not by ha_flush_logs(), which would sync ours as well.
Status FlushPositionsElsewhere() {
  if (!HasPositionElsewhere()) return Status::Ok();
  if (!plugin_foreach(nullptr, FlushIfPositionIsIn, MYSQL_STORAGE_ENGINE_PLUGIN, nullptr)) return Status::Ok();
  return Status::IoError("another engine that has the replica's position could not flush its log");
}

// A replica's parallel workers commit in the order of their source: each waits until the one before lets it on. Let on after its sync, they would
// sync one after the other. So they are as soon as the log has the commit, which cannot be refused any more then, and a log that cannot be
// synced ends the process. Who comes while another one syncs shares the next sync. But where positions are here and in another engine, what comes
// before and what comes after may be in that one alone, and a loss of power could take the earlier one: after the next start the replica would
// go on behind both.
//
// An engine that commits after this one lets the next one on, or the server does.
Status CommitInTurn(THD* thd, Session* session, bool is_last) {
  const store::Durability durability = engine::DurabilityOf(FlushSetting());
  const bool is_sync = durability == store::Durability::kSync;
  const bool is_durable_in_turn = is_sync && HasPositionIn(GlobalHandlerton()) && HasPositionElsewhere();
  if (is_durable_in_turn) {
    Status flushed = FlushPositionsElsewhere();
    if (!flushed.ok() && !session->transaction().is_prepared()) return flushed;
    if (!flushed.ok()) sql_print_error("CAIRN: %s", flushed.ToString().c_str());  // others may have committed their part
  }
  const bool syncs_later = is_sync && !is_durable_in_turn;
  CAIRN_RETURN_IF_ERROR(session->Commit(syncs_later ? store::Durability::kOs : durability));
  if (is_last) thd_wakeup_subsequent_commits(thd, 0);
  return syncs_later ? GlobalEngine()->store().SyncWal() : Status::Ok();
}

// Whether the next start has no word of a transaction of several engines that has been committed in order. Of an XA COMMIT ... ONE PHASE the binary
// log has the server's own XID, by which this engine has prepared it, but others have the user's: they would have it prepared again.
bool IsForgottenByServer(THD* thd) { return !opt_bin_log || thd_sql_command(thd) == SQLCOM_XA_COMMIT; }

// Of a transaction that has been committed in all engines and IsForgottenByServer(). Without a binary log, what the server notes in tc.log its start
// does not look for: it rolls back all that it finds prepared (TC_LOG_MMAP::recover, 10.11). And InnoDB relies on it, and does not flush its
// commit, nor has CommitOrdered. So all make it durable before the client hears of it, by their own settings; this one first, as a replica's
// position may be in another.
Status SyncInAllEngines(const std::vector<handlerton*>& others) {
  if (engine::DurabilityOf(FlushSetting()) == store::Durability::kSync) CAIRN_RETURN_IF_ERROR(GlobalEngine()->store().SyncWal());
  const auto fails = [](handlerton* hton) { return hton->flush_logs != nullptr && hton->flush_logs(hton); };
  if (std::ranges::none_of(others, fails)) return Status::Ok();
  return Status::IoError("another engine that has a part in the transaction could not flush its log");
}

// The other engines whose changes are committed in order, too. Precondition: none has been told to commit: the server strikes each off then.
std::vector<handlerton*> OthersInOrder(THD* thd, bool all) {
  std::vector<handlerton*> others;
  const THD_TRANS& ended = all ? thd->transaction->all : thd->transaction->stmt;
  for (const Ha_trx_info* part = ended.ha_list; part != nullptr; part = part->next()) {
    const bool is_other = part->is_trx_read_write() && part->ht() != GlobalHandlerton();
    if (is_other && part->ht()->commit_ordered != nullptr) others.push_back(part->ht());
  }
  return others;
}

// Whether no other engine is to commit changes of the transaction after this one.
bool IsLastToCommit(const THD* thd, bool all) {
  const Ha_trx_info* part = &thd->ha_data[GlobalHandlerton()->slot].ha_info[all ? 1 : 0];
  if (!part->is_started()) return true;
  do {
    part = part->next();
  } while (part != nullptr && !part->is_trx_read_write());
  return part == nullptr;
}

int Commit(handlerton*, THD* thd, bool all) {
  Session* session = Session::Existing(thd);
  if (session == nullptr) return 0;
  if (!EndsTransaction(thd, all)) {
    session->EndStatement();
    return 0;
  }
  if (session->EndsXa()) return CommitOwnXa(thd, session);
  session->LetNextOn();
  Status status;
  // Who waits for a commit that was refused must hear of it, or a replica goes on past what it has not: the server tells them then. Where
  // nothing was changed, the engine that has the changes may not have committed them yet, and lets others on itself.
  if (session->committed_in_order) {
    session->committed_in_order = false;
    status = std::move(session->ordered_outcome);
    if (status.ok() && IsForgottenByServer(thd)) status = SyncInAllEngines(session->committed_beside);
    if (status.ok()) thd_wakeup_subsequent_commits(thd, 0);
  } else if (thd->wait_for_commit_ptr != nullptr && session->transaction().HasWrites()) {
    status = CommitInTurn(thd, session, IsLastToCommit(thd, all));
  } else {
    status = session->Commit(engine::DurabilityOf(FlushSetting()));
  }
  if (!status.ok() && session->transaction().is_prepared()) {
    session->DetachPrepared();
  } else if (!status.ok() && session->transaction().is_active()) {
    // Refused before anything was written: the server will not call rollback after this.
    const Status undone = session->Rollback();
    if (!undone.ok()) sql_print_error("CAIRN: %s", undone.ToString().c_str());
  }
  return RaiseError(thd, status);
}

// Whether the binary log gets anything of the transaction, and so commits it in its turn.
bool IsForBinaryLog(const THD* thd) {
  return !thd->is_current_stmt_binlog_disabled() && trans_has_updated_trans_table(thd);
}

// The server has nobody prepare where one engine alone has changes, or one cannot. It has the transaction wait for its turn then, too, but an engine
// that has its part since later, if only to read, commits first, and lets the next one on: that one could be seen and be durable before this one
// is. Returns an error that was raised.
int TakeTurnUnprepared(THD* thd, Session* session) {
  if (thd->rgi_slave == nullptr || thd->wait_for_commit_ptr == nullptr || IsForBinaryLog(thd)) return 0;
  if (!session->transaction().HasWrites()) return 0;
  const THD_TRANS& ended = thd->transaction->all.ha_list != nullptr ? thd->transaction->all : thd->transaction->stmt;
  int writers = 0;
  for (const Ha_trx_info* part = ended.ha_list; part != nullptr; part = part->next()) writers += part->is_trx_read_write() ? 1 : 0;
  const bool prepares = writers > 1 && !ended.no_2pc;
  if (prepares || ended.ha_list->ht() == GlobalHandlerton()) return 0;
  if (thd->wait_for_prior_commit() != 0) return 1;
  session->KeepNextWaiting();
  return 0;
}

// The server asks this of each engine that has a part in a transaction with changes, before the binary log or another engine has any of it. It is
// meant for engines whose rows have the numbers of their transactions (0: none have). But it may refuse (ULONGLONG_MAX), and is the only chance to
// where the engine is not to prepare: beside one that cannot (Aria, if only to read), or with changes of temporary tables alone. ALTER TABLE in
// place asks as well, and would take that for a number; it has changed nothing in the transaction.
ulonglong AdmitCommit(THD* thd, ulonglong*) {
  Session* session = Session::Existing(thd);
  if (session == nullptr) return 0;
  if (RaiseError(thd, session->Admit()) != 0) return ULONGLONG_MAX;
  return TakeTurnUnprepared(thd, session) == 0 ? 0 : ULONGLONG_MAX;
}

// Called one at a time, in the order of the binary log. Prepare has made the transaction durable
// and the binary log says that it is committed, so this needs no sync; where there is none, Commit does it.
void CommitOrdered(handlerton*, THD* thd, bool all) {
  Session* session = Session::Existing(thd);
  if (session == nullptr) return;
  session->TakeOver();
  if (!EndsTransaction(thd, all)) return;
  if (IsForgottenByServer(thd)) session->committed_beside = OthersInOrder(thd, all);
  session->ordered_outcome = session->Commit(store::Durability::kOs);
  session->committed_in_order = true;
}

int Rollback(handlerton*, THD* thd, bool all) {
  Session* session = Session::Existing(thd);
  if (session == nullptr) return 0;
  if (!EndsTransaction(thd, all)) return RaiseError(thd, session->RollbackStatement());
  // The binary log may have had it committed before it found that it cannot write what belongs to it.
  session->committed_in_order = false;
  session->LetNextOn();
  return session->EndsXa() ? RollbackOwnXa(thd, session) : RaiseError(thd, session->Rollback());
}

// A parallel worker waits here for those before it, if nobody else has it wait in time. Returns an error that was raised; changes how durable
// what it prepares has to be.
//
// The server does so where one engine is to commit. With several, the binary log does, in groups; but if nothing goes there (a replica without
// log_slave_updates, databases that are not logged), nobody: it would commit before those whose rows it has overwritten.
// Without a binary log the server waits when all have prepared. That is too late for what is durable: who was before, and let it on before its
// sync, could be lost, and this be there. So this prepares later, and is synced with what is before.
//
// A user's is no longer the worker's once it is prepared, and a transaction before it in the stream that wants its rows could not have it killed.
// The binary log waits for its turn, too, but comes later where another engine was changed first.
//
// Who comes next is not let on before this is committed here, though another engine may have its part committed first.
int TakeTurn(THD* thd, Session* session, bool is_users, store::Durability* durability) {
  if (thd->rgi_slave == nullptr || thd->wait_for_commit_ptr == nullptr) return 0;
  if (!is_users && IsForBinaryLog(thd)) return 0;
  if (thd->wait_for_prior_commit() != 0) return 1;
  if (!is_users) session->KeepNextWaiting();
  if (*durability != store::Durability::kSync) return 0;
  // Other engines may have prepared before the wait.
  if (!opt_bin_log) return RaiseError(thd, FlushPositionsElsewhere());
  // The next start does not find it in the binary log, and rolls it back unless it was committed. Who waits would wait for this sync for nothing.
  const bool is_logged = (thd->variables.option_bits & OPTION_BIN_LOG) != 0;
  if (!is_users && !is_logged) *durability = store::Durability::kOs;
  return 0;
}

int Prepare(handlerton*, THD* thd, bool all) {
  Session* session = Session::Existing(thd);
  if (session == nullptr) return 0;
  if (!EndsTransaction(thd, all)) {
    session->EndStatement();
    return 0;
  }
  (void)session->TakeXa();  // of before, also where the engine has no part in what came since
  if (!session->transaction().is_active()) return 0;
  if (const Status whole = session->CheckNoOpenLoad(); !whole.ok()) return RaiseError(thd, whole);
  session->EndStatement();
  store::Durability durability = engine::DurabilityOf(FlushSetting());
  const XID_STATE& xa = thd->transaction->xid_state;
  // XA COMMIT ... ONE PHASE is in the binary log under the server's own XID, and by that the next start decides.
  const bool is_users = xa.is_explicit_XA() && thd_sql_command(thd) != SQLCOM_XA_COMMIT;
  if (TakeTurn(thd, session, is_users, &durability) != 0) return 1;
  const Status status = is_users ? session->PrepareXa(NameOfXid(*xa.get_xid()), durability)
                                 : session->Prepare(NameOfXid(thd->transaction->implicit_xid), durability);
  session->HandOver();
  return RaiseError(thd, status);
}

int Recover(handlerton*, XID* list, uint length) {
  static NameRound round;
  const auto put = [list](const std::string& name, uint place) {
    if (XidOfName(name, &list[place])) return true;
    sql_print_error("CAIRN: a prepared transaction has a malformed name; it stays prepared");
    return false;
  };
  return static_cast<int>(round.Give(GlobalEngine()->transactions().ListPrepared(), length, put));
}

// XA COMMIT and XA ROLLBACK by name do not look at the result, only for an error that was raised: then the XID stays listed, and may be named again.
int XaResult(const Status& status) {
  if (!HasFailed(status)) return status.ok() ? 0 : kXaUnknownXid;
  THD* thd = current_thd;
  if (thd != nullptr) {
    RaiseError(thd, status);
  } else {
    sql_print_error("CAIRN: %s", status.ToString().c_str());
  }
  return kXaFailed;
}

// Spider's, of each XID that it does not know, where it is asked before (ER_SPIDER_XA_NOT_EXISTS_NUM).
constexpr uint kSpiderXaUnknown = 12607;

// An error from before the engine is asked for an end by name. Either the end did not come into the binary log: it stays prepared, and the
// server keeps the XID listed. Or the server has marked the XID: its transaction has changed nothing and is rolled back already, so that what
// is prepared here is another one, of before, that has been struck off the list. But if the log is closed, that was done for want of a
// next file once it had the end.
bool IsRefused(THD* thd) {
  if (thd == nullptr || !thd->is_error()) return false;
  const uint error = thd->get_stmt_da()->sql_errno();
  if (error == ER_XA_RBROLLBACK) return true;
  const bool is_closed = opt_bin_log && !mysql_bin_log.is_open();
  return !is_closed && error != kSpiderXaUnknown;
}

int CommitByXid(handlerton*, XID* xid) {
  ForgetEngines(current_thd);
  if (IsRefused(current_thd)) return kXaFailed;
  return XaResult(CommitXa(current_thd, xid, store::Durability::kSync));
}

int RollbackByXid(handlerton*, XID* xid) {
  ForgetEngines(current_thd);
  if (IsRefused(current_thd)) return kXaFailed;
  txn::TransactionManager& transactions = GlobalEngine()->transactions();
  const std::string name = NameOfXid(*xid);
  const Status status = transactions.RollbackPrepared(name);
  // The server asks for its own at the start, and not again.
  if (HasFailed(status) && xid->get_my_xid() != 0) transactions.RollBackLater(name);
  return XaResult(status);
}

// The binary log wants to forget what it would need for recovery: make everything durable first.
void CommitCheckpointRequest(void* cookie) {
  const Status status = GlobalEngine()->store().SyncWal();
  if (!status.ok()) {
    sql_print_error("CAIRN: %s", status.ToString().c_str());
    return;
  }
  commit_checkpoint_notify_ha(cookie);
}

bool FlushLogs(handlerton*) {
  return GlobalEngine() != nullptr && !GlobalEngine()->store().SyncWal().ok();
}

int SetSavepoint(handlerton*, THD* thd, void* savepoint) {
  *static_cast<txn::SavepointId*>(savepoint) = Session::Of(thd)->transaction().SetSavepoint();
  return 0;
}

int RollbackToSavepoint(handlerton*, THD* thd, void* savepoint) {
  return RaiseError(thd, Session::Of(thd)->RollbackToSavepoint(*static_cast<txn::SavepointId*>(savepoint)));
}

// Row locks stay, and so must the metadata locks that protect them.
bool CanReleaseMetadataLocks(handlerton*, THD* thd) {
  Session* session = Session::Existing(thd);
  return session == nullptr || session->transaction().lock_count() == 0;
}

// SAVEPOINT of a name that is there releases the one of before and no newer ones; RELEASE SAVEPOINT means these, too.
int ReleaseSavepoint(handlerton*, THD* thd, void* savepoint) {
  const txn::SavepointId id = *static_cast<txn::SavepointId*>(savepoint);
  txn::Transaction& transaction = Session::Of(thd)->transaction();
  if (!transaction.is_active()) return 0;  // XA PREPARE was the end of all savepoints, but the server keeps them
  const bool is_set_again = thd_sql_command(thd) == SQLCOM_SAVEPOINT;
  return RaiseError(thd, is_set_again ? transaction.ForgetSavepoint(id) : transaction.ReleaseSavepoint(id));
}

int StartConsistentSnapshot(handlerton* hton, THD* thd) {
  Session* session = Session::Of(thd);
  Status status = session->BeginStatement();
  if (!status.ok()) return RaiseError(thd, status);
  trans_register_ha(thd, true, hton, 0);
  if (thd_tx_isolation(thd) == ISO_READ_UNCOMMITTED) {
    push_warning(thd, Sql_condition::WARN_LEVEL_WARN, HA_ERR_UNSUPPORTED,
                 "CAIRN: WITH CONSISTENT SNAPSHOT is ignored at READ UNCOMMITTED isolation level.");
  } else {
    session->transaction().ReadView();
  }
  return 0;
}

int DropTable(handlerton*, const char* path) { return DropTableByPath(path); }

// The server has dropped the tables it knows; what is left has lost its definition file. Temporary tables are under the name of the
// folder for temporary files, which may be the database's.
void DropDatabase(handlerton*, char* path) {
  std::string prefix = path;
  while (!prefix.empty() && prefix.back() == '/') prefix.pop_back();
  prefix = prefix.substr(prefix.rfind('/') + 1) + "/";
  catalog::Catalog& catalog = GlobalEngine()->catalog();
  std::vector<std::string> names;
  if (const Status listed = catalog.TableNames(prefix, &names); !listed.ok()) {
    sql_print_error("CAIRN: cannot find all tables of %s to drop them: %s", path, listed.ToString().c_str());
  }
  for (const std::string& name : names) {
    std::shared_ptr<catalog::Table> table;
    if (catalog.Find(name, &table).ok() && table->def().temporary) continue;
    const Status dropped = catalog.Drop(name);
    // Others may drop a temporary table in between.
    if (dropped.ok() || dropped.Is(Status::Code::kNotFound)) continue;
    sql_print_error("CAIRN: cannot drop table %s: %s", name.c_str(), dropped.ToString().c_str());
  }
  GlobalEngine()->WakeReclaimer();
}

handler* CreateHandler(handlerton* hton, TABLE_SHARE* share, MEM_ROOT* mem_root) {
  return new (mem_root) Handler(hton, share);
}

}  // namespace

void FillHandlerton(handlerton* hton) {
  hton->create = CreateHandler;
  hton->flags = HTON_SUPPORTS_EXTENDED_KEYS | HTON_SUPPORTS_FOREIGN_KEYS | HTON_TRUNCATE_REQUIRES_EXCLUSIVE_USE |
                HTON_REQUIRES_CLOSE_AFTER_TRUNCATE;
  hton->close_connection = CloseConnection;
  hton->kill_query = KillQuery;
  hton->commit = Commit;
  hton->commit_ordered = CommitOrdered;
  hton->rollback = Rollback;
  hton->prepare = Prepare;
  hton->prepare_commit_versioned = AdmitCommit;
  hton->recover = Recover;
  hton->commit_by_xid = CommitByXid;
  hton->rollback_by_xid = RollbackByXid;
  hton->commit_checkpoint_request = CommitCheckpointRequest;
  hton->flush_logs = FlushLogs;
  hton->savepoint_offset = sizeof(txn::SavepointId);
  hton->savepoint_set = SetSavepoint;
  hton->savepoint_rollback = RollbackToSavepoint;
  hton->savepoint_rollback_can_release_mdl = CanReleaseMetadataLocks;
  hton->savepoint_release = ReleaseSavepoint;
  hton->start_consistent_snapshot = StartConsistentSnapshot;
  hton->drop_table = DropTable;
  hton->create_partitioning_metadata = FinishRename;
  hton->check_version = CheckTableVersion;
  hton->drop_database = DropDatabase;
  hton->signal_ddl_recovery_done = EndDdlRecovery;
  hton->show_status = ShowEngineStatus;
  hton->create_select = CreateSelect;
  hton->tablefile_extensions = hton_no_exts;
}

}  // namespace cairn::server
