// SPDX-License-Identifier: GPL-2.0-only
// Ranges of keys that transactions hold against insertions by others.
#include "txn/range_locks.h"

#include <algorithm>
#include <utility>

namespace cairn::txn {
namespace {

bool Has(const std::string& lower, const std::string& upper, ByteView key) { return key >= lower && key < upper; }

bool IsLocked(const RangeHolding& holding, ByteView key) {
  for (const WalkedRange* walk = holding.walks; walk != nullptr; walk = walk->next) {
    if (Has(walk->locked_lower, walk->locked_upper, key)) return true;
  }
  const auto after = holding.locked.upper_bound(key);
  return after != holding.locked.begin() && key < std::prev(after)->second;
}

// Whether the walk comes to `key` before it is at `end`.
bool IsBefore(const WalkedRange& walk, ByteView key, ByteView end) { return walk.forward ? key < end : key >= end; }

bool IsDisturbed(const WalkedRange& walk, ByteView end) {
  return walk.has_arrival && IsBefore(walk, walk.nearest_arrival, end);
}

void NoteArrival(WalkedRange* walk, ByteView key) {
  if (!Has(walk->lower, walk->upper, key)) return;
  if (walk->has_arrival && !IsBefore(*walk, key, walk->nearest_arrival)) return;
  walk->has_arrival = true;
  walk->nearest_arrival = key;
}

// Of those in one index.
uint64_t FirstHolder(const std::vector<RangeHolding*>& holdings, const LockOwner& owner, ByteView key) {
  for (const RangeHolding* holding : holdings) {
    if (holding->owner != &owner && IsLocked(*holding, key)) return holding->owner->id();
  }
  return 0;
}

}  // namespace

uint64_t RangeLocks::HolderOf(const LockOwner& owner, IndexId index, ByteView key) const {
  const Shard& shard = ShardOf(index);
  std::lock_guard lock(shard.mutex);
  const auto found = shard.holdings.find(index.value);
  return found == shard.holdings.end() ? 0 : FirstHolder(found->second, owner, key);
}

uint64_t RangeLocks::FindHolder(const LockOwner& owner, IndexId index, ByteView key) {
  Shard& shard = ShardOf(index);
  std::lock_guard lock(shard.mutex);
  const auto found = shard.holdings.find(index.value);
  if (found == shard.holdings.end()) return 0;
  if (const uint64_t holder_id = FirstHolder(found->second, owner, key); holder_id != 0) return holder_id;
  for (const RangeHolding* holding : found->second) {
    if (holding->owner == &owner) continue;
    for (WalkedRange* walk = holding->walks; walk != nullptr; walk = walk->next) NoteArrival(walk, key);
  }
  return 0;
}

void RangeLocks::Begin(LockOwner& owner, IndexId index, Holdings* holdings, WalkedRange* walk) {
  const auto known = std::find_if(holdings->begin(), holdings->end(),
                                  [index](const auto& holding) { return holding->index == index; });
  RangeHolding* holding = known == holdings->end() ? nullptr : known->get();
  Shard& shard = ShardOf(index);
  std::lock_guard lock(shard.mutex);
  if (holding == nullptr) {
    holding = holdings->emplace_back(std::make_unique<RangeHolding>()).get();
    holding->owner = &owner;
    holding->index = index;
    shard.holdings[index.value].push_back(holding);
    SlotOf(index).fetch_add(1, std::memory_order_seq_cst);
  }
  walk->holding = holding;
  walk->has_arrival = false;
  walk->next = holding->walks;
  holding->walks = walk;
}

bool RangeLocks::HasArrival(const WalkedRange& walk, ByteView end) const {
  std::lock_guard lock(ShardOf(walk.holding->index).mutex);
  return IsDisturbed(walk, end);
}

bool RangeLocks::ExtendTo(WalkedRange* walk, ByteView end, bool must) {
  std::lock_guard lock(ShardOf(walk->holding->index).mutex);
  const bool is_disturbed = IsDisturbed(*walk, end);
  if (is_disturbed && !must) return false;
  if (walk->forward) {
    if (end > walk->locked_upper) walk->locked_upper = end;
  } else {
    if (end < walk->locked_lower) walk->locked_lower = end;
  }
  return !is_disturbed;
}

void RangeLocks::ForgetArrivals(WalkedRange* walk) {
  std::lock_guard lock(ShardOf(walk->holding->index).mutex);
  walk->has_arrival = false;
}

void RangeLocks::End(WalkedRange* walk) {
  RangeHolding* holding = walk->holding;
  if (holding == nullptr) return;
  std::lock_guard lock(ShardOf(holding->index).mutex);
  WalkedRange** link = &holding->walks;
  while (*link != walk) link = &(*link)->next;
  *link = walk->next;
  walk->holding = nullptr;
  Keep(holding, std::move(walk->locked_lower), std::move(walk->locked_upper));
}

// Adds a range to those of ended scans and joins it with the ones it meets.
void RangeLocks::Keep(RangeHolding* holding, std::string lower, std::string upper) {
  if (lower >= upper) return;
  auto& locked = holding->locked;
  auto at = locked.upper_bound(lower);
  if (at != locked.begin() && std::prev(at)->second >= lower) --at;
  while (at != locked.end() && at->first <= upper) {
    lower = std::min(lower, at->first);
    upper = std::max(upper, at->second);
    at = locked.erase(at);
  }
  locked.emplace_hint(at, std::move(lower), std::move(upper));
  // A range takes about as much as the lock of a row. Who removes many parents has one for each, and is to keep nobody from the others.
  if (locked.size() <= std::max<uint64_t>(kRangeCountMax, holding->owner->lock_count())) return;
  for (auto one = locked.begin(); one != locked.end() && std::next(one) != locked.end(); ++one) {
    const auto other = std::next(one);
    one->second = std::move(other->second);
    locked.erase(other);
  }
}

void RangeLocks::ReleaseAll(Holdings* holdings) {
  for (const auto& holding : *holdings) {
    Shard& shard = ShardOf(holding->index);
    std::lock_guard lock(shard.mutex);
    for (WalkedRange* walk = holding->walks; walk != nullptr; walk = walk->next) walk->holding = nullptr;
    const auto found = shard.holdings.find(holding->index.value);
    std::erase(found->second, holding.get());
    if (found->second.empty()) shard.holdings.erase(found);
    SlotOf(holding->index).fetch_sub(1, std::memory_order_seq_cst);
  }
  holdings->clear();
}

bool RangeLocks::OthersHold(const LockOwner& owner, IndexId index) const {
  const Shard& shard = ShardOf(index);
  std::lock_guard lock(shard.mutex);
  const auto found = shard.holdings.find(index.value);
  return found != shard.holdings.end() &&
         std::ranges::any_of(found->second, [&owner](const RangeHolding* holding) { return holding->owner != &owner; });
}

size_t RangeLocks::RangeCount(IndexId index) const {
  const Shard& shard = ShardOf(index);
  std::lock_guard lock(shard.mutex);
  const auto found = shard.holdings.find(index.value);
  if (found == shard.holdings.end()) return 0;
  size_t count = 0;
  for (const RangeHolding* holding : found->second) {
    count += holding->locked.size();
    for (const WalkedRange* walk = holding->walks; walk != nullptr; walk = walk->next) {
      count += walk->locked_lower < walk->locked_upper;
    }
  }
  return count;
}

}  // namespace cairn::txn
