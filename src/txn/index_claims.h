// SPDX-License-Identifier: GPL-2.0-only
// Whole indexes that a transaction has for itself.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "txn/row_locks.h"

namespace cairn::txn {

// While an index is claimed, nobody else gets a lock in it, on a key or on a range; so nobody else inserts either. Nothing waits
// here: who meets a claim waits for its end elsewhere, by a point lock on a key that stands for the claimer.
//
// Protocol (docs/locking.md, "Whole indexes"). The claimer claims first, and then looks for locks of others. Who locks takes his
// lock first, and then looks for a claim. Tables of locks have mutexes, so of the two at least one sees the other: the claimer gives
// up, or the other gives his new lock back and waits.
//
// Claims are rare and short; without any, a look is one load.
//
// Thread rule: any thread; those of one owner by one thread at a time.
class IndexClaims {
 public:
  // False, and nothing is claimed: another owner has a claim on one of them.
  bool Claim(const LockOwner& owner, std::span<const IndexId> indexes);
  void Release(const LockOwner& owner);

  // The id of another owner who has claimed the index, or 0.
  uint64_t HolderOf(const LockOwner& owner, IndexId index) const {
    return count_.load(std::memory_order_seq_cst) == 0 ? 0 : Find(owner, index);
  }

 private:
  uint64_t Find(const LockOwner& owner, IndexId index) const;

  std::atomic<uint64_t> count_{0};
  mutable std::mutex mutex_;
  std::vector<std::pair<IndexId, const LockOwner*>> claims_;  // guarded by mutex_
};

}  // namespace cairn::txn
