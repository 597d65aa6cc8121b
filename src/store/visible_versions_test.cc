// SPDX-License-Identifier: GPL-2.0-only
// Rows with many versions in one memtable: which a walk sees, and which it steps over.
#include <atomic>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "store/cursor.h"
#include "store/store_testing.h"

namespace cairn::store {
namespace {

class VisibleVersionsTest : public ::testing::Test, public StoreFixture {};

// Versions that fill several leaves of the memtable, and a view of each.
TEST_F(VisibleVersionsTest, EachViewHasItsVersionOfARowThatChangesOften) {
  constexpr int kVersions = 300;
  Open();
  ASSERT_TRUE(Put("ka", "before", Durability::kOs).ok());
  ASSERT_TRUE(Put("kc", "behind", Durability::kOs).ok());
  std::vector<Snapshot> views;
  for (int version = 0; version < kVersions; ++version) {
    ASSERT_TRUE(Put("kb", std::to_string(version), Durability::kOs).ok());
    views.push_back(store->TakeSnapshot());
  }
  Cursor cursor;
  for (int version = 0; version < kVersions; ++version) {
    ASSERT_TRUE(store->OpenCursor(Family::kData, {.snapshot = &views[version], .lower_bound = "k", .upper_bound = "l"}, &cursor).ok());
    const std::vector<std::string> expected = {"before", std::to_string(version), "behind"};
    std::vector<std::string> up, down;
    for (cursor.SeekToFirst(); cursor.Valid(); cursor.Next()) up.emplace_back(cursor.value());
    EXPECT_EQ(up, expected);
    for (cursor.SeekToLast(); cursor.Valid(); cursor.Prev()) down.emplace(down.begin(), cursor.value());
    EXPECT_EQ(down, expected);
  }
  cursor.Close();
}

// A walk is asked to end by what it steps over; what it passes by without a look is not that.
TEST_F(VisibleVersionsTest, OlderVersionsInTheMemtableAreNotSteppedOver) {
  constexpr int kRows = 1000;
  Open();
  for (int round = 0; round < 8; ++round) {
    for (int i = 0; i < kRows; ++i) ASSERT_TRUE(Put("k" + std::to_string(i), "v", Durability::kOs).ok());
  }
  const std::atomic<bool> interrupted = true;
  Cursor cursor;
  const CursorOptions walk{.lower_bound = "k", .upper_bound = "l", .interrupted = &interrupted};
  ASSERT_TRUE(store->OpenCursor(Family::kData, walk, &cursor).ok());
  int rows = 0;
  for (cursor.SeekToFirst(); cursor.Valid(); cursor.Next()) ++rows;
  EXPECT_TRUE(cursor.status().ok());
  EXPECT_EQ(rows, kRows);
}

}  // namespace
}  // namespace cairn::store
