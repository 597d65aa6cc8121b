// SPDX-License-Identifier: GPL-2.0-only
// Zipf ranks against the published shares of the hottest ids.
#include "zipf.h"

#include <gtest/gtest.h>

#include <vector>

namespace cairn::bench::linkbench {
namespace {

// The percentage of `draws` that fell on the hottest `share` of n ranks.
double HottestPercent(const std::vector<uint64_t>& draws, uint64_t n, double share) {
  const auto end = static_cast<uint64_t>(static_cast<double>(n) * share);
  uint64_t hits = 0;
  for (const uint64_t rank : draws) hits += rank < end;
  return 100.0 * static_cast<double>(hits) / static_cast<double>(draws.size());
}

struct Shares {
  double shape;
  double percent[4];  // of the hottest .1 %, 1 %, 10 %, 50 %
};

class ZipfShares : public testing::TestWithParam<Shares> {};

TEST_P(ZipfShares, MatchThePublishedOnes) {
  constexpr uint64_t kIds = 10'000'000;
  const Zipf zipf(kIds, GetParam().shape);
  Random random(7);
  std::vector<uint64_t> draws(1'000'000);
  for (uint64_t& rank : draws) {
    rank = zipf.Rank(random);
    ASSERT_LT(rank, kIds);
  }
  const double shares[] = {0.001, 0.01, 0.1, 0.5};
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_NEAR(HottestPercent(draws, kIds, shares[i]), GetParam().percent[i], 1.0) << "share " << shares[i];
  }
}

INSTANTIATE_TEST_SUITE_P(LinkBench, ZipfShares,
                         testing::Values(Shares{0.8, {22, 38, 62, 87}}, Shares{0.625, {7, 18, 42, 77}},
                                         Shares{0.606, {6, 16, 40, 76}}));

TEST(Zipf, HottestRanksHaveTheirExactProbability) {
  constexpr uint64_t kIds = 1000;
  double zeta = 0;
  for (uint64_t i = 1; i <= kIds; ++i) zeta += std::pow(static_cast<double>(i), -0.8);
  const Zipf zipf(kIds, 0.8);
  EXPECT_EQ(zipf.Quantile(1.0 / zeta - 1e-9), 0u);
  EXPECT_EQ(zipf.Quantile(1.0 / zeta + 1e-9), 1u);
}

TEST(Zipf, StaysInRangeForEverySmallSizeAndTheEndsOfTheInterval) {
  for (uint64_t ids = 1; ids <= 300; ++ids) {
    const Zipf zipf(ids, 0.8);
    for (const double u : {0.0, 0.25, 0.5, 0.75, 0.999, 1.0 - 0x1.0p-53}) EXPECT_LT(zipf.Quantile(u), ids) << ids;
  }
}

}  // namespace
}  // namespace cairn::bench::linkbench
