// SPDX-License-Identifier: GPL-2.0-only
// A B+-tree of a memtable's entries that many threads read and insert into at once.
//
// After V. Leis, M. Haubenschild, T. Neumann, "Optimistic Lock Coupling: A Scalable and Efficient
// General-Purpose Synchronization Method", IEEE Data Engineering Bulletin 42 (1), 2019. Entries are
// never removed and nodes never freed before the memtable's arena is, so readers need no epochs. The key
// between two nodes is that of an entry, and refers to it.
//
// Invariants: no leaf is empty but the first root; a separator's entry is in the subtree to its right.
//
// Threads: all functions may be called at any time by any thread. A reader sees at least what was inserted
// before it began. Entries are not written to once they are in.
#pragma once

#include <array>
#include <atomic>

#include "store/insert_ahead.h"
#include "store/memtable_node.h"
#include "store/rocksdb_fwd.h"

namespace cairn::store {

class MemtableTree {
 public:
  // Where a walk stands. `entry` stays what it is, the rest says where to go on.
  struct Position {
    const char* entry = nullptr;  // null: nowhere
    const MemtableLeaf* leaf = nullptr;
    uint64_t version = 0;  // of the leaf, when the entry was in the slot
    unsigned slot = 0;
  };

  // All nodes come from `allocator`, which must outlive the tree.
  explicit MemtableTree(rocks::Allocator* allocator);
  MemtableTree(const MemtableTree&) = delete;
  MemtableTree& operator=(const MemtableTree&) = delete;

  // False: an entry with the key and the sequence number is there already, and nothing was done. `ahead`: what this thread
  // inserts belongs to it; may be null.
  [[nodiscard]] bool Insert(const char* entry, InsertAhead* ahead = nullptr);

  // Its leaves are more than processors' nearest caches hold: it has four levels, with some 130,000 entries.
  bool IsLarge() const { return root_.load(std::memory_order_acquire)->level >= 3; }

  // Asks for the memory of the leaf that is the place of `target`; null: not found at once.
  MemtableLeaf* FetchLeaf(const MemtableTarget& target) const;

  // Where the leaf of the key's index is remembered. Of a few indexes by chance the same.
  static unsigned RecentSlot(const MemtableTarget& target) {
    const auto index_id = static_cast<uint32_t>(target.words[0] >> 32);
    return index_id * 0x9e3779b1u >> (32 - InsertAhead::kRecentBits);
  }

  // The first entry that is not before `target`.
  void FindAtLeast(const MemtableTarget& target, Position* position) const;
  // The last entry before `target`, or at it if `or_equal`.
  void FindBefore(const MemtableTarget& target, bool or_equal, Position* position) const;
  void FindFirst(Position* position) const;
  void FindLast(Position* position) const;
  // Precondition of all three: position->entry != nullptr.
  void Next(Position* position) const;
  // Next(), but passes by older versions of the entry's key: as a rule all of them, always at most these.
  void NextKey(Position* position) const;
  void Prev(Position* position) const;

  // About how many entries are from `first` on and before `end`; exact within one leaf.
  uint64_t EstimateBetween(const MemtableTarget& first, const MemtableTarget& end) const;

 private:
  static constexpr size_t kLevelsMax = 24;

  enum class Outcome { kDone, kDuplicate, kElsewhere };

  // A descent's last two nodes; parent is null above the root.
  struct Descent {
    MemtableInner* parent = nullptr;
    uint64_t parent_version = 0;
    MemtableNode* node = nullptr;
    uint64_t version = 0;
  };

  // A descent, by level.
  struct Path {
    unsigned levels = 0;
    std::array<const MemtableNode*, kLevelsMax> nodes;
    std::array<unsigned, kLevelsMax> slots;
  };

  template <typename Node, typename... Args>
  Node* NewNode(Args... args);

  // The root and its version. False: it is the root no more.
  bool ReadRoot(Descent* descent) const;
  // One step down into the child at `slot`. False: the node has changed.
  static bool StepDown(Descent* descent, unsigned slot);

  Outcome InsertInto(MemtableLeaf* leaf, const MemtableTarget& target, const char* entry);
  Outcome InsertFromRoot(const MemtableTarget& target, const char* entry);
  Outcome InsertAndSplit(const Descent& descent, const SlotFound& found, const MemtableTarget& target,
                         const char* entry);
  void SplitInner(const Descent& descent);
  bool LockForSplit(const Descent& descent);
  void FinishSplit(const Descent& descent, const char* separator, MemtableNode* right);

  const MemtableLeaf* ReadLeaf(const MemtableTarget& target, bool after_equal, uint64_t* version) const;
  static bool LoadSlot(const MemtableLeaf* leaf, uint64_t version, unsigned slot, Position* position);
  static bool LoadFirst(const MemtableLeaf* leaf, Position* position);
  static void GoTo(unsigned slot, unsigned ahead, Position* position);
  static void FindBehind(Position* position);
  bool TryFindLast(Position* position) const;
  bool ReadPath(const MemtableTarget& target, Path* path) const;

  std::atomic<MemtableLeaf*>& RecentLeaf(const MemtableTarget& target) { return recent_[RecentSlot(target)]; }

  rocks::Allocator* const allocator_;
  std::atomic<MemtableNode*> root_;
  // Where each index was inserted into last: what comes in order goes there again. Any leaf will do.
  std::array<std::atomic<MemtableLeaf*>, 1 << InsertAhead::kRecentBits> recent_{};
};

}  // namespace cairn::store
