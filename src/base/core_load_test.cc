// SPDX-License-Identifier: GPL-2.0-only
#include "base/core_load.h"

#include <gtest/gtest.h>

namespace cairn {
namespace {

TEST(CoreLoadTest, TwoThirdsOfAllCoresAreBusy) {
  CoreLoad load(4);
  EXPECT_FALSE(load.IsBusy(1'000'000, 900'000)) << "there is nothing to compare with";
  EXPECT_FALSE(load.IsBusy(1'300'000, 900'000));
  EXPECT_TRUE(load.IsBusy(1'600'000, 1'700'000));
  EXPECT_FALSE(load.IsBusy(1'900'000, 2'499'999));
  EXPECT_FALSE(load.IsBusy(1'900'000, 2'499'999)) << "no time has gone by";
  EXPECT_TRUE(load.IsBusy(2'000'000, 2'900'000));
}

TEST(CoreLoadTest, WorkTakesCpuTime) {
  const uint64_t before = ProcessCpuTimeUs();
  while (ProcessCpuTimeUs() < before + 1000) continue;
  EXPECT_GE(ProcessCpuTimeUs(), before + 1000);
}

}  // namespace
}  // namespace cairn
