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

// Whoever can do without the rest says how many entries it may pass by that are not to be seen.
TEST_F(VisibleVersionsTest, AWalkMayBeGivenUp) {
  constexpr int kRemoved = 2 * CursorOptions::kHiddenPerPoll;
  Open();
  const auto name = [](int number) { return std::to_string(100'000 + number); };
  Batch batch(*store);
  for (int i = 0; i <= kRemoved; ++i) batch.Put(Family::kData, name(i), "v");
  for (int i = 0; i < kRemoved; ++i) batch.Delete(Family::kData, name(i));
  ASSERT_TRUE(store->Write(batch, Durability::kOs).ok());
  Cursor cursor;
  const auto first = [&](uint64_t hidden_max) {
    EXPECT_TRUE(store->OpenCursor(Family::kData, {.lower_bound = "1", .upper_bound = "2", .hidden_max = hidden_max}, &cursor).ok());
    cursor.SeekToFirst();
    return cursor.Valid() ? std::string(cursor.key()) : cursor.status().ToString();
  };
  const std::string given_up = Status::Of(Status::Code::kInterrupted).ToString();
  EXPECT_EQ(first(0), name(kRemoved));
  EXPECT_EQ(first(CursorOptions::kHiddenPerPoll), given_up);
  EXPECT_EQ(first(100 * kRemoved), name(kRemoved));
  EXPECT_EQ(first(1), given_up);
  // What is in front of them is given, and each opening counts for itself.
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(store->OpenCursor(Family::kData, {.lower_bound = "1", .upper_bound = "2", .hidden_max = kRemoved / 2}, &cursor).ok());
    cursor.SeekToLast();
    ASSERT_TRUE(cursor.Valid());
    EXPECT_EQ(cursor.key(), name(kRemoved));
    cursor.Prev();
    EXPECT_FALSE(cursor.Valid());
    EXPECT_TRUE(cursor.status().Is(Status::Code::kInterrupted));
  }
}

}  // namespace
}  // namespace cairn::store
