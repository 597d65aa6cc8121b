// SPDX-License-Identifier: GPL-2.0-only
// Loads find room, or are not made: level 0 never holds their commit up, and reads of them are not taken for walks over memtables.
#include <algorithm>
#include <chrono>
#include <future>
#include <random>

#include <gtest/gtest.h>

#include <rocksdb/env.h>

#include "base/index_bounds.h"
#include "store/load_testing.h"
#include "store/temp_file.h"

namespace cairn::store {
namespace {

using Code = Status::Code;

class LoadRoomTest : public ::testing::Test, public LoadFixture {
 protected:
  static std::string Incompressible(int seed, size_t bytes) {
    std::mt19937 random(static_cast<unsigned>(seed));
    std::string value(bytes, '\0');
    for (char& byte : value) byte = static_cast<char>(random());
    return value;
  }
  // A file of the last level reaches across the load's keys, so that they must go to level 0.
  void SpanTheRange() {
    for (uint32_t index : {0, 9}) ASSERT_TRUE(Put(Key(index, 0), "beside").ok());
    ASSERT_TRUE(store->FlushMemtables().ok());
    ASSERT_TRUE(store->CompactRange(Family::kData, {}, {}).ok());
    ASSERT_EQ(Level0Files(), 0);
  }
  // With files of the same key.
  void FillLevel0(int files) {
    while (Level0Files() < files) {
      Batch batch(*store);
      batch.Put(Family::kData, Key(9, 1), std::to_string(Level0Files()));
      ASSERT_TRUE(store->Write(batch, Durability::kOs, Urgency::kReclaimsSpace).ok());
      ASSERT_TRUE(store->FlushMemtables().ok());
    }
  }
  // Rows of another time, settled, and what removes them, in level 0.
  void LeaveRemovedRows() {
    Batch batch(*store);
    for (int row = 0; row < kRows; ++row) batch.Put(Family::kData, Key(1, row), "old");
    ASSERT_TRUE(store->Write(batch, Durability::kOs).ok());
    ASSERT_TRUE(store->FlushMemtables().ok());
    ASSERT_TRUE(store->CompactRange(Family::kData, {}, {}).ok());
    batch.Clear();
    for (int row = 0; row < kRows; ++row) batch.Delete(Family::kData, Key(1, row));
    ASSERT_TRUE(store->Write(batch, Durability::kOs).ok());
    ASSERT_TRUE(store->FlushMemtables().ok());
    ASSERT_EQ(Level0Files(), 1);
  }
  // Each row in a file of its own.
  static Status FillFiles(SortedLoad& load, uint32_t index, int files) {
    for (int row = 0; row < files; ++row) {
      CAIRN_RETURN_IF_ERROR(load.Add(Key(index, row), "ingested"));
      CAIRN_RETURN_IF_ERROR(load.CutFile());
    }
    return load.Finish();
  }
  // Of those, how many are there.
  int Ingested(uint32_t index, int files) {
    int found = 0;
    for (int row = 0; row < files; ++row) found += Get(Key(index, row)) == "ingested";
    return found;
  }
  uint64_t LargestFileBytes() {
    uint64_t largest_bytes = 0;
    for (const std::string& path : env.Files("/db/temporary", ".sst")) {
      uint64_t bytes = 0;
      EXPECT_TRUE(env.rocks_env()->GetFileSize(path, &bytes).ok()) << path;
      largest_bytes = std::max(largest_bytes, bytes);
    }
    return largest_bytes;
  }
  // Opens a store in which writers stop at 14 files of level 0, where 13 are, with no room for compactions; the load has two.
  void PrepareLoadThatFillsLevel0(std::unique_ptr<WriteTransaction>* transaction) {
    options.expert_family_options = "level0_slowdown_writes_trigger=14;level0_stop_writes_trigger=14";
    Open();
    ASSERT_NO_FATAL_FAILURE(SpanTheRange());
    *transaction = store->BeginWrite();
    ASSERT_TRUE(Attach(**transaction).ok());
    ASSERT_TRUE((*transaction)->Prepare("name", Durability::kSync).ok());
    env.SetFreeBytes(uint64_t{4} << 20);
    store->CheckFreeSpace();
    ASSERT_NO_FATAL_FAILURE(FillLevel0(13));
  }
};

// Compactions have no room, so a commit that waited for level 0 would wait for ever.
TEST_F(LoadRoomTest, AFullLevel0DoesNotHoldACommitUp) {
  std::unique_ptr<WriteTransaction> transaction;
  ASSERT_NO_FATAL_FAILURE(PrepareLoadThatFillsLevel0(&transaction));
  auto committed = std::async(std::launch::async, [&] { return transaction->Commit(Durability::kOs); });
  const bool in_time = committed.wait_for(std::chrono::minutes(2)) == std::future_status::ready;
  EXPECT_TRUE(in_time);
  if (in_time) {
    EXPECT_EQ(Level0Files(), 15);
    EXPECT_NE(Number("is_write_stopped"), 0u);
  }
  env.SetFreeBytes(uint64_t{1} << 30);
  store->CheckFreeSpace();
  const Status status = committed.get();
  EXPECT_TRUE(status.ok()) << status.ToString();
  EXPECT_EQ(Loaded(), "all");
  EXPECT_EQ(Records(), 0);
  // Compactions go on, and so do writers.
  ASSERT_TRUE(Put("k", "later").ok());
  while (Level0Files() >= 4) std::this_thread::yield();
  EXPECT_EQ(Loaded(), "all");
}

// Who removes dropped tables must be able to stop, and the next table may make room.
TEST_F(LoadRoomTest, AFullLevel0DoesNotHoldTheRemovalOfARangeUp) {
  std::unique_ptr<WriteTransaction> transaction;
  ASSERT_NO_FATAL_FAILURE(PrepareLoadThatFillsLevel0(&transaction));
  ASSERT_TRUE(transaction->Commit(Durability::kOs).ok());
  ASSERT_NE(Number("is_write_stopped"), 0u);
  const Status dropped = store->DropRange(Family::kData, Key(9, 0), Key(9, 9));
  EXPECT_TRUE(dropped.Is(Code::kBusy)) << dropped.ToString();
  EXPECT_NE(Get(Key(9, 0)), "-");
  env.SetFreeBytes(uint64_t{1} << 30);
  store->CheckFreeSpace();
  Status again;
  do again = store->DropRange(Family::kData, Key(9, 0), Key(9, 9));
  while (again.Is(Code::kBusy));
  EXPECT_TRUE(again.ok()) << again.ToString();
  EXPECT_EQ(Get(Key(9, 0)), "-");
  EXPECT_EQ(Get(Key(9, 1)), "-");
}

TEST_F(LoadRoomTest, WithoutPlacesInLevel0ThereAreNoFiles) {
  options.expert_family_options = "level0_slowdown_writes_trigger=8;level0_stop_writes_trigger=20";
  Open();
  ASSERT_NO_FATAL_FAILURE(FillLevel0(2));  // too few to be compacted
  EXPECT_EQ(store->FreeLevel0Places(), 1u);
  auto transaction = store->BeginWrite();
  EXPECT_EQ(Attach(*transaction).code(), Code::kBusy);
  EXPECT_TRUE(WaitingFiles().empty());
  EXPECT_TRUE(env.Files("/db/temporary", ".sst").empty());
  ASSERT_TRUE(store->CompactRange(Family::kData, {}, {}).ok());
  EXPECT_TRUE(CommitLoad().ok());
  EXPECT_EQ(Loaded(), "all");
}

// Each counts on the places of its own.
TEST_F(LoadRoomTest, LoadsThatWaitShareThePlaces) {
  options.expert_family_options = "level0_slowdown_writes_trigger=9;level0_stop_writes_trigger=20";
  Open();
  EXPECT_EQ(store->FreeLevel0Places(), 4u);
  std::unique_ptr<PendingLoad> first, second, third;
  ASSERT_TRUE(MakeLoad(&first, 1).ok());
  ASSERT_TRUE(MakeLoad(&second, 3).ok());
  EXPECT_EQ(MakeLoad(&third, 5).code(), Code::kBusy);
  EXPECT_EQ(WaitingFiles().size(), 4u);
  second.reset();
  ASSERT_TRUE(MakeLoad(&third, 5).ok());
  // Also after a crash: they may all be committed.
  auto one = store->BeginWrite(), other = store->BeginWrite();
  ASSERT_TRUE(one->AttachLoad(std::move(first)).ok());
  ASSERT_TRUE(other->AttachLoad(std::move(third)).ok());
  ASSERT_TRUE(one->Prepare("one", Durability::kSync).ok());
  ASSERT_TRUE(other->Prepare("other", Durability::kSync).ok());
  one.reset();
  other.reset();
  Crash();
  Open();
  auto found = store->TakeRecovered();
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(MakeLoad(&second, 3).code(), Code::kBusy);
  ASSERT_TRUE(found[0]->Rollback().ok());
  ASSERT_TRUE(found[1]->Commit(Durability::kSync).ok());
  ASSERT_TRUE(MakeLoad(&second, 3).ok());
}

TEST_F(LoadRoomTest, TwoThatAreCommittedAtOnce) {
  Open();
  for (int round = 0; round < 20; ++round) {
    const uint32_t first = 10 + 4 * static_cast<uint32_t>(round);
    std::vector<std::unique_ptr<WriteTransaction>> transactions;
    for (uint32_t index : {first, first + 2}) {
      std::unique_ptr<PendingLoad> load;
      ASSERT_TRUE(MakeLoad(&load, index).ok());
      transactions.push_back(store->BeginWrite());
      ASSERT_TRUE(transactions.back()->AttachLoad(std::move(load)).ok());
    }
    auto other = std::async(std::launch::async, [&] { return transactions[1]->Commit(Durability::kOs); });
    EXPECT_TRUE(transactions[0]->Commit(Durability::kOs).ok());
    EXPECT_TRUE(other.get().ok());
    for (uint32_t index = first; index < first + 4; ++index) EXPECT_EQ(Get(Key(index, kRows - 1)), "loaded");
  }
  EXPECT_EQ(store->load_count(), 40u);
  EXPECT_EQ(Records(), 0);
  Crash();
  Open();
  EXPECT_EQ(Get(Key(10, 0)), "loaded");
  EXPECT_EQ(Get(Key(89, 0)), "loaded");
}

// Files of a copy, or an index, that are many more than level 0 takes.
TEST_F(LoadRoomTest, AnIngestionHoldsNobodyUp) {
  options.expert_family_options = "level0_slowdown_writes_trigger=14;level0_stop_writes_trigger=14";
  Open();
  ASSERT_NO_FATAL_FAILURE(SpanTheRange());
  constexpr int kFiles = 40;
  {
    SortedLoad load(*store, Family::kData);
    ASSERT_TRUE(FillFiles(load, 1, kFiles).ok());
    const Status status = load.Ingest();
    EXPECT_TRUE(status.ok()) << status.ToString();
    EXPECT_EQ(load.file_count(), 0u);
  }
  const std::string stalls = store->TextProperty(Family::kData, "rocksdb.cf-write-stall-stats");
  EXPECT_NE(stalls.find(" l0-file-count-limit-stops: 0,"), std::string::npos) << stalls;
  EXPECT_TRUE(env.Files("/db/temporary", ".sst").empty());
  EXPECT_EQ(Ingested(1, kFiles), kFiles);
  Crash();
  Open();
  EXPECT_EQ(Ingested(1, kFiles), kFiles);
}

// Level 0 has one place, and too few files to be compacted.
TEST_F(LoadRoomTest, WhoWaitsForAPlaceCanBeInterrupted) {
  options.expert_family_options = "level0_slowdown_writes_trigger=8;level0_stop_writes_trigger=20";
  Open();
  ASSERT_NO_FATAL_FAILURE(SpanTheRange());
  ASSERT_NO_FATAL_FAILURE(FillLevel0(2));
  ASSERT_EQ(store->FreeLevel0Places(), 1u);
  {
    SortedLoad load(*store, Family::kData);
    ASSERT_TRUE(FillFiles(load, 5, 3).ok());
    int asked = 0;
    const Status status = load.Ingest([&asked] { return ++asked == 3; });
    EXPECT_TRUE(status.Is(Code::kInterrupted)) << status.ToString();
    EXPECT_EQ(asked, 3);
    EXPECT_EQ(load.file_count(), 2u);
  }
  EXPECT_EQ(Level0Files(), 3);
  EXPECT_TRUE(env.Files("/db/temporary", ".sst").empty());
  ASSERT_TRUE(store->CompactRange(Family::kData, {}, {}).ok());
  EXPECT_EQ(store->FreeLevel0Places(), 3u);
  EXPECT_TRUE(CommitLoad().ok());  // nothing is counted on any more
}

TEST_F(LoadRoomTest, WhoWaitsForAPlaceIsRefusedWhereWritesAre) {
  options.expert_family_options = "level0_slowdown_writes_trigger=8;level0_stop_writes_trigger=20";
  Open();
  ASSERT_NO_FATAL_FAILURE(SpanTheRange());
  ASSERT_NO_FATAL_FAILURE(FillLevel0(3));
  SortedLoad load(*store, Family::kData);
  ASSERT_TRUE(FillFiles(load, 1, 1).ok());
  const Status status = load.Ingest([this] {
    env.SetFreeBytes(1000);
    store->CheckFreeSpace();
    return false;
  });
  EXPECT_TRUE(status.Is(Code::kNoSpace)) << status.ToString();
  EXPECT_EQ(Ingested(1, 1), 0);
}

// Here none comes, as nothing is compacted.
TEST_F(LoadRoomTest, NobodyWaitsForAPlaceForEver) {
  options.expert_family_options = "level0_slowdown_writes_trigger=8;level0_stop_writes_trigger=20";
  Open();
  ASSERT_NO_FATAL_FAILURE(SpanTheRange());
  ASSERT_NO_FATAL_FAILURE(FillLevel0(3));
  ASSERT_EQ(store->FreeLevel0Places(), 0u);
  SortedLoad load(*store, Family::kData, {.place_wait_us_max = 20'000});
  ASSERT_TRUE(FillFiles(load, 1, 3).ok());
  int asked = 0;
  const Status status = load.Ingest([&asked] {
    ++asked;
    return false;
  });
  EXPECT_TRUE(status.ok()) << status.ToString();
  EXPECT_GT(asked, 0);
  EXPECT_EQ(Ingested(1, 3), 3);
}

TEST_F(LoadRoomTest, AnIngestionLeavesThePlacesOfLoadsThatWait) {
  options.expert_family_options = "level0_slowdown_writes_trigger=9;level0_stop_writes_trigger=20";
  Open();
  ASSERT_NO_FATAL_FAILURE(SpanTheRange());
  ASSERT_EQ(store->FreeLevel0Places(), 4u);
  auto transaction = store->BeginWrite();
  ASSERT_TRUE(Attach(*transaction).ok());
  SortedLoad load(*store, Family::kData);
  ASSERT_TRUE(FillFiles(load, 5, 3).ok());
  EXPECT_TRUE(load.Ingest([] { return true; }).Is(Code::kInterrupted));
  EXPECT_EQ(load.file_count(), 1u);
  EXPECT_EQ(store->FreeLevel0Places(), 2u);
  ASSERT_TRUE(transaction->Commit(Durability::kOs).ok());
  EXPECT_EQ(Loaded(), "all");
}

// However large it is, a load is not made of many files.
TEST_F(LoadRoomTest, FilesAreFew) {
  options.expert_family_options = "target_file_size_base=20000";
  Open();
  std::unique_ptr<PendingLoad> pending;
  constexpr int kManyRows = 3000;
  {
    SortedLoad load(*store, Family::kData, {.few_files = true});
    for (int row = 0; row < kManyRows; ++row) ASSERT_TRUE(load.Add(Key(1, row), Incompressible(row, 1000)).ok());
    const std::array indexes = {IndexId(1)};
    ASSERT_TRUE(PendingLoad::Make(*store, &load, indexes, &pending).ok());
    ASSERT_NE(pending, nullptr);
  }
  EXPECT_GT(pending->record().file_count, 16u);
  // Eight each of 20, 40 and 80 KB and twelve of 160, some KB more as the threads that compress keep up.
  EXPECT_LE(pending->record().file_count, 38u);
  EXPECT_EQ(pending->record().first_key, Key(1, 0));
  EXPECT_EQ(pending->record().last_row_key, Key(1, kManyRows - 1));
  auto transaction = store->BeginWrite();
  ASSERT_TRUE(transaction->AttachLoad(std::move(pending)).ok());
  ASSERT_TRUE(transaction->Commit(Durability::kOs).ok());
  for (int row = 0; row < kManyRows; ++row) ASSERT_EQ(Get(Key(1, row)), Incompressible(row, 1000)) << row;
}

// Each entry of a file takes memory until the file ends.
TEST_F(LoadRoomTest, FilesGrowToEightTimesTheUsualSize) {
  constexpr uint64_t kUsualBytes = 20'000;
  options.expert_family_options = "target_file_size_base=20000";
  options.cores = 1;  // there are no threads that compress, and so no blocks that wait for them when a file's size is looked at
  Open();
  SortedLoad load(*store, Family::kData, {.few_files = true});
  for (int row = 0; load.file_count() <= 64; ++row) ASSERT_TRUE(load.Add(Key(1, row), Incompressible(row, 1000)).ok());
  ASSERT_TRUE(load.Finish().ok());
  EXPECT_GT(LargestFileBytes(), 8 * kUsualBytes);
  // And the block that reached it, the filter and the index.
  EXPECT_LE(LargestFileBytes(), 9 * kUsualBytes);
}

// But for the last ones of a load that must find places for all at once.
TEST_F(LoadRoomTest, FilesGrowOnWhereTheyComeAllAtOnce) {
  constexpr uint64_t kUsualBytes = 2500;
  options.expert_family_options = "target_file_size_base=2500";
  options.cores = 1;
  Open();
  for (const bool all_at_once : {false, true}) {
    SortedLoad load(*store, Family::kData, {.few_files = true, .all_at_once = all_at_once});
    for (int row = 0; load.file_count() <= 136; ++row) ASSERT_TRUE(load.Add(Key(1, row), Incompressible(row, 500)).ok());
    ASSERT_TRUE(load.Finish().ok());
    EXPECT_EQ(LargestFileBytes() > 16 * kUsualBytes, all_at_once) << LargestFileBytes();
  }
}

// There would be twice the bytes for a while.
TEST_F(LoadRoomTest, FilesThatMustBeCopiedNeedTheRoom) {
  options.free_space_reserve_bytes = uint64_t{16} << 20;
  Open();
  env.RefuseLinks();
  const auto ingest = [this] {
    SortedLoad load(*store, Family::kData);
    CAIRN_RETURN_IF_ERROR(load.Add(Key(1, 0), Incompressible(0, 3'000'000)));
    CAIRN_RETURN_IF_ERROR(load.Finish());
    env.SetFreeBytes(uint64_t{19} << 20);  // writes go on
    return load.Ingest();
  };
  const size_t files_before = env.Files("/db", ".sst").size();
  const Status status = ingest();
  EXPECT_TRUE(status.Is(Code::kNoSpace)) << status.ToString();
  EXPECT_EQ(env.Files("/db", ".sst").size(), files_before);
  EXPECT_EQ(store->write_gate(), WriteGate::kOpen);
  EXPECT_EQ(Get(Key(1, 0)), "-");
}

// One after the other.
TEST_F(LoadRoomTest, FilesThatMustBeCopiedNeedTheRoomOfOne) {
  constexpr uint64_t kFileBytes = 3'000'000, kFiles = 6;
  options.free_space_reserve_bytes = uint64_t{16} << 20;
  Open();
  env.RefuseLinks();
  SortedLoad load(*store, Family::kData);
  for (int row = 0; load.file_count() < kFiles; ++row) {
    ASSERT_TRUE(load.Add(Key(1, row), Incompressible(row, kFileBytes)).ok());
    ASSERT_TRUE(load.CutFile().ok());
  }
  ASSERT_TRUE(load.Finish().ok());
  env.SetFreeBytes(options.free_space_reserve_bytes + kFiles * kFileBytes + 100'000);
  const Status status = load.Ingest();
  EXPECT_TRUE(status.ok()) << status.ToString();
  EXPECT_TRUE(Get(Key(1, 5)) == Incompressible(5, kFileBytes));
}

// No second passes, and nobody else looks at the disk.
TEST_F(LoadRoomTest, ADiskThatRunsFullEndsALoadAmidAFile) {
  options.free_space_reserve_bytes = uint64_t{16} << 20;
  options.expert_family_options = "target_file_size_base=16777216";
  Open();
  {
    SortedLoad load(*store, Family::kData, {.few_files = true});
    constexpr uint64_t kRowBytes = 10'000;
    int row = 0;
    const auto add = [&] {
      ++row;
      return load.Add(Key(1, row), Incompressible(row, kRowBytes));
    };
    while (row < 300) ASSERT_TRUE(add().ok());
    env.SetFreeBytes(1000);
    Status status;
    while (status.ok() && row < 1500) status = add();
    EXPECT_TRUE(status.Is(Code::kNoSpace)) << status.ToString();
    EXPECT_LE(static_cast<uint64_t>(row - 300) * kRowBytes, uint64_t{3} << 20);
    EXPECT_EQ(load.file_count(), 1u);
    EXPECT_EQ(store->write_gate(), WriteGate::kNoSpace);
  }
  EXPECT_TRUE(env.Files("/db/temporary", ".sst").empty());
  env.SetFreeBytes(uint64_t{1} << 40);
  store->CheckFreeSpace();
  EXPECT_TRUE(CommitLoad().ok());
  EXPECT_EQ(Loaded(), "all");
}

// What is known of the disk by others holds a load up as soon.
TEST_F(LoadRoomTest, ADiskThatOthersFoundFullEndsALoadAmidAFile) {
  options.expert_family_options = "target_file_size_base=16777216";
  Open();
  SortedLoad load(*store, Family::kData);
  ASSERT_TRUE(load.Add(Key(1, 0), "first").ok());
  env.SetFreeBytes(1000);
  store->CheckFreeSpace();
  int row = 1;
  Status status;
  for (; status.ok() && row < 1500; ++row) status = load.Add(Key(1, row), Incompressible(row, 10'000));
  EXPECT_TRUE(status.Is(Code::kNoSpace)) << status.ToString();
  EXPECT_LE(row, 110);
}

TEST_F(LoadRoomTest, ADiskThatRunsFullEndsASort) {
  options.free_space_reserve_bytes = uint64_t{16} << 20;
  Open();
  std::unique_ptr<TempFile> file;
  ASSERT_TRUE(TempFile::Create(*store, &file).ok());
  const std::string block(256 << 10, 'x');
  ASSERT_TRUE(file->Append(block).ok());
  env.SetFreeBytes(1000);
  Status status;
  while (status.ok() && file->size_bytes() < uint64_t{16} << 20) status = file->Append(block);
  EXPECT_TRUE(status.Is(Code::kNoSpace)) << status.ToString();
  EXPECT_LE(file->size_bytes(), uint64_t{2} << 20);
}

TEST_F(LoadRoomTest, WhatWasRemovedIsThereUntilItIsCompacted) {
  Open();
  const IndexBounds bounds(IndexId(1));
  const auto has_versions = [&] {
    bool has = false;
    const Status status = store->HasVersions(bounds.lower(), bounds.upper(), &has);
    EXPECT_TRUE(status.ok()) << status.ToString();
    return has;
  };
  ASSERT_TRUE(Put(Key(2, 0), "beside").ok());
  EXPECT_FALSE(has_versions());
  ASSERT_TRUE(Put(Key(1, 5), "in the memtable").ok());
  EXPECT_TRUE(has_versions());
  ASSERT_TRUE(Delete(Key(1, 5)).ok());
  EXPECT_TRUE(has_versions());
  ASSERT_NO_FATAL_FAILURE(LeaveRemovedRows());
  EXPECT_TRUE(has_versions());
  ASSERT_TRUE(store->CompactRange(Family::kData, {}, {}).ok());
  EXPECT_FALSE(has_versions());
  EXPECT_EQ(Get(Key(2, 0)), "beside");
}

// Of a range with something in the memtable, so that it is read by a merge.
TEST_F(LoadRoomTest, ReadsOfLoadedRowsAreNotWalksOverTheMemtable) {
  Open();
  Batch beside(*store);
  for (int i = 0; i < 4000; ++i) beside.Put(Family::kData, Key(7, i), std::string(100, 'm'));
  ASSERT_TRUE(store->Write(beside, Durability::kOs).ok());
  ASSERT_TRUE(store->FlushMemtables().ok());
  ASSERT_TRUE(store->Write(beside, Durability::kOs).ok());
  ASSERT_TRUE(CommitLoad().ok());
  ASSERT_TRUE(Put(Key(1, kRows), "later").ok());
  const IndexBounds bounds(IndexId(1));
  for (int walk = 0; walk < 10'000; ++walk) {
    Cursor cursor;
    ASSERT_TRUE(store->OpenCursor(Family::kData, {.lower_bound = bounds.lower(), .upper_bound = bounds.upper()}, &cursor).ok());
    int rows = 0;
    for (cursor.SeekToFirst(); cursor.Valid(); cursor.Next()) ++rows;
    ASSERT_EQ(rows, kRows + 1);
    if (walk % 100 != 0) continue;
    ASSERT_TRUE(store->RelieveReads(1).ok());
  }
  EXPECT_EQ(Number("read_driven_flushes"), 0u);
}

}  // namespace
}  // namespace cairn::store
