// SPDX-License-Identifier: GPL-2.0-only
// A set of column positions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace cairn::codec {

// Positions in RecordLayout::columns. Those of all but wide tables take no memory of their own, as one is made for each row that is
// updated. Thread rule: as for a value type.
class ColumnSet {
 public:
  explicit ColumnSet(size_t column_count)
      : rest_(column_count > kWordBits ? (column_count - 1) / kWordBits : 0), column_count_(column_count) {}

  static ColumnSet All(size_t column_count) {
    ColumnSet set(column_count);
    set.first_ = LowBits(column_count);
    for (size_t at = 0; at < set.rest_.size(); ++at) set.rest_[at] = LowBits(column_count - (at + 1) * kWordBits);
    return set;
  }

  size_t column_count() const { return column_count_; }
  void Add(size_t column) { WordOf(column) |= BitOf(column); }
  void Remove(size_t column) { WordOf(column) &= ~BitOf(column); }
  // Precondition: both are sets over as many columns.
  void AddAll(const ColumnSet& other) {
    first_ |= other.first_;
    for (size_t at = 0; at < rest_.size(); ++at) rest_[at] |= other.rest_[at];
  }
  // The same.
  void KeepOnly(const ColumnSet& other) {
    first_ &= other.first_;
    for (size_t at = 0; at < rest_.size(); ++at) rest_[at] &= other.rest_[at];
  }
  void Clear() {
    first_ = 0;
    rest_.assign(rest_.size(), 0);
  }
  bool Has(size_t column) const {
    if (column >= column_count_) return false;
    const uint64_t word = column < kWordBits ? first_ : rest_[column / kWordBits - 1];
    return (word & BitOf(column)) != 0;
  }
  bool empty() const {
    if (first_ != 0) return false;
    for (uint64_t word : rest_)
      if (word != 0) return false;
    return true;
  }
  size_t count() const {
    size_t count = static_cast<size_t>(__builtin_popcountll(first_));
    for (uint64_t word : rest_) count += static_cast<size_t>(__builtin_popcountll(word));
    return count;
  }
  // Precondition: both are sets over as many columns.
  bool Intersects(const ColumnSet& other) const {
    if ((first_ & other.first_) != 0) return true;
    for (size_t at = 0; at < rest_.size(); ++at) {
      if ((rest_[at] & other.rest_[at]) != 0) return true;
    }
    return false;
  }
  bool operator==(const ColumnSet& other) const = default;

 private:
  static constexpr size_t kWordBits = 64;

  static constexpr uint64_t BitOf(size_t column) { return uint64_t{1} << (column % kWordBits); }
  // So many, or a whole word.
  static constexpr uint64_t LowBits(size_t count) {
    return count >= kWordBits ? ~uint64_t{0} : (uint64_t{1} << count) - 1;
  }
  uint64_t& WordOf(size_t column) { return column < kWordBits ? first_ : rest_[column / kWordBits - 1]; }

  // Bits of columns that there are not stay 0, so that equal sets have equal words.
  uint64_t first_ = 0;          // of the first 64 columns
  std::vector<uint64_t> rest_;  // of the others
  size_t column_count_;
};

}  // namespace cairn::codec
