// SPDX-License-Identifier: GPL-2.0-only
#include "stats/dense_numbers.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <random>

namespace cairn::stats {
namespace {

constexpr int64_t kIntMax = std::numeric_limits<int64_t>::max();
constexpr int64_t kIntMin = std::numeric_limits<int64_t>::min();

TEST(DenseNumbers, ARangeIsAsWideAsItsNumbers) {
  EXPECT_EQ(RowsOfDenseNumbers(1, 100, 20'000, 20'001), 100u);
  EXPECT_EQ(RowsOfDenseNumbers(20'000, 20'000, 20'000, 20'001), 1u);
  EXPECT_EQ(RowsOfDenseNumbers(1, 1000, 20'000, 20'001), 1000u);
  EXPECT_EQ(RowsOfDenseNumbers(1, 100, 15'000, 20'001), 75u);
  EXPECT_EQ(RowsOfDenseNumbers(1, 100, 10'000, 20'001), 50u);
  EXPECT_EQ(RowsOfDenseNumbers(7, 7, 10'000, 20'001), 1u);
  EXPECT_EQ(RowsOfDenseNumbers(1, 100, 30'000, 20'001), 100u) << "more rows than numbers";
}

TEST(DenseNumbers, OtherRangesAreLookedFor) {
  EXPECT_EQ(RowsOfDenseNumbers(1, 1001, 20'000, 20'001), 0u) << "long";
  EXPECT_EQ(RowsOfDenseNumbers(100, 99, 20'000, 20'001), 0u) << "empty";
  EXPECT_EQ(RowsOfDenseNumbers(0, 99, 20'000, 20'001), 0u) << "not handed out";
  EXPECT_EQ(RowsOfDenseNumbers(-5, 5, 20'000, 20'001), 0u);
  EXPECT_EQ(RowsOfDenseNumbers(19'999, 20'001, 20'000, 20'001), 0u);
  EXPECT_EQ(RowsOfDenseNumbers(1, 100, 20'000, 0), 0u) << "never any";
  EXPECT_EQ(RowsOfDenseNumbers(1, 100, 9'999, 10'000), 0u) << "small";
  EXPECT_EQ(RowsOfDenseNumbers(1, 100, 10'000, 20'003), 0u) << "sparse";
}

TEST(DenseNumbers, AtTheEdgesOfTheirType) {
  constexpr uint64_t kNextMax = std::numeric_limits<uint64_t>::max();
  EXPECT_EQ(RowsOfDenseNumbers(kIntMin, kIntMax, kNextMax, kNextMax), 0u);
  EXPECT_EQ(RowsOfDenseNumbers(kIntMax, kIntMin, kNextMax, kNextMax), 0u);
  EXPECT_EQ(RowsOfDenseNumbers(kIntMax - 9, kIntMax, kNextMax, kNextMax), 10u);
  EXPECT_EQ(RowsOfDenseNumbers(1, kIntMax, kNextMax, kNextMax), 0u);
}

// Whatever the table: nothing, or what lies between half of the width and all of it.
TEST(DenseNumbers, NeverMoreThanTheWidthNorLessThanHalf) {
  std::mt19937_64 random;
  for (int i = 0; i < 200'000; ++i) {
    const uint64_t next = random() >> (random() % 64);
    const uint64_t rows = random() % 2 == 0 ? random() >> (random() % 64) : next - next / 8;
    const auto first = static_cast<int64_t>(random() >> (random() % 64));
    const auto last = static_cast<int64_t>(static_cast<uint64_t>(first) + random() % 2000);
    const uint64_t found = RowsOfDenseNumbers(first, last, rows, next);
    if (found == 0) continue;
    const auto width = static_cast<uint64_t>(last - first) + 1;
    ASSERT_LE(found, width);
    ASSERT_GE(2 * found, width);
  }
}

}  // namespace
}  // namespace cairn::stats
