// SPDX-License-Identifier: GPL-2.0-only
// The distribution of links per id against the facts published about Facebook's file.
#include "out_degree.h"

#include <gtest/gtest.h>

#include "graph.h"

namespace cairn::bench::linkbench {
namespace {

TEST(OutDegree, HasThePublishedQuantiles) {
  const std::pair<double, uint64_t> quantiles[] = {
      {50, 1},     {75, 1},       {90, 3},         {95, 5}, {99, 15},
      {99.9, 264}, {99.99, 6051}, {99.999, 24000}, {99.9999, 64914}};
  for (const auto& [percent, links] : quantiles) {
    // A hair inside the quantile, because 1 - percent / 100 is not exact.
    EXPECT_EQ(OutDegree::Quantile(1 - percent / 100 + 1e-12), links) << percent;
  }
  EXPECT_EQ(OutDegree::Quantile(0), OutDegree::kMax);
}

TEST(OutDegree, HasThePublishedHead) {
  const std::pair<uint64_t, double> head[] = {{0, 45.33}, {1, 77.46}, {2, 86.96},  {3, 91.99},   {4, 94.45},
                                              {5, 95.83}, {10, 98.33}, {20, 99.33}, {49, 99.714}, {60, 99.760}};
  for (const auto& [links, cumulative_percent] : head) {
    const double share = 1 - cumulative_percent / 100;
    EXPECT_EQ(OutDegree::Quantile(share + 1e-9), links);
    EXPECT_GT(OutDegree::Quantile(share - 1e-6), links);
  }
}

TEST(OutDegree, HasThePublishedMean) { EXPECT_NEAR(OutDegree::Mean(), 4.10, 0.005); }

TEST(OutDegree, NeverGrowsWithTheRank) {
  uint64_t previous = OutDegree::kMax;
  for (double share = 1e-9; share < 1; share *= 1.001) {
    const uint64_t links = OutDegree::Quantile(share);
    ASSERT_LE(links, previous);
    previous = links;
  }
  EXPECT_EQ(previous, 0u);
}

struct LoadedLinks {
  uint64_t ids;
  double intended, type_0, type_1, counts;  // per id
};

class LoadedGraph : public testing::TestWithParam<LoadedLinks> {};

TEST_P(LoadedGraph, HasThePublishedNumberOfLinksAndCounts) {
  const LoadedLinks& expected = GetParam();
  const Graph graph({.ids = expected.ids});
  uint64_t intended = 0, counts = 0, links[kLinkTypes] = {0, 0};
  for (uint64_t id = kFirstId; id < graph.end_id(); ++id) {
    const uint64_t degree = graph.Degree(id);
    intended += degree;
    for (size_t type = 0; type < kLinkTypes; ++type) {
      links[type] += Graph::LinksOfType(degree, type);
      counts += Graph::LinksOfType(degree, type) != 0;
    }
  }
  const auto per_id = [&](uint64_t sum) { return static_cast<double>(sum) / static_cast<double>(expected.ids); };
  EXPECT_NEAR(per_id(intended), expected.intended, expected.intended * 0.01);
  EXPECT_NEAR(per_id(links[0]), expected.type_0, expected.type_0 * 0.01);
  EXPECT_NEAR(per_id(links[1]), expected.type_1, expected.type_1 * 0.01);
  EXPECT_NEAR(per_id(counts), expected.counts, 0.002);
}

INSTANTIATE_TEST_SUITE_P(LinkBench, LoadedGraph,
                         testing::Values(LoadedLinks{1'000'000, 4.98, 2.83, 2.42, 0.772},
                                         LoadedLinks{10'000'000, 4.17, 2.43, 2.01, 0.772}));

TEST(Graph, SplitsADegreeAsTheOriginalDoes) {
  const uint64_t expected[][2] = {{0, 0}, {1, 0}, {2, 1}, {2, 2}, {3, 3}, {3, 3}, {4, 4}};
  for (uint64_t degree = 0; degree < std::size(expected); ++degree) {
    for (size_t type = 0; type < kLinkTypes; ++type) {
      EXPECT_EQ(Graph::LinksOfType(degree, type), expected[degree][type]) << "degree " << degree << ", type " << type;
    }
  }
}

TEST(Graph, CapsTheDegree) {
  const Graph graph({.ids = 2000, .degree_max = 50});
  uint64_t most = 0;
  for (uint64_t id = kFirstId; id < graph.end_id(); ++id) most = std::max(most, graph.Degree(id));
  EXPECT_EQ(most, 50u);
  EXPECT_EQ(GraphSize::AutomaticDegreeMax(50'000), 5000u);
  EXPECT_EQ(GraphSize::AutomaticDegreeMax(5'000'000), 0u);
}

}  // namespace
}  // namespace cairn::bench::linkbench
