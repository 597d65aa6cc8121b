// SPDX-License-Identifier: GPL-2.0-only
// Waiting for a point lock: the parts of PointLocks that only conflicts need.
#pragma once

#include <mutex>
#include <vector>

#include "txn/point_locks.h"

namespace cairn::txn {

// On cache lines of its own.
struct alignas(64) PointLocks::AlignedShard {
  mutable LockShard shard;
};

// Whether a request of `owner` can stand beside all who hold the entry.
bool IsCompatible(const LockEntry& entry, const LockOwner& owner, LockMode mode);

// The blockers of a waiting request: who holds in conflict with it, and who waits before it in conflict.
// Calls `visit(LockOwner&)` once for each; stops when it returns false.
// `known`: null, or another that waits before it for the same mode, and is no upgrade. It and its own blockers, which all are the
// waiter's too, are left out.
template <typename Visit>
void ForEachBlocker(const LockRequest& waiter, Visit visit, const LockRequest* known = nullptr) {
  const auto conflicts = [&waiter](const LockRequest& other) {
    return other.owner != waiter.owner &&
           (other.mode == LockMode::kExclusive || waiter.mode == LockMode::kExclusive);
  };
  if (known == nullptr) {
    for (LockRequest* other = waiter.entry->holders; other != nullptr; other = other->next) {
      if (conflicts(*other) && !visit(*other->owner)) return;
    }
  }
  for (LockRequest* other = known == nullptr ? waiter.entry->waiters : known->next; other != &waiter; other = other->next) {
    const bool was_among_holders = other->upgrades != nullptr && waiter.mode == LockMode::kExclusive;
    if (!was_among_holders && conflicts(*other) && !visit(*other->owner)) return;
  }
}

// One wait from its beginning to its end.
class PointLocks::Wait {
 public:
  // `mine`: the owner's weaker lock on the key, or null.
  Wait(PointLocks& locks, LockShard& shard, LockOwner& owner, LockRequest* mine, const LockOptions& options)
      : locks_(locks), shard_(shard), owner_(owner), mine_(mine), options_(options) {}

  // `shard_lock` is held at the start and released at the end.
  Status Run(std::unique_lock<std::mutex>& shard_lock, LockEntry* entry, LockResult* result);

 private:
  enum class End { kGranted, kVictim, kInterrupted, kTimeout };

  void Enqueue(LockEntry* entry);
  bool BreakDeadlocks();
  void PinBlockers();
  void TellObserverOf(const std::vector<LockOwner*>& blockers);
  bool IsKilled() const;
  Status AsVictim() const;
  End Sleep();
  void SleepUntilEnd(std::unique_lock<std::mutex>& sleep_lock);
  void ForgetOvertakers();
  Status Leave(End end, LockResult* result);
  Status Granted(LockResult* result);

  PointLocks& locks_;
  LockShard& shard_;
  LockOwner& owner_;
  LockRequest* const mine_;
  const LockOptions& options_;
  LockRequest* request_ = nullptr;
  uint64_t end_us_ = 0;
  std::vector<LockOwner*> pinned_;
};

}  // namespace cairn::txn
