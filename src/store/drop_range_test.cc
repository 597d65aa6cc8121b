// SPDX-License-Identifier: GPL-2.0-only
// Dropping a range: what is written for it, whatever the range holds.
#include <string>

#include <gtest/gtest.h>

#include "store/store.h"
#include "store/store_testing.h"

namespace cairn::store {
namespace {

class DropRangeTest : public ::testing::Test, public StoreFixture {
 protected:
  static std::string Key(int row) { return "b" + std::to_string(100'000 + row); }
  // Neighbours, and rows between them.
  void PutRows(int count) {
    Batch batch(*store);
    batch.Put(Family::kData, "a", "1");
    for (int row = 0; row < count; ++row) batch.Put(Family::kData, Key(row), std::string(100, 'v'));
    batch.Put(Family::kData, "c", "1");
    ASSERT_TRUE(store->Write(batch, Durability::kSync).ok());
  }
  void RemoveRows(int count) {
    Batch batch(*store);
    for (int row = 0; row < count; ++row) batch.Delete(Family::kData, Key(row));
    ASSERT_TRUE(store->Write(batch, Durability::kSync).ok());
  }
  // How many changes that wrote.
  uint64_t Drop() {
    const uint64_t before = store->LatestSequence();
    const Status status = store->DropRange(Family::kData, "b", "c");
    EXPECT_TRUE(status.ok()) << status.ToString();
    return store->LatestSequence() - before;
  }
  std::string All() {
    Cursor cursor;
    EXPECT_TRUE(store->OpenCursor(Family::kData, {.lower_bound = "a", .upper_bound = "d"}, &cursor).ok());
    cursor.SeekToFirst();
    return Forward(cursor);
  }
};

TEST_F(DropRangeTest, RepeatingWritesNothing) {
  Open();
  ASSERT_NO_FATAL_FAILURE(PutRows(100));
  EXPECT_EQ(Drop(), 1u);
  EXPECT_EQ(Drop(), 0u);
  ASSERT_TRUE(store->FlushMemtables().ok());
  EXPECT_EQ(Drop(), 0u);
  EXPECT_EQ(All(), "a=1 c=1");
}

// Those that are dropped after it wait.
TEST_F(DropRangeTest, ManyRemovedRowsAreNotWalkedOver) {
  constexpr int kRows = 4 * CursorOptions::kHiddenPerPoll;
  for (const bool in_files : {false, true}) {
    SCOPED_TRACE(in_files);
    options.directory = in_files ? "/files" : "/memory";
    Open();
    ASSERT_NO_FATAL_FAILURE(PutRows(kRows));
    if (in_files) {
      ASSERT_TRUE(store->FlushMemtables().ok());
    }
    ASSERT_NO_FATAL_FAILURE(RemoveRows(kRows));
    EXPECT_EQ(Drop(), 1u);
    EXPECT_EQ(Drop(), 0u);
    EXPECT_EQ(All(), "a=1 c=1");
    store.reset();
  }
}

TEST_F(DropRangeTest, AFewRemovedRowsAreNotWorthADeletion) {
  Open();
  ASSERT_NO_FATAL_FAILURE(PutRows(100));
  ASSERT_NO_FATAL_FAILURE(RemoveRows(100));
  EXPECT_EQ(Drop(), 0u);
}

TEST_F(DropRangeTest, ADamagedRangeCanBeDropped) {
  Open();
  ASSERT_NO_FATAL_FAILURE(PutRows(10'000));
  ASSERT_TRUE(store->CompactRange(Family::kData, {}, {}).ok());
  store.reset();
  ASSERT_EQ(env.Files("/db", ".sst").size(), 1u);
  ASSERT_TRUE(env.FlipBit("/db", ".sst", 10));  // in the first block, which has the neighbour and the first rows
  Open();
  EXPECT_EQ(Drop(), 1u);
  EXPECT_EQ(Drop(), 0u);
  EXPECT_EQ(Get(Key(0)) + Get(Key(5'000)), "--");
  EXPECT_EQ(Get("c"), "1");
  // No compaction was asked for, that would come upon the damage.
  EXPECT_EQ(store->write_gate(), WriteGate::kOpen);
  EXPECT_EQ(Number("compaction_pending"), 0u);
}

// The deletion is in memory, where no compaction of files sees it.
TEST_F(DropRangeTest, NothingIsWrittenAnewForWhatStaysInFiles) {
  Open();
  ASSERT_NO_FATAL_FAILURE(PutRows(100));
  ASSERT_TRUE(store->CompactRange(Family::kData, {}, {}).ok());
  ASSERT_NO_FATAL_FAILURE(PutRows(100));
  ASSERT_TRUE(store->FlushMemtables().ok());
  const uint64_t compacted = Number("compact_write_bytes");
  EXPECT_EQ(Drop(), 1u);
  EXPECT_EQ(Number("compaction_pending") + Number("num_running_compactions"), 0u);
  EXPECT_EQ(Number("compact_write_bytes"), compacted);
  EXPECT_EQ(All(), "a=1 c=1");
}

}  // namespace
}  // namespace cairn::store
