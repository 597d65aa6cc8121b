// SPDX-License-Identifier: GPL-2.0-only
// What keys a memtable may have, for who looks for a whole one.
#pragma once

#include <algorithm>
#include <cstdint>

#include "memory/allocator.h"
#include <rocksdb/slice.h>
#include "util/dynamic_bloom.h"
#include "util/hash.h"

#include "base/endian.h"
#include "base/ids.h"
#include "store/memtable_key.h"
#include "store/rocksdb_fwd.h"

namespace cairn::store {

// A Bloom filter (RocksDB's, of one line of the cache for a key) of the keys of those indexes that are asked for whole keys. Keys of
// indexes that are only walked (base/ids.h) are not in it, nor the beginnings of any: ranges look into the tree
// (docs/decisions/0049-memtable-filters.md).
//
// Lifetime: its memory is the allocator's. Threads: MayHave() and Fetch() any; of Add() as its callers say.
class MemtableFilter final {
 public:
  // The filter's part of a full memtable: eight bits a key where rows are small, more where they are not.
  static constexpr uint64_t kMemtableShare = 64;

  // A key that is looked for, or about to be added.
  class Key {
   public:
    explicit Key(const EntryKey& key)
        : is_filtered_(key.size < sizeof(uint32_t) || !IsOnlyWalked(IndexId(LoadBe32(key.data)))),
          hash_(is_filtered_ ? rocks::BloomHash(rocks::Slice(key.data, key.size)) : 0) {}

   private:
    friend class MemtableFilter;
    bool is_filtered_;
    uint32_t hash_;
  };

  // Precondition: bytes != 0.
  MemtableFilter(rocks::Allocator* allocator, uint64_t bytes)
      : bloom_(allocator, static_cast<uint32_t>(std::min<uint64_t>(bytes, kBytesMax) * 8)) {}

  // Asks for the memory that the others need.
  void Fetch(const Key& key) {
    if (key.is_filtered_) bloom_.Prefetch(key.hash_);
  }
  // `concurrently`: others add meanwhile.
  void Add(const Key& key, bool concurrently) {
    if (!key.is_filtered_) return;
    concurrently ? bloom_.AddHashConcurrently(key.hash_) : bloom_.AddHash(key.hash_);
  }
  // False: it has no entry of the key.
  bool MayHave(const Key& key) const { return !key.is_filtered_ || bloom_.MayContainHash(key.hash_); }

 private:
  static constexpr uint64_t kBytesMax = uint64_t{256} << 20;

  rocks::DynamicBloom bloom_;
};

}  // namespace cairn::store
