// SPDX-License-Identifier: GPL-2.0-only
// Counts of values in buckets of a bounded relative width.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

namespace cairn::bench {

// Values below 128 have a bucket each; above, every power of two is split into 64 buckets, so a bucket
// is at most 1/64 (1.6 %) of its values wide. Values of 2^40 (18 minutes in nanoseconds) and more share
// the last bucket; maximum and mean are exact.
//
// Thread rule: one thread; merge after the threads have ended.
class Histogram {
 public:
  void Add(uint64_t value) {
    ++buckets_[BucketOf(value)];
    ++count_;
    sum_ += static_cast<double>(value);
    max_ = std::max(max_, value);
  }

  void Merge(const Histogram& other) {
    for (size_t i = 0; i < buckets_.size(); ++i) buckets_[i] += other.buckets_[i];
    count_ += other.count_;
    sum_ += other.sum_;
    max_ = std::max(max_, other.max_);
  }

  uint64_t count() const { return count_; }
  uint64_t max() const { return max_; }
  double mean() const { return count_ == 0 ? 0.0 : sum_ / static_cast<double>(count_); }

  // An upper bound of the value at `percent` (0 < percent <= 100), at most 1/64 above it and never above
  // max(); 0 when empty.
  uint64_t Percentile(double percent) const {
    const double wanted = percent / 100.0 * static_cast<double>(count_);
    uint64_t seen = 0;
    for (size_t i = 0; i < buckets_.size(); ++i) {
      seen += buckets_[i];
      if (buckets_[i] != 0 && static_cast<double>(seen) >= wanted) return std::min(UpperBound(i), max_);
    }
    return max_;
  }

 private:
  static constexpr unsigned kSubBits = 6;
  static constexpr uint64_t kSubBuckets = uint64_t{1} << kSubBits;
  static constexpr unsigned kValueBits = 40;
  static constexpr size_t kBuckets = (kValueBits - kSubBits + 1) * kSubBuckets;

  static size_t BucketOf(uint64_t value) {
    if (value < 2 * kSubBuckets) return value;
    const unsigned shift = static_cast<unsigned>(std::bit_width(value)) - 1 - kSubBits;
    return std::min(shift * kSubBuckets + (value >> shift), uint64_t{kBuckets - 1});
  }

  static uint64_t UpperBound(size_t bucket) {
    if (bucket < 2 * kSubBuckets) return bucket;
    if (bucket == kBuckets - 1) return UINT64_MAX;
    const uint64_t shift = bucket / kSubBuckets - 1;
    return ((bucket - shift * kSubBuckets + 1) << shift) - 1;
  }

  std::array<uint64_t, kBuckets> buckets_{};
  uint64_t count_ = 0;
  double sum_ = 0;
  uint64_t max_ = 0;
};

}  // namespace cairn::bench
