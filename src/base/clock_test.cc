// SPDX-License-Identifier: GPL-2.0-only
// The two clocks count from the same moment.
#include "base/clock.h"

#include <thread>

#include <gtest/gtest.h>

namespace cairn {
namespace {

TEST(Clock, TheCoarseOneFollowsTheOther) {
  const uint64_t coarse_us = CoarseSteadyTimeUs();
  const uint64_t now_us = SteadyTimeUs();
  EXPECT_LE(coarse_us, now_us);
  while (CoarseSteadyTimeUs() < now_us) std::this_thread::yield();
}

}  // namespace
}  // namespace cairn
