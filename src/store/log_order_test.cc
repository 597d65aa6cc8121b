// SPDX-License-Identifier: GPL-2.0-only
// What a loss of power leaves of several logs is the beginning of what was written, whichever of them reached the disk.
#include "store/log_order.h"

#include <gtest/gtest.h>

#include "store/store_testing.h"

namespace cairn::store {
namespace {

class LogOrderTest : public ::testing::Test, public StoreFixture {
 protected:
  static std::string Key(int row) { return "k" + std::to_string(row); }
  size_t LogCount() { return env.Files("/db", ".log").size(); }
  // Rows until so many logs are there. The flushes of the memtables before wait, and with them what would sync the logs.
  void FillUntil(size_t log_count) {
    for (; LogCount() < log_count; ++row_count) {
      ASSERT_TRUE(Put(Key(row_count), std::string(1000, 'v'), Durability::kOs).ok());
    }
  }
  // A first flush, which is held in its file, has synced the first log. The second is full and no flush of its memtable has begun.
  void FillThreeLogs() {
    options.expert_family_options = "write_buffer_size=262144";
    Open();
    env.HoldWrites(".sst");
    FillUntil(2);
    env.AwaitHeldWrite();
    FillUntil(3);
  }
  // Of what was not synced only the youngest log is left.
  void LosePowerButForTheLast() {
    env.KeepUnsynced(env.Files("/db", ".log").back());
    env.Freeze();
    env.ReleaseWrites();
    store.reset();
    env.LoseUnsynced();
  }
  void ExpectABeginning() {
    int found = 0;
    while (found < row_count && Get(Key(found)) != "-") ++found;
    EXPECT_GT(found, 0);
    for (int row = found; row < row_count; ++row) EXPECT_EQ(Get(Key(row)), "-") << row << " without " << found;
  }

  int row_count = 0;
};

TEST_F(LogOrderTest, AYoungerLogIsNotReplayedWithoutTheOlderOnesEnd) {
  FillThreeLogs();
  LosePowerButForTheLast();
  Open();
  ExpectABeginning();
}

// The name of the next log might be lost, with what is in it, and what is in the one after that be there.
TEST_F(LogOrderTest, AFolderThatCannotBeSyncedForTheNextLogStopsTheStore) {
  options.expert_family_options = "write_buffer_size=262144";
  int stops = 0;
  options.on_wal_failure = [&stops](const Status&) { ++stops; };
  Open();
  env.HoldWrites(".sst");
  env.FailNames("/db", 2);  // the log itself is made
  Status status;
  for (int i = 0; i < 1000 && status.ok(); ++i) status = Put(Key(i), std::string(1000, 'v'), Durability::kOs);
  EXPECT_EQ(stops, 1);
  EXPECT_TRUE(status.Is(Status::Code::kReadOnly)) << status.ToString();
  env.Heal();
  env.ReleaseWrites();
}

TEST_F(LogOrderTest, NorWhereZerosAreLeftOfIt) {
  FillThreeLogs();
  env.ZeroUnsyncedLogs();
  LosePowerButForTheLast();
  Open();
  ExpectABeginning();
}

TEST_F(LogOrderTest, ACommitIsNotThereWithoutWhatWasPrepared) {
  options.expert_family_options = "write_buffer_size=262144";
  Open();
  env.HoldWrites(".sst");
  FillUntil(2);
  env.AwaitHeldWrite();
  auto prepared = store->BeginWrite();
  ASSERT_TRUE(prepared->Put(Family::kData, "prepared", "1").ok());
  ASSERT_TRUE(prepared->Prepare("x", Durability::kOs).ok());
  FillUntil(3);
  ASSERT_TRUE(prepared->Commit(Durability::kOs).ok());
  ASSERT_TRUE(Put("later", "1", Durability::kOs).ok());
  prepared.reset();
  LosePowerButForTheLast();
  Open();
  if (Get("later") != "-") {
    EXPECT_EQ(Get("prepared"), "1");
  }
  ExpectABeginning();
}

// The process has died, and nobody has synced its log since.
TEST_F(LogOrderTest, ACommitDoesNotOutliveItsPrepareOfADeadProcess) {
  for (const bool flushes : {false, true}) {
    SCOPED_TRACE(flushes);
    const std::string name = flushes ? "b" : "a";
    Open();
    {
      auto one = store->BeginWrite();
      ASSERT_TRUE(one->Put(Family::kData, name, "1").ok());
      ASSERT_TRUE(one->Put(Family::kDictionary, name, "1").ok());
      ASSERT_TRUE(one->Prepare("x" + name, Durability::kOs).ok());
    }
    Kill();
    Open();
    auto found = store->TakeRecovered();
    ASSERT_EQ(found.size(), 1u);
    ASSERT_TRUE(found.front()->Commit(Durability::kSync).ok());
    found.clear();
    if (flushes) {
      ASSERT_TRUE(store->CompactRange(Family::kData, {}, {}).ok());
    }
    Crash();
    Open();
    EXPECT_EQ(Get(name), "1");
    EXPECT_EQ(Get(name, nullptr, Family::kDictionary), "1");
    store.reset();
  }
}

TEST_F(LogOrderTest, TheLogOfADeadProcessIsNotTornLater) {
  Open();
  ASSERT_TRUE(Put("a", "1", Durability::kOs).ok());
  ASSERT_TRUE(Put("b", "2", Durability::kOs).ok());
  const std::string first = env.Files("/db", ".log").front();
  Kill();
  Open();
  ASSERT_TRUE(Put("c", "3").ok());
  env.Freeze();
  store.reset();
  env.CutUnsynced(first, 3);
  env.Thaw();
  Open();
  EXPECT_EQ(Get("b"), "2");
  EXPECT_EQ(Get("c"), "3");
}

TEST_F(LogOrderTest, FoundLogsThatCannotBeSyncedAreAnError) {
  Open();
  ASSERT_TRUE(Put("a", "1", Durability::kOs).ok());
  Kill();
  env.FailWrites(".log", 1);
  const Status status = Store::Open(options, &store);
  EXPECT_TRUE(status.Is(Status::Code::kIoError)) << status.ToString();
  env.Heal();
  Open();
  EXPECT_EQ(Get("a"), "1");
}

}  // namespace
}  // namespace cairn::store
