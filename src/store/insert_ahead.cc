// SPDX-License-Identifier: GPL-2.0-only
// The batch's keys, and the leaves of those that come next.
#include "store/insert_ahead.h"

#include "db/dbformat.h"
#include <rocksdb/write_batch.h>

#include "store/memtable_tree.h"

namespace cairn::store {
namespace {

constexpr size_t kBatchHeaderBytes = 12;  // sequence number and count
constexpr size_t kKeysKept = 1 << 14;

// Kept, so that a batch need not allocate.
std::vector<EntryKey>& KeysOfThread() {
  static thread_local std::vector<EntryKey> keys;
  return keys;
}

}  // namespace

thread_local InsertAhead* InsertAhead::of_thread_ = nullptr;

InsertAhead::InsertAhead(const rocks::WriteBatch& batch, uint32_t family_id) : keys_(KeysOfThread()) {
  keys_.clear();
  if (batch.Count() < kEntriesMin) return;
  rocks::Slice rest(batch.Data());
  const char* const end = rest.data() + rest.size();
  rest.remove_prefix(kBatchHeaderBytes);
  while (!rest.empty()) {
    char tag = 0;
    uint32_t family = 0;
    rocks::Slice key, value, blob, xid;
    uint64_t write_time = 0;
    if (!rocks::ReadRecordFromWriteBatch(&rest, &tag, &family, &key, &value, &blob, &xid, &write_time).ok()) break;
    if (family != family_id || tag == rocks::kTypeColumnFamilyRangeDeletion || tag == rocks::kTypeRangeDeletion) continue;
    // A word of a key may be read beyond its end.
    if (end - key.data() - key.size() >= sizeof(uint64_t)) keys_.push_back({key.data(), key.size()});
  }
  of_thread_ = this;
}

InsertAhead::~InsertAhead() {
  of_thread_ = nullptr;
  if (keys_.capacity() > kKeysKept) std::vector<EntryKey>().swap(keys_);
}

MemtableLeaf* InsertAhead::Next(const MemtableTree& tree) {
  if (&tree != tree_) {
    leaves_.fill(nullptr);
    tree_ = &tree;
  }
  MemtableLeaf*& place = leaves_[next_ % kAhead];
  MemtableLeaf* const leaf = place;
  place = nullptr;
  const size_t ahead = next_++ + kAhead;
  if (ahead < keys_.size()) {
    const MemtableTarget target(keys_[ahead], rocks::kMaxSequenceNumber);
    if (scattered_.test(MemtableTree::RecentSlot(target))) place = tree.FetchLeaf(target);
  }
  return leaf;
}

}  // namespace cairn::store
