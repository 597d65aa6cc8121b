// SPDX-License-Identifier: GPL-2.0-only
// The drawn operations against the published percentages.
#include "workload_mix.h"

#include <gtest/gtest.h>

namespace cairn::bench::linkbench {
namespace {

class Mix : public testing::TestWithParam<const Profile*> {};

TEST_P(Mix, IsWithinHalfAPercentOfTheProfile) {
  constexpr uint64_t kDraws = 1'000'000;
  const WorkloadMix mix(*GetParam());
  Random random(1);
  std::array<uint64_t, kOperations> drawn{};
  for (uint64_t i = 0; i < kDraws; ++i) ++drawn[static_cast<size_t>(mix.Draw(random))];
  for (size_t i = 0; i < kOperations; ++i) {
    // Half a percentage point, and for the rare operations five percent of their own share.
    const double percent = 100.0 * static_cast<double>(drawn[i]) / kDraws;
    EXPECT_NEAR(percent, GetParam()->percent[i], std::min(0.5, 0.05 * GetParam()->percent[i])) << kOperationNames[i];
  }
}

INSTANTIATE_TEST_SUITE_P(LinkBench, Mix, testing::Values(&kProfileFb2011, &kProfileFb2017),
                         [](const auto& info) { return std::string(info.param->name); });

TEST(Profile, HasThePublishedShareOfWrites) {
  const auto writes = [](const Profile& profile) {
    double percent = 0;
    for (const Operation operation : {Operation::kAddLink, Operation::kDeleteLink, Operation::kUpdateLink,
                                      Operation::kAddNode, Operation::kUpdateNode, Operation::kDeleteNode}) {
      percent += profile.percent[static_cast<size_t>(operation)];
    }
    return percent;
  };
  EXPECT_NEAR(writes(kProfileFb2011), 30.94, 0.01);
  EXPECT_NEAR(writes(kProfileFb2017), 17.02, 0.01);
}

}  // namespace
}  // namespace cairn::bench::linkbench
