// SPDX-License-Identifier: GPL-2.0-only
// Tells the server about waits for row locks.
#pragma once

#include "txn/row_locks.h"

namespace cairn::server {

// Reports waits to replication (which may kill the blocker to keep the commit order), to a group commit that waits for more to join it
// (and no longer when somebody waits for one of its own), to the thread pool and to the process list. Thread rule: see txn::WaitObserver.
class ServerWaitObserver final : public txn::WaitObserver {
 public:
  bool WantsBlockers(txn::LockOwner& waiter) override;
  void OnWait(txn::LockOwner& waiter, txn::LockOwner& blocker) override;
  void OnSleep(txn::LockOwner& waiter) override;
  void OnWake(txn::LockOwner& waiter) override;
  bool IsKilled(txn::LockOwner& waiter) override;
  int VictimPreference(txn::LockOwner& a, txn::LockOwner& b) override;
};

}  // namespace cairn::server
