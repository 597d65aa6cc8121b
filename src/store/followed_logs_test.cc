// SPDX-License-Identifier: GPL-2.0-only
// Damage at the end of a log behind which others have records: what was confirmed is not dropped without a word, and what a crash leaves is
// no hindrance.
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <rocksdb/env.h>

#include "store/store.h"
#include "store/store_testing.h"
#include "store/stuck_logs.h"

namespace cairn::store {
namespace {

using Code = Status::Code;

struct FollowedLogs : StoreFixture {
  Status TryOpen() { return Store::Open(options, &store); }
  std::vector<std::string> Logs() { return env.Files("/db", ".log"); }
  std::string TextOf(const std::string& path) {
    std::string text;
    EXPECT_TRUE(rocks::ReadFileToString(env.rocks_env(), path, &text).ok());
    return text;
  }
  // In the last record. The second time it is as it was.
  void DamageEnd(const std::string& path) {
    std::string text = TextOf(path);
    ASSERT_GT(text.size(), 5u);
    text[text.size() - 5] = static_cast<char>(text[text.size() - 5] ^ 1);
    env.WriteFile(path, text);
  }
  void ExpectRefused(const std::string& damaged) {
    const std::vector<std::string> logs = Logs();
    const Status status = TryOpen();
    ASSERT_TRUE(status.Is(Code::kCorruption)) << status.ToString();
    EXPECT_NE(status.message().find(damaged + " is damaged behind its first"), ByteView::npos) << status.ToString();
    EXPECT_EQ(store, nullptr);
    EXPECT_EQ(Logs(), logs);
  }
};

// Logs of one process. The first two are full, of rows of so many bytes: of some, or of one that fills a memtable by itself.
class SealedLogs : public ::testing::TestWithParam<size_t>, public FollowedLogs {
 protected:
  static std::string Key(int row) { return "k" + std::to_string(row); }
  void FillUntil(size_t log_count, size_t value_bytes) {
    for (; Logs().size() < log_count; ++row_count) {
      ASSERT_TRUE(Put(Key(row_count), std::string(value_bytes, 'v'), Durability::kOs).ok());
    }
  }
  // Nothing of them is in files. All that was written is confirmed.
  void WriteThreeLogs() {
    options.expert_family_options = "write_buffer_size=262144";
    Open();
    env.HoldWrites(".sst");
    FillUntil(2, GetParam());
    env.AwaitHeldWrite();
    FillUntil(3, 1'000);
    for (int i = 0; i < 3; ++i) ASSERT_TRUE(Put(Key(row_count++), "v").ok());
    env.Freeze();
    env.ReleaseWrites();
    store.reset();
    env.Thaw();
    ASSERT_EQ(Logs().size(), 3u);
  }
  int FoundAtTheBeginning() {
    int found = 0;
    while (found < row_count && Get(Key(found)) != "-") ++found;
    return found;
  }

  int row_count = 0;
};

TEST_P(SealedLogs, DamageAtTheEndOfAnOlderOneIsNoTornEnd) {
  ASSERT_NO_FATAL_FAILURE(WriteThreeLogs());
  for (const std::string& path : {Logs()[0], Logs()[1]}) {
    DamageEnd(path);
    ASSERT_NO_FATAL_FAILURE(ExpectRefused(path));
    DamageEnd(path);
  }
  Open();
  EXPECT_EQ(FoundAtTheBeginning(), row_count);
}

TEST_P(SealedLogs, WhoLivesWithDamageLosesWhatFollows) {
  ASSERT_NO_FATAL_FAILURE(WriteThreeLogs());
  DamageEnd(Logs()[1]);
  options.expert_db_options = "wal_recovery_mode=kPointInTimeRecovery";
  Open();
  const int found = FoundAtTheBeginning();
  EXPECT_GT(found, 0);
  EXPECT_LT(found, row_count);
  for (int row = found; row < row_count; ++row) EXPECT_EQ(Get(Key(row)), "-") << row;
  options.expert_db_options.clear();
  ASSERT_TRUE(Put("later", "1").ok());
  Kill();
  ASSERT_NO_FATAL_FAILURE(Open());
  EXPECT_EQ(Get("later"), "1");
  EXPECT_EQ(FoundAtTheBeginning(), found);
}

// The end of a file is lost, perhaps in the midst of a record's header.
TEST_P(SealedLogs, AnOlderOneThatIsCutShortIsNoTornEnd) {
  ASSERT_NO_FATAL_FAILURE(WriteThreeLogs());
  const std::string path = Logs()[1], text = TextOf(path);
  for (const size_t bytes : {text.size() - 1, size_t{3}}) {
    env.WriteFile(path, text.substr(0, bytes));
    ASSERT_NO_FATAL_FAILURE(ExpectRefused(path));
  }
}

INSTANTIATE_TEST_SUITE_P(All, SealedLogs, ::testing::Values(1'000, 300'000));

class FollowedLogsTest : public ::testing::Test, public FollowedLogs {};

// It takes no sequence number, so that RocksDB goes on with the next log, and commits nothing.
TEST_F(FollowedLogsTest, APreparedTransactionIsNotLostBeforeItsCommit) {
  Open();
  ASSERT_TRUE(Put("a", "1").ok());
  {
    auto prepared = store->BeginWrite();
    ASSERT_TRUE(prepared->Put(Family::kData, "p", "1").ok());
    ASSERT_TRUE(prepared->Prepare("x", Durability::kSync).ok());
  }
  Kill();
  const std::string path = Logs().front();
  Open();
  auto found = store->TakeRecovered();
  ASSERT_EQ(found.size(), 1u);
  ASSERT_TRUE(found.front()->Commit(Durability::kSync).ok());
  found.clear();
  Kill();
  ASSERT_GT(Logs().size(), 1u);
  DamageEnd(path);
  ASSERT_NO_FATAL_FAILURE(ExpectRefused(path));
  DamageEnd(path);
  ASSERT_NO_FATAL_FAILURE(Open());
  EXPECT_EQ(Get("a") + Get("p"), "11");
}

// What RocksDB writes at the head of the next log tells it from damage.
TEST_F(FollowedLogsTest, ATornEndThatAStartHasGotPastIsNoHindrance) {
  for (const uint64_t bytes_cut_off : {uint64_t{3}, uint64_t{21}}) {
    SCOPED_TRACE(bytes_cut_off);
    options.directory = "/db" + std::to_string(bytes_cut_off);
    Open();
    ASSERT_TRUE(Put("a", "1").ok());
    ASSERT_TRUE(Put("b", "1").ok());
    Kill();
    const std::string torn = env.Files(options.directory, ".log").back();
    ASSERT_TRUE(env.Truncate(options.directory, ".log", bytes_cut_off));
    for (int start = 0; start < 4; ++start) {
      ASSERT_NO_FATAL_FAILURE(Open());
      EXPECT_EQ(Get("a") + Get("b"), "1-");
      EXPECT_EQ(Get("c"), start == 0 ? "-" : std::to_string(start - 1));
      ASSERT_TRUE(Put("c", std::to_string(start)).ok());
      Kill();
      ASSERT_EQ(env.Files(options.directory, ".log").front(), torn);
    }
  }
}

// RocksDB takes zeros for an end like any other, and replays what follows.
TEST_F(FollowedLogsTest, ZerosAreNoDamage) {
  Open();
  ASSERT_TRUE(Put("a", "1").ok());
  Kill();
  env.WriteFile(Logs().front(), TextOf(Logs().front()) + std::string(100, '\0'));
  for (int start = 0; start < 3; ++start) {
    ASSERT_NO_FATAL_FAILURE(Open());
    EXPECT_EQ(Get("a"), "1");
    ASSERT_TRUE(Put("b", "1").ok());
    Kill();
  }
}

// Whatever a log's end is, that RocksDB does not read at all.
TEST_F(FollowedLogsTest, LogsThatAreNotReadDoNotCount) {
  Open();
  ASSERT_TRUE(Put("a", "1").ok());
  Kill();
  const std::string path = Logs().front(), text = TextOf(path);
  Open();
  Batch batch(*store);
  batch.Put(Family::kDictionary, "d", "1");
  ASSERT_TRUE(store->Write(batch, Durability::kSync).ok());
  ASSERT_TRUE(store->FlushMemtables().ok());
  ASSERT_TRUE(Put("b", "1").ok());
  Kill();
  env.WriteFile(path, text);
  DamageEnd(path);
  const Status status = TryOpen();
  ASSERT_TRUE(status.ok()) << status.ToString();
  EXPECT_EQ(Get("a") + Get("b"), "11");
}

}  // namespace
}  // namespace cairn::store
