// SPDX-License-Identifier: GPL-2.0-only
// What is freed in the middle of a heap leaves the process.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <vector>

#include <gtest/gtest.h>

#include "base/heap_testing.h"
#include "engine/heap_trimmer.h"

namespace cairn::engine {
namespace {

constexpr size_t kBlockBytes = 9000;
constexpr size_t kBlocks = 16000;  // 144 MB
constexpr uint64_t kSlackBytes = uint64_t{32} << 20;

uint64_t ResidentBytes() {
  std::ifstream file("/proc/self/statm");
  uint64_t pages = 0, resident = 0;
  file >> pages >> resident;
  return resident * static_cast<uint64_t>(sysconf(_SC_PAGE_SIZE));
}

// 0, or which expectation did not hold.
int TrimAfterEveryOtherBlockIsFreed() {
  HeapTrimmer trimmer(kSlackBytes);
  trimmer.Poll();
  std::vector<void*> blocks;
  for (size_t i = 0; i < kBlocks; ++i) {
    blocks.push_back(std::malloc(kBlockBytes));
    std::memset(blocks.back(), 1, kBlockBytes);
  }
  if (trimmer.Poll()) return 1;  // all of it is in use
  for (size_t i = 0; i < kBlocks; i += 2) std::free(blocks[i]);
  const uint64_t before = ResidentBytes();
  if (!trimmer.Poll()) return 2;
  if (ResidentBytes() + kSlackBytes > before) return 3;
  if (trimmer.Poll()) return 4;  // what is left cannot be given back
  for (size_t i = 1; i < kBlocks; i += 2) {
    if (static_cast<char*>(blocks[i])[kBlockBytes - 1] != 1) return 5;
  }
  return 0;
}

// 0, or which expectation did not hold.
int TrimAfterSomethingIsMapped() {
  HeapTrimmer trimmer(kSlackBytes);
  trimmer.Poll();
  constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE;
  if (mmap(nullptr, 2 * kSlackBytes, PROT_READ | PROT_WRITE, kFlags, -1, 0) == MAP_FAILED) return 1;
  return trimmer.Poll() ? 2 : 0;
}

// In a process of its own, whose heap nobody else uses.
TEST(HeapTrimmerDeathTest, GivesBackWhatIsFreeBetweenBlocks) {
  if (kSanitized) GTEST_SKIP() << "the sanitizers' allocator";
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(std::_Exit(TrimAfterEveryOtherBlockIsFreed()), ::testing::ExitedWithCode(0), "");
}

TEST(HeapTrimmerDeathTest, WhatIsInUseBesideTheHeapsIsNotFree) {
  if (kSanitized) GTEST_SKIP() << "the sanitizers' allocator";
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(std::_Exit(TrimAfterSomethingIsMapped()), ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace cairn::engine
