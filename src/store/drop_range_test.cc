// SPDX-License-Identifier: GPL-2.0-only
// Dropping a range: what is written for it, whatever the range holds.
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "store/store.h"
#include "store/store_testing.h"

namespace cairn::store {
namespace {

class DropRangeTest : public ::testing::Test, public StoreFixture {
 protected:
  static std::string Key(int row) { return "b" + std::to_string(100'000 + row); }
  // More than are deleted one by one.
  static constexpr int kManyRows = 1000;
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
  ASSERT_NO_FATAL_FAILURE(PutRows(kManyRows));
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

// As statements leave them that create, fill and drop temporary tables. A memtable with a hundred deletions of ranges is flushed by
// the next write.
TEST_F(DropRangeTest, ManySmallRangesDoNotFlush) {
  constexpr int kRanges = 300;
  constexpr int kRows = 10;
  Open();
  const auto range = [](int number) { return "b" + std::to_string(1000 + number); };
  Batch batch(*store);
  batch.Put(Family::kData, "a", "1");
  for (int number = 0; number < kRanges; ++number) {
    for (int row = 0; row < kRows; ++row) batch.Put(Family::kData, range(number) + std::to_string(row), "v");
  }
  ASSERT_TRUE(store->Write(batch, Durability::kSync).ok());
  const uint64_t files = store->FilesVersion(Family::kData);
  for (int number = 0; number < kRanges; ++number) {
    const Status status = store->DropRange(Family::kData, range(number), range(number + 1));
    ASSERT_TRUE(status.ok()) << status.ToString();
  }
  ASSERT_TRUE(Put("c", "1").ok());
  EXPECT_EQ(store->FilesVersion(Family::kData), files);
  EXPECT_EQ(Level0Files(), 0);
  EXPECT_EQ(All(), "a=1 c=1");
}

TEST_F(DropRangeTest, AFewRowsAreDeletedOneByOne) {
  for (const bool in_files : {false, true}) {
    SCOPED_TRACE(in_files);
    options.directory = in_files ? "/files" : "/memory";
    Open();
    ASSERT_NO_FATAL_FAILURE(PutRows(100));
    if (in_files) {
      ASSERT_TRUE(store->CompactRange(Family::kData, {}, {}).ok());
    }
    ASSERT_NO_FATAL_FAILURE(RemoveRows(30));
    EXPECT_EQ(Drop(), 70u);
    EXPECT_EQ(Drop(), 0u);
    EXPECT_EQ(All(), "a=1 c=1");
    // What a process leaves that dies before it has noted that the range is gone.
    Kill();
    Open();
    EXPECT_EQ(Drop(), 0u);
    ASSERT_TRUE(store->CompactRange(Family::kData, {}, {}).ok());
    EXPECT_EQ(All(), "a=1 c=1");
    bool has = true;
    EXPECT_TRUE(store->HasVersions("b", "c", &has).ok());
    EXPECT_FALSE(has);
    store.reset();
  }
}

// They would be read, and fill the memtable without that.
TEST_F(DropRangeTest, AFewLargeRowsAreDeletedTogether) {
  Open();
  ASSERT_NO_FATAL_FAILURE(PutRows(0));
  for (int row = 0; row < 10; ++row) {
    ASSERT_TRUE(Put(Key(row), std::string(100'000, 'v')).ok());
  }
  EXPECT_EQ(Drop(), 1u);
  EXPECT_EQ(Drop(), 0u);
  EXPECT_EQ(All(), "a=1 c=1");
}

// A deletion of a row whose key was removed by a SingleDelete before, and put anew: nothing comes back, whatever is compacted when.
TEST_F(DropRangeTest, RowsThatWereRemovedSinglyStayGone) {
  for (const bool flushed : {false, true}) {
    SCOPED_TRACE(flushed);
    options.directory = flushed ? "/flushed" : "/memory";
    Open();
    ASSERT_NO_FATAL_FAILURE(PutRows(10));
    ASSERT_TRUE(store->CompactRange(Family::kData, {}, {}).ok());
    Snapshot before = store->TakeSnapshot();
    Batch batch(*store);
    for (int row = 0; row < 10; ++row) batch.SingleDelete(Family::kData, Key(row));
    ASSERT_TRUE(store->Write(batch, Durability::kSync).ok());
    if (flushed) {
      ASSERT_TRUE(store->FlushMemtables().ok());
    }
    ASSERT_NO_FATAL_FAILURE(PutRows(10));
    if (flushed) {
      ASSERT_TRUE(store->FlushMemtables().ok());
    }
    EXPECT_EQ(Drop(), 10u);
    ASSERT_TRUE(store->CompactRange(Family::kData, {}, {}).ok());
    EXPECT_EQ(All(), "a=1 c=1");
    before.Release();
    ASSERT_TRUE(store->CompactRange(Family::kData, {}, {}).ok());
    EXPECT_EQ(All(), "a=1 c=1");
    store.reset();
  }
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

// What they become would stay until the deletion comes by.
TEST_F(DropRangeTest, FilesThatAreBeingCompactedGoWhenItIsRepeated) {
  options.expert_family_options = "target_file_size_base=4096;compression_per_level=kNoCompression;bottommost_compression=kNoCompression";
  Open();
  ASSERT_NO_FATAL_FAILURE(PutRows(kManyRows));
  ASSERT_TRUE(store->CompactRange(Family::kData, {}, {}).ok());
  ASSERT_GT(LevelFiles(6), 4);
  env.HoldWrites(".sst");
  std::thread compaction([this] { EXPECT_TRUE(store->CompactRange(Family::kData, {}, {}).ok()); });
  env.AwaitHeldWrite();
  EXPECT_TRUE(store->DropRange(Family::kData, "b", "c").Is(Status::Code::kBusy));
  EXPECT_EQ(All(), "a=1 c=1");
  env.ReleaseWrites();
  compaction.join();
  EXPECT_GT(LevelFiles(6), 4);
  EXPECT_EQ(Drop(), 0u);
  EXPECT_LE(LevelFiles(6), 2);  // with neighbours
  EXPECT_EQ(All(), "a=1 c=1");
}

// On a full disk nothing has the deletion leave memory, and compactions take the rows down past it.
TEST_F(DropRangeTest, OnAFullDiskItIsRepeatedUntilLevel0HasNothing) {
  options.free_space_reserve_bytes = 1 << 20;
  Open();
  ASSERT_NO_FATAL_FAILURE(PutRows(kManyRows));
  ASSERT_TRUE(store->FlushMemtables().ok());
  const auto has_free = [this](uint64_t bytes) {
    env.SetFreeBytes(bytes);
    store->CheckFreeSpace();
  };
  has_free(options.free_space_reserve_bytes / 2);
  for (int i = 0; i < 2; ++i) {
    EXPECT_TRUE(store->DropRange(Family::kData, "b", "c").Is(Status::Code::kBusy));
    EXPECT_EQ(All(), "a=1 c=1");
  }
  EXPECT_TRUE(store->DropRange(Family::kData, "d", "e").ok());
  has_free(uint64_t{1} << 30);
  EXPECT_EQ(Drop(), 0u);
  // Here there is nothing in level 0 that meets it.
  ASSERT_TRUE(store->CompactRange(Family::kData, {}, {}).ok());
  has_free(options.free_space_reserve_bytes / 2);
  EXPECT_EQ(Drop(), 0u);
}

// The deletion is in memory, where no compaction of files sees it.
TEST_F(DropRangeTest, NothingIsWrittenAnewForWhatStaysInFiles) {
  Open();
  ASSERT_NO_FATAL_FAILURE(PutRows(kManyRows));
  ASSERT_TRUE(store->CompactRange(Family::kData, {}, {}).ok());
  ASSERT_NO_FATAL_FAILURE(PutRows(kManyRows));
  ASSERT_TRUE(store->FlushMemtables().ok());
  const auto compactions = [this] { return Number("compaction_pending") + Number("num_running_compactions"); };
  while (compactions() != 0) std::this_thread::yield();  // the thread of the one above counts a moment longer than it is waited for
  const uint64_t compacted = Number("compact_write_bytes");
  EXPECT_EQ(Drop(), 1u);
  EXPECT_EQ(compactions(), 0u);
  EXPECT_EQ(Number("compact_write_bytes"), compacted);
  EXPECT_EQ(All(), "a=1 c=1");
}

}  // namespace
}  // namespace cairn::store
