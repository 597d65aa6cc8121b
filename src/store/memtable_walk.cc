// SPDX-License-Identifier: GPL-2.0-only
// Reads of a memtable's tree: seeks, steps and estimates.
#include <algorithm>
#include <bit>

#include "store/memtable_tree.h"

namespace cairn::store {
namespace {

// Entries lie where they came in: a walk asks for them before it needs them.
constexpr unsigned kPrefetchedAhead = 4;

unsigned CountOf(const MemtableNode* node) { return node->count.Get(); }

double EstimateChildren(const MemtableNode* node, unsigned first, unsigned end);

double EstimateSubtree(const MemtableNode* node) {
  return node->level == 0 ? CountOf(node) : EstimateChildren(node, 0, CountOf(node) + 1);
}

// The entries below the children from `first` on and before `end`, from some of them. Nodes may change meanwhile.
double EstimateChildren(const MemtableNode* node, unsigned first, unsigned end) {
  constexpr unsigned kSamplesMax = 4;
  if (first >= end) return 0;
  const unsigned wanted = end - first;
  const unsigned samples = std::min(wanted, kSamplesMax);
  double sum = 0;
  for (unsigned i = 0; i < samples; ++i) {
    const unsigned slot = std::min(first + i * wanted / samples, CountOf(node));
    sum += EstimateSubtree(static_cast<const MemtableInner*>(node)->children[slot].Get());
  }
  return sum * wanted / samples;
}

}  // namespace

// The leaf where `target` belongs: all before its first entry is less than `target`, or, unless `after_equal`,
// not greater; retries until it has one.
const MemtableLeaf* MemtableTree::ReadLeaf(const MemtableTarget& target, bool after_equal, uint64_t* version) const {
  for (;;) {
    Descent descent;
    if (!ReadRoot(&descent)) continue;
    bool held = true;
    while (held && descent.node->level != 0) {
      const auto& inner = static_cast<const MemtableInner&>(*descent.node);
      const SlotFound found = after_equal ? FindSlot<true>(inner, target) : FindSlot<false>(inner, target);
      held = StepDown(&descent, found.slot);
    }
    if (!held) continue;
    *version = descent.version;
    return static_cast<const MemtableLeaf*>(descent.node);
  }
}

// Takes the position if nothing has changed.
inline bool MemtableTree::LoadSlot(const MemtableLeaf* leaf, uint64_t version, unsigned slot, Position* position) {
  const char* entry = leaf->entries[slot].Get();
  if (!leaf->lock.Holds(version)) return false;
  *position = {.entry = entry, .leaf = leaf, .version = version, .slot = slot};
  return true;
}

// To the first entry of `leaf`, which may be null.
bool MemtableTree::LoadFirst(const MemtableLeaf* leaf, Position* position) {
  if (leaf == nullptr) {
    position->entry = nullptr;
    return true;
  }
  for (unsigned ahead = 0; ahead < kPrefetchedAhead; ++ahead) __builtin_prefetch(leaf->entries[ahead].Get());
  const uint64_t version = leaf->lock.Read();
  return LoadSlot(leaf, version, 0, position);
}

void MemtableTree::FindAtLeast(const MemtableTarget& target, Position* position) const {
  for (;;) {
    uint64_t version;
    const MemtableLeaf* leaf = ReadLeaf(target, /*after_equal=*/true, &version);
    const SlotFound found = FindSlot<false>(*leaf, target);
    if (found.slot < found.count) {
      if (LoadSlot(leaf, version, found.slot, position)) return;
      continue;
    }
    const MemtableLeaf* next = leaf->next.Get();
    if (leaf->lock.Holds(version) && LoadFirst(next, position)) return;
  }
}

void MemtableTree::FindBefore(const MemtableTarget& target, bool or_equal, Position* position) const {
  for (;;) {
    uint64_t version;
    const MemtableLeaf* leaf = ReadLeaf(target, or_equal, &version);
    const SlotFound found = or_equal ? FindSlot<true>(*leaf, target) : FindSlot<false>(*leaf, target);
    if (found.slot != 0) {
      if (LoadSlot(leaf, version, found.slot - 1, position)) return;
    } else if (leaf->lock.Holds(version)) {  // the first leaf: others have the entry that separates them
      position->entry = nullptr;
      return;
    }
  }
}

void MemtableTree::FindFirst(Position* position) const {
  for (;;) {
    Descent descent;
    if (!ReadRoot(&descent)) continue;
    bool held = true;
    while (held && descent.node->level != 0) held = StepDown(&descent, 0);
    if (!held) continue;
    const auto* leaf = static_cast<const MemtableLeaf*>(descent.node);
    if (leaf->count.Get() == 0) {
      position->entry = nullptr;
      if (leaf->lock.Holds(descent.version)) return;
    } else if (LoadFirst(leaf, position)) {
      return;
    }
  }
}

bool MemtableTree::TryFindLast(Position* position) const {
  Descent descent;
  if (!ReadRoot(&descent)) return false;
  while (descent.node->level != 0) {
    if (!StepDown(&descent, descent.node->count.Get())) return false;
  }
  const auto* leaf = static_cast<const MemtableLeaf*>(descent.node);
  const unsigned count = leaf->count.Get();
  if (count != 0) return LoadSlot(leaf, descent.version, count - 1, position);
  position->entry = nullptr;
  return leaf->lock.Holds(descent.version);
}

void MemtableTree::FindLast(Position* position) const {
  while (!TryFindLast(position)) {
  }
}

void MemtableTree::Next(Position* position) const {
  GoTo(position->slot + 1, position->slot + 1 + kPrefetchedAhead, position);
}

void MemtableTree::NextKey(Position* position) const {
  const uint64_t next = position->leaf->KeysBehind(position->slot);
  uint64_t ahead = next;
  for (unsigned i = 0; i < kPrefetchedAhead; ++i) ahead &= ahead - 1;
  GoTo(static_cast<unsigned>(std::countr_zero(next)), static_cast<unsigned>(std::countr_zero(ahead)), position);
}

// To that slot of the leaf, or behind its end; `ahead` is one that will be asked for.
inline void MemtableTree::GoTo(unsigned slot, unsigned ahead, Position* position) {
  const MemtableLeaf* leaf = position->leaf;
  const unsigned count = leaf->count.Get();
  if (slot < count) {
    // An old slot behind the end is of no use, but an entry too.
    __builtin_prefetch(leaf->entries[std::min(ahead, MemtableLeaf::kSlots - 1)].Get());
    if (LoadSlot(leaf, position->version, slot, position)) return;
  } else {
    const MemtableLeaf* next = leaf->next.Get();
    if (leaf->lock.Holds(position->version) && LoadFirst(next, position)) return;
  }
  FindBehind(position);
}

// Next, after the leaf has changed: the entry is in it still, or in one that was split off.
void MemtableTree::FindBehind(Position* position) {
  const MemtableTarget target(EntryKey::Of(position->entry));
  for (const MemtableLeaf* leaf = position->leaf;;) {
    const uint64_t version = leaf->lock.Read();
    const char* upper = leaf->upper.Get();
    const MemtableLeaf* next = leaf->next.Get();
    if (upper != nullptr && CompareToEntry(target, upper) >= 0) {
      if (leaf->lock.Holds(version)) leaf = next;
      continue;
    }
    const SlotFound found = FindSlot<true>(*leaf, target);
    if (found.slot < found.count) {
      if (LoadSlot(leaf, version, found.slot, position)) return;
    } else if (leaf->lock.Holds(version) && LoadFirst(next, position)) {
      return;
    }
  }
}

void MemtableTree::Prev(Position* position) const {
  const unsigned slot = position->slot;
  if (slot != 0) {
    __builtin_prefetch(position->leaf->entries[slot - std::min(slot, kPrefetchedAhead)].Get());
    if (LoadSlot(position->leaf, position->version, slot - 1, position)) return;
  }
  FindBefore(MemtableTarget(EntryKey::Of(position->entry)), /*or_equal=*/false, position);
}

bool MemtableTree::ReadPath(const MemtableTarget& target, Path* path) const {
  Descent descent;
  if (!ReadRoot(&descent)) return false;
  path->levels = descent.node->level;
  for (;;) {
    const unsigned level = descent.node->level;
    path->nodes[level] = descent.node;
    if (level == 0) break;
    path->slots[level] = FindSlot<true>(static_cast<const MemtableInner&>(*descent.node), target).slot;
    if (!StepDown(&descent, path->slots[level])) return false;
  }
  path->slots[0] = FindSlot<false>(static_cast<const MemtableLeaf&>(*descent.node), target).slot;
  return descent.node->lock.Holds(descent.version);
}

uint64_t MemtableTree::EstimateBetween(const MemtableTarget& first, const MemtableTarget& end) const {
  Path from, to;
  while (!ReadPath(first, &from) || !ReadPath(end, &to) || from.levels != to.levels) {
  }
  unsigned fork = from.levels;
  while (fork != 0 && from.slots[fork] == to.slots[fork]) --fork;
  if (from.slots[fork] >= to.slots[fork]) return 0;
  if (fork == 0) return to.slots[0] - from.slots[0];
  // A node may have been split since its slot was read.
  double entries = std::max(static_cast<double>(CountOf(from.nodes[0])) - from.slots[0], 0.0) + to.slots[0];
  for (unsigned level = 1; level < fork; ++level) {
    entries += EstimateChildren(from.nodes[level], from.slots[level] + 1, CountOf(from.nodes[level]) + 1);
    entries += EstimateChildren(to.nodes[level], 0, to.slots[level]);
  }
  entries += EstimateChildren(from.nodes[fork], from.slots[fork] + 1, to.slots[fork]);
  return static_cast<uint64_t>(entries);
}

}  // namespace cairn::store
