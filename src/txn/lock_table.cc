// SPDX-License-Identifier: GPL-2.0-only
// The entries of a lock table.
#include "txn/lock_table.h"

#include <cstdlib>
#include <cstring>
#include <new>

namespace cairn::txn {
namespace {

constexpr size_t kBucketCountMin = 64;

// The low bits of a hash name the shard, the high ones the bucket.
size_t BucketOf(uint64_t hash, size_t bucket_count) { return (hash >> 32) & (bucket_count - 1); }

}  // namespace

LockShard::LockShard()
    : buckets_(new LockEntry*[kBucketCountMin]()),
      bucket_count_(kBucketCountMin),
      bytes_(kBucketCountMin * sizeof(LockEntry*)) {}

LockShard::~LockShard() {
  for (Kept& kept : kept_) {
    while (LockEntry* entry = kept.first) {
      kept.first = entry->next;
      std::free(entry);
    }
  }
}

LockEntry* LockShard::Find(ByteView key, uint64_t hash) const {
  for (LockEntry* entry = buckets_[BucketOf(hash, bucket_count_)]; entry != nullptr; entry = entry->next) {
    if (entry->hash == hash && entry->key() == key) return entry;
  }
  return nullptr;
}

LockEntry* LockShard::Insert(ByteView key, uint64_t hash) {
  if (entry_count_ >= bucket_count_) Resize(bucket_count_ * 2);
  auto* entry = new (TakeMemory(key.size())) LockEntry;
  entry->hash = hash;
  entry->key_size = static_cast<uint32_t>(key.size());
  std::memcpy(entry + 1, key.data(), key.size());
  LockEntry*& bucket = buckets_[BucketOf(hash, bucket_count_)];
  entry->next = bucket;
  bucket = entry;
  ++entry_count_;
  return entry;
}

void* LockShard::TakeMemory(size_t key_bytes) {
  if (key_bytes <= kKeptKeyBytesMax) {
    Kept& kept = kept_[StepsOf(key_bytes)];
    if (LockEntry* entry = kept.first; entry != nullptr) {
      kept.first = entry->next;
      --kept.count;
      return entry;
    }
  }
  void* memory = std::malloc(EntryBytes(key_bytes));
  if (memory == nullptr) throw std::bad_alloc();
  bytes_ += EntryBytes(key_bytes);
  return memory;
}

void LockShard::GiveMemoryBack(LockEntry* entry) {
  if (entry->key_size <= kKeptKeyBytesMax) {
    Kept& kept = kept_[StepsOf(entry->key_size)];
    if (kept.count != kKeptMax) {
      entry->next = kept.first;
      kept.first = entry;
      ++kept.count;
      return;
    }
  }
  bytes_ -= EntryBytes(entry->key_size);
  std::free(entry);
}

void LockShard::Erase(LockEntry* entry) {
  LockEntry** link = &buckets_[BucketOf(entry->hash, bucket_count_)];
  while (*link != entry) link = &(*link)->next;
  *link = entry->next;
  --entry_count_;
  GiveMemoryBack(entry);
  // A large transaction's buckets are given back once it is over.
  if (bucket_count_ > kBucketCountMin && entry_count_ < bucket_count_ / 8) Resize(bucket_count_ / 2);
}

LockRequest* LockShard::NewRequest(LockEntry* entry) {
  LockRequest* request;
  if (!entry->first_used) {
    entry->first_used = true;
    request = &entry->first;
    *request = LockRequest();
  } else {
    request = new LockRequest;
    bytes_ += sizeof(LockRequest);
  }
  request->entry = entry;
  return request;
}

void LockShard::DeleteRequest(LockRequest* request) {
  if (request == &request->entry->first) {
    request->entry->first_used = false;
    return;
  }
  delete request;
  bytes_ -= sizeof(LockRequest);
}

void LockShard::Resize(size_t bucket_count) {
  std::unique_ptr<LockEntry*[]> buckets(new LockEntry*[bucket_count]());
  for (size_t i = 0; i < bucket_count_; ++i) {
    for (LockEntry* entry = buckets_[i]; entry != nullptr;) {
      LockEntry* next = entry->next;
      LockEntry*& bucket = buckets[BucketOf(entry->hash, bucket_count)];
      entry->next = bucket;
      bucket = entry;
      entry = next;
    }
  }
  bytes_ += bucket_count * sizeof(LockEntry*);
  bytes_ -= bucket_count_ * sizeof(LockEntry*);
  buckets_ = std::move(buckets);
  bucket_count_ = bucket_count;
}

}  // namespace cairn::txn
