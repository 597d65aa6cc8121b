// SPDX-License-Identifier: GPL-2.0-only
// Opening, crashing, damage, full disks and failing devices.
#include <atomic>
#include <filesystem>
#include <random>
#include <thread>

#include <unistd.h>

#include <gtest/gtest.h>

#include <rocksdb/env.h>

#include "store/store.h"
#include "store/store_testing.h"

namespace cairn::store {
namespace {

using Code = Status::Code;

class StoreFaultTest : public ::testing::Test, public StoreFixture {
 protected:
  Status TryOpen() { return Store::Open(options, &store); }

  static std::string Incompressible(int seed, size_t bytes) {
    std::mt19937 random(seed);
    std::string value(bytes, '\0');
    for (char& byte : value) byte = static_cast<char>(random());
    return value;
  }
  // Each file of about a MB, all of the same keys.
  void FillLevel0(int files) {
    for (int i = 0; i < files; ++i) {
      store->CheckFreeSpace();
      for (int row = 0; row < 20; ++row) {
        ASSERT_TRUE(Put("k" + std::to_string(row), Incompressible(100 * i + row, 50 << 10), Durability::kOs).ok());
      }
      ASSERT_TRUE(store->FlushMemtables().ok());
    }
  }
};

TEST_F(StoreFaultTest, OpeningNamesTheDirectoryInEveryRefusal) {
  options.create_if_missing = false;
  Status status = TryOpen();
  EXPECT_TRUE(status.Is(Code::kNotFound)) << status.ToString();
  EXPECT_NE(status.message().find("/db"), ByteView::npos);

  options.create_if_missing = true;
  options.memory_bytes = 1;
  status = TryOpen();
  EXPECT_TRUE(status.Is(Code::kInvalidArgument)) << status.ToString();
  EXPECT_EQ(env.Files("/db", "CAIRN_FORMAT").size(), 0u);
}

TEST_F(StoreFaultTest, ASecondStoreOnTheDirectoryIsBusy) {
  Open();
  env.WriteFile("/db/temporary/9.run", "the first one's");
  std::unique_ptr<Store> second;
  const Status status = Store::Open(options, &second);
  EXPECT_TRUE(status.Is(Code::kBusy)) << status.ToString();
  EXPECT_NE(status.message().find("/db"), ByteView::npos);
  EXPECT_EQ(second, nullptr);
  EXPECT_EQ(env.Files("/db/temporary", ".run").size(), 1u);
  EXPECT_TRUE(Put("a", "1").ok());
}

TEST_F(StoreFaultTest, ExpertOptionsAreCheckedAndUsed) {
  options.expert_db_options = "max_background_jobs=nonsense";
  EXPECT_TRUE(TryOpen().Is(Code::kInvalidArgument));
  options.expert_db_options = "no_such_option=1";
  EXPECT_TRUE(TryOpen().Is(Code::kInvalidArgument));
  for (const char* refused : {"wal_dir=/elsewhere", "allow_mmap_writes=true", "paranoid_checks=false"}) {
    options.expert_db_options = refused;
    const Status status = TryOpen();
    EXPECT_TRUE(status.Is(Code::kInvalidArgument)) << status.ToString();
    const std::string name(refused, std::string_view(refused).find('='));
    EXPECT_NE(status.message().find(name), ByteView::npos) << status.ToString();
  }
  options.expert_db_options = "max_background_jobs=3";
  options.expert_family_options = "write_buffer_size=1048576";
  EXPECT_TRUE(TryOpen().ok());
}

TEST_F(StoreFaultTest, SyncedWritesSurvivePowerLossAndOthersAreAPrefix) {
  Open();
  ASSERT_TRUE(Put("a", "1", Durability::kSync).ok());
  ASSERT_TRUE(Put("b", "2", Durability::kOs).ok());
  Crash();
  Open();
  EXPECT_EQ(Get("a"), "1");
  EXPECT_EQ(Get("b"), "-");
  ASSERT_TRUE(Put("b", "2", Durability::kOs).ok());
  ASSERT_TRUE(store->SyncWal().ok());
  Crash();
  Open();
  EXPECT_EQ(Get("b"), "2");
}

TEST_F(StoreFaultTest, WritesGivenToTheSystemSurviveTheProcess) {
  Open();
  ASSERT_TRUE(Put("a", "1", Durability::kOs).ok());
  Kill();
  Open();
  EXPECT_EQ(Get("a"), "1");
}

TEST_F(StoreFaultTest, AnOrderlyCloseIsDurable) {
  Open();
  ASSERT_TRUE(Put("a", "1", Durability::kBuffered).ok());
  ASSERT_TRUE(store->Close().ok());
  Crash();
  Open();
  EXPECT_EQ(Get("a"), "1");
}

TEST_F(StoreFaultTest, ATornLogLosesOnlyItsEnd) {
  Open();
  ASSERT_TRUE(Put("a", "1").ok());
  ASSERT_TRUE(Put("b", "2").ok());
  Kill();
  ASSERT_TRUE(env.Truncate("/db", ".log", 3));
  Open();
  EXPECT_EQ(Get("a"), "1");
  EXPECT_EQ(Get("b"), "-");
  EXPECT_NE(log.text().find("ends in an incomplete record"), std::string::npos);
}

// Each byte of the first two of three records of 24 bytes. The third cannot be told from a torn end.
TEST_F(StoreFaultTest, ADamagedLogIsRefusedUntilSomebodyDecides) {
  Open();
  ASSERT_TRUE(Put("a", "1").ok());
  ASSERT_TRUE(Put("b", "2").ok());
  ASSERT_TRUE(Put("c", "3").ok());
  Kill();
  const auto log_files = env.Files("/db", ".log");
  ASSERT_EQ(log_files.size(), 1u);
  for (uint64_t byte = 0; byte < 48; ++byte) {
    ASSERT_TRUE(env.FlipBit("/db", ".log", byte));
    const Status status = TryOpen();
    EXPECT_TRUE(status.Is(Code::kCorruption)) << byte << " " << status.ToString();
    EXPECT_NE(status.message().find(log_files[0]), ByteView::npos) << status.ToString();
    ASSERT_TRUE(env.FlipBit("/db", ".log", byte));
  }
  ASSERT_TRUE(env.FlipBit("/db", ".log", 30));
  options.expert_db_options = "wal_recovery_mode=kPointInTimeRecovery";
  ASSERT_TRUE(TryOpen().ok());
  EXPECT_EQ(Get("c"), "-");
}

// What follows the damage is lost once: what is confirmed from then on is there, whether the option stays or not.
TEST_F(StoreFaultTest, WhoHasDecidedLosesNothingLater) {
  for (const bool has_files : {false, true}) {
    for (const uint64_t byte : {10, 34}) {  // in the first record, or behind it
      SCOPED_TRACE(std::to_string(has_files) + " " + std::to_string(byte));
      options.directory = "/db" + std::to_string(has_files) + std::to_string(byte);
      options.expert_db_options.clear();
      Open();
      ASSERT_TRUE(Put("0", "0").ok());
      if (has_files) {
        ASSERT_TRUE(store->FlushMemtables().ok());
        Reopen();
      }
      const size_t logs = env.Files(options.directory, ".log").size();
      for (const char* key : {"a", "b", "c"}) ASSERT_TRUE(Put(key, "1").ok());
      Kill();
      ASSERT_EQ(env.Files(options.directory, ".log").size(), logs);
      const std::string newest = env.Files(options.directory, ".log").back();
      ASSERT_TRUE(env.FlipBit(options.directory, newest.substr(newest.rfind('/') + 1), byte));
      ASSERT_TRUE(TryOpen().Is(Code::kCorruption));
      options.expert_db_options = "wal_recovery_mode=kPointInTimeRecovery";
      ASSERT_TRUE(TryOpen().ok());
      EXPECT_EQ(Get("c"), "-");
      ASSERT_TRUE(Put("d", "1").ok());
      Kill();
      ASSERT_TRUE(TryOpen().ok());
      EXPECT_EQ(Get("d"), "1");
      ASSERT_TRUE(Put("e", "1").ok());
      Kill();
      options.expert_db_options.clear();
      Open();
      EXPECT_EQ(Get("d") + Get("e"), "11");
      if (has_files) { EXPECT_EQ(Get("0"), "0"); }
      store.reset();
    }
  }
}

TEST_F(StoreFaultTest, ALongLogIsCheckedAcrossBlocks) {
  Open();
  for (int i = 0; i < 50; ++i) ASSERT_TRUE(Put("k" + std::to_string(i), std::string(5000, 'v')).ok());
  Kill();
  ASSERT_TRUE(env.FlipBit("/db", ".log", 100'000));
  EXPECT_TRUE(TryOpen().Is(Code::kCorruption));
  ASSERT_TRUE(env.FlipBit("/db", ".log", 100'000));
  Open();
  for (int i = 0; i < 50; ++i) EXPECT_NE(Get("k" + std::to_string(i)), "-");
}

// The real file system says things in its own words.
TEST(StoreOnDisk, OpensReopensAndRefusesInWords) {
  const std::string directory = ::testing::TempDir() + "cairn_store_" + std::to_string(getpid());
  StoreOptions options;
  options.directory = directory;
  options.memory_bytes = uint64_t{32} << 20;
  std::unique_ptr<Store> store;
  std::unique_ptr<Store> second;
  Status status = Store::Open(options, &store);
  ASSERT_TRUE(status.ok()) << status.ToString();
  status = Store::Open(options, &second);
  EXPECT_TRUE(status.Is(Code::kBusy)) << status.ToString();
  Batch batch(*store);
  batch.Put(Family::kData, "a", "1");
  ASSERT_TRUE(store->Write(batch, Durability::kSync).ok());
  ASSERT_TRUE(store->FlushMemtables().ok());
  ASSERT_TRUE(store->Close().ok());
  ASSERT_TRUE(Store::Open(options, &store).ok());
  PinnedValue value;
  EXPECT_TRUE(store->Get(Family::kData, "a", nullptr, &value).ok());
  value.Reset();
  store.reset();
  options.directory = directory + "/CURRENT/below_a_file";
  status = Store::Open(options, &store);
  EXPECT_TRUE(status.Is(Code::kIoError)) << status.ToString();
  std::filesystem::remove_all(directory);
}

TEST_F(StoreFaultTest, AFlippedBitInAFileIsCorruptionWithItsName) {
  Open();
  for (int i = 0; i < 1000; ++i) ASSERT_TRUE(Put("k" + std::to_string(i), std::string(100, 'v'), Durability::kOs).ok());
  ASSERT_TRUE(store->FlushMemtables().ok());
  EXPECT_TRUE(store->VerifyChecksums().ok());
  store.reset();
  ASSERT_TRUE(env.FlipBit("/db", ".sst", 100));
  Open();
  const Status status = store->VerifyChecksums();
  EXPECT_TRUE(status.Is(Code::kCorruption)) << status.ToString();
  EXPECT_NE(status.message().find(".sst"), ByteView::npos) << status.ToString();
  Cursor cursor;
  ASSERT_TRUE(store->OpenCursor(Family::kData, {.lower_bound = "k", .upper_bound = "l"}, &cursor).ok());
  cursor.SeekToFirst();
  while (cursor.Valid()) cursor.Next();
  EXPECT_TRUE(cursor.status().Is(Code::kCorruption)) << cursor.status().ToString();
}

TEST_F(StoreFaultTest, AFullDiskRefusesWritesAndReopensByItself) {
  options.free_space_reserve_bytes = 1 << 20;
  Open();
  ASSERT_TRUE(Put("a", "1").ok());
  auto prepared = store->BeginWrite();
  ASSERT_TRUE(prepared->Put(Family::kData, "p", "1").ok());
  ASSERT_TRUE(prepared->Prepare("p", Durability::kSync).ok());
  auto open = store->BeginWrite();
  ASSERT_TRUE(open->Put(Family::kData, "q", "1").ok());

  env.SetFreeBytes(20'000);
  store->CheckFreeSpace();
  EXPECT_EQ(store->write_gate(), WriteGate::kNoSpace);
  const Status refused = Put("b", "1");
  EXPECT_TRUE(refused.Is(Code::kNoSpace)) << refused.ToString();
  EXPECT_NE(refused.message().find("/db"), ByteView::npos);
  EXPECT_TRUE(open->Commit(Durability::kSync).Is(Code::kNoSpace));
  EXPECT_TRUE(open->Rollback().ok());
  EXPECT_EQ(Get("a"), "1");
  // What was promised must be kept, and dropping makes room.
  EXPECT_TRUE(prepared->Commit(Durability::kSync).ok());
  EXPECT_TRUE(store->DropRange(Family::kData, "a", "b").ok());

  env.SetFreeBytes(uint64_t{1} << 30);
  store->CheckFreeSpace();
  EXPECT_EQ(store->write_gate(), WriteGate::kOpen);
  EXPECT_TRUE(Put("b", "1").ok());
  EXPECT_NE(log.text().find("writes are refused"), std::string::npos);
  EXPECT_NE(log.text().find("writes are accepted"), std::string::npos);
}

TEST_F(StoreFaultTest, OnAFullDiskRowsMayStillBeRemoved) {
  options.free_space_reserve_bytes = 1 << 20;
  Open();
  for (const char* key : {"a", "b", "c"}) ASSERT_TRUE(Put(key, "1").ok());
  const auto remove = [this](const char* key, bool and_put) {
    auto writes = store->BeginWrite();
    EXPECT_TRUE(writes->Delete(Family::kData, key).ok());
    EXPECT_TRUE(!and_put || writes->Put(Family::kData, "x", "1").ok());
    const Status status = writes->Commit(Durability::kSync);
    EXPECT_TRUE(status.ok() || writes->Rollback().ok());
    return status.code();
  };
  env.SetFreeBytes(600 << 10);
  store->CheckFreeSpace();
  EXPECT_EQ(remove("a", /*and_put=*/true), Code::kNoSpace);
  EXPECT_EQ(remove("a", /*and_put=*/false), Code::kOk);
  env.SetFreeBytes(500 << 10);
  store->CheckFreeSpace();
  EXPECT_EQ(remove("b", /*and_put=*/false), Code::kNoSpace);
  EXPECT_EQ(Get("a"), "-");
  EXPECT_EQ(Get("b"), "1");
}

TEST_F(StoreFaultTest, WritesLookAtTheDiskByTheirBytesToo) {
  options.free_space_reserve_bytes = 16 << 20;
  Open();
  ASSERT_TRUE(Put("a", "1").ok());
  // No second has passed since the last look, and nothing looks on its own here.
  env.SetFreeBytes(uint64_t{20} << 20);
  EXPECT_TRUE(Put("large", std::string(3 << 20, 'x')).Is(Code::kNoSpace));
  EXPECT_EQ(store->write_gate(), WriteGate::kOpen);
  EXPECT_TRUE(Put("a", "2").ok());
  env.SetFreeBytes(uint64_t{10} << 20);
  Status status;
  for (int i = 0; i < 40 && status.ok(); ++i) status = Put("k" + std::to_string(i), std::string(64 << 10, 'x'));
  EXPECT_TRUE(status.Is(Code::kNoSpace));
  EXPECT_EQ(store->write_gate(), WriteGate::kNoSpace);
}

TEST_F(StoreFaultTest, WhatWasLetThroughIsFlushedWithLittleSpaceLeft) {
  options.free_space_reserve_bytes = 1 << 20;
  options.memory_bytes = uint64_t{256} << 20;
  Open();
  // Below the largest row that is let through without a look at the disk, and more at once than the room that
  // a full disk leaves to compactions.
  for (int i = 0; i < 800; ++i) {
    ASSERT_TRUE(Put("k" + std::to_string(i), Incompressible(i, 60 << 10), Durability::kOs).ok());
  }
  env.SetFreeBytes(600 << 10);
  store->CheckFreeSpace();
  EXPECT_EQ(store->write_gate(), WriteGate::kNoSpace);
  ASSERT_TRUE(store->FlushMemtables().ok());

  env.SetFreeBytes(uint64_t{1} << 30);
  store->CheckFreeSpace();
  EXPECT_EQ(store->write_gate(), WriteGate::kOpen);
  EXPECT_TRUE(Put("b", "1").ok());
}

// Level 0 as a whole does not fit beside itself: its oldest files go first, a few at a time.
TEST_F(StoreFaultTest, Level0IsCompactedStepByStepInLittleSpace) {
  options.free_space_reserve_bytes = 1 << 20;
  Open();
  env.SetFreeBytes(uint64_t{4} << 20);
  FillLevel0(6);
  while (Number("compaction_cancelled") == 0) std::this_thread::yield();
  while (Level0Files() >= 4) ASSERT_TRUE(store->RelieveSpace(1).ok());
  EXPECT_EQ(store->write_gate(), WriteGate::kOpen);
}

// Not one file of level 0 fits beside all that it meets in the next level: that goes down first, file by file.
TEST_F(StoreFaultTest, TheNextLevelMakesRoomForLevel0) {
  options.free_space_reserve_bytes = 1 << 20;
  options.expert_family_options =
      "max_bytes_for_level_base=3500000;max_bytes_for_level_multiplier=2;target_file_size_base=300000";
  Open();
  const auto put = [&](int number) {
    return Put("k" + std::to_string(100 + number), Incompressible(number, 50 << 10), Durability::kOs);
  };
  for (int number = 0; number < 120; ++number) ASSERT_TRUE(put(number).ok());
  ASSERT_TRUE(store->FlushMemtables().ok());
  ASSERT_TRUE(store->CompactRange(Family::kData, {}, {}).ok());
  for (int file = 0; file < 4; ++file) {
    for (int row = 0; row < 12; ++row) ASSERT_TRUE(put(10 * row + file).ok());
    ASSERT_TRUE(store->FlushMemtables().ok());
  }
  while (Level0Files() > 0) std::this_thread::yield();
  ASSERT_GT(LevelFiles(5), 4);
  ASSERT_GT(LevelFiles(6), 4);

  env.SetFreeBytes(uint64_t{9} << 18);
  FillLevel0(4);
  while (Number("compaction_cancelled") == 0) std::this_thread::yield();
  ASSERT_TRUE(store->RelieveSpace(1).ok());
  EXPECT_LT(Level0Files(), 4);
  EXPECT_EQ(store->write_gate(), WriteGate::kOpen);
  EXPECT_EQ(Get("k219"), Incompressible(119, 50 << 10));
}

TEST_F(StoreFaultTest, WritesAreRefusedWhileCompactionsHaveNoRoom) {
  options.free_space_reserve_bytes = 1 << 20;
  Open();
  env.SetFreeBytes((1 << 20) + (100 << 10));
  FillLevel0(6);
  while (Number("compaction_cancelled") == 0) std::this_thread::yield();
  ASSERT_TRUE(store->RelieveSpace(1).ok());
  EXPECT_EQ(store->write_gate(), WriteGate::kNoSpace);
  const Status refused = Put("b", "1");
  EXPECT_TRUE(refused.Is(Code::kNoSpace)) << refused.ToString();
  EXPECT_NE(refused.message().find("compaction"), ByteView::npos) << refused.ToString();
  EXPECT_TRUE(Delete("k1").ok()) << "level 0 has places";

  env.SetFreeBytes(uint64_t{1} << 30);
  store->CheckFreeSpace();
  while (Level0Files() >= 4) std::this_thread::yield();
  uint64_t now_us = 1;
  while (store->write_gate() != WriteGate::kOpen) ASSERT_TRUE(store->RelieveSpace(now_us += 1'000'000).ok());
  EXPECT_TRUE(Put("b", "1").ok());
}

TEST_F(StoreFaultTest, ACompactionWithoutRoomThatNobodyWaitsForRefusesNoWrites) {
  options.free_space_reserve_bytes = 1 << 20;
  Open();
  FillLevel0(2);
  env.SetFreeBytes((1 << 20) + (200 << 10));
  store->CheckFreeSpace();
  const Status compacted = store->CompactRange(Family::kData, {}, {});
  EXPECT_TRUE(compacted.Is(Code::kNoSpace)) << compacted.ToString();
  EXPECT_NE(compacted.message().find("/db"), ByteView::npos) << compacted.ToString();
  ASSERT_GT(Number("compaction_cancelled"), 0U);
  ASSERT_TRUE(store->RelieveSpace(1).ok());
  EXPECT_EQ(store->write_gate(), WriteGate::kOpen);
  EXPECT_TRUE(Put("b", "1").ok());
}

// They would wait for a compaction that cannot be made.
TEST_F(StoreFaultTest, RemovalsAreRefusedBeforeAFullLevel0HoldsThemUp) {
  options.free_space_reserve_bytes = 1 << 20;
  options.expert_family_options = "level0_slowdown_writes_trigger=14;level0_stop_writes_trigger=14";
  Open();
  env.SetFreeBytes((1 << 20) + (100 << 10));
  FillLevel0(6);
  while (Number("compaction_cancelled") == 0) std::this_thread::yield();
  ASSERT_TRUE(store->RelieveSpace(1).ok());
  Status removed;
  int removals = 0;
  for (; removed.ok() && removals < 100'000; ++removals) {
    removed = Delete("k" + std::to_string(removals) + std::string(1000, 'k'));
  }
  EXPECT_GT(removals, 1);
  EXPECT_TRUE(removed.Is(Code::kNoSpace)) << removed.ToString();
  EXPECT_NE(removed.message().find("compaction"), ByteView::npos) << removed.ToString();
}

TEST_F(StoreFaultTest, AFailedLogWriteIsReportedOnceAndStopsWrites) {
  std::atomic<int> calls{0};
  options.on_wal_failure = [&calls](const Status& status) {
    EXPECT_FALSE(status.ok());
    ++calls;
  };
  Open();
  ASSERT_TRUE(Put("a", "1").ok());
  env.FailWrites(".log", 1);
  const Status failed = Put("b", "1");
  EXPECT_TRUE(failed.Is(Code::kIoError)) << failed.ToString();
  EXPECT_EQ(calls, 1);
  const Status refused = Put("c", "1");
  EXPECT_FALSE(refused.ok());
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(Get("a"), "1");
  env.Heal();
  Crash();
  Open();
  EXPECT_EQ(Get("a"), "1");
  EXPECT_EQ(Get("c"), "-");
}

}  // namespace
}  // namespace cairn::store
