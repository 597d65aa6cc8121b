// SPDX-License-Identifier: GPL-2.0-only
// Damage in the first record that RocksDB reads: whoever gives up what follows it loses nothing of what is confirmed later, however his
// first start went.
#include "store/stuck_logs.h"

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <rocksdb/env.h>

#include "store/store.h"
#include "store/store_testing.h"

namespace cairn::store {
namespace {

using Code = Status::Code;

constexpr char kStopsAtDamage[] = "wal_recovery_mode=kPointInTimeRecovery";
constexpr uint64_t kPlentyBytes = uint64_t{1} << 30;

struct StuckFixture : StoreFixture {
  StuckFixture() { options.free_space_reserve_bytes = 1 << 20; }

  Status TryOpen() { return Store::Open(options, &store); }
  std::string TextOf(const std::string& path) {
    std::string text;
    EXPECT_TRUE(rocks::ReadFileToString(env.rocks_env(), path, &text).ok());
    return text;
  }
  std::string NewestLog() { return env.Files("/db", ".log").back(); }
  // In the first of three records.
  void DamageLog(const std::string& path) { ASSERT_TRUE(env.FlipBit("/db", path.substr(path.rfind('/') + 1), 10)); }
  // A store with three records in its newest log, whose process has died.
  void WriteRecords(bool has_files) {
    Open();
    if (has_files) {
      ASSERT_TRUE(Put("0", "0").ok());
      ASSERT_TRUE(store->FlushMemtables().ok());
      Reopen();
    }
    for (const char* key : {"a", "b", "c"}) ASSERT_TRUE(Put(key, "1").ok());
    Kill();
  }
  std::vector<std::string> Stuck() {
    std::vector<std::string> paths;
    const Status status = FindStuckLogs(env.rocks_env(), "/db", &paths);
    EXPECT_TRUE(status.ok()) << status.ToString();
    return paths;
  }
  // With the option and, in the end, without it.
  void ExpectNothingIsLostFromHereOn() {
    for (const char* key : {"d", "e", "f"}) {
      ASSERT_TRUE(Put(key, "1").ok());
      Kill();
      if (key[0] == 'f') options.expert_db_options.clear();
      const Status status = TryOpen();
      ASSERT_TRUE(status.ok()) << key << ": " << status.ToString();
      for (char earlier = 'd'; earlier <= key[0]; ++earlier) EXPECT_EQ(Get(std::string(1, earlier)), "1") << key;
    }
    EXPECT_EQ(Get("a") + Get("b") + Get("c"), "---");
  }
};

// What goes wrong at the start that gives up the damaged log.
enum class Trouble { kNoRoom, kFlushFails, kDiesBeforeFlush, kPowerIsLostBeforeFlush };

class StuckLogsTrouble : public ::testing::TestWithParam<std::tuple<Trouble, bool>>, public StuckFixture {
 protected:
  void StartInTrouble(Trouble trouble) {
    switch (trouble) {
      case Trouble::kNoRoom:
        env.SetFreeBytes(1000);
        ASSERT_TRUE(TryOpen().ok());
        EXPECT_EQ(store->write_gate(), WriteGate::kNoSpace);
        env.SetFreeBytes(kPlentyBytes);
        store->CheckFreeSpace();
        return;
      case Trouble::kFlushFails:
        env.FailWrites(".sst", 1);
        ASSERT_TRUE(TryOpen().ok());
        EXPECT_GT(env.failed_write_count(), 0u);
        env.Heal();
        break;
      case Trouble::kDiesBeforeFlush:
      case Trouble::kPowerIsLostBeforeFlush: {
        env.HoldWrites(".sst");
        std::thread starter([this] { (void)TryOpen(); });
        env.AwaitHeldWrite();
        env.Freeze();
        env.ReleaseWrites();
        starter.join();
      }
    }
    trouble == Trouble::kPowerIsLostBeforeFlush ? Crash() : Kill();
    const Status status = TryOpen();
    ASSERT_TRUE(status.ok()) << status.ToString();
  }
};

TEST_P(StuckLogsTrouble, NothingIsLostLater) {
  const auto& [trouble, has_files] = GetParam();
  ASSERT_NO_FATAL_FAILURE(WriteRecords(has_files));
  DamageLog(NewestLog());
  ASSERT_TRUE(TryOpen().Is(Code::kCorruption));
  options.expert_db_options = kStopsAtDamage;
  ASSERT_NO_FATAL_FAILURE(StartInTrouble(trouble));
  EXPECT_EQ(Get("0"), has_files ? "0" : "-");
  ASSERT_NO_FATAL_FAILURE(ExpectNothingIsLostFromHereOn());
}

INSTANTIATE_TEST_SUITE_P(All, StuckLogsTrouble,
                         ::testing::Combine(::testing::Values(Trouble::kNoRoom, Trouble::kFlushFails, Trouble::kDiesBeforeFlush,
                                                              Trouble::kPowerIsLostBeforeFlush),
                                            ::testing::Bool()));

class StuckLogsTest : public ::testing::Test, public StuckFixture {};

// RocksDB goes by the last of those. The damaged log stays, and with it the need for the option.
TEST_F(StuckLogsTest, RecordsBeforeTheDamageAreReplayedAndNoLogIsEmptied) {
  for (const bool in_older_log : {false, true}) {
    SCOPED_TRACE(in_older_log);
    options.directory = in_older_log ? "/db/b" : "/db/a";
    options.expert_db_options.clear();
    Open();
    ASSERT_TRUE(Put("0", "0").ok());
    if (in_older_log) {
      Kill();
      Open();
    }
    for (const char* key : {"a", "b", "c"}) ASSERT_TRUE(Put(key, "1").ok());
    Kill();
    const std::string newest = env.Files(options.directory, ".log").back();
    ASSERT_TRUE(env.FlipBit(options.directory, newest.substr(newest.rfind('/') + 1), in_older_log ? 10 : 34));
    const std::string damaged = TextOf(newest);
    options.expert_db_options = kStopsAtDamage;
    env.SetFreeBytes(1000);
    for (const char* key : {"d", "e"}) {
      ASSERT_TRUE(TryOpen().ok());
      EXPECT_EQ(TextOf(newest), damaged);
      env.SetFreeBytes(kPlentyBytes);
      store->CheckFreeSpace();
      ASSERT_TRUE(Put(key, "1").ok());
      Kill();
      env.SetFreeBytes(1000);
    }
    options.expert_db_options.clear();
    EXPECT_TRUE(TryOpen().Is(Code::kCorruption));
    options.expert_db_options = kStopsAtDamage;
    env.SetFreeBytes(kPlentyBytes);
    ASSERT_TRUE(TryOpen().ok());
    Kill();
    options.expert_db_options.clear();
    Open();
    EXPECT_EQ(Get("0") + Get("a") + Get("b") + Get("c") + Get("d") + Get("e"), "0---11");
    store.reset();
  }
}

// Records of a log that RocksDB passes over tell it nothing.
TEST_F(StuckLogsTest, WhichLogsRocksDBReadsTheManifestSays) {
  Open();
  ASSERT_TRUE(Put("0", "0").ok());
  const std::string older = NewestLog();
  Kill();
  const std::string text = TextOf(older);
  Open();
  ASSERT_TRUE(Put("1", "1").ok());
  ASSERT_TRUE(store->FlushMemtables().ok());
  for (const char* key : {"a", "b", "c"}) ASSERT_TRUE(Put(key, "1").ok());
  Kill();
  env.WriteFile(older, text);
  const std::string newest = NewestLog();
  EXPECT_EQ(Stuck().size(), 0u);
  DamageLog(newest);
  EXPECT_EQ(Stuck(), std::vector<std::string>{newest});
  options.expert_db_options = kStopsAtDamage;
  env.SetFreeBytes(1000);
  ASSERT_TRUE(TryOpen().ok());
  env.SetFreeBytes(kPlentyBytes);
  store->CheckFreeSpace();
  EXPECT_EQ(Get("0") + Get("1"), "01");
  ASSERT_NO_FATAL_FAILURE(ExpectNothingIsLostFromHereOn());
}

// The rows are of a later time than what the dictionary would have then. RocksDB says so, and the log may be had from a copy.
TEST_F(StuckLogsTest, LogsAreNotGivenUpWhereFilesHaveWhatFollows) {
  Open();
  Batch batch(*store);
  batch.Put(Family::kDictionary, "x", "1");
  ASSERT_TRUE(store->Write(batch, Durability::kSync).ok());
  ASSERT_TRUE(Put("0", "0").ok());
  const std::string older = NewestLog();
  ASSERT_TRUE(store->CompactRange(Family::kData, {}, {}).ok());
  ASSERT_TRUE(Put("a", "1").ok());
  Kill();
  const std::vector<std::string> logs = env.Files("/db", ".log");
  ASSERT_EQ(logs.size(), 2u);
  const std::string newer = TextOf(logs[1]);
  DamageLog(older);
  options.expert_db_options = kStopsAtDamage;
  EXPECT_TRUE(TryOpen().Is(Code::kCorruption));
  EXPECT_EQ(TextOf(logs[1]), newer);
  DamageLog(older);  // as it was
  options.expert_db_options.clear();
  Open();
  EXPECT_EQ(Get("0") + Get("a") + Get("x", nullptr, Family::kDictionary), "011");
}

TEST_F(StuckLogsTest, WhoHasNotDecidedIsToldOfRecordsInLaterLogs) {
  ASSERT_NO_FATAL_FAILURE(WriteRecords(/*has_files=*/true));
  const std::string cut = NewestLog(), later = "/db/1000000.log";
  const std::string text = TextOf(cut);
  env.WriteFile(later, text);
  env.WriteFile(cut, text.substr(0, 20));
  const Status status = TryOpen();
  ASSERT_TRUE(status.Is(Code::kCorruption));
  EXPECT_NE(status.message().find(cut), ByteView::npos) << status.ToString();
  EXPECT_EQ(TextOf(later), text);
  EXPECT_EQ(Stuck(), (std::vector<std::string>{later, cut}));
  options.expert_db_options = kStopsAtDamage;
  ASSERT_TRUE(TryOpen().ok());
  ASSERT_NO_FATAL_FAILURE(ExpectNothingIsLostFromHereOn());
}

TEST_F(StuckLogsTest, EmptyingThatIsCutOffLeavesNothingWithoutWhatCameBefore) {
  ASSERT_NO_FATAL_FAILURE(WriteRecords(/*has_files=*/false));
  const std::string damaged = NewestLog();
  env.WriteFile("/db/1000000.log", TextOf(damaged));
  DamageLog(damaged);
  options.expert_db_options = kStopsAtDamage;
  env.FailWrites(damaged, 1);
  ASSERT_FALSE(TryOpen().ok());
  env.Heal();
  ASSERT_TRUE(TryOpen().ok());
  EXPECT_EQ(Get("a") + Get("b") + Get("c"), "---");
}

// RocksDB does not stop at zeros.
TEST_F(StuckLogsTest, ZerosAreNoDamage) {
  ASSERT_NO_FATAL_FAILURE(WriteRecords(/*has_files=*/false));
  const std::string zeros = NewestLog(), later = "/db/1000000.log";
  const std::string text = TextOf(zeros);
  env.WriteFile(later, text);
  env.WriteFile(zeros, std::string(100, '\0'));
  EXPECT_EQ(Stuck().size(), 0u);
  options.expert_db_options = kStopsAtDamage;
  ASSERT_TRUE(TryOpen().ok());
  EXPECT_EQ(Get("c"), "1");
}

}  // namespace
}  // namespace cairn::store
