// SPDX-License-Identifier: GPL-2.0-only
// Where the entries of a batch belong in a memtable, found while others before them are inserted.
#pragma once

#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>

#include <rocksdb/slice.h>

#include "store/memtable_key.h"
#include "store/rocksdb_fwd.h"

namespace cairn::store {

class MemtableTree;
struct MemtableLeaf;

// While it lives, what its thread inserts into memtables is expected to be the entries of one batch, in their order. The leaf of each is
// found a few entries early, so that its lines of memory are on their way when it is needed: an entry of an index in no order
// waits for memory longer than for all else, once the tree is larger than caches. Leaves are hints only: another may have become the place since, and if other
// entries are inserted than expected, hints are of no use and do no harm.
//
// Lifetime: the batch must stay as it is meanwhile. Thread rule: lives and is used on one thread; one at a time.
class InsertAhead {
 public:
  // Of the batch's entries in the family. Small batches have none to look ahead to.
  InsertAhead(const rocks::WriteBatch& batch, uint32_t family_id);
  ~InsertAhead() { of_thread_ = nullptr; }
  InsertAhead(const InsertAhead&) = delete;
  InsertAhead& operator=(const InsertAhead&) = delete;

  // The one that lives on this thread; null: none.
  static InsertAhead* OfThread() { return of_thread_; }

  // For the next entry, which is inserted into `tree`: the leaf that was its place a few entries ago; null: not known.
  MemtableLeaf* Next(const MemtableTree& tree);

  // Entries of the index do not come in order: their leaves are worth a search ahead. `recent`: MemtableTree::RecentSlot().
  void NoteScattered(unsigned recent) { scattered_.set(recent); }

  static constexpr size_t kAhead = 8;
  static constexpr unsigned kRecentBits = 4;  // indexes that are told apart

 private:
  static constexpr uint32_t kEntriesMin = 3 * kAhead;

  static thread_local InsertAhead* of_thread_;

  // At the first entry, which goes into `tree`: whether it is worth while is seen then.
  void Begin(const MemtableTree& tree);

  // The key of the next entry of the family. False: there is none, or nothing behind it that may be read with it.
  bool ReadKey(EntryKey* key);

  const uint32_t family_id_;
  rocks::Slice rest_;  // of the batch's records
  size_t next_ = 0;
  const MemtableTree* tree_ = nullptr;  // of the leaves; null before the first entry
  std::array<MemtableLeaf*, kAhead> leaves_{};
  std::bitset<1 << kRecentBits> scattered_;
};

}  // namespace cairn::store
