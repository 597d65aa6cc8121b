// SPDX-License-Identifier: GPL-2.0-only
// Compactions that run out of space, as others take what there was when they started.
#include <random>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include <rocksdb/status.h>

#include "store/rocks_status.h"
#include "store/store.h"
#include "store/store_testing.h"

namespace cairn::store {
namespace {

using Code = Status::Code;

class CompactionRoomTest : public ::testing::Test, public StoreFixture {
 protected:
  static constexpr uint64_t kReserveBytes = 1 << 20;
  static constexpr uint64_t kPlenty = uint64_t{1} << 30;

  CompactionRoomTest() { options.free_space_reserve_bytes = kReserveBytes; }

  static std::string Value(int file, int row) {
    std::mt19937 random(static_cast<unsigned>(100 * file + row));
    std::string value(50 << 10, '\0');
    for (char& byte : value) byte = static_cast<char>(random());
    return value;
  }
  // Each file of about a MB, all of the same keys; nothing is left in memory.
  void FillLevel0(int files) {
    for (int file = 0; file < files; ++file) {
      store->CheckFreeSpace();
      for (int row = 0; row < 20; ++row) {
        ASSERT_TRUE(Put("k" + std::to_string(row), Value(file, row), Durability::kOs).ok());
      }
      ASSERT_TRUE(store->FlushMemtables().ok());
    }
  }
  // A disk on which two of level 0's six files can be compacted, but no more.
  void OpenInLittleSpace() {
    Open();
    env.SetFreeBytes(4 * kReserveBytes);
    ASSERT_NO_FATAL_FAILURE(FillLevel0(6));
    while (Number("compaction_cancelled") == 0) std::this_thread::yield();
  }
  // Compacts these. By the time it writes the disk is full, and writes to files whose path contains `part` fail.
  Status RelieveWhileSpaceGoes(const std::string& part) {
    Status status;
    env.HoldWrites(".sst");
    std::thread reliever([&] { status = store->RelieveSpace(1); });
    env.AwaitHeldWrite();
    env.SetFreeBytes(0);
    env.FailWrites(part, 1);
    env.ReleaseWrites();
    reliever.join();
    return status;
  }
  void BringSpaceBack(uint64_t free_bytes) {
    env.Heal();
    env.SetFreeBytes(free_bytes);
    store->CheckFreeSpace();
  }
};

TEST_F(CompactionRoomTest, TheStoreOpensAgainOnceThereIsSpace) {
  Open();
  FillLevel0(2);
  auto prepared = store->BeginWrite();
  ASSERT_TRUE(prepared->Put(Family::kData, "p", "1").ok());
  ASSERT_TRUE(prepared->Prepare("p", Durability::kSync).ok());
  // Nobody has looked at the disk since it ran full.
  env.SetFreeBytes(0);
  env.FailWrites(".sst", 1);
  const Status compacted = store->CompactRange(Family::kData, {}, {});
  EXPECT_TRUE(compacted.Is(Code::kNoSpace)) << compacted.ToString();
  EXPECT_NE(log.text().find("ran out of space and changed nothing"), std::string::npos) << log.text();
  EXPECT_EQ(store->write_gate(), WriteGate::kNoSpace);
  EXPECT_TRUE(Put("b", "1").Is(Code::kNoSpace));
  // As on every full disk.
  EXPECT_TRUE(prepared->Commit(Durability::kSync).ok());
  prepared.reset();
  EXPECT_TRUE(store->DropRange(Family::kData, "k0", "k1").Is(Code::kNoSpace));
  env.SetFreeBytes(kReserveBytes / 16);
  // Done, and to be repeated, as level 0 has rows of it.
  EXPECT_TRUE(store->DropRange(Family::kData, "k0", "k1").Is(Code::kBusy));
  EXPECT_EQ(Get("k0"), "-");

  BringSpaceBack(kPlenty);
  EXPECT_EQ(store->write_gate(), WriteGate::kOpen);
  EXPECT_TRUE(Put("b", "1").ok());
  const Status again = store->CompactRange(Family::kData, {}, {});
  EXPECT_TRUE(again.ok()) << again.ToString();
  EXPECT_EQ(Level0Files(), 0);
  EXPECT_EQ(Get("k0") + Get("p") + Get("b"), "-11");
  EXPECT_EQ(Get("k1"), Value(1, 1));
}

// Else writers would be held up by level 0, to which they add.
TEST_F(CompactionRoomTest, WhatLostItsRoomDidNotFit) {
  ASSERT_NO_FATAL_FAILURE(OpenInLittleSpace());
  const Status relieved = RelieveWhileSpaceGoes(".sst");
  EXPECT_TRUE(relieved.ok()) << relieved.ToString();
  // Enough for writes, but not for a compaction.
  BringSpaceBack(kReserveBytes + (200 << 10));
  EXPECT_EQ(store->write_gate(), WriteGate::kNoSpace);
  const Status refused = Put("b", "1");
  EXPECT_NE(refused.message().find("compaction"), ByteView::npos) << refused.ToString();

  BringSpaceBack(kPlenty);
  while (Level0Files() >= 4) std::this_thread::yield();
  uint64_t now_us = 1;
  while (store->write_gate() != WriteGate::kOpen) ASSERT_TRUE(store->RelieveSpace(now_us += 1'000'000).ok());
  EXPECT_TRUE(Put("b", "1").ok());
  EXPECT_EQ(Get("k1"), Value(5, 1));
}

// Whether its record counts nobody knows.
TEST_F(CompactionRoomTest, AManifestThatIsCutShortClosesTheStore) {
  ASSERT_NO_FATAL_FAILURE(OpenInLittleSpace());
  EXPECT_TRUE(RelieveWhileSpaceGoes("MANIFEST").Is(Code::kNoSpace));
  BringSpaceBack(kPlenty);
  EXPECT_EQ(store->write_gate(), WriteGate::kNoSpace);
  EXPECT_TRUE(Put("b", "1").Is(Code::kNoSpace));
  Reopen();
  EXPECT_TRUE(Put("b", "1").ok());
  EXPECT_EQ(Get("k1"), Value(5, 1));
}

TEST(LacksRoomForFileTest, GoesByTheFileThatTheErrorNames) {
  using Rocks = rocks::Status;
  const std::string full = "No space left on device";
  EXPECT_TRUE(LacksRoomForFile(Rocks::NoSpace("While appending to file: /db/000012.sst", full)));
  EXPECT_TRUE(LacksRoomForFile(Rocks::NoSpace("simulated lack of space for /db/000012.sst")));
  EXPECT_FALSE(LacksRoomForFile(Rocks::NoSpace("While appending to file: /db/MANIFEST-000005", full)));
  EXPECT_FALSE(LacksRoomForFile(Rocks::NoSpace("While appending to file: /a.sst/MANIFEST-000005", full)));
  EXPECT_FALSE(LacksRoomForFile(Rocks::NoSpace()));
  EXPECT_FALSE(LacksRoomForFile(Rocks::IOError("While appending to file: /db/000012.sst", "Disk quota exceeded")));
  EXPECT_FALSE(LacksRoomForFile(Rocks::OK()));
}

}  // namespace
}  // namespace cairn::store
