// SPDX-License-Identifier: GPL-2.0-only
// Inserts into a memtable's tree.
#include "store/memtable_tree.h"

#include <new>

#include "memory/allocator.h"

namespace cairn::store {

namespace {

// All the lines that are looked at, at once instead of one after the other.
void FetchLines(const MemtableNode* node, size_t bytes) {
  constexpr size_t kLineBytes = 64;
  for (size_t at = 0; at < bytes; at += kLineBytes) __builtin_prefetch(reinterpret_cast<const char*>(node) + at);
}

}  // namespace

template <typename Node, typename... Args>
Node* MemtableTree::NewNode(Args... args) {
  return new (allocator_->AllocateAligned(sizeof(Node))) Node(args...);
}

MemtableTree::MemtableTree(rocks::Allocator* allocator) : allocator_(allocator), root_(nullptr) {
  root_.store(NewNode<MemtableLeaf>(), std::memory_order_release);
}

bool MemtableTree::ReadRoot(Descent* descent) const {
  descent->parent = nullptr;
  descent->node = root_.load(std::memory_order_acquire);
  descent->version = descent->node->lock.Read();
  return root_.load(std::memory_order_acquire) == descent->node;
}

bool MemtableTree::StepDown(Descent* descent, unsigned slot) {
  auto* inner = static_cast<MemtableInner*>(descent->node);
  MemtableNode* child = inner->children[slot].Get();
  FetchLines(child, inner->level == 1 ? MemtableLeaf::kSearchedBytes : MemtableInner::kSearchedBytes);
  const uint64_t version = child->lock.Read();
  if (!inner->lock.Holds(descent->version)) return false;
  *descent = {.parent = inner, .parent_version = descent->version, .node = child, .version = version};
  return true;
}

bool MemtableTree::Insert(const char* entry, InsertAhead* ahead) {
  const MemtableTarget target(EntryKey::Of(entry));
  Outcome outcome = Outcome::kElsewhere;
  if (MemtableLeaf* leaf = ahead == nullptr ? nullptr : ahead->Next(*this)) outcome = InsertInto(leaf, target, entry);
  if (outcome == Outcome::kElsewhere) {
    MemtableLeaf* const leaf = RecentLeaf(target).load(std::memory_order_acquire);
    if (leaf != nullptr) outcome = InsertInto(leaf, target, entry);
    if (outcome == Outcome::kElsewhere && ahead != nullptr) ahead->NoteScattered(RecentSlot(target));
  }
  while (outcome == Outcome::kElsewhere) outcome = InsertFromRoot(target, entry);
  return outcome == Outcome::kDone;
}

// Inserts if `leaf` is the place: if there are entries before and behind.
MemtableTree::Outcome MemtableTree::InsertInto(MemtableLeaf* leaf, const MemtableTarget& target, const char* entry) {
  const uint64_t version = leaf->lock.Read();
  const SlotFound found = FindSlot<false>(*leaf, target);
  if (found.slot == 0 || found.count == MemtableLeaf::kSlots || found.equal) return Outcome::kElsewhere;
  if (found.slot == found.count) {
    const char* upper = leaf->upper.Get();
    if (upper != nullptr && CompareToEntry(target, upper) >= 0) return Outcome::kElsewhere;
  }
  if (!leaf->lock.Upgrade(version)) return Outcome::kElsewhere;
  InsertEntry(leaf, found.slot, target, entry);
  leaf->lock.Unlock();
  return Outcome::kDone;
}

MemtableTree::Outcome MemtableTree::InsertFromRoot(const MemtableTarget& target, const char* entry) {
  Descent descent;
  if (!ReadRoot(&descent)) return Outcome::kElsewhere;
  while (descent.node->level != 0) {
    const auto& inner = static_cast<const MemtableInner&>(*descent.node);
    const SlotFound found = FindSlot<true>(inner, target);
    if (found.count == MemtableInner::kSlots) {  // so a node that is split finds room above
      SplitInner(descent);
      return Outcome::kElsewhere;
    }
    if (!StepDown(&descent, found.slot)) return Outcome::kElsewhere;
  }
  auto* leaf = static_cast<MemtableLeaf*>(descent.node);
  const SlotFound found = FindSlot<false>(*leaf, target);
  if (found.equal) return leaf->lock.Holds(descent.version) ? Outcome::kDuplicate : Outcome::kElsewhere;
  if (found.count == MemtableLeaf::kSlots) return InsertAndSplit(descent, found, target, entry);
  if (!leaf->lock.Upgrade(descent.version)) return Outcome::kElsewhere;
  InsertEntry(leaf, found.slot, target, entry);
  leaf->lock.Unlock();
  RecentLeaf(target).store(leaf, std::memory_order_release);
  return Outcome::kDone;
}

MemtableLeaf* MemtableTree::FetchLeaf(const MemtableTarget& target) const {
  Descent descent;
  if (!ReadRoot(&descent) || descent.node->level == 0) return nullptr;
  for (;;) {
    const auto& inner = static_cast<const MemtableInner&>(*descent.node);
    const SlotFound found = FindSlot<true>(inner, target);
    if (inner.level != 1) {
      if (!StepDown(&descent, found.slot)) return nullptr;
      continue;
    }
    MemtableNode* const leaf = inner.children[found.slot].Get();
    FetchLines(leaf, sizeof(MemtableLeaf));
    return inner.lock.Holds(descent.version) ? static_cast<MemtableLeaf*>(leaf) : nullptr;
  }
}

bool MemtableTree::LockForSplit(const Descent& descent) {
  if (descent.parent != nullptr && !descent.parent->lock.Upgrade(descent.parent_version)) return false;
  if (descent.node->lock.Upgrade(descent.version)) return true;
  if (descent.parent != nullptr) descent.parent->lock.Unlock();
  return false;
}

void MemtableTree::FinishSplit(const Descent& descent, const char* separator, MemtableNode* right) {
  MemtableInner* parent = descent.parent;
  if (parent == nullptr) {  // the node is the root: it has not changed since it was seen to be
    auto* root = NewNode<MemtableInner>(static_cast<uint8_t>(descent.node->level + 1));
    root->children[0].Set(descent.node);
    InsertSeparator(root, separator, right);
    root_.store(root, std::memory_order_release);
  } else {
    InsertSeparator(parent, separator, right);
    parent->lock.Unlock();
  }
  descent.node->lock.Unlock();
}

// Entries that come in order fill their leaves: when this one follows the latest, the leaf is split where it
// belongs, so that the next ones find room behind it. Others get two halves.
MemtableTree::Outcome MemtableTree::InsertAndSplit(const Descent& descent, const SlotFound& found,
                                                   const MemtableTarget& target, const char* entry) {
  if (!LockForSplit(descent)) return Outcome::kElsewhere;
  auto* leaf = static_cast<MemtableLeaf*>(descent.node);
  auto* right = NewNode<MemtableLeaf>();
  const bool in_order = found.slot == leaf->last_slot.Get() + 1u;
  const unsigned at = in_order ? found.slot : MemtableLeaf::kSlots / 2;
  const char* separator = at == found.count ? entry : leaf->entries[at].Get();
  MoveUpperPart(leaf, at, separator, right);
  MemtableLeaf* home = found.slot < at || (found.slot == at && at != found.count) ? leaf : right;
  InsertEntry(home, home == leaf ? found.slot : found.slot - at, target, entry);
  FinishSplit(descent, separator, right);
  RecentLeaf(target).store(home, std::memory_order_release);
  return Outcome::kDone;
}

void MemtableTree::SplitInner(const Descent& descent) {
  if (!LockForSplit(descent)) return;
  auto* inner = static_cast<MemtableInner*>(descent.node);
  auto* right = NewNode<MemtableInner>(inner->level);
  const char* separator = MoveUpperPart(inner, MemtableInner::kSlots / 2, right);
  FinishSplit(descent, separator, right);
}

}  // namespace cairn::store
