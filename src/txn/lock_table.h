// SPDX-License-Identifier: GPL-2.0-only
// The entries of a lock table: keys with who holds and who waits, in hashed shards.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>

#include "base/bytes.h"
#include "txn/row_locks.h"

namespace cairn::txn {

struct LockEntry;

// One owner's lock on one key, held or waited for. An owner has at most one that is held and one
// that waits (an upgrade) per key.
struct LockRequest {
  LockEntry* entry = nullptr;
  LockOwner* owner = nullptr;
  LockRequest* next = nullptr;         // in the entry's list of holders or of waiters
  LockRequest* held_next = nullptr;    // in the owner's list
  LockRequest* held_previous = nullptr;
  LockRequest* upgrades = nullptr;     // a waiter that wants this shared lock made exclusive
  uint64_t since_us = 0;               // when the wait began
  uint32_t count = 1;                  // times locked; kLockCountMax sticks
  LockMode mode = LockMode::kShared;
  bool granted = false;
  bool wants_blockers = false;         // a waiter whose blockers the observer is told of
};

// A lock taken this often is kept until ReleaseAll.
inline constexpr uint32_t kLockCountMax = UINT32_MAX;

// A locked key. Its bytes follow the struct in the same allocation, which has room for them in whole steps.
struct LockEntry {
  LockEntry* next = nullptr;  // in its bucket
  LockRequest* holders = nullptr;
  LockRequest* waiters = nullptr;  // first come first
  uint64_t hash = 0;
  uint32_t key_size = 0;
  bool first_used = false;
  LockRequest first;  // the first holder's request, as most entries have just one

  ByteView key() const { return AsBytes(this + 1, key_size); }
};

// A part of the table with its own mutex, which guards all of it and its entries. It keeps some entries that were erased for those that come
// next: what the allocator does is done under the mutex.
class LockShard {
 public:
  // Of each size of entries. None where a sanitizer is to find uses of erased ones.
#ifdef __SANITIZE_ADDRESS__
  static constexpr size_t kKeptMax = 0;
#else
  static constexpr size_t kKeptMax = 8;
#endif
  // Entries of longer keys are not kept.
  static constexpr size_t kKeptKeyBytesMax = 48;

  // What the entry of such a key takes.
  static constexpr size_t EntryBytes(size_t key_bytes) { return sizeof(LockEntry) + StepsOf(key_bytes) * kStepBytes; }

  LockShard();
  ~LockShard();

  mutable std::mutex mutex;

  LockEntry* Find(ByteView key, uint64_t hash) const;
  LockEntry* Insert(ByteView key, uint64_t hash);
  // Precondition: nobody holds or waits.
  void Erase(LockEntry* entry);

  LockRequest* NewRequest(LockEntry* entry);
  void DeleteRequest(LockRequest* request);

  size_t entry_count() const { return entry_count_; }
  size_t bytes() const { return bytes_; }  // of what is kept, too
  size_t bucket_count() const { return bucket_count_; }
  LockEntry* bucket(size_t i) const { return buckets_[i]; }

 private:
  // The allocator's own, so that whole ones take no more.
  static constexpr size_t kStepBytes = 16;
  static constexpr size_t StepsOf(size_t key_bytes) { return (key_bytes + kStepBytes - 1) / kStepBytes; }

  // Erased entries of one size.
  struct Kept {
    LockEntry* first = nullptr;
    size_t count = 0;
  };

  void* TakeMemory(size_t key_bytes);
  void GiveMemoryBack(LockEntry* entry);
  void Resize(size_t bucket_count);

  std::unique_ptr<LockEntry*[]> buckets_;
  size_t bucket_count_;
  size_t entry_count_ = 0;
  size_t bytes_;
  std::array<Kept, kKeptKeyBytesMax / kStepBytes + 1> kept_;  // by the steps of their keys
};

}  // namespace cairn::txn
