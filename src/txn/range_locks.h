// SPDX-License-Identifier: GPL-2.0-only
// Ranges of keys that transactions hold against insertions by others.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/bytes.h"
#include "base/ids.h"
#include "txn/row_locks.h"

namespace cairn::txn {

struct RangeHolding;

// The range of one scan under way: what it has locked so far, and what it may still walk over, where
// it wants to be told of arrivals. Guarded by the table of range locks.
struct WalkedRange {
  RangeHolding* holding = nullptr;  // null: not in the table
  bool forward = true;                     // it walks from the lower bound to the upper one
  std::string lower, upper;                // the bounds it may walk: [lower, upper)
  std::string locked_lower, locked_upper;  // [locked_lower, locked_upper), at the end of the bounds where it began
  bool has_arrival = false;                // others have put keys between the bounds, beyond what is locked
  std::string nearest_arrival;             // the one of them that the walk comes to first
  WalkedRange* next = nullptr;
};

// What one owner holds in one index.
struct RangeHolding {
  LockOwner* owner = nullptr;
  IndexId index;
  std::map<std::string, std::string, std::less<>> locked;  // lower -> upper, disjoint; scans that ended
  WalkedRange* walks = nullptr;
};

// Range locks have one conflict: a range that A holds against a key that B inserts. Ranges never
// conflict with each other, and records are the point locks' matter. So nothing waits here: who inserts
// asks who is in the way, and waits for that transaction's end elsewhere.
//
// Protocol (docs/locking.md, "Ranges"). The inserter asks FindHolder() and puts the key in one hold of its
// batch's latch. The scanner announces its bounds here, then looks into others' batches under their latches, and
// locks what nothing was found in, nor has arrived in since. So one of the two always sees the other.
//
// Memory is bounded: above kRangeCountMax ranges of one owner in one index, and above as many as it has locks of rows, neighbours
// become one range, together with what lies between them.
//
// Thread rule: all methods are safe from any thread; those of one owner are called by one thread at a time.
class RangeLocks {
 public:
  static constexpr size_t kRangeCountMax = 16'384;  // some 3 MB

  // Whether anybody may hold a range in the index. Sequentially consistent with Begin().
  bool MayHold(IndexId index) const { return SlotOf(index).load(std::memory_order_seq_cst) != 0; }

  // The id of another owner whose range holds the key, or 0; then walks that may come to the key have
  // been told of its arrival.
  uint64_t FindHolder(const LockOwner& owner, IndexId index, ByteView key);

  // The same for who does not put the key yet: nobody is told.
  uint64_t HolderOf(const LockOwner& owner, IndexId index, ByteView key) const;

  // Puts a walk with its bounds and locked part into the table. `holdings` is the owner's list.
  using Holdings = std::vector<std::unique_ptr<RangeHolding>>;
  void Begin(LockOwner& owner, IndexId index, Holdings* holdings, WalkedRange* walk);

  // Grows the locked part to `end`: to below it, or in a backward walk down to it. False: something has arrived there since the last
  // ForgetArrivals(); then the part grows only if it `must`.
  bool ExtendTo(WalkedRange* walk, ByteView end, bool must);
  // Whether something has arrived there.
  bool HasArrival(const WalkedRange& walk, ByteView end) const;
  void ForgetArrivals(WalkedRange* walk);

  // Takes a walk out of the table; its locked part stays locked. Does nothing if it is not in the table.
  void End(WalkedRange* walk);

  // Releases all that is in the list and empties it.
  void ReleaseAll(Holdings* holdings);

  // Whether anybody else has a range in the index, or walks there.
  bool OthersHold(const LockOwner& owner, IndexId index) const;

  // For people and tests: ranges held in an index by ended scans and by walks.
  size_t RangeCount(IndexId index) const;

 private:
  static constexpr size_t kSlotCount = 1024;
  static constexpr size_t kShardCount = 16;
  struct alignas(64) Shard {
    mutable std::mutex mutex;
    std::unordered_map<uint32_t, std::vector<RangeHolding*>> holdings;  // by index id
  };

  std::atomic<uint32_t>& SlotOf(IndexId index) { return slots_[index.value % kSlotCount]; }
  const std::atomic<uint32_t>& SlotOf(IndexId index) const { return slots_[index.value % kSlotCount]; }
  Shard& ShardOf(IndexId index) { return shards_[index.value % kShardCount]; }
  const Shard& ShardOf(IndexId index) const { return shards_[index.value % kShardCount]; }
  static void Keep(RangeHolding* holding, std::string lower, std::string upper);

  std::array<std::atomic<uint32_t>, kSlotCount> slots_{};  // holdings whose index falls into the slot
  std::array<Shard, kShardCount> shards_;
};

}  // namespace cairn::txn
