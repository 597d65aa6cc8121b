// SPDX-License-Identifier: GPL-2.0-only
// Compactions that come upon damage keep nobody from writing.
#include "store/damaged_files.h"

#include <filesystem>
#include <memory>
#include <random>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include <rocksdb/env.h>
#include <rocksdb/file_system.h>

#include "base/clock.h"
#include "store/rocks_status.h"
#include "store/store_testing.h"

namespace cairn::store {
namespace {

using Code = Status::Code;

class DamagedFilesTest : public ::testing::Test, public StoreFixture {
 protected:
  static constexpr int kRows = 20;

  void PutRows(int seed) {
    std::mt19937 random(seed);
    for (int row = 0; row < kRows; ++row) {
      std::string value(50'000, '\0');
      for (char& byte : value) byte = static_cast<char>(random());
      ASSERT_TRUE(Put("kkkk" + std::to_string(row), value, Durability::kOs).ok());
    }
  }
  // All rows are in one file of the last level, or of level 0, whose first block is damaged.
  void OpenDamaged(bool in_level0 = false) {
    Open();
    PutRows(0);
    ASSERT_TRUE((in_level0 ? store->FlushMemtables() : store->CompactRange(Family::kData, {}, {})).ok());
    store.reset();
    ASSERT_EQ(env.Files("/db", ".sst").size(), 1u);
    ASSERT_TRUE(env.FlipBit("/db", ".sst", 100));
    Open();
  }
  // Each of the same keys.
  void FillLevel0(int files) {
    for (int i = 0; i < files; ++i) {
      PutRows(++seed_);
      ASSERT_TRUE(store->FlushMemtables().ok());
    }
  }
  size_t TimesLogged(const std::string& words) {
    const std::string text = log.text();
    size_t times = 0;
    for (size_t at = text.find(words); at != std::string::npos; at = text.find(words, at + 1)) ++times;
    return times;
  }
  void AwaitLogged(const std::string& words, size_t times) {
    while (TimesLogged(words) < times) std::this_thread::yield();
  }

  int seed_ = 0;
};

TEST_F(DamagedFilesTest, WhatSomebodyHasCompactedIsRefusedAlone) {
  OpenDamaged();
  auto prepared = store->BeginWrite();
  ASSERT_TRUE(prepared->Put(Family::kData, "pppp", "1").ok());
  ASSERT_TRUE(prepared->Prepare("p", Durability::kSync).ok());
  const Status compacted = store->CompactRange(Family::kData, {}, {});
  EXPECT_TRUE(compacted.Is(Code::kCorruption)) << compacted.ToString();
  EXPECT_NE(compacted.message().find(".sst"), ByteView::npos) << compacted.ToString();
  EXPECT_EQ(store->write_gate(), WriteGate::kOpen);
  EXPECT_TRUE(prepared->Commit(Durability::kSync).ok());
  prepared.reset();
  EXPECT_TRUE(Put("a", "1").ok());
  EXPECT_EQ(TimesLogged("come upon damage"), 1u) << log.text();
  // Nor does the next start.
  Reopen();
  EXPECT_FALSE(store->CompactRange(Family::kData, {}, {}).ok());
  EXPECT_TRUE(Put("b", "1").ok());
}

TEST_F(DamagedFilesTest, AFileIsSetAsideAndOthersAreCompacted) {
  OpenDamaged();
  ASSERT_TRUE(Put("zzzz", "0").ok());
  ASSERT_TRUE(store->FlushMemtables().ok());
  FillLevel0(4);
  AwaitLogged("set aside, so that others go on", 1);
  EXPECT_NE(log.text().find("(index 1802201963)"), std::string::npos) << log.text();
  EXPECT_EQ(Number("damaged_files_set_aside"), 1u);
  // Files of level 0 cannot go down there, but are merged with each other.
  FillLevel0(12);
  while (Level0Files() > 8) std::this_thread::yield();
  store->MindDamage(SteadyTimeUs());
  EXPECT_EQ(store->write_gate(), WriteGate::kOpen);
  EXPECT_EQ(Get("zzzz"), "0");
  EXPECT_EQ(Get("kkkk0").size(), 50'000u);
}

// RocksDB would take it again each second with all that overlaps it.
TEST_F(DamagedFilesTest, AFileOfLevel0IsSetAside) {
  OpenDamaged(/*in_level0=*/true);
  FillLevel0(3);
  AwaitLogged("set aside, so that others go on", 1);
  FillLevel0(12);
  while (Level0Files() > 8) std::this_thread::yield();
  EXPECT_EQ(TimesLogged("come upon damage"), 1u) << log.text();
  EXPECT_EQ(Number("damaged_files_set_aside"), 1u);
}

// Some files of level 0 do not meet the damaged one, and all would wait behind that which RocksDB tries first.
TEST_F(DamagedFilesTest, NarrowFilesOfLevel0AreMergedAlso) {
  OpenDamaged();
  for (int i = 0; i < 16; ++i) {
    ASSERT_TRUE(Put("aaaa", std::to_string(i)).ok());
    if (i % 2 == 1) PutRows(i);
    ASSERT_TRUE(store->FlushMemtables().ok());
  }
  AwaitLogged("set aside", 1);
  while (Level0Files() > 8) std::this_thread::yield();
}

TEST_F(DamagedFilesTest, WritesAreRefusedBeforeAFullLevel0HoldsThemUp) {
  options.expert_family_options = "level0_slowdown_writes_trigger=10;level0_stop_writes_trigger=10";
  OpenDamaged();
  FillLevel0(4);
  AwaitLogged("set aside", 1);
  store->MindDamage(SteadyTimeUs());
  EXPECT_EQ(store->write_gate(), WriteGate::kOpen);
  EXPECT_TRUE(Put("a", "1").ok());
  FillLevel0(1);
  store->MindDamage(SteadyTimeUs());
  EXPECT_EQ(store->write_gate(), WriteGate::kReadOnly);
  const Status refused = Put("b", "1");
  EXPECT_TRUE(refused.Is(Code::kReadOnly)) << refused.ToString();
  EXPECT_NE(refused.message().find(".sst"), ByteView::npos) << refused.ToString();
  EXPECT_TRUE(Delete("a").Is(Code::kReadOnly));
  // Tried again though nothing is written.
  store->MindDamage(SteadyTimeUs() + 3'600'000'000);
  AwaitLogged("set aside", 2);
  EXPECT_EQ(store->write_gate(), WriteGate::kReadOnly);

  // The way out.
  ASSERT_TRUE(store->DropRange(Family::kData, "kkkk", "kkkl").ok());
  while (Level0Files() >= 4) std::this_thread::yield();
  store->MindDamage(SteadyTimeUs());
  EXPECT_EQ(store->write_gate(), WriteGate::kOpen);
  EXPECT_EQ(Number("damaged_files_set_aside"), 0u);
  EXPECT_TRUE(Put("b", "1").ok());
}

TEST_F(DamagedFilesTest, WritesAreRefusedBeforeWhatIsOwedHoldsThemUp) {
  options.expert_family_options = "soft_pending_compaction_bytes_limit=100000000;hard_pending_compaction_bytes_limit=100000000";
  OpenDamaged();
  FillLevel0(4);
  AwaitLogged("set aside", 1);
  store->MindDamage(SteadyTimeUs());
  EXPECT_EQ(store->write_gate(), WriteGate::kOpen);
  options.expert_family_options = "soft_pending_compaction_bytes_limit=1000000;hard_pending_compaction_bytes_limit=1000000";
  Reopen();
  EXPECT_FALSE(store->SettleLoad().ok());
  EXPECT_EQ(Number("damaged_files_set_aside"), 1u);
  store->MindDamage(SteadyTimeUs());
  EXPECT_EQ(store->write_gate(), WriteGate::kReadOnly);
}

// The flush of what the range has in memory would wait for a place in level 0.
TEST_F(DamagedFilesTest, AFullLevel0HoldsUpNoCompactionOfARange) {
  options.expert_family_options = "level0_slowdown_writes_trigger=6;level0_stop_writes_trigger=10";
  OpenDamaged();
  FillLevel0(4);
  AwaitLogged("set aside", 1);
  FillLevel0(1);
  ASSERT_TRUE(Put("a", "1").ok());
  EXPECT_TRUE(store->CompactRange(Family::kData, {}, {}).Is(Code::kCorruption));
}

// As a device may read again what it could not.
TEST_F(DamagedFilesTest, WhatWasSetAsideIsTriedAgain) {
  OpenDamaged();
  FillLevel0(4);
  AwaitLogged("set aside", 1);
  store->MindDamage(SteadyTimeUs() + 3'600'000'000);
  FillLevel0(1);
  AwaitLogged("set aside", 2);
}

// A range that is compacted for somebody would wait for the file for ever.
TEST_F(DamagedFilesTest, WhatIsSetAsideHoldsUpNoCompactionOfARange) {
  OpenDamaged();
  FillLevel0(4);
  AwaitLogged("set aside", 1);
  EXPECT_TRUE(store->CompactRange(Family::kData, {}, {}).Is(Code::kCorruption));
}

TEST_F(DamagedFilesTest, AFileThatIsLostKeepsNobodyFromStarting) {
  Open();
  PutRows(0);
  ASSERT_TRUE(store->CompactRange(Family::kData, {}, {}).ok());
  ASSERT_TRUE(Put("zzzz", "0").ok());
  ASSERT_TRUE(store->FlushMemtables().ok());
  store.reset();
  const std::string lost = env.Files("/db", ".sst").front();
  ASSERT_TRUE(env.rocks_env()->DeleteFile(lost).ok());
  Open();
  EXPECT_NE(log.text().find("is opened without it"), std::string::npos) << log.text();
  EXPECT_EQ(Get("zzzz"), "0");
  PinnedValue value;
  const Status found = store->Get(Family::kData, "kkkk0", nullptr, &value);
  EXPECT_FALSE(found.ok());
  EXPECT_FALSE(found.Is(Code::kNotFound));
  Cursor cursor;
  ASSERT_TRUE(store->OpenCursor(Family::kData, {.lower_bound = "kkkk", .upper_bound = "kkkl"}, &cursor).ok());
  cursor.SeekToFirst();
  EXPECT_FALSE(cursor.Valid());
  EXPECT_FALSE(cursor.status().ok());
  cursor.Close();
  EXPECT_EQ(store->write_gate(), WriteGate::kOpen);
  EXPECT_TRUE(Put("a", "1").ok());
  // What the file had can be given up.
  EXPECT_TRUE(store->DropRange(Family::kData, "kkkk", "kkkl").ok());
  EXPECT_TRUE(store->CompactRange(Family::kData, {}, {}).ok());
  Reopen();
  EXPECT_EQ(TimesLogged("is opened without it"), 1u) << log.text();
  EXPECT_EQ(Get("a"), "1");
}

TEST(UnreadableTest, IsWhatADeviceDoesNotGive) {
  rocks::FileSystem& files = *rocks::FileSystem::Default();
  const std::string directory = std::filesystem::temp_directory_path().string();
  std::unique_ptr<rocks::FSRandomAccessFile> file;
  EXPECT_TRUE(IsUnreadable(files.NewRandomAccessFile(directory + "/no such file", {}, &file, nullptr)));
  ASSERT_TRUE(files.NewRandomAccessFile(directory, {}, &file, nullptr).ok());
  char bytes[10];
  rocks::Slice read;
  EXPECT_TRUE(IsUnreadable(file->Read(0, sizeof(bytes), {}, &read, bytes, nullptr)));
  EXPECT_TRUE(IsUnreadable(rocks::Status::Corruption("block checksum mismatch")));
  EXPECT_FALSE(IsUnreadable(rocks::Status::OK()));
  EXPECT_FALSE(IsUnreadable(rocks::Status::IOError("While appending to file: x.sst: Input/output error")));
  EXPECT_FALSE(IsUnreadable(rocks::Status::NoSpace()));
}

}  // namespace
}  // namespace cairn::store
