// SPDX-License-Identifier: GPL-2.0-only
// What a memtable's filter answers.
#include "store/memtable_filter.h"

#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "memory/concurrent_arena.h"

namespace cairn::store {
namespace {

constexpr uint32_t kUnique = 7;
constexpr uint32_t kWalked = 7 | kOnlyWalkedBit;
constexpr uint64_t kKeys = 100'000;

std::string KeyText(uint32_t index, uint64_t number) {
  std::string key(4 + 8 + 8, 0);
  StoreBe32(key.data(), index);
  StoreBe64(key.data() + 4, 1);
  StoreBe64(key.data() + 12, number);
  return key;
}

MemtableFilter::Key KeyOf(const std::string& key) { return MemtableFilter::Key(EntryKey{key.data(), key.size()}); }

class MemtableFilterTest : public ::testing::Test {
 protected:
  void Add(const std::string& key, bool concurrently = false) { filter.Add(KeyOf(key), concurrently); }
  bool MayHave(const std::string& key) const { return filter.MayHave(KeyOf(key)); }

  rocks::ConcurrentArena arena;
  MemtableFilter filter{&arena, kKeys * 8 / 8};
};

TEST_F(MemtableFilterTest, HasWholeKeysAndMissesFew) {
  for (uint64_t i = 0; i < kKeys; ++i) Add(KeyText(kUnique, i));
  for (uint64_t i = 0; i < kKeys; ++i) ASSERT_TRUE(MayHave(KeyText(kUnique, i)));
  uint64_t in_vain = 0;
  for (uint64_t i = kKeys; i < 2 * kKeys; ++i) in_vain += MayHave(KeyText(kUnique, i));
  EXPECT_LT(in_vain, kKeys / 20);
}

TEST_F(MemtableFilterTest, OfAWalkedIndexItKnowsNothing) {
  EXPECT_TRUE(MayHave(KeyText(kWalked, 1)));
  for (uint64_t i = 0; i < kKeys; ++i) Add(KeyText(kWalked, i));
  EXPECT_TRUE(MayHave(KeyText(kWalked, 1)));
  for (uint64_t i = 0; i < kKeys; ++i) ASSERT_FALSE(MayHave(KeyText(kUnique, i)));
}

TEST_F(MemtableFilterTest, KeysWithoutAnIndexAreKeysToo) {
  EXPECT_FALSE(MayHave(""));
  Add("");
  EXPECT_TRUE(MayHave(""));
  EXPECT_FALSE(MayHave("\377"));
}

TEST_F(MemtableFilterTest, ThreadsAddSideBySide) {
  std::vector<std::thread> threads;
  for (uint64_t first = 0; first < 4; ++first) {
    threads.emplace_back([this, first] {
      for (uint64_t i = first; i < kKeys; i += 4) Add(KeyText(kUnique, i), /*concurrently=*/true);
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (uint64_t i = 0; i < kKeys; ++i) ASSERT_TRUE(MayHave(KeyText(kUnique, i)));
}

}  // namespace
}  // namespace cairn::store
