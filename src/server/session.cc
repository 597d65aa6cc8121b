// SPDX-License-Identifier: GPL-2.0-only
// Sessions and the one global of the engine.
#include "server/server_headers.h"

#include "server/session.h"

#include <algorithm>
#include <utility>

#include "server/sysvars.h"
#include "server/xid_name.h"

namespace cairn::server {
namespace {

std::unique_ptr<engine::Engine> global_engine;
handlerton* global_handlerton = nullptr;

// READ UNCOMMITTED is served as READ COMMITTED: more isolation than asked for.
txn::Isolation IsolationOf(THD* thd) {
  switch (thd_tx_isolation(thd)) {
    case ISO_READ_UNCOMMITTED:
    case ISO_READ_COMMITTED:
      return txn::Isolation::kReadCommitted;
    case ISO_REPEATABLE_READ:
      return txn::Isolation::kRepeatableRead;
    default:
      return txn::Isolation::kSerializable;
  }
}

}  // namespace

engine::Engine* GlobalEngine() { return global_engine.get(); }
handlerton* GlobalHandlerton() { return global_handlerton; }

void SetGlobals(std::unique_ptr<engine::Engine> engine, handlerton* hton) {
  global_engine = std::move(engine);
  global_handlerton = hton;
}

// Within a function the calling statement has the savepoints, and has had its turn.
void ForgetEngines(THD* thd) {
  if (thd == nullptr || thd->transaction->all.is_empty() || thd->in_sub_stmt != 0) return;
  for (Ha_data& data : thd->ha_data) data.ha_info[1].reset();
  thd->transaction->all.ha_list = nullptr;
  thd->transaction->cleanup();
}

Session::Session(THD* thd) : thd_(thd), transaction_(global_engine->transactions().NewTransaction(thd, thd->thread_id)) {}

Session::~Session() {
  for (CursorHolder* holder : holders_) holder->OnSessionEnd();
}

Session* Session::Existing(THD* thd) {
  return static_cast<Session*>(thd_get_ha_data(thd, global_handlerton));
}

Session* Session::Of(THD* thd) {
  Session* session = Existing(thd);
  if (session == nullptr) {
    session = new Session(thd);
    thd_set_ha_data(thd, global_handlerton, session);
  }
  return session;
}

// The server refuses statements while it has a prepared transaction to end, but not all: what a function names is opened past that check.
Status Session::BeginStatement() {
  if (EndsXa()) return Status::InvalidArgument("the prepared XA transaction is to be ended first");
  xa_name_.clear();  // whoever names it ends it
  if (!transaction_->is_active()) {
    // Installed in a server that keeps no record of commits of several engines, the engine is not asked to prepare: XA PREPARE would be a mere word.
    if (global_handlerton->prepare == nullptr && thd_->transaction->xid_state.is_explicit_XA()) {
      return Status::NotSupported("XA in ENGINE=CAIRN before the server is restarted with it");
    }
    transaction_->Begin(IsolationOf(thd_));
    transaction_->SetStrictSnapshot(StrictSnapshot(thd_));
    loaded_index.reset();
    syncs_commit = false;
  }
  transaction_->StartStatement();
  const bool is_autocommit = !thd_test_options(thd_, OPTION_NOT_AUTOCOMMIT | OPTION_BEGIN);
  if (is_autocommit) ForgetEngines(thd_);
  trans_register_ha(thd_, false, global_handlerton, 0);
  if (!is_autocommit) trans_register_ha(thd_, true, global_handlerton, 0);
  return Status::Ok();
}

void Session::RemoveHolder(CursorHolder* holder) {
  holders_.erase(std::remove(holders_.begin(), holders_.end(), holder), holders_.end());
}

void Session::DetachCursors() {
  for (CursorHolder* holder : holders_) holder->DetachCursors();
}

void Session::DetachCursorsOf(TableId id, const CursorHolder* writer) {
  for (CursorHolder* holder : holders_) {
    if (holder != writer && holder->ReadsFrom(id)) holder->DetachCursors();
  }
}

void Session::EndStatement() {
  if (transaction_->isolation() == txn::Isolation::kReadCommitted) DetachCursors();
  transaction_->EndStatement();
}

Status Session::RollbackStatement() {
  DetachCursors();
  has_open_load = false;
  loaded_index.reset();
  return transaction_->RollbackStatement();
}

Status Session::Admit() {
  CAIRN_RETURN_IF_ERROR(CheckNoOpenLoad());
  return transaction_->Admit();
}

Status Session::Commit(store::Durability durability) {
  DetachCursors();
  if (!transaction_->is_active()) return Status::Ok();
  CAIRN_RETURN_IF_ERROR(CheckNoOpenLoad());
  Status status = transaction_->Commit(durability);
  if (!status.ok()) {
    // Not later: after commit_ordered the binary log may go on to its next file, and say there that a start need not look in the one before.
    if (transaction_->is_prepared()) global_engine->store().StopForPromised(status);
    return status;
  }
  // All of it, as parts may have been committed before.
  return std::exchange(syncs_commit, false) ? global_engine->store().SyncWal() : Status::Ok();
}

Status Session::CheckNoOpenLoad() const {
  return has_open_load ? Status::InvalidArgument("a statement's rows were not taken to their end") : Status::Ok();
}

std::shared_ptr<const bulk::SortMemory::Share> Session::TakeSortMemory(uint64_t bytes_min) {
  std::shared_ptr<const bulk::SortMemory::Share> memory = sort_memory_.lock();
  if (memory == nullptr) {
    memory = std::make_shared<const bulk::SortMemory::Share>(global_engine->sort_memory().Take(bytes_min));
    sort_memory_ = memory;
  }
  return memory;
}

Status Session::Rollback() {
  DetachCursors();
  has_open_load = false;
  if (!transaction_->is_active()) return Status::Ok();
  Status status = transaction_->Rollback();
  if (!status.ok()) {
    // Nobody asks for it again: by its next statement the server has forgotten the transaction, a user's XID included.
    const std::string name = transaction_->name();
    DetachPrepared();
    global_engine->transactions().RollBackLater(name);
  }
  return status;
}

void Session::LetNextOn() {
  if (turn_ != nullptr) thd_->resume_subsequent_commits(std::exchange(turn_, nullptr));
}

Status Session::CommitAndContinue(store::Durability durability) {
  const txn::Isolation isolation = transaction_->isolation();
  CAIRN_RETURN_IF_ERROR(Commit(durability));
  transaction_->Begin(isolation);
  transaction_->StartStatement();
  return Status::Ok();
}

Status Session::RollbackToSavepoint(txn::SavepointId savepoint) {
  DetachCursors();
  return transaction_->RollbackToSavepoint(savepoint);
}

void Session::DropReadView() {
  DetachCursors();
  transaction_->DropReadView();
}

Status Session::Prepare(const std::string& name, store::Durability durability) {
  DetachCursors();
  // What has to be durable with its commit is so before the binary log says that it is committed.
  return transaction_->Prepare(name, syncs_commit ? store::Durability::kSync : durability);
}

// If the server could not write an XA COMMIT to the binary log, it has told the user of an error and struck the XID off its list, so that
// another transaction may begin under it, here or elsewhere, before ListXid() is called again.
Status Session::PrepareXa(const std::string& name, store::Durability durability) {
  if (global_engine->transactions().IsPrepared(name)) return Status(Status::Code::kAlreadyExists, "a transaction is prepared under this XID");
  CAIRN_RETURN_IF_ERROR(Prepare(name, durability));
  // InnoDB gives up gaps, too. A replica may lock more for a change than its source did, and what waits for that here comes before the end of this in the stream.
  const bool is_replica = thd_->rgi_slave != nullptr || thd_->variables.pseudo_slave_mode;
  if (transaction_->isolation() != txn::Isolation::kSerializable) transaction_->GiveUpUnchanged(/*rows_too=*/is_replica);
  DetachPrepared();
  xa_name_ = name;
  xa_query_id_ = thd_->query_id;
  return Status::Ok();
}

// A later one of the connection's may have the same XID, and is not prepared. Nor is, to the server, one that another engine refuses to prepare
// in the same statement.
bool Session::EndsXa() const {
  const XID_STATE& state = thd_->transaction->xid_state;
  const bool is_prepared = state.get_state_code() == XA_PREPARED || thd_->query_id == xa_query_id_;
  return !xa_name_.empty() && is_prepared && state.is_explicit_XA() && NameOfXid(*state.get_xid()) == xa_name_;
}

std::string Session::TakeXa() { return std::exchange(xa_name_, std::string()); }

void Session::DetachPrepared() {
  DetachCursors();
  std::unique_ptr<txn::Transaction> other = global_engine->transactions().NewTransaction(thd_, thd_->thread_id);
  // KILL calls transaction() from its own thread, under this mutex.
  mysql_mutex_lock(&thd_->LOCK_thd_data);
  transaction_.swap(other);
  mysql_mutex_unlock(&thd_->LOCK_thd_data);
  global_engine->transactions().Detach(std::move(other));
}

}  // namespace cairn::server
