// SPDX-License-Identifier: GPL-2.0-only
// A set of column positions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace cairn::codec {

// Positions in RecordLayout::columns. Thread rule: as for a value type.
class ColumnSet {
 public:
  explicit ColumnSet(size_t column_count) : words_((column_count + 63) / 64), column_count_(column_count) {}

  static ColumnSet All(size_t column_count) {
    ColumnSet set(column_count);
    for (size_t column = 0; column < column_count; ++column) set.Add(column);
    return set;
  }

  size_t column_count() const { return column_count_; }
  void Add(size_t column) { words_[column / 64] |= uint64_t{1} << (column % 64); }
  void Remove(size_t column) { words_[column / 64] &= ~(uint64_t{1} << (column % 64)); }
  // Precondition: both are sets over as many columns.
  void AddAll(const ColumnSet& other) {
    for (size_t word = 0; word < words_.size(); ++word) words_[word] |= other.words_[word];
  }
  void Clear() { words_.assign(words_.size(), 0); }
  bool Has(size_t column) const {
    return column < column_count_ && (words_[column / 64] >> (column % 64) & 1) != 0;
  }
  bool empty() const {
    for (uint64_t word : words_)
      if (word != 0) return false;
    return true;
  }
  size_t count() const {
    size_t count = 0;
    for (uint64_t word : words_) count += static_cast<size_t>(__builtin_popcountll(word));
    return count;
  }
  // Precondition: both are sets over as many columns.
  bool Intersects(const ColumnSet& other) const {
    for (size_t word = 0; word < words_.size(); ++word) {
      if ((words_[word] & other.words_[word]) != 0) return true;
    }
    return false;
  }
  bool operator==(const ColumnSet& other) const = default;

 private:
  std::vector<uint64_t> words_;
  size_t column_count_;
};

}  // namespace cairn::codec
