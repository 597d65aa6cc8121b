// SPDX-License-Identifier: GPL-2.0-only
// Changes of the nodes of a memtable's tree.
#include "store/memtable_node.h"

#include <bit>
#include <cstring>

#include <immintrin.h>
#include <sched.h>

namespace cairn::store {
namespace {

// How many bytes two keys have in common at their beginning, as far as a node keeps them.
unsigned CommonBytes(const EntryKey& a, const EntryKey& b) {
  unsigned bytes = 0;
  for (; bytes < MemtableTarget::kWordBytes; bytes += 8) {
    const uint64_t difference = a.WordAt(bytes) ^ b.WordAt(bytes);
    if (difference != 0) {
      bytes += static_cast<unsigned>(std::countl_zero(difference)) / 8;
      break;
    }
  }
  return static_cast<unsigned>(std::min<size_t>({bytes, a.size, b.size}));
}

void SetPrefix(MemtableNode* node, const EntryKey& key, unsigned bytes) {
  for (size_t i = 0; i < MemtableTarget::kWordCount; ++i) node->prefix[i].Set(key.WordAt(8 * i));
  node->prefix_bytes.Set(static_cast<uint8_t>(bytes));
}

// Makes `bytes` the length of the beginning that all keys share.
template <typename Node>
void Rebuild(Node* node, unsigned bytes) {
  const unsigned count = node->count.Get();
  for (unsigned i = 0; i < count; ++i) __builtin_prefetch(node->entries[i].Get());
  SetPrefix(node, EntryKey::Of(node->entries[0].Get()), bytes);
  for (unsigned i = 0; i < count; ++i) {
    node->heads[i].Set(Node::HeadOf(EntryKey::Of(node->entries[i].Get()), bytes));
  }
}

// After a split the keys that are left may share more.
template <typename Node>
void LengthenPrefix(Node* node) {
  const unsigned count = node->count.Get();
  if (count == 0) return;
  const unsigned bytes =
      CommonBytes(EntryKey::Of(node->entries[0].Get()), EntryKey::Of(node->entries[count - 1].Get()));
  if (bytes > node->prefix_bytes.Get()) Rebuild(node, bytes);
}

template <typename Node>
void InsertInto(Node* node, unsigned slot, const EntryKey& key, const char* entry) {
  const unsigned count = node->count.Get();
  if (count == 0) {
    SetPrefix(node, key, static_cast<unsigned>(std::min(key.size, MemtableTarget::kWordBytes)));
  } else {
    // The first key stands for all: they share what counts.
    unsigned shared = node->prefix_bytes.Get();
    unsigned common = 0;
    for (unsigned word = 0; common < shared; ++word, common += 8) {
      const uint64_t difference = key.WordAt(common) ^ node->prefix[word].Get();
      if (difference == 0) continue;
      common += static_cast<unsigned>(std::countl_zero(difference)) / 8;
      break;
    }
    common = static_cast<unsigned>(std::min<size_t>(common, key.size));
    if (common < shared) Rebuild(node, common);
  }
  for (unsigned i = count; i > slot; --i) node->heads[i].Set(node->heads[i - 1].Get());
  for (unsigned i = count; i > slot; --i) node->entries[i].Set(node->entries[i - 1].Get());
  node->heads[slot].Set(Node::HeadOf(key, node->prefix_bytes.Get()));
  node->entries[slot].Set(entry);
}

// Copies the slots from `first` on to the empty `right` and shortens `node` to `kept` slots.
template <typename Node>
void MoveSlots(Node* node, unsigned kept, unsigned first, Node* right) {
  const unsigned count = node->count.Get();
  for (unsigned i = first; i < count; ++i) {
    right->heads[i - first].Set(node->heads[i].Get());
    right->entries[i - first].Set(node->entries[i].Get());
  }
  for (size_t i = 0; i < MemtableTarget::kWordCount; ++i) right->prefix[i].Set(node->prefix[i].Get());
  right->prefix_bytes.Set(node->prefix_bytes.Get());
  right->count.Set(static_cast<uint16_t>(count - first));
  node->count.Set(static_cast<uint16_t>(kept));
  LengthenPrefix(node);
  LengthenPrefix(right);
}

// Whether the entry of `key`, in `slot`, is a version of the key of its neighbour. Most have other heads, and need no look at the
// entry. What all keys of the leaf share, and the heads, need not be compared.
bool IsVersionOf(const MemtableLeaf& leaf, unsigned slot, const EntryKey& key, unsigned neighbour) {
  if (leaf.heads[slot].Get() != leaf.heads[neighbour].Get()) return false;
  const EntryKey other = EntryKey::Of(leaf.entries[neighbour].Get());
  if (key.size != other.size) return false;
  const size_t known = std::min(leaf.prefix_bytes.Get() + sizeof(MemtableLeaf::Head), key.size);
  return std::memcmp(key.data + known, other.data + known, key.size - known) == 0;
}

// After the entry of `key` has come into `slot`; `count` are there now.
void NoteVersions(MemtableLeaf* leaf, unsigned slot, const EntryKey& key, unsigned count) {
  const uint64_t bit = uint64_t{1} << slot, before = leaf->older.Get();
  const uint64_t moved = (before & (bit - 1)) | (before & ~(bit - 1)) << 1;
  if ((before & bit) != 0) return leaf->older.Set(moved | bit);  // between two versions of one key
  // What is now behind it was no version of what is before it: so the new entry is of at most one of these keys.
  const bool is_newer = slot + 1 < count && IsVersionOf(*leaf, slot, key, slot + 1);
  const bool is_older = !is_newer && slot != 0 && IsVersionOf(*leaf, slot, key, slot - 1);
  leaf->older.Set(moved | (is_newer ? bit << 1 : is_older ? bit : 0));
}

}  // namespace

uint64_t VersionLock::WaitAndRead() const {
  constexpr unsigned kSpins = 64;  // then the writer may be off its core
  for (unsigned spins = 0;; ++spins) {
    const uint64_t seen = word_.load(std::memory_order_acquire);
    if ((seen & 1) == 0) return seen;
    if (spins < kSpins) {
      _mm_pause();
    } else {
      sched_yield();
    }
  }
}

void InsertEntry(MemtableLeaf* leaf, unsigned slot, const MemtableTarget& target, const char* entry) {
  const unsigned count = leaf->count.Get() + 1u;
  InsertInto(leaf, slot, target.key, entry);
  NoteVersions(leaf, slot, target.key, count);
  leaf->last_slot.Set(static_cast<uint16_t>(slot));
  leaf->count.Set(static_cast<uint16_t>(count));
}

void InsertSeparator(MemtableInner* inner, const char* separator, MemtableNode* right) {
  const MemtableTarget target(EntryKey::Of(separator));
  const unsigned count = inner->count.Get();
  const unsigned slot = FindSlot<true>(*inner, target).slot;
  InsertInto(inner, slot, target.key, separator);
  for (unsigned i = count; i > slot; --i) inner->children[i + 1].Set(inner->children[i].Get());
  inner->children[slot + 1].Set(right);
  inner->count.Set(static_cast<uint16_t>(count + 1));
}

void MoveUpperPart(MemtableLeaf* leaf, unsigned at, const char* separator, MemtableLeaf* right) {
  MoveSlots(leaf, at, at, right);
  if (at != MemtableLeaf::kSlots) {  // else all stay, as the new entry goes behind them
    const uint64_t older = leaf->older.Get();
    leaf->older.Set(older & ((uint64_t{1} << at) - 1));
    right->older.Set(older >> at & ~uint64_t{1});
  }
  right->upper.Set(leaf->upper.Get());
  right->next.Set(leaf->next.Get());
  leaf->next.Set(right);
  leaf->upper.Set(separator);
}

const char* MoveUpperPart(MemtableInner* inner, unsigned at, MemtableInner* right) {
  const unsigned count = inner->count.Get();
  const char* separator = inner->entries[at].Get();
  for (unsigned i = at + 1; i <= count; ++i) right->children[i - at - 1].Set(inner->children[i].Get());
  MoveSlots(inner, at, at + 1, right);
  return separator;
}

}  // namespace cairn::store
