// SPDX-License-Identifier: GPL-2.0-only
// The keys of a transaction's changes in order, each with its newest change.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/bytes.h"

namespace cairn::store {

// Keys and values stay where they are: in a string of bytes that the changes are appended to (a batch).
// This holds where in it each change is, and the order of the keys, as memcmp gives it.
//
// A skip list (W. Pugh, "Skip lists: a probabilistic alternative to balanced trees", 1990) with four
// times fewer nodes at each level. A node has the first 16 bytes of its key as two numbers, which decide nearly
// every comparison without a look at the bytes. Nodes do not move, so a position survives additions.
//
// Thread rule: one thread changes it while nobody else uses it; all const methods may be called by many
// threads at once.
class ChangeIndex {
 public:
  // Where a change lies in the bytes: its key, and right behind it, if it puts a value, that value with
  // its length as a varint before it.
  struct Place {
    uint64_t key_offset = 0;
    uint32_t key_bytes = 0;
    bool is_put = false;
  };

  // Between two questions whether to stop.
  static constexpr size_t kSortedAtOnceMax = size_t{1} << 16;

  // A key with its newest change. Lives until its last change is undone, or Clear().
  class Node;

  ChangeIndex();
  ChangeIndex(const ChangeIndex&) = delete;
  ChangeIndex& operator=(const ChangeIndex&) = delete;
  ~ChangeIndex();

  // Forgets all; `bytes` is where the changes lie from now on. It must outlive its use, and may grow and move
  // in memory. Keeps no more memory than a small transaction needs.
  void Clear(const std::string* bytes);

  // Adds a change that was just appended: it is its key's newest.
  void Add(const Place& place);
  // The same for many in the order they were made. Precondition: empty. Asks `stops`, if there is one, now and then; if that says so, it
  // ends with some of them added: false.
  bool AddAll(const std::vector<Place>& places, const std::function<bool()>& stops);

  // Undoes the changes of `key` at `bytes_begin` or behind it. Precondition: the bytes are still there.
  void Undo(ByteView key, uint64_t bytes_begin);

  // Grows with each Add and Undo.
  uint64_t version() const { return version_; }

  // The node of the key; of the first key at or behind it, behind it; of the last at or before it, before
  // it. Null: none.
  const Node* Find(ByteView key) const;
  const Node* FirstFrom(ByteView key) const;
  const Node* FirstAfter(ByteView key) const;
  const Node* LastUpTo(ByteView key) const;
  const Node* LastBefore(ByteView key) const;
  const Node* First() const;
  const Node* Last() const { return ends_[0] == head_ ? nullptr : ends_[0]; }

  const Node* Next(const Node* node) const;
  const Node* Previous(const Node* node) const;

  // How many keys in [lower, upper) the newest change of puts a value, and how many it removes that the change before has not put. Exact up to kCountedMax keys; beyond that by
  // those nodes that reach a higher level, which are drawn at random.
  static constexpr uint64_t kCountedMax = 256;
  struct Count {
    uint64_t puts = 0;
    uint64_t removals = 0;
  };
  Count CountBetween(ByteView lower, ByteView upper) const;

  // Views into the bytes.
  ByteView KeyOf(const Node* node) const;
  bool IsPut(const Node* node) const;
  ByteView ValueOf(const Node* node) const;  // precondition: IsPut()
  // The key's newest change that puts a value, also one that a removal followed: undoing the removal would bring it back.
  // False: there is none.
  bool FindNewestPut(const Node* node, ByteView* value) const;

 private:
  static constexpr unsigned kHeightMax = 12;

  // The first 16 bytes of a key as numbers that compare as they do, with zeros where it is shorter.
  struct Prefix {
    uint64_t high;
    uint64_t low;
  };
  struct Older;
  struct Sorted;

  static Prefix PrefixOf(ByteView key);
  bool IsBefore(const Node* node, const Prefix& prefix, ByteView key) const;
  bool IsAt(const Node* node, const Prefix& prefix, ByteView key) const;
  Node* FindFrom(const Prefix& prefix, ByteView key, Node** path) const;
  ByteView ViewOf(const Place& place) const;
  ByteView ValueAt(const char* at) const;
  unsigned DrawHeight();
  void* Allocate(size_t bytes);
  bool AddSorted(Sorted* begin, Sorted* end, const std::function<bool()>& stops);
  void Unlink(Node* node, Node** path);

  const std::string* bytes_ = nullptr;
  Node* head_;                            // before the first key, with all levels
  std::array<Node*, kHeightMax> ends_;    // the last node of each level
  unsigned height_ = 1;
  uint64_t version_ = 0;
  uint64_t random_ = 0x9e3779b97f4a7c15;
  std::unique_ptr<std::byte[]> head_memory_;
  // Memory of nodes, given back as a whole; the first block is kept.
  std::vector<std::unique_ptr<std::byte[]>> blocks_;
  std::byte* free_begin_ = nullptr;
  std::byte* free_end_ = nullptr;
};

}  // namespace cairn::store
