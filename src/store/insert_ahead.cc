// SPDX-License-Identifier: GPL-2.0-only
// The batch's keys, and the leaves of those that come next.
#include "store/insert_ahead.h"

#include "db/dbformat.h"
#include <rocksdb/write_batch.h>

#include "store/memtable_tree.h"

namespace cairn::store {
namespace {

constexpr size_t kBatchHeaderBytes = 12;  // sequence number and count

// Whether it becomes an entry of a memtable's tree: neither a mark of a transaction, which has no key, nor a range.
bool IsEntry(char tag, const rocks::Slice& key) {
  return !key.empty() && tag != rocks::kTypeColumnFamilyRangeDeletion && tag != rocks::kTypeRangeDeletion;
}

}  // namespace

thread_local InsertAhead* InsertAhead::of_thread_ = nullptr;

InsertAhead::InsertAhead(const rocks::WriteBatch& batch, uint32_t family_id) : family_id_(family_id) {
  if (batch.Count() < kEntriesMin) return;
  rest_ = batch.Data();
  rest_.remove_prefix(kBatchHeaderBytes);
  of_thread_ = this;
}

bool InsertAhead::ReadKey(EntryKey* key) {
  while (!rest_.empty()) {
    char tag = 0;
    uint32_t family = 0;
    rocks::Slice of_record, value, blob, xid;
    uint64_t write_time = 0;
    if (!rocks::ReadRecordFromWriteBatch(&rest_, &tag, &family, &of_record, &value, &blob, &xid, &write_time).ok()) {
      rest_.clear();
      return false;
    }
    if (family != family_id_ || !IsEntry(tag, of_record)) continue;
    *key = {of_record.data(), of_record.size()};
    const char* const end = rest_.data() + rest_.size();
    return end - (key->data + key->size) >= static_cast<ptrdiff_t>(sizeof(uint64_t));  // a word is read at once
  }
  return false;
}

void InsertAhead::Begin(const MemtableTree& tree) {
  tree_ = &tree;
  if (!tree.IsLarge()) rest_.clear();
  EntryKey key{};
  for (size_t passed = 0; passed < kAhead && ReadKey(&key);) ++passed;
}

MemtableLeaf* InsertAhead::Next(const MemtableTree& tree) {
  if (tree_ == nullptr) Begin(tree);
  if (&tree != tree_) return nullptr;
  MemtableLeaf*& place = leaves_[next_++ % kAhead];
  MemtableLeaf* const leaf = place;
  place = nullptr;
  EntryKey key{};
  if (ReadKey(&key)) {
    const MemtableTarget target(key, rocks::kMaxSequenceNumber);
    if (scattered_.test(MemtableTree::RecentSlot(target))) place = tree.FetchLeaf(target);
  }
  return leaf;
}

}  // namespace cairn::store
