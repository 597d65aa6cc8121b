// SPDX-License-Identifier: GPL-2.0-only
// Waits, as the server's services want them.
#include "server/server_headers.h"

#include "server/wait_observer.h"

#include "server/session.h"

// Exported by the server for storage engines, declared in none of its headers.
extern "C" int thd_rpl_deadlock_check(MYSQL_THD thd, MYSQL_THD other_thd);
extern "C" int thd_deadlock_victim_preference(const MYSQL_THD thd1, const MYSQL_THD thd2);

namespace cairn::server {
namespace {
THD* ThdOf(const txn::LockOwner& owner) { return static_cast<THD*>(owner.user_data()); }

// What the connection was at before it slept. It sleeps and wakes on one thread, and does nothing else in between.
thread_local PSI_stage_info stage_before_sleep;
}  // namespace

// Only these ask who the blocker is. A wait that began before the server was told to hold group commits up is no reason to end one earlier.
bool ServerWaitObserver::WantsBlockers(txn::LockOwner& waiter) {
  const THD* thd = ThdOf(waiter);
  return thd != nullptr && (thd->rgi_slave != nullptr || opt_binlog_commit_wait_count != 0);
}

void ServerWaitObserver::OnWait(txn::LockOwner& waiter, txn::LockOwner& blocker) {
  if (ThdOf(waiter) != nullptr) thd_rpl_deadlock_check(ThdOf(waiter), ThdOf(blocker));
}

void ServerWaitObserver::OnSleep(txn::LockOwner& waiter) {
  THD* thd = ThdOf(waiter);
  if (thd == nullptr) return;
  thd_rpl_deadlock_check(thd, nullptr);  // that it has waited is in the binary log, whoever the blocker is
  thd_wait_begin(thd, THD_WAIT_ROW_LOCK);
  thd->backup_stage(&stage_before_sleep);
  thd_proc_info(thd, "Waiting for row lock");
}

void ServerWaitObserver::OnWake(txn::LockOwner& waiter) {
  THD* thd = ThdOf(waiter);
  if (thd == nullptr) return;
  THD_STAGE_INFO(thd, stage_before_sleep);
  thd_wait_end(thd);
}

// The limit of rows examined, which is no error, ends a locking SELECT at once. But a load inserts the rows that the statement keeps.
bool ServerWaitObserver::IsKilled(txn::LockOwner& waiter) {
  THD* thd = ThdOf(waiter);
  if (thd == nullptr || thd_kill_level(thd) == THD_IS_NOT_KILLED) return false;
  const Session* const session = Session::Existing(thd);
  return thd->killed != ABORT_QUERY || session == nullptr || !session->has_open_load;
}

int ServerWaitObserver::VictimPreference(txn::LockOwner& a, txn::LockOwner& b) {
  if (ThdOf(a) == nullptr || ThdOf(b) == nullptr) return 0;
  return thd_deadlock_victim_preference(ThdOf(a), ThdOf(b));
}

}  // namespace cairn::server
