// SPDX-License-Identifier: GPL-2.0-only
// Logs that were replayed at a start: deleted at once, and never too early.
#include <memory>
#include <string>

#include <gtest/gtest.h>
#include <rocksdb/env.h>

#include "store/store.h"
#include "store/store_testing.h"

namespace cairn::store {
namespace {

class LogFixture : public StoreFixture {
 public:
  // Two megabytes of log.
  void FillLog() {
    for (int number = 0; number < 40; ++number) {
      ASSERT_TRUE(Put("filler " + std::to_string(number), std::string(50'000, 'f')).ok());
    }
  }
  void PrepareAndForget(const std::string& name, const std::string& key, const std::string& value) {
    auto prepared = store->BeginWrite();
    ASSERT_TRUE(prepared->Put(Family::kData, key, value).ok());
    ASSERT_TRUE(prepared->Prepare(name, Durability::kSync).ok());
  }
  bool WarnedOfLogs() { return log.text().find("cannot delete logs that were replayed") != std::string::npos; }
  size_t Logs() { return env.Files("/db", ".log").size(); }
  size_t TableFiles() { return env.Files("/db", ".sst").size(); }
};

class ReplayedLogsTest : public ::testing::Test, public LogFixture {};

TEST_F(ReplayedLogsTest, TheyAreDeletedAtOnce) {
  Open();
  for (int start = 0; start < 3; ++start) {
    FillLog();
    Crash();
    Open();
    EXPECT_EQ(Logs(), 1u) << "start " << start;
    EXPECT_EQ(Get("filler 39").size(), 50'000u);
  }
  EXPECT_FALSE(WarnedOfLogs()) << log.text();
}

TEST_F(ReplayedLogsTest, AfterAnOrderlyCloseTheyAreDeletedToo) {
  Open();
  FillLog();
  Reopen();
  EXPECT_EQ(Logs(), 1u);
  const size_t files = TableFiles();
  // What is in memory stays in the log at a close.
  ASSERT_TRUE(Put("a", "1").ok());
  ASSERT_TRUE(store->Close().ok());
  EXPECT_EQ(TableFiles(), files);
  Open();
  EXPECT_EQ(Get("a"), "1");
  EXPECT_EQ(Get("filler 39").size(), 50'000u);
}

TEST_F(ReplayedLogsTest, ALittleLogIsNotWorthAFlush) {
  Open();
  ASSERT_TRUE(Put("a", "1").ok());
  Crash();
  Open();
  EXPECT_EQ(TableFiles(), 1u);  // of what was replayed
  for (int start = 0; start < 3; ++start) {
    Crash();
    Open();
    EXPECT_EQ(TableFiles(), 1u) << "start " << start;
  }
  EXPECT_EQ(Get("a"), "1");
}

// The deletion that is flushed has no log of its own, and what comes after it has.
TEST_F(ReplayedLogsTest, WhatIsWrittenAfterwardsIsReplayed) {
  Open();
  FillLog();
  for (int start = 0; start < 3; ++start) {
    const std::string text = std::to_string(start);
    Crash();
    Open();
    ASSERT_TRUE(Put("a", text).ok());
    Batch batch(*store);
    batch.Put(Family::kDictionary, "d", text);
    ASSERT_TRUE(store->Write(batch, Durability::kSync).ok());
    Crash();
    Open();
    EXPECT_EQ(Get("a"), text);
    EXPECT_EQ(Get("d", nullptr, Family::kDictionary), text);
    FillLog();
  }
}

TEST_F(ReplayedLogsTest, ATornEndIsNoHindrance) {
  Open();
  FillLog();
  ASSERT_TRUE(Put("a", "1").ok());
  ASSERT_TRUE(Put("b", "2").ok());
  Kill();
  ASSERT_TRUE(env.Truncate("/db", ".log", 3));
  for (int start = 0; start < 3; ++start) {
    Open();
    if (start == 0) {
      EXPECT_EQ(Logs(), 1u);
    }
    EXPECT_EQ(Get("a"), "1");
    EXPECT_EQ(Get("b"), "-");
    ASSERT_TRUE(Put("c", std::to_string(start)).ok());
    Crash();
  }
  Open();
  EXPECT_EQ(Get("c"), "2");
}

// Nothing whole is in any log then, by which RocksDB would know where the next one goes on.
TEST_F(ReplayedLogsTest, ATornFirstRecordIsNoHindrance) {
  constexpr size_t kBlockBytes = 32768;
  for (const size_t left : {size_t{1}, size_t{20}, size_t{5000}, kBlockBytes, kBlockBytes + 3, 2 * kBlockBytes}) {
    SCOPED_TRACE(left);
    Open();
    FillLog();
    Kill();
    Open();
    const std::string before = Get("c");
    ASSERT_TRUE(Put("a", std::string(3 * kBlockBytes, 'a')).ok());
    Kill();
    const std::vector<std::string> logs = env.Files("/db", ".log");
    ASSERT_EQ(logs.size(), 1u);
    std::string text;
    ASSERT_TRUE(rocks::ReadFileToString(env.rocks_env(), logs[0], &text).ok());
    env.WriteFile(logs[0], text.substr(0, left));
    for (int start = 0; start < 3; ++start) {
      Open();
      EXPECT_EQ(Get("a"), "-");
      EXPECT_EQ(Get("c"), start == 0 ? before : std::to_string(start - 1));
      ASSERT_TRUE(Put("c", std::to_string(start)).ok());
      start == 1 ? Crash() : Kill();
    }
    Open();
    EXPECT_EQ(Get("c"), "2");
    store.reset();
  }
}

TEST_F(ReplayedLogsTest, LogsOfPreparedTransactionsStay) {
  Open();
  FillLog();
  PrepareAndForget("waits", "a", "1");
  FillLog();
  for (int start = 0; start < 3; ++start) {
    Crash();
    Open();
    EXPECT_GT(Logs(), 1u) << "start " << start;
    EXPECT_EQ(Get("a"), "-");
    // Transactions of other processes' lives.
    PrepareAndForget("waits too " + std::to_string(start), "b" + std::to_string(start), "2");
    FillLog();
  }
  Crash();
  Open();
  auto recovered = store->TakeRecovered();
  ASSERT_EQ(recovered.size(), 4u);
  for (auto& transaction : recovered) ASSERT_TRUE(transaction->Commit(Durability::kSync).ok());
  recovered.clear();
  // The commits are in the new log, what they commit is in old ones.
  for (int start = 0; start < 3; ++start) {
    Crash();
    Open();
    EXPECT_EQ(store->TakeRecovered().size(), 0u);
    EXPECT_EQ(Get("a"), "1");
    for (const char* key : {"b0", "b1", "b2"}) EXPECT_EQ(Get(key), "2");
    if (start == 0) {
      EXPECT_EQ(Logs(), 1u);
    }
  }
}

TEST_F(ReplayedLogsTest, ARolledBackTransactionHoldsNone) {
  Open();
  PrepareAndForget("goes", "a", "1");
  FillLog();
  Crash();
  Open();
  EXPECT_GT(Logs(), 1u);
  auto recovered = store->TakeRecovered();
  ASSERT_EQ(recovered.size(), 1u);
  ASSERT_TRUE(recovered[0]->Rollback().ok());
  recovered.clear();
  Crash();
  Open();
  EXPECT_EQ(Logs(), 1u);
  EXPECT_EQ(Get("a"), "-");
  EXPECT_EQ(store->TakeRecovered().size(), 0u);
}

TEST_F(ReplayedLogsTest, NothingIsFlushedWithoutRoom) {
  options.free_space_reserve_bytes = 1 << 20;
  Open();
  FillLog();
  Crash();
  env.SetFreeBytes(1000);
  Open();
  EXPECT_EQ(store->write_gate(), WriteGate::kNoSpace);
  EXPECT_GT(Logs(), 1u);
  EXPECT_EQ(Get("filler 39").size(), 50'000u);
  EXPECT_FALSE(WarnedOfLogs()) << log.text();
  Crash();
  env.SetFreeBytes(uint64_t{1} << 30);
  Open();
  EXPECT_EQ(Logs(), 1u);
}

struct FailedStart {
  bool failed = false;  // some write did
  bool warned = false;
};

// From the n-th write of a start on the device fails; then the process or the machine dies. A start that is refused is one
// whose replay failed. `part`: of the paths of files that fail.
void FailAtStep(const std::string& part, uint64_t step, bool machine_dies, FailedStart* result) {
  LogFixture fixture;
  const auto die = [&] { machine_dies ? fixture.Crash() : fixture.Kill(); };
  fixture.Open();
  fixture.PrepareAndForget("waits", "p", "1");
  fixture.FillLog();
  ASSERT_TRUE(fixture.Put("last", "1").ok());
  die();
  fixture.env.FailWrites(part, step);
  if (Store::Open(fixture.options, &fixture.store).ok()) {
    EXPECT_EQ(fixture.Get("last"), "1");
  }
  result->failed = fixture.env.failed_write_count() > 0;
  result->warned = fixture.WarnedOfLogs();
  fixture.env.Freeze();
  fixture.env.Heal();
  die();
  fixture.Open();
  EXPECT_EQ(fixture.Get("last"), "1");
  EXPECT_EQ(fixture.Get("filler 39").size(), 50'000u);
  auto recovered = fixture.store->TakeRecovered();
  ASSERT_EQ(recovered.size(), 1u);
  ASSERT_TRUE(recovered[0]->Commit(Durability::kSync).ok());
  recovered.clear();
  die();
  fixture.Open();
  EXPECT_EQ(fixture.Get("p"), "1");
  EXPECT_EQ(fixture.Logs(), 1u);
}

void FailAtEachStep(const std::string& part, bool machine_dies) {
  int warnings = 0;
  FailedStart start{.failed = true};
  for (uint64_t step = 1; start.failed; ++step) {
    ASSERT_LT(step, 1000u);
    ASSERT_NO_FATAL_FAILURE(FailAtStep(part, step, machine_dies, &start)) << "step " << step;
    EXPECT_TRUE(start.failed || !start.warned);
    warnings += start.warned;
  }
  EXPECT_GT(warnings, 0);
}

constexpr char kTablesAndLogs[] = "/db/0";
constexpr char kManifest[] = "/db/MANIFEST";

TEST(ReplayedLogs, AFailedFileThenADeadProcess) { FailAtEachStep(kTablesAndLogs, /*machine_dies=*/false); }
TEST(ReplayedLogs, AFailedFileThenADeadMachine) { FailAtEachStep(kTablesAndLogs, /*machine_dies=*/true); }
TEST(ReplayedLogs, AFailedManifestThenADeadMachine) { FailAtEachStep(kManifest, /*machine_dies=*/true); }

}  // namespace
}  // namespace cairn::store
