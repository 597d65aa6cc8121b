// SPDX-License-Identifier: GPL-2.0-only
// The links that operations aim at, against the published shares of hits on a loaded graph.
#include "access_pattern.h"

#include <gtest/gtest.h>

#include <set>

namespace cairn::bench::linkbench {
namespace {

constexpr int kDraws = 500'000;

class Access : public testing::Test {
 protected:
  double PercentLoaded(double aim) {
    int hits = 0;
    for (int i = 0; i < kDraws; ++i) {
      const LinkSource source = access_.LinkWrite(random_);
      hits += AccessPattern::Target(source, aim, random_) < source.id1 + source.loaded_links;
    }
    return 100.0 * hits / kDraws;
  }

  const Graph graph_{{.ids = 1'000'000}};
  const AccessPattern access_{graph_};
  Random random_{9};
};

TEST_F(Access, MeetsLoadedLinksAsOftenAsPublished) {
  EXPECT_NEAR(PercentLoaded(AccessPattern::kAddAim), 2, 1);
  EXPECT_NEAR(PercentLoaded(AccessPattern::kUpdateAim), 24, 2);
  EXPECT_NEAR(PercentLoaded(AccessPattern::kDeleteAim), 24, 2);
  EXPECT_NEAR(PercentLoaded(AccessPattern::kGetAim), 20, 2);
}

TEST_F(Access, ReadsEmptyListsAndLongListsAsOftenAsPublished) {
  uint64_t empty = 0, rows = 0, limit_hits = 0, limit_rows = 0;
  for (int i = 0; i < 4 * kDraws; ++i) {
    const LinkSource source = access_.LinkRead(random_);
    const uint64_t returned = std::min<uint64_t>(10'000, source.loaded_links);
    empty += returned == 0;
    rows += returned;
    limit_hits += returned == 10'000;
    limit_rows += returned == 10'000 ? returned : 0;
  }
  EXPECT_NEAR(100.0 * static_cast<double>(empty) / (4 * kDraws), 60, 4);
  EXPECT_NEAR(static_cast<double>(rows) / (4 * kDraws), 8, 2);
  EXPECT_NEAR(100.0 * static_cast<double>(limit_hits) / (4 * kDraws), 0.035, 0.02);
  EXPECT_NEAR(100.0 * static_cast<double>(limit_rows) / static_cast<double>(rows), 45, 15);
}

TEST_F(Access, DrawsDistinctMultigetTargetsOfThePublishedNumber) {
  std::vector<uint64_t> targets;
  double asked = 0, loaded = 0;
  for (int i = 0; i < kDraws; ++i) {
    const LinkSource source = access_.LinkRead(random_);
    AccessPattern::Targets(source, random_, &targets);
    ASSERT_GE(targets.size(), 2u);
    ASSERT_LE(targets.size(), 128u);
    ASSERT_EQ(std::set<uint64_t>(targets.begin(), targets.end()).size(), targets.size());
    for (const uint64_t target : targets) loaded += target < source.id1 + source.loaded_links;
    asked += static_cast<double>(targets.size());
  }
  EXPECT_NEAR(asked / kDraws, 3.6, 0.05);
  // Below the 20 % of a single draw, because a short list of links lies wholly inside the distinct targets.
  EXPECT_NEAR(100 * loaded / asked, 13, 2);
}

}  // namespace
}  // namespace cairn::bench::linkbench
