// SPDX-License-Identifier: GPL-2.0-only
// A skip list over the keys of a batch.
#include "store/change_index.h"

#include <algorithm>
#include <cassert>
#include <new>

#include "base/endian.h"

namespace cairn::store {
namespace {

constexpr size_t kFirstBlockBytes = size_t{16} << 10;
constexpr size_t kBlockBytesMax = size_t{256} << 10;
constexpr size_t kBlockDoublingsMax = 16;  // more than it takes, and never so many that bits are lost

}  // namespace

// A change that has been followed by another of the same key.
struct ChangeIndex::Older {
  uint64_t key_offset;
  bool is_put;
  Older* older;
};

struct ChangeIndex::Sorted {
  Prefix prefix;
  Place place;
};

class ChangeIndex::Node {
 public:
  Prefix prefix;
  uint64_t key_offset;
  uint32_t key_bytes;
  bool is_put;
  uint8_t height;
  Older* older;
  Node* previous;

  // So many as it is high, behind it in memory.
  Node** next() { return reinterpret_cast<Node**>(this + 1); }
  Node* const* next() const { return reinterpret_cast<Node* const*>(this + 1); }
};

ChangeIndex::ChangeIndex()
    : head_memory_(std::make_unique<std::byte[]>(sizeof(Node) + kHeightMax * sizeof(Node*))) {
  head_ = new (head_memory_.get()) Node{};
  Clear(nullptr);
}

ChangeIndex::~ChangeIndex() = default;

void ChangeIndex::Clear(const std::string* bytes) {
  bytes_ = bytes;
  height_ = 1;
  ++version_;
  std::fill_n(head_->next(), kHeightMax, nullptr);
  ends_.fill(head_);
  if (blocks_.size() > 1) blocks_.resize(1);
  free_begin_ = blocks_.empty() ? nullptr : blocks_[0].get();
  free_end_ = blocks_.empty() ? nullptr : free_begin_ + kFirstBlockBytes;
}

void* ChangeIndex::Allocate(size_t bytes) {
  if (static_cast<size_t>(free_end_ - free_begin_) < bytes) {
    const size_t doublings = std::min<size_t>(blocks_.size(), kBlockDoublingsMax);
    const size_t block_bytes = std::min(kFirstBlockBytes << doublings, kBlockBytesMax);
    blocks_.push_back(std::make_unique_for_overwrite<std::byte[]>(blocks_.empty() ? kFirstBlockBytes : block_bytes));
    free_begin_ = blocks_.back().get();
    free_end_ = free_begin_ + (blocks_.size() == 1 ? kFirstBlockBytes : block_bytes);
  }
  void* at = free_begin_;
  free_begin_ += bytes;
  return at;
}

inline ByteView ChangeIndex::ViewOf(const Place& place) const {
  return ByteView(bytes_->data() + place.key_offset, place.key_bytes);
}

ByteView ChangeIndex::KeyOf(const Node* node) const {
  return ByteView(bytes_->data() + node->key_offset, node->key_bytes);
}

bool ChangeIndex::IsPut(const Node* node) const { return node->is_put; }

// Where the length before it begins.
ByteView ChangeIndex::ValueAt(const char* at) const {
  uint64_t value_bytes = 0;
  for (unsigned shift = 0;; shift += 7) {
    const auto byte = static_cast<uint8_t>(*at++);
    value_bytes |= static_cast<uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) break;
  }
  return ByteView(at, value_bytes);
}

ByteView ChangeIndex::ValueOf(const Node* node) const {
  return ValueAt(bytes_->data() + node->key_offset + node->key_bytes);
}

bool ChangeIndex::FindNewestPut(const Node* node, ByteView* value) const {
  uint64_t key_offset = node->key_offset;
  if (!node->is_put) {
    const Older* older = node->older;
    while (older != nullptr && !older->is_put) older = older->older;
    if (older == nullptr) return false;
    key_offset = older->key_offset;
  }
  *value = ValueAt(bytes_->data() + key_offset + node->key_bytes);
  return true;
}

inline ChangeIndex::Prefix ChangeIndex::PrefixOf(ByteView key) {
  if (key.size() >= 16) return {LoadBe64(key.data()), LoadBe64(key.data() + 8)};
  char padded[16] = {};
  std::copy(key.begin(), key.end(), padded);
  return {LoadBe64(padded), LoadBe64(padded + 8)};
}

inline bool ChangeIndex::IsBefore(const Node* node, const Prefix& prefix, ByteView key) const {
  if (node->prefix.high != prefix.high) return node->prefix.high < prefix.high;
  if (node->prefix.low != prefix.low) return node->prefix.low < prefix.low;
  return KeyOf(node) < key;
}

inline bool ChangeIndex::IsAt(const Node* node, const Prefix& prefix, ByteView key) const {
  return node->prefix.high == prefix.high && node->prefix.low == prefix.low && KeyOf(node) == key;
}

// The first node at or behind the key. `path`, if not null, gets of each level the last node before it.
inline ChangeIndex::Node* ChangeIndex::FindFrom(const Prefix& prefix, ByteView key, Node** path) const {
  Node* at = head_;
  Node* behind = nullptr;  // known not to be before the key
  for (unsigned level = height_; level-- > 0;) {
    for (Node* next; (next = at->next()[level]) != behind && next != nullptr && IsBefore(next, prefix, key);) at = next;
    behind = at->next()[level];
    if (path != nullptr) path[level] = at;
  }
  return behind;
}

// One in four nodes reaches each next level.
inline unsigned ChangeIndex::DrawHeight() {
  random_ ^= random_ << 13;
  random_ ^= random_ >> 7;
  random_ ^= random_ << 17;
  const auto zeros = static_cast<unsigned>(__builtin_ctzll(random_ | uint64_t{1} << 62));
  return std::min(1 + zeros / 2, kHeightMax);
}

void ChangeIndex::Add(const Place& place) {
  ++version_;
  const ByteView key = ViewOf(place);
  const Prefix prefix = PrefixOf(key);
  Node* path[kHeightMax];
  // Keys that come in order are the usual case of large changes.
  const bool at_end = ends_[0] != head_ && IsBefore(ends_[0], prefix, key);
  if (at_end) {
    std::copy(ends_.begin(), ends_.end(), path);
  } else if (Node* found = FindFrom(prefix, key, path); found != nullptr && IsAt(found, prefix, key)) {
    found->older = new (Allocate(sizeof(Older))) Older{found->key_offset, found->is_put, found->older};
    found->key_offset = place.key_offset;
    found->is_put = place.is_put;
    return;
  }
  const unsigned height = DrawHeight();
  for (; height_ < height; ++height_) path[height_] = head_;
  void* memory = Allocate(sizeof(Node) + height * sizeof(Node*));
  Node* node = new (memory) Node{.prefix = prefix,
                                 .key_offset = place.key_offset,
                                 .key_bytes = place.key_bytes,
                                 .is_put = place.is_put,
                                 .height = static_cast<uint8_t>(height),
                                 .older = nullptr,
                                 .previous = path[0]};
  for (unsigned level = 0; level < height; ++level) {
    Node* next = path[level]->next()[level];
    node->next()[level] = next;
    path[level]->next()[level] = node;
    if (next == nullptr) ends_[level] = node;
  }
  if (Node* next = node->next()[0]; next != nullptr) next->previous = node;
}

bool ChangeIndex::AddAll(const std::vector<Place>& places, const std::function<bool()>& stops) {
  std::vector<Sorted> sorted;
  sorted.reserve(places.size());
  for (const Place& place : places) sorted.push_back({PrefixOf(ViewOf(place)), place});
  return AddSorted(sorted.data(), sorted.data() + sorted.size(), stops);
}

// In order, so that each goes to the end. A sort cannot be stopped, so for who may have to, they are only halved until they are few: that
// takes somewhat longer.
bool ChangeIndex::AddSorted(Sorted* begin, Sorted* end, const std::function<bool()>& stops) {
  const auto is_before = [this](const Sorted& a, const Sorted& b) {
    if (a.prefix.high != b.prefix.high) return a.prefix.high < b.prefix.high;
    if (a.prefix.low != b.prefix.low) return a.prefix.low < b.prefix.low;
    const int order = ViewOf(a.place).compare(ViewOf(b.place));
    return order != 0 ? order < 0 : a.place.key_offset < b.place.key_offset;
  };
  if (stops && stops()) return false;
  if (const size_t count = static_cast<size_t>(end - begin); stops && count > kSortedAtOnceMax) {
    Sorted* middle = begin + count / 2;
    std::nth_element(begin, middle, end, is_before);
    return AddSorted(begin, middle, stops) && AddSorted(middle, end, stops);
  }
  std::sort(begin, end, is_before);
  for (const Sorted* one = begin; one != end; ++one) Add(one->place);
  return true;
}

void ChangeIndex::Unlink(Node* node, Node** path) {
  for (unsigned level = 0; level < node->height; ++level) {
    Node* next = node->next()[level];
    path[level]->next()[level] = next;
    if (next == nullptr) ends_[level] = path[level];
  }
  if (Node* next = node->next()[0]; next != nullptr) next->previous = node->previous;
}

void ChangeIndex::Undo(ByteView key, uint64_t bytes_begin) {
  ++version_;
  const Prefix prefix = PrefixOf(key);
  Node* path[kHeightMax];
  Node* node = FindFrom(prefix, key, path);
  if (node == nullptr || !IsAt(node, prefix, key)) return;
  while (node->key_offset >= bytes_begin) {
    if (node->older == nullptr) return Unlink(node, path);
    node->key_offset = node->older->key_offset;
    node->is_put = node->older->is_put;
    node->older = node->older->older;
  }
}

const ChangeIndex::Node* ChangeIndex::Find(ByteView key) const {
  const Prefix prefix = PrefixOf(key);
  const Node* node = FindFrom(prefix, key, nullptr);
  return node != nullptr && IsAt(node, prefix, key) ? node : nullptr;
}

const ChangeIndex::Node* ChangeIndex::FirstFrom(ByteView key) const { return FindFrom(PrefixOf(key), key, nullptr); }

const ChangeIndex::Node* ChangeIndex::FirstAfter(ByteView key) const {
  const Node* node = FirstFrom(key);
  return node != nullptr && KeyOf(node) == key ? Next(node) : node;
}

const ChangeIndex::Node* ChangeIndex::LastUpTo(ByteView key) const {
  const Node* node = FirstFrom(key);
  if (node != nullptr && KeyOf(node) == key) return node;
  return node == nullptr ? Last() : Previous(node);
}

const ChangeIndex::Node* ChangeIndex::LastBefore(ByteView key) const {
  const Node* node = FirstFrom(key);
  return node == nullptr ? Last() : Previous(node);
}

ChangeIndex::Count ChangeIndex::CountBetween(ByteView lower, ByteView upper) const {
  Node* path[kHeightMax];
  FindFrom(PrefixOf(lower), lower, path);
  const Prefix end = PrefixOf(upper);
  for (unsigned level = 0;; ++level) {
    Count count;
    const Node* at = path[level]->next()[level];
    const auto is_within = [&] { return at != nullptr && IsBefore(at, end, upper); };
    for (uint64_t seen = 0; seen < kCountedMax && is_within(); at = at->next()[level], ++seen) {
      // What was put here before it was removed was not there without.
      const bool takes_back = !at->is_put && at->older != nullptr && at->older->is_put;
      if (!takes_back) ++(at->is_put ? count.puts : count.removals);
    }
    // One in four nodes reaches each next level.
    if (level + 1 == height_ || !is_within()) return {count.puts << (2 * level), count.removals << (2 * level)};
  }
}

const ChangeIndex::Node* ChangeIndex::First() const { return head_->next()[0]; }
const ChangeIndex::Node* ChangeIndex::Next(const Node* node) const { return node->next()[0]; }
const ChangeIndex::Node* ChangeIndex::Previous(const Node* node) const {
  return node->previous == head_ ? nullptr : node->previous;
}

}  // namespace cairn::store
