// SPDX-License-Identifier: GPL-2.0-only
// Percentiles are upper bounds, close, and the same after merging.
#include "histogram.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "random.h"

namespace cairn::bench {
namespace {

TEST(Histogram, BoundsPercentilesFromAboveWithinOne64th) {
  Random random(2);
  Histogram histogram;
  std::vector<uint64_t> values(200'000);
  for (uint64_t& value : values) {
    value = static_cast<uint64_t>(100'000 * std::exp(2 * random.Normal()));
    histogram.Add(value);
  }
  std::sort(values.begin(), values.end());
  for (const double percent : {1.0, 25.0, 50.0, 95.0, 99.0, 99.9, 100.0}) {
    const auto index = static_cast<size_t>(std::ceil(percent / 100 * static_cast<double>(values.size()))) - 1;
    const uint64_t exact = values[index];
    EXPECT_GE(histogram.Percentile(percent), exact) << percent;
    EXPECT_LE(histogram.Percentile(percent), exact + exact / 64) << percent;
  }
}

TEST(Histogram, IsExactForSmallValuesMeanAndMaximum) {
  Histogram histogram;
  for (uint64_t value = 0; value < 100; ++value) histogram.Add(value);
  EXPECT_EQ(histogram.Percentile(50), 49u);
  EXPECT_EQ(histogram.Percentile(99), 98u);
  histogram.Add(1'234'567'891);
  EXPECT_EQ(histogram.max(), 1'234'567'891u);
  EXPECT_EQ(histogram.Percentile(100), 1'234'567'891u);
  EXPECT_DOUBLE_EQ(histogram.mean(), (4950.0 + 1'234'567'891.0) / 101);
}

TEST(Histogram, HoldsEveryPowerOfTwoAndItsNeighbours) {
  for (unsigned bits = 0; bits < 64; ++bits) {
    for (const uint64_t value : {(uint64_t{1} << bits) - 1, uint64_t{1} << bits, (uint64_t{1} << bits) + 1}) {
      Histogram histogram;
      histogram.Add(value);
      EXPECT_EQ(histogram.Percentile(50), value);
      histogram.Add(UINT64_MAX);
      EXPECT_GE(histogram.Percentile(50), value);
      if (bits >= 39) continue;  // the last bucket has no bound
      EXPECT_LE(histogram.Percentile(50), value + value / 64) << value;
    }
  }
}

TEST(Histogram, MergesAsIfAddedToOne) {
  Random random(4);
  Histogram one, first, second;
  for (int i = 0; i < 10'000; ++i) {
    const uint64_t value = random.Below(1'000'000);
    one.Add(value);
    (i % 3 == 0 ? first : second).Add(value);
  }
  first.Merge(second);
  EXPECT_EQ(first.count(), one.count());
  EXPECT_EQ(first.max(), one.max());
  for (const double percent : {10.0, 50.0, 99.0}) EXPECT_EQ(first.Percentile(percent), one.Percentile(percent));
}

TEST(Histogram, IsZeroWhenEmpty) {
  EXPECT_EQ(Histogram().Percentile(99), 0u);
  EXPECT_EQ(Histogram().mean(), 0.0);
}

}  // namespace
}  // namespace cairn::bench
