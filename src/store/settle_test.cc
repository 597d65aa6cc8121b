// SPDX-License-Identifier: GPL-2.0-only
// What a load leaves goes to the last level, unless that would write too much or rows pour in again.
#include <atomic>
#include <cstring>
#include <fstream>
#include <thread>

#include <unistd.h>

#include "store/compaction_interrupt.h"
#include "store/store_testing.h"

namespace cairn::store {
namespace {

constexpr uint64_t kSecondUs = 1'000'000;

// Whether the thread of this process sleeps until somebody wakes it up.
bool Waits(pid_t thread) {
  std::ifstream file("/proc/self/task/" + std::to_string(thread) + "/stat");
  std::string text;
  std::getline(file, text);
  const size_t name_end = text.rfind(") ");  // its name may have brackets
  return name_end != std::string::npos && text[name_end + 2] == 'S';
}

class SettleLoadTest : public ::testing::Test, public StoreFixture {
 protected:
  SettleLoadTest() { options.load_bytes_min = 0; }
  // Numbers that do not compress, beyond half a memtable, into a file of level 0.
  void Pour(char table) {
    ASSERT_NO_FATAL_FAILURE(Fill(table));
    ASSERT_TRUE(store->FlushMemtables().ok());
  }
  void Fill(char table) {
    for (unsigned i = 0; i < 6000; ++i) {
      std::string value(1000, 0);
      for (size_t at = 0; at < value.size(); at += sizeof state_) {
        state_ ^= state_ << 13;
        state_ ^= state_ >> 7;
        state_ ^= state_ << 17;
        std::memcpy(&value[at], &state_, sizeof state_);
      }
      ASSERT_TRUE(Put(std::string("idx") + table + std::to_string(i), value, Durability::kOs).ok());
    }
  }
  void Pace(uint64_t seconds) { ASSERT_TRUE(store->PaceCompactions(seconds * kSecondUs).ok()); }
  // From second 1 to 40 of the pace's clock.
  void Load(const std::string& tables) {
    ASSERT_NO_FATAL_FAILURE(Pace(1));
    for (const char table : tables) {
      ASSERT_NO_FATAL_FAILURE(Pour(table));
      ASSERT_NO_FATAL_FAILURE(Pace(2));
    }
    ASSERT_NO_FATAL_FAILURE(Pace(20));
    ASSERT_NO_FATAL_FAILURE(Pace(40));
  }
  // Opens the store and loads it, on a disk of which some is for writers alone.
  void LoadBesideReserve() {
    options.free_space_reserve_bytes = kReserveBytes;
    Open();
    ASSERT_NO_FATAL_FAILURE(Load("abc"));
    loaded_bytes_ = Number("live_sst_files_size");
  }
  // For the settling of that load and writers, who come first.
  void LeaveTooLittleRoom() {
    env.SetFreeBytes(kReserveBytes - (kReserveBytes >> 2) + loaded_bytes_);
    store->CheckFreeSpace();
  }
  // Files of each level: "0 0 0 0 0 0 3".
  std::string Levels() {
    std::string text;
    for (int level = 0; level < 7; ++level) {
      const std::string name = "rocksdb.num-files-at-level" + std::to_string(level);
      text += (level == 0 ? "" : " ") + store->TextProperty(Family::kData, name);
    }
    return text;
  }
  std::string LevelsAbove() { return Levels().substr(0, 11); }

  static constexpr uint64_t kReserveBytes = 64 << 20;

  uint64_t loaded_bytes_ = 0;
  uint64_t state_ = 88172645463325252;
};

TEST_F(SettleLoadTest, ALoadEndsInTheLastLevel) {
  Open();
  ASSERT_NO_FATAL_FAILURE(Load("abc"));
  ASSERT_TRUE(Put("idxa1", "in memory").ok());
  EXPECT_EQ(Levels(), "3 0 0 0 0 0 0");
  ASSERT_TRUE(store->SettleLoad().ok());
  EXPECT_EQ(LevelsAbove(), "0 0 0 0 0 0");
  EXPECT_NE(Levels(), "0 0 0 0 0 0 0");
  EXPECT_EQ(Number("settled_loads"), 1u);
  EXPECT_EQ(Get("idxa1"), "in memory");
  EXPECT_EQ(Get("idxc5999").size(), 1000u);
  // That was it.
  ASSERT_TRUE(Put("idxa2", "later").ok());
  ASSERT_TRUE(store->FlushMemtables().ok());
  ASSERT_TRUE(store->SettleLoad().ok());
  EXPECT_EQ(Level0Files(), 1);
  EXPECT_EQ(Number("settled_loads"), 1u);
}

TEST_F(SettleLoadTest, WhatItFlushesItselfIsNoLoad) {
  Open();
  ASSERT_NO_FATAL_FAILURE(Load("ab"));
  ASSERT_NO_FATAL_FAILURE(Fill('c'));
  EXPECT_EQ(Level0Files(), 2);
  ASSERT_TRUE(store->SettleLoad().ok());
  EXPECT_EQ(LevelsAbove(), "0 0 0 0 0 0");
  ASSERT_NO_FATAL_FAILURE(Pace(41));
  EXPECT_EQ(store->level0_files_max(), 4);
  ASSERT_NO_FATAL_FAILURE(Pour('d'));
  ASSERT_NO_FATAL_FAILURE(Pace(42));
  EXPECT_EQ(store->level0_files_max(), 84);
}

// Also before it is counted.
TEST_F(SettleLoadTest, WhatItIsFlushingIsNoLoad) {
  Open();
  ASSERT_NO_FATAL_FAILURE(Load("ab"));
  ASSERT_NO_FATAL_FAILURE(Fill('c'));
  const uint64_t flushed = Number("flush_write_bytes");
  env.HoldWrites("MANIFEST");
  std::thread settler([&] { EXPECT_TRUE(store->SettleLoad().ok()); });
  env.AwaitHeldWrite();
  EXPECT_GT(Number("flush_write_bytes"), flushed);
  ASSERT_NO_FATAL_FAILURE(Pace(41));
  env.ReleaseWrites();
  settler.join();
  EXPECT_EQ(store->level0_files_max(), 4);
  EXPECT_EQ(LevelsAbove(), "0 0 0 0 0 0");
}

TEST_F(SettleLoadTest, CompactionsGoOnAfterwards) {
  Open();
  ASSERT_NO_FATAL_FAILURE(Load("ab"));
  ASSERT_TRUE(store->SettleLoad().ok());
  ASSERT_NO_FATAL_FAILURE(Pace(41));
  for (int file = 0; file < 4; ++file) {
    ASSERT_TRUE(Put("idxa1", std::to_string(file)).ok());
    ASSERT_TRUE(store->FlushMemtables().ok());
  }
  while (Level0Files() >= 4) std::this_thread::yield();  // or they become one of level 0
  EXPECT_EQ(Get("idxa1"), "3");
}

TEST_F(SettleLoadTest, AStoreClosedInALoadIsSettledOnceItIsOpen) {
  Open();
  ASSERT_NO_FATAL_FAILURE(Pace(1));
  for (const char table : {'a', 'b', 'c', 'd', 'e'}) {
    ASSERT_NO_FATAL_FAILURE(Pour(table));
    ASSERT_NO_FATAL_FAILURE(Pace(2));
  }
  ASSERT_EQ(Levels(), "5 0 0 0 0 0 0");
  Reopen();
  EXPECT_EQ(Levels(), "5 0 0 0 0 0 0");
  ASSERT_NO_FATAL_FAILURE(Pace(1));
  EXPECT_EQ(Levels(), "5 0 0 0 0 0 0");
  ASSERT_TRUE(store->SettleLoad().ok());
  EXPECT_EQ(LevelsAbove(), "0 0 0 0 0 0");
  EXPECT_EQ(Number("settled_loads"), 1u);
  EXPECT_EQ(Get("idxe5999").size(), 1000u);
}

TEST_F(SettleLoadTest, NotWhenRowsPourInAgain) {
  Open();
  ASSERT_NO_FATAL_FAILURE(Load("ab"));
  ASSERT_NO_FATAL_FAILURE(Pour('c'));
  ASSERT_NO_FATAL_FAILURE(Pace(41));
  ASSERT_TRUE(store->SettleLoad().ok());
  EXPECT_EQ(Levels(), "3 0 0 0 0 0 0");
  EXPECT_EQ(Number("settled_loads"), 0u);
}

TEST_F(SettleLoadTest, AFewRowsDoNotHaveAllTheOthersWrittenAnew) {
  Open();
  ASSERT_NO_FATAL_FAILURE(Load("abcd"));
  ASSERT_TRUE(store->SettleLoad().ok());
  Reopen();
  ASSERT_NO_FATAL_FAILURE(Load("a"));
  ASSERT_TRUE(store->SettleLoad().ok());
  EXPECT_EQ(Level0Files(), 1);
  EXPECT_EQ(Number("settled_loads"), 0u);
}

TEST_F(SettleLoadTest, AnExpertsCompactionsAreLeftAlone) {
  options.expert_family_options = "disable_auto_compactions=true";
  Open();
  for (const char table : {'a', 'b', 'c', 'd', 'e'}) ASSERT_NO_FATAL_FAILURE(Pour(table));
  Reopen();
  ASSERT_NO_FATAL_FAILURE(Load("a"));
  ASSERT_TRUE(store->SettleLoad().ok());
  EXPECT_EQ(Levels(), "6 0 0 0 0 0 0");
}

// Else no compaction of the data family would begin until one that runs has ended, for nothing.
TEST_F(SettleLoadTest, WhatIsTooLargeWaitsForNoCompaction) {
  Open();
  ASSERT_NO_FATAL_FAILURE(Load("abcd"));
  ASSERT_TRUE(store->SettleLoad().ok());
  Reopen();
  ASSERT_NO_FATAL_FAILURE(Load("a"));
  ASSERT_EQ(Number("loads_to_settle"), 1u);
  env.HoldWrites(".sst");
  std::thread caller([&] { EXPECT_TRUE(store->CompactRange(Family::kData, "idxa", "idxb").ok()); });
  env.AwaitHeldWrite();
  EXPECT_TRUE(store->SettleLoad().ok());
  EXPECT_EQ(Number("loads_to_settle"), 0u);
  env.ReleaseWrites();
  caller.join();
}

TEST_F(SettleLoadTest, EndsBeforeWritersLackTheRoomItClaims) {
  ASSERT_NO_FATAL_FAILURE(LoadBesideReserve());
  env.HoldWrites(".sst");
  std::thread settler([&] { EXPECT_TRUE(store->SettleLoad().ok()); });
  env.AwaitHeldWrite();
  LeaveTooLittleRoom();
  EXPECT_EQ(store->write_gate(), WriteGate::kOpen);
  std::atomic<bool> paced{false};
  std::thread pacer([&] {
    EXPECT_TRUE(store->PaceCompactions(41 * kSecondUs).ok());
    paced.store(true);
  });
  while (!paced.load() && Number("stopped_settlings") == 0) std::this_thread::yield();
  EXPECT_EQ(Number("stopped_settlings"), 1u);
  env.ReleaseWrites();
  settler.join();
  pacer.join();
}

// What waits for the settling is aborted with it, and then done: nobody has interrupted it.
TEST_F(SettleLoadTest, ACallersCompactionOutlivesIt) {
  ASSERT_NO_FATAL_FAILURE(LoadBesideReserve());
  env.HoldWrites(".sst");
  std::thread settler([&] { EXPECT_TRUE(store->SettleLoad().ok()); });
  env.AwaitHeldWrite();
  CompactionInterrupt interrupt;
  std::atomic<pid_t> caller_id{0};
  std::thread caller([&] {
    caller_id.store(gettid());
    const Status compacted = store->CompactRange(Family::kData, "idxa", "idxb", &interrupt);
    EXPECT_TRUE(compacted.ok()) << compacted.ToString();
  });
  while (!Waits(caller_id.load())) std::this_thread::yield();
  LeaveTooLittleRoom();
  std::thread pacer([&] { EXPECT_TRUE(store->PaceCompactions(41 * kSecondUs).ok()); });
  while (Number("stopped_settlings") == 0) std::this_thread::yield();
  env.ReleaseWrites();
  settler.join();
  pacer.join();
  env.SetFreeBytes(UINT64_MAX);
  caller.join();
  EXPECT_FALSE(interrupt.is_requested());
}

// Compactions that may begin again need some time before writers are slowed down, at 176.
TEST_F(SettleLoadTest, EndsWhileLevel0HasPlacesLeft) {
  Open();
  ASSERT_NO_FATAL_FAILURE(Load("ab"));
  for (int file = 2; file < 141; ++file) {
    ASSERT_TRUE(Put("idxa1", std::to_string(file)).ok());
    ASSERT_TRUE(store->FlushMemtables().ok());
  }
  ASSERT_EQ(Number("loads_to_settle"), 1u);
  EXPECT_EQ(Level0Files(), 141);
  ASSERT_NO_FATAL_FAILURE(Pace(42));
  EXPECT_EQ(Number("loads_to_settle"), 0u);
}

// A compaction of all would keep them, and the deletion of the range might not come down to them for a long time.
TEST_F(SettleLoadTest, FilesOfADroppedTableAreRemovedAfterwards) {
  Open();
  ASSERT_NO_FATAL_FAILURE(Load("abcd"));
  env.HoldWrites(".sst");
  std::thread settler([&] { EXPECT_TRUE(store->SettleLoad().ok()); });
  env.AwaitHeldWrite();
  const Status dropped = store->DropRange(Family::kData, "idxa", "idxd");
  env.ReleaseWrites();
  settler.join();
  const uint64_t before_bytes = Number("live_sst_files_size");
  EXPECT_TRUE(dropped.Is(Status::Code::kBusy)) << dropped.ToString();
  EXPECT_TRUE(dropped.ok() || store->DropRange(Family::kData, "idxa", "idxd").ok());
  EXPECT_LT(Number("live_sst_files_size"), before_bytes / 2);
  EXPECT_EQ(Get("idxb7"), "-");
  EXPECT_EQ(Get("idxd7").size(), 1000u);
}

// Whatever the moment at which rows pour in again, nobody waits for the other for ever, and a caller's own compaction is done.
TEST_F(SettleLoadTest, EndedInTheMiddle) {
  Open();
  ASSERT_NO_FATAL_FAILURE(Load("abcd"));
  ASSERT_NO_FATAL_FAILURE(Pour('e'));
  Status settled, compacted;
  std::thread settler([&] { settled = store->SettleLoad(); });
  std::thread caller([&] { compacted = store->CompactRange(Family::kData, "idxa", "idxb"); });
  uint64_t second = 41;
  for (int times = 0; times < 20; ++times) EXPECT_TRUE(store->PaceCompactions(second * kSecondUs).ok());
  settler.join();
  caller.join();
  EXPECT_TRUE(settled.ok()) << settled.ToString();
  EXPECT_TRUE(compacted.ok()) << compacted.ToString();
  for (const char table : {'a', 'b', 'c', 'd', 'e'}) {
    EXPECT_EQ(Get(std::string("idx") + table + "5999").size(), 1000u) << table;
  }
}

}  // namespace
}  // namespace cairn::store
