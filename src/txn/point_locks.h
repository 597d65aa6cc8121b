// SPDX-License-Identifier: GPL-2.0-only
// Locks on single keys: a sharded table with FIFO queues and exact deadlock detection.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "base/clock.h"
#include "base/ids.h"
#include "txn/lock_table.h"
#include "txn/row_locks.h"

namespace cairn::txn {

// Invariants:
// 1. A key that is locked or waited for has exactly one entry, in the shard its hash names; its
//    lists change only under that shard's mutex.
// 2. The lists of an entry with waiters, and every owner's waiting_for_, change only under
//    wait_mutex_ as well. So the holder of wait_mutex_ alone sees the whole waits-for graph, and
//    the graph it sees is exact: no cycle is missed and none is imagined.
// 3. Nobody waits that could be granted: each change that may free a waiter grants what it can,
//    from the head of the queue. A victim at the head holds the queue up until it has woken and
//    taken itself out.
// Mutex order: shard, then wait_mutex_, then an owner's sleep_mutex_.
//
// Without conflicts only a shard's mutex is taken. Each owner sleeps on a condition variable of its own.
//
// Deadlocks are looked for when a wait begins of somebody who is waited for, by walking what he waits for, depth first, in time
// proportional to the queues come to. The victim is whom the observer prefers, else the one in the cycle with the least weight (locks +
// changes), and among equals the one that closed the cycle. Who has been interrupted or killed gives its wait up, which is all it takes.
class PointLocks final : public RowLocks {
 public:
  struct Options {
    unsigned shard_count = 64;              // rounded up to a power of two
    WaitObserver* observer = nullptr;       // optional; longer-lived than the table
    size_t deadlock_history_count_max = 16; // of ListDeadlocks
    uint64_t (*now_us)() = SteadyTimeUs;    // another one in tests, where time is to pass
  };
  explicit PointLocks(const Options& options);
  ~PointLocks() override;

  Status Lock(LockOwner& owner, ByteView key, const LockOptions& options, LockResult* result) override;
  void Unlock(LockOwner& owner, LockRequest* handle) override;
  void Weaken(LockOwner& owner, LockRequest* handle) override;
  void ReleaseSome(LockOwner& owner, const std::function<bool(ByteView key)>& given_up) override;
  void ReleaseAll(LockOwner& owner) override;
  bool Holds(LockOwner& owner, ByteView key, LockMode mode) const override;

  // Whether anybody else holds a lock on a key of these indexes. Walks the whole table, shard by shard.
  bool OthersHold(const LockOwner& owner, std::span<const IndexId> indexes) const;

  uint64_t memory_bytes() const override;
  uint64_t lock_count() const override;
  uint64_t waiting_count() const override { return waiting_count_.load(std::memory_order_relaxed); }
  uint64_t deadlock_count() const override { return deadlock_count_.load(std::memory_order_relaxed); }
  std::vector<LockRow> ListLocks(size_t count_max) const override;
  std::vector<WaitRow> ListWaits(size_t count_max) const override;
  std::vector<DeadlockRow> ListDeadlocks() const override;
  // The clock by which waits end.
  uint64_t NowUs() const { return options_.now_us(); }
  // How many blockers all searches for deadlocks have looked at.
  uint64_t searched_count() const { return searched_count_.load(std::memory_order_relaxed); }

 private:
  struct AlignedShard;
  class Wait;

  LockShard& ShardOf(uint64_t hash) const;

  // The owner's own list of what it holds; own thread.
  static void LinkHeld(LockOwner& owner, LockRequest* request);
  static void UnlinkHeld(LockOwner& owner, LockRequest* request);

  // Precondition of all below: the entry's shard is locked.
  LockRequest* AddHolder(LockShard& shard, LockEntry* entry, LockOwner& owner, LockMode mode);
  bool TryStrengthen(LockEntry* entry, LockRequest* mine);
  void RemoveHolder(LockShard& shard, LockRequest* request);
  // ... and wait_mutex_ too.
  void RemoveWaiter(LockShard& shard, LockRequest* request);
  void GrantWaiters(LockShard& shard, LockEntry* entry);

  // Precondition: wait_mutex_ is locked.
  void EndWait(LockOwner& owner, bool victim);
  // `by` has come before the waiters from `first` on.
  void TellOvertaken(LockRequest* first, LockOwner& by);
  LockOwner* FindVictim(LockOwner& start);
  LockOwner* ChooseVictim(const std::vector<LockOwner*>& cycle);

  const Options options_;
  const size_t shard_mask_;
  const std::unique_ptr<AlignedShard[]> shards_;

  std::atomic<uint64_t> waiting_count_{0};
  std::atomic<uint64_t> deadlock_count_{0};
  std::atomic<uint64_t> searched_count_{0};

  mutable std::mutex wait_mutex_;
  uint64_t visit_epoch_ = 0;           // guarded by wait_mutex_
  uint64_t last_wait_number_ = 0;      // guarded by wait_mutex_
  std::deque<DeadlockRow> deadlocks_;  // guarded by wait_mutex_
};

}  // namespace cairn::txn
