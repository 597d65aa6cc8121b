// SPDX-License-Identifier: GPL-2.0-only
// The keys that a few sources have at the begin of a range, and how many rows they make together.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/bytes.h"

namespace cairn::store {

// Lists of keys, each in order, with all versions that a source has; from the newest source to the oldest. What the newest
// version of a key is decides whether there is a row.
//
// Takes no memory but its own, some kilobytes: made to be a local variable. Thread rule: one thread at a time.
class KeyLists final {
 public:
  static constexpr size_t kKeysMax = 128;
  static constexpr size_t kListsMax = 16;

  struct Rows {
    uint64_t entries = 0;  // that were looked at: all of the lists up to some key
    uint64_t rows = 0;     // that these make
    bool all = false;      // these are all entries that the sources have
  };

  KeyLists() = default;
  KeyLists(const KeyLists&) = delete;
  KeyLists& operator=(const KeyLists&) = delete;

  // Begins the next older source's list, of at most `keys_max` keys. `has_versions`: of one key it may have some.
  // False: there are too many lists.
  [[nodiscard]] bool Begin(size_t keys_max, bool has_versions) {
    if (list_count_ == kListsMax) return false;
    end_max_ = key_count_ + (keys_max < kKeysMax - key_count_ ? keys_max : kKeysMax - key_count_);
    begins_[list_count_++] = key_count_;
    begins_[list_count_] = key_count_;
    cut_[list_count_ - 1] = false;
    has_versions_[list_count_ - 1] = has_versions;
    return true;
  }
  // Adds to the list begun last, behind its last key or at it: then it is an older version. False: there is no room, and
  // the list ends here. `key` must outlive this.
  [[nodiscard]] bool Add(ByteView key, bool is_value) {
    if (key_count_ >= end_max_) return Cut();
    keys_[key_count_++] = {key.data(), static_cast<uint32_t>(key.size()), is_value};
    begins_[list_count_] = key_count_;
    return true;
  }
  // Memory for a key that has to be put together, which Add() then takes; so many bytes behind it may be read and written, too.
  // Null: there is no room, and the list ends here.
  static constexpr size_t kBehindKey = 16;
  char* Allocate(size_t bytes) {
    if (bytes > kCopiedMax - copied_bytes_) {
      Cut();
      return nullptr;
    }
    char* const key = copies_ + copied_bytes_;
    copied_bytes_ += bytes;
    return key;
  }
  // The source has more than the list begun last.
  bool Cut() {
    cut_[list_count_ - 1] = true;
    return false;
  }
  bool is_cut() const { return cut_[list_count_ - 1]; }  // the list begun last

  // Up to the first key behind which a list may lack something. No entries at all where that would not speak for the others:
  // a list was cut before its first key, or at one that has many versions.
  Rows Count() const;

 private:
  static constexpr size_t kCopiedMax = 5120;

  struct Key {
    ByteView view() const { return {data, size}; }

    const char* data;
    uint32_t size;
    bool is_value;
  };

  // Calls of string_view's comparison would be most of a merge.
  static bool AreEqual(const Key& one, const Key& other) {
    return one.size == other.size && std::memcmp(one.data, other.data, one.size) == 0;
  }
  static int Compare(const Key& one, const Key& other) {
    const int order = std::memcmp(one.data, other.data, one.size < other.size ? one.size : other.size);
    return order != 0 || one.size == other.size ? order : one.size < other.size ? -1 : 1;
  }

  size_t key_count_ = 0;
  size_t end_max_ = 0;  // of the list begun last
  size_t list_count_ = 0;
  size_t copied_bytes_ = 0;
  std::array<size_t, kListsMax + 1> begins_;  // of list i, and where the one before ends
  std::array<bool, kListsMax> cut_;
  std::array<bool, kListsMax> has_versions_;
  std::array<Key, kKeysMax> keys_;
  char copies_[kCopiedMax + kBehindKey];
};

}  // namespace cairn::store
