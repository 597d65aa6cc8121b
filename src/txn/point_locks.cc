// SPDX-License-Identifier: GPL-2.0-only
// Locks on single keys: acquiring and releasing. Waiting is in point_locks_wait.cc.
#include "txn/point_locks.h"

#include <algorithm>
#include <bit>
#include <functional>

#include "txn/point_locks_wait.h"

namespace cairn::txn {
namespace {

uint64_t HashOf(ByteView key) { return std::hash<ByteView>()(key); }

LockRequest* FindHeld(LockEntry* entry, const LockOwner& owner) {
  LockRequest* request = entry->holders;
  while (request != nullptr && request->owner != &owner) request = request->next;
  return request;
}

}  // namespace

PointLocks::PointLocks(const Options& options)
    : options_(options),
      shard_mask_(std::bit_ceil(std::max(options.shard_count, 1u)) - 1),
      shards_(new AlignedShard[shard_mask_ + 1]) {}

PointLocks::~PointLocks() = default;

LockShard& PointLocks::ShardOf(uint64_t hash) const { return shards_[hash & shard_mask_].shard; }

Status PointLocks::Lock(LockOwner& owner, ByteView key, const LockOptions& options, LockResult* result) {
  const uint64_t hash = HashOf(key);
  LockShard& shard = ShardOf(hash);
  std::unique_lock shard_lock(shard.mutex);
  LockEntry* entry = shard.Find(key, hash);
  LockRequest* mine = entry == nullptr ? nullptr : FindHeld(entry, owner);
  LockResult got;
  const bool strengthens = mine != nullptr && mine->mode < options.mode;
  if (mine != nullptr && (!strengthens || TryStrengthen(entry, mine))) {
    got.newly_acquired = strengthens;
    if (mine->count != kLockCountMax) ++mine->count;
    got.handle = mine;
  } else if (entry == nullptr || (mine == nullptr && entry->waiters == nullptr &&
                                  IsCompatible(*entry, owner, options.mode))) {
    if (entry == nullptr) entry = shard.Insert(key, hash);
    got.newly_acquired = true;
    got.handle = AddHolder(shard, entry, owner, options.mode);
    got.handle->granted = true;
    LinkHeld(owner, got.handle);
  } else if (options.wait == LockWait::kNoWait) {
    return Status::Of(Status::Code::kLockBusy);
  } else {
    Wait wait(*this, shard, owner, mine, options);
    CAIRN_RETURN_IF_ERROR(wait.Run(shard_lock, entry, &got));
  }
  got.count = got.handle->count;
  if (result != nullptr) *result = got;
  return Status::Ok();
}

LockRequest* PointLocks::AddHolder(LockShard& shard, LockEntry* entry, LockOwner& owner, LockMode mode) {
  LockRequest* request = shard.NewRequest(entry);
  request->owner = &owner;
  request->mode = mode;
  request->next = entry->holders;
  entry->holders = request;
  return request;
}

bool PointLocks::TryStrengthen(LockEntry* entry, LockRequest* mine) {
  if (entry->holders != mine || mine->next != nullptr) return false;
  // With waiters about, whoever walks the waits-for graph reads the mode.
  std::unique_lock graph_lock(wait_mutex_, std::defer_lock);
  if (entry->waiters != nullptr) graph_lock.lock();
  mine->mode = LockMode::kExclusive;
  TellOvertaken(entry->waiters, *mine->owner);
  return true;
}

void PointLocks::RemoveHolder(LockShard& shard, LockRequest* request) {
  LockEntry* entry = request->entry;
  std::unique_lock graph_lock(wait_mutex_, std::defer_lock);
  if (entry->waiters != nullptr) graph_lock.lock();
  LockRequest** link = &entry->holders;
  while (*link != request) link = &(*link)->next;
  *link = request->next;
  shard.DeleteRequest(request);
  if (entry->waiters != nullptr) GrantWaiters(shard, entry);
  if (entry->holders == nullptr && entry->waiters == nullptr) shard.Erase(entry);
}

void PointLocks::LinkHeld(LockOwner& owner, LockRequest* request) {
  request->held_previous = nullptr;
  request->held_next = owner.held_;
  if (owner.held_ != nullptr) owner.held_->held_previous = request;
  owner.held_ = request;
  owner.lock_count_.store(owner.lock_count() + 1, std::memory_order_relaxed);
}

void PointLocks::UnlinkHeld(LockOwner& owner, LockRequest* request) {
  if (request->held_next != nullptr) request->held_next->held_previous = request->held_previous;
  if (request->held_previous != nullptr) {
    request->held_previous->held_next = request->held_next;
  } else {
    owner.held_ = request->held_next;
  }
  owner.lock_count_.store(owner.lock_count() - 1, std::memory_order_relaxed);
}

void PointLocks::Unlock(LockOwner& owner, LockRequest* handle) {
  if (handle->count == kLockCountMax || --handle->count != 0) return;
  UnlinkHeld(owner, handle);
  LockShard& shard = ShardOf(handle->entry->hash);
  std::lock_guard shard_lock(shard.mutex);
  RemoveHolder(shard, handle);
}

void PointLocks::Weaken(LockOwner&, LockRequest* handle) {
  LockEntry* entry = handle->entry;
  LockShard& shard = ShardOf(entry->hash);
  std::lock_guard shard_lock(shard.mutex);
  std::unique_lock graph_lock(wait_mutex_, std::defer_lock);
  if (entry->waiters != nullptr) graph_lock.lock();
  handle->mode = LockMode::kShared;
  if (entry->waiters != nullptr) GrantWaiters(shard, entry);
}

void PointLocks::ReleaseSome(LockOwner& owner, const std::function<bool(ByteView key)>& given_up) {
  for (LockRequest *request = owner.held_, *next; request != nullptr; request = next) {
    next = request->held_next;
    if (!given_up(request->entry->key())) continue;
    UnlinkHeld(owner, request);
    LockShard& shard = ShardOf(request->entry->hash);
    std::lock_guard shard_lock(shard.mutex);
    RemoveHolder(shard, request);
  }
}

void PointLocks::ReleaseAll(LockOwner& owner) {
  while (LockRequest* request = owner.held_) {
    owner.held_ = request->held_next;
    LockShard& shard = ShardOf(request->entry->hash);
    std::lock_guard shard_lock(shard.mutex);
    RemoveHolder(shard, request);
  }
  owner.lock_count_.store(0, std::memory_order_relaxed);
  owner.is_waited_for_ = false;
}

bool PointLocks::Holds(LockOwner& owner, ByteView key, LockMode mode) const {
  const uint64_t hash = HashOf(key);
  LockShard& shard = ShardOf(hash);
  std::lock_guard shard_lock(shard.mutex);
  LockEntry* entry = shard.Find(key, hash);
  LockRequest* mine = entry == nullptr ? nullptr : FindHeld(entry, owner);
  return mine != nullptr && mine->mode >= mode;
}

bool PointLocks::OthersHold(const LockOwner& owner, std::span<const IndexId> indexes) const {
  const auto is_others = [&](const LockEntry& entry) {
    if (entry.key_size < 4 || std::ranges::find(indexes, IndexId(LoadBe32(entry.key().data()))) == indexes.end()) return false;
    for (const LockRequest* held = entry.holders; held != nullptr; held = held->next) {
      if (held->owner != &owner) return true;
    }
    return false;
  };
  for (size_t i = 0; i <= shard_mask_; ++i) {
    const LockShard& shard = shards_[i].shard;
    std::lock_guard lock(shard.mutex);
    for (size_t bucket = 0; bucket < shard.bucket_count(); ++bucket) {
      for (const LockEntry* entry = shard.bucket(bucket); entry != nullptr; entry = entry->next) {
        if (is_others(*entry)) return true;
      }
    }
  }
  return false;
}

uint64_t PointLocks::memory_bytes() const {
  uint64_t bytes = 0;
  for (size_t i = 0; i <= shard_mask_; ++i) {
    std::lock_guard lock(shards_[i].shard.mutex);
    bytes += shards_[i].shard.bytes();
  }
  return bytes;
}

uint64_t PointLocks::lock_count() const {
  uint64_t count = 0;
  for (size_t i = 0; i <= shard_mask_; ++i) {
    std::lock_guard lock(shards_[i].shard.mutex);
    count += shards_[i].shard.entry_count();
  }
  return count;
}

std::vector<LockRow> PointLocks::ListLocks(size_t count_max) const {
  std::vector<LockRow> rows;
  for (size_t i = 0; i <= shard_mask_; ++i) {
    const LockShard& shard = shards_[i].shard;
    std::lock_guard lock(shard.mutex);
    for (size_t bucket = 0; bucket < shard.bucket_count(); ++bucket) {
      for (const LockEntry* entry = shard.bucket(bucket); entry != nullptr; entry = entry->next) {
        for (const LockRequest* list : {entry->holders, entry->waiters}) {
          for (const LockRequest* request = list; request != nullptr; request = request->next) {
            if (rows.size() == count_max) return rows;
            rows.push_back({request->owner->id(), std::string(entry->key()), request->mode, !request->granted});
          }
        }
      }
    }
  }
  return rows;
}

}  // namespace cairn::txn
