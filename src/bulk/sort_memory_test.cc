// SPDX-License-Identifier: GPL-2.0-only
// Memory for sorting: however many take some, together it is never more than there is.
#include "bulk/sort_memory.h"

#include <atomic>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace cairn::bulk {
namespace {

TEST(SortMemoryTest, EachTakesHalfOfWhatIsLeftButAtLeastWhatItNeeds) {
  SortMemory memory(128);
  std::vector<SortMemory::Share> shares;
  for (const uint64_t bytes : {64, 32, 16, 8, 4, 3}) {
    shares.push_back(memory.Take(3));
    EXPECT_EQ(shares.back().bytes(), bytes);
  }
  EXPECT_EQ(memory.Take(3).bytes(), 0u);
  EXPECT_EQ(memory.Take(1).bytes(), 1u);
  EXPECT_EQ(memory.total_bytes(), 128u);
}

TEST(SortMemoryTest, WhatIsGivenBackCanBeTakenAgain) {
  SortMemory memory(128);
  {
    SortMemory::Share first = memory.Take(100);
    EXPECT_EQ(first.bytes(), 100u);
    EXPECT_EQ(memory.Take(100).bytes(), 0u);
    SortMemory::Share moved = std::move(first);
    EXPECT_EQ(memory.Take(100).bytes(), 0u);
    moved = SortMemory::Share();
    EXPECT_EQ(memory.Take(100).bytes(), 100u);
  }
  EXPECT_EQ(memory.Take(128).bytes(), 128u);
}

TEST(SortMemoryTest, ManyAtOnceGetNoMoreThanThereIs) {
  constexpr uint64_t kBytes = 1000;
  SortMemory memory(kBytes);
  std::atomic<uint64_t> taken = 0;
  const auto take_often = [&] {
    for (int i = 0; i < 10'000; ++i) {
      const SortMemory::Share share = memory.Take(100);
      EXPECT_LE(taken.fetch_add(share.bytes()) + share.bytes(), kBytes);
      taken.fetch_sub(share.bytes());
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back(take_often);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(memory.Take(kBytes).bytes(), kBytes);
}

}  // namespace
}  // namespace cairn::bulk
