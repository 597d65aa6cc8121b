// SPDX-License-Identifier: GPL-2.0-only
// Nodes of a memtable's tree: sorted entries, and how one is found among them.
//
// A node keeps, of all its keys, the beginning they share, and of each one the bytes after it as a number (its
// head): most searches compare numbers that lie side by side and touch no entry. Equal heads are told
// apart by the entries. Beginnings only shrink as entries come in, and are found anew when a node is split.
//
// A leaf knows which of its entries are older versions of the key before them, so that a walk passes by them without a look at
// any: each would be a cache miss.
//
// Threads: writers lock a node; readers look at its version before and after and start over when it changed
// (optimistic lock coupling). Whatever they see in between is an entry or node of this tree, so to follow
// it is safe, if perhaps in vain. All loads acquire and all stores release, so that who has seen a change also sees
// the version it was made under.
#pragma once

#include <atomic>
#include <cstdint>

#include "store/memtable_key.h"

namespace cairn::store {

// A field that readers look at while a writer changes it.
template <typename T>
class Shared {
 public:
  T Get() const { return value_.load(std::memory_order_acquire); }
  void Set(T value) { value_.store(value, std::memory_order_release); }

 private:
  std::atomic<T> value_{};
};

// A node's version: odd while a writer has it.
class VersionLock {
 public:
  // The version, once no writer has the node.
  uint64_t Read() const {
    const uint64_t seen = word_.load(std::memory_order_acquire);
    return __builtin_expect((seen & 1) == 0, true) ? seen : WaitAndRead();
  }

  // Whether what was read since `seen` is what the node had then.
  bool Holds(uint64_t seen) const { return word_.load(std::memory_order_relaxed) == seen; }

  // Locks the node, unless it has changed since `seen`.
  bool Upgrade(uint64_t seen) {
    return word_.compare_exchange_strong(seen, seen + 1, std::memory_order_acq_rel, std::memory_order_relaxed);
  }

  void Unlock() { word_.store(word_.load(std::memory_order_relaxed) + 1, std::memory_order_release); }

 private:
  uint64_t WaitAndRead() const;

  std::atomic<uint64_t> word_{0};
};

struct MemtableNode {
  explicit MemtableNode(uint8_t of_level) : level(of_level) {}

  // The order of `target` against all keys that share this node's beginning; 0: it shares it too.
  int ComparePrefix(const MemtableTarget& target, unsigned bytes) const {
    unsigned word = 0;
    for (; bytes >= 8; bytes -= 8, ++word) {
      const uint64_t mine = prefix[word].Get();
      if (target.words[word] != mine) return target.words[word] < mine ? -1 : 1;
    }
    if (bytes != 0) {
      const unsigned dropped_bits = 64 - 8 * bytes;
      const uint64_t mine = prefix[word].Get() >> dropped_bits;
      const uint64_t wanted = target.words[word] >> dropped_bits;
      if (wanted != mine) return wanted < mine ? -1 : 1;
    }
    return target.key.size < 8 * word + bytes ? -1 : 0;
  }

  VersionLock lock;
  const uint8_t level;  // 0: a leaf
  Shared<uint8_t> prefix_bytes;
  Shared<uint16_t> count;
  Shared<uint16_t> last_slot;  // of the latest insert
  Shared<uint64_t> prefix[MemtableTarget::kWordCount];
};

struct MemtableLeaf : MemtableNode {
  static constexpr unsigned kSlots = 64;
  using Head = uint32_t;

  static constexpr size_t kSearchedBytes =
      sizeof(MemtableNode) + 2 * sizeof(void*) + sizeof(uint64_t) + kSlots * sizeof(Head);

  MemtableLeaf() : MemtableNode(0) {}
  static Head HeadOf(const EntryKey& key, size_t offset) { return static_cast<Head>(key.WordAt(offset) >> 32); }

  // The slots behind `slot` that are not known to have an older version of the key before them, as bits.
  uint64_t KeysBehind(unsigned slot) const { return ~older.Get() & ~uint64_t{1} << slot; }

  // All keys are less than the one of `upper`, which is in `next`; null in the last leaf.
  Shared<const char*> upper;
  Shared<MemtableLeaf*> next;
  // A bit for each slot: its entry is an older version of the one in the slot before it. Of the first slot that is not known.
  Shared<uint64_t> older;
  static_assert(kSlots == 64);
  Shared<Head> heads[kSlots];
  Shared<const char*> entries[kSlots];
};

struct MemtableInner : MemtableNode {
  static constexpr unsigned kSlots = 64;
  using Head = uint64_t;

  static constexpr size_t kSearchedBytes = sizeof(MemtableNode) + kSlots * sizeof(Head);

  explicit MemtableInner(uint8_t of_level) : MemtableNode(of_level) {}
  static Head HeadOf(const EntryKey& key, size_t offset) { return key.WordAt(offset); }

  // Below children[i] is what is less than entries[i], to the right of it what is not.
  Shared<Head> heads[kSlots];
  Shared<const char*> entries[kSlots];
  Shared<MemtableNode*> children[kSlots + 1];
};

struct SlotFound {
  unsigned slot;
  unsigned count;  // of the node
  bool equal;      // the slot has the very key and sequence number
};

// The first of the slots from `slot` on, all with entries whose heads are not less than `head`, that is not before
// `target` (kAfterEqual: the first that is behind it).
template <bool kAfterEqual, typename Node>
SlotFound FindAmongEqualHeads(const Node& node, const MemtableTarget& target, typename Node::Head head, size_t prefix,
                              SlotFound found) {
  unsigned end = found.count;
  unsigned probe = found.slot;  // mostly this is it
  while (found.slot < end) {
    const int order =
        node.heads[probe].Get() != head ? -1 : CompareToEntry(target, node.entries[probe].Get(), prefix);
    if (!kAfterEqual && order == 0) return {probe, found.count, true};
    if (order < 0) {
      end = probe;
    } else {
      found.slot = probe + 1;
    }
    probe = (found.slot + end) / 2;
  }
  return found;
}

// The first slot whose entry is not before `target` (kAfterEqual: is behind it).
template <bool kAfterEqual, typename Node>
inline SlotFound FindSlot(const Node& node, const MemtableTarget& target) {
  const unsigned count = node.count.Get();
  const size_t prefix = node.prefix_bytes.Get();
  if (const int order = node.ComparePrefix(target, prefix)) return {order < 0 ? 0 : count, count, false};
  const typename Node::Head head = Node::HeadOf(target.key, prefix);
  unsigned slot = 0;
  for (unsigned left = count; left != 0;) {  // without branches that depend on keys
    const unsigned half = (left + 1) / 2;
    slot += node.heads[slot + half - 1].Get() < head ? half : 0;
    left -= half;
  }
  const SlotFound found{slot, count, false};
  if (slot == count || node.heads[slot].Get() != head) return found;
  return FindAmongEqualHeads<kAfterEqual>(node, target, head, prefix, found);
}

// All of the following change a node: the caller has it locked, or nobody else knows it.

// Makes room at `slot`, so that all that is there moves to the right. Precondition: the node is not full.
void InsertEntry(MemtableLeaf* leaf, unsigned slot, const MemtableTarget& target, const char* entry);
// Also puts `right` right of the new separator.
void InsertSeparator(MemtableInner* inner, const char* separator, MemtableNode* right);

// Moves the slots from `at` on into the empty `right`, which becomes the leaf's neighbour; at least one stays.
// `separator` is right's first entry, or the one that will be.
void MoveUpperPart(MemtableLeaf* leaf, unsigned at, const char* separator, MemtableLeaf* right);
// Moves the separators behind `at` into the empty `right`; the one of `at` is returned, and in neither.
const char* MoveUpperPart(MemtableInner* inner, unsigned at, MemtableInner* right);

}  // namespace cairn::store
