// SPDX-License-Identifier: GPL-2.0-only
// Who comes while a sync runs shares the next one, and the store's logs are synced so.
#include "store/shared_sync.h"

#include <atomic>
#include <future>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "store/store_testing.h"

namespace cairn::store {
namespace {

// Syncs that wait until they are told how they end.
class HeldSyncs {
 public:
  Status Run() {
    std::unique_lock lock(mutex_);
    ++begun_;
    changed_.notify_all();
    const int number = begun_;
    changed_.wait(lock, [&] { return ended_ >= number; });
    return fails_ ? Status(Status::Code::kIoError, "simulated") : Status::Ok();
  }
  void AwaitBegun(int number) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return begun_ >= number; });
  }
  void End(int number, bool fails = false) {
    std::lock_guard lock(mutex_);
    ended_ = number;
    fails_ = fails;
    changed_.notify_all();
  }
  int begun() {
    std::lock_guard lock(mutex_);
    return begun_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int begun_ = 0;
  int ended_ = 0;
  bool fails_ = false;
};

class SharedSyncTest : public ::testing::Test {
 protected:
  std::future<Status> Start() {
    return std::async(std::launch::async, [this] { return shared.Run([this] { return syncs.Run(); }); });
  }
  void AwaitWaiting(size_t count) {
    while (shared.waiting_count() != count) std::this_thread::yield();
  }

  HeldSyncs syncs;
  SharedSync shared;
};

TEST_F(SharedSyncTest, EachSyncsThatComesAlone) {
  syncs.End(2);
  EXPECT_TRUE(Start().get().ok());
  EXPECT_TRUE(Start().get().ok());
  EXPECT_EQ(syncs.begun(), 2);
}

TEST_F(SharedSyncTest, AllWhoComeWhileOneRunsShareTheNext) {
  std::future<Status> first = Start();
  syncs.AwaitBegun(1);
  std::vector<std::future<Status>> others;
  for (int i = 0; i < 5; ++i) others.push_back(Start());
  AwaitWaiting(5);
  syncs.End(1);
  EXPECT_TRUE(first.get().ok());
  // The one that ran had begun before they came.
  syncs.AwaitBegun(2);
  AwaitWaiting(4);
  std::future<Status> late = Start();
  AwaitWaiting(5);
  syncs.End(2);
  // Those it was for need not wait for the next one, which may begin before they have woken up.
  syncs.AwaitBegun(3);
  for (auto& other : others) EXPECT_TRUE(other.get().ok());
  syncs.End(3);
  EXPECT_TRUE(late.get().ok());
  EXPECT_EQ(syncs.begun(), 3);
}

TEST_F(SharedSyncTest, NobodyTakesAFailedSyncForHis) {
  std::future<Status> first = Start();
  syncs.AwaitBegun(1);
  std::future<Status> second = Start(), third = Start();
  AwaitWaiting(2);
  syncs.End(2, /*fails=*/true);
  EXPECT_FALSE(first.get().ok());
  syncs.AwaitBegun(3);
  syncs.End(3);
  const int failed = !second.get().ok() + !third.get().ok();
  EXPECT_EQ(failed, 1);
}

class StoreSyncTest : public ::testing::Test, public StoreFixture {};

// As the workers of a replica do, each of whom is let on by the one before. One more sync is for all of them.
TEST_F(StoreSyncTest, WritesGoOnWhileALogIsSynced) {
  Open();
  ASSERT_TRUE(store->SyncWal().ok());
  const uint64_t before = Number("wal_synced");
  ASSERT_TRUE(Put("a", "1", Durability::kOs).ok());
  env.HoldSyncs(".log");
  auto first = std::async(std::launch::async, [this] { return store->SyncWal(); });
  env.AwaitHeldWrite();
  for (const char* key : {"b", "c", "d"}) ASSERT_TRUE(Put(key, "1", Durability::kOs).ok());
  env.ReleaseWrites();
  EXPECT_TRUE(first.get().ok());
  EXPECT_TRUE(store->SyncWal().ok());
  EXPECT_EQ(Number("wal_synced"), before + 2);
  Crash();
  Open();
  for (const char* key : {"a", "b", "c", "d"}) EXPECT_EQ(Get(key), "1");
}

// RocksDB does not tell of it.
TEST_F(StoreSyncTest, AFolderThatCannotBeSyncedStopsTheStore) {
  int stops = 0;
  options.on_wal_failure = [&stops](const Status&) { ++stops; };
  Open();
  ASSERT_TRUE(Put("a", "1", Durability::kOs).ok());
  env.FailNames("/db", 1);
  EXPECT_FALSE(store->SyncWal().ok());
  EXPECT_FALSE(store->SyncWal().ok());
  EXPECT_EQ(stops, 1);
  env.Heal();
  EXPECT_FALSE(Put("b", "1").ok());
}

}  // namespace
}  // namespace cairn::store
