// SPDX-License-Identifier: GPL-2.0-only
// RocksDB's memtables on the tree of memtable_tree.h.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include <rocksdb/memtablerep.h>

#include "store/rocksdb_fwd.h"

namespace cairn::store {

class MemtableTree;

// Makes memtables that are read and written by many threads at once, and that find entries twice. The tree knows
// one order, the one of bytes: a family with another comparator, or with timestamps, gets RocksDB's skip list.
// Looks for one key ask a filter first (store/memtable_filter.h).
//
// Threads: as RocksDB's own factories; one may serve many families.
class MemtableTreeFactory final : public rocks::MemTableRepFactory {
 public:
  // What a full memtable holds, by which its filter is sized; 0: no filters.
  explicit MemtableTreeFactory(uint64_t memtable_bytes = 0) : memtable_bytes_(memtable_bytes) {}

  // Of memtables that are made from now on.
  void SetMemtableBytes(uint64_t bytes) { memtable_bytes_.store(bytes, std::memory_order_relaxed); }

  using rocks::MemTableRepFactory::CreateMemTableRep;
  rocks::MemTableRep* CreateMemTableRep(const rocks::MemTableRep::KeyComparator& comparator,
                                        rocks::Allocator* allocator, const rocks::SliceTransform* prefix,
                                        rocks::Logger* log) override;

  const char* Name() const override { return "CairnMemtableTree"; }
  bool IsInsertConcurrentlySupported() const override { return true; }
  bool CanHandleDuplicatedKey() const override { return true; }

 private:
  std::atomic<uint64_t> memtable_bytes_;
};

// The tree of a memtable that the factory made; null of another.
const MemtableTree* TreeOf(const rocks::MemTableRep& memtable);

}  // namespace cairn::store
