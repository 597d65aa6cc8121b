// SPDX-License-Identifier: GPL-2.0-only
// Claims of whole indexes: whom they keep out, who keeps them from being made, and loads that need them.
#include "txn/index_claims.h"

#include <array>
#include <future>
#include <thread>

#include <gtest/gtest.h>

#include "txn/txn_testing.h"

namespace cairn::txn {
namespace {

using Code = Status::Code;
using store::Durability;
using store::Family;

constexpr std::array kIndexes = {IndexId(1), IndexId(2)};

class IndexClaimsTest : public ::testing::Test, public TxnFixture {
 protected:
  void SetUp() override { OpenAll(); }

  static bool Claim(Transaction& transaction) {
    bool claimed = false;
    const Status status = transaction.ClaimIndexes(kIndexes, &claimed);
    EXPECT_TRUE(status.ok()) << status.ToString();
    return claimed;
  }
  static Status Insert(Transaction& transaction, std::string_view name, const LockOptions& options = kNoWait) {
    transaction.StartStatement();
    CAIRN_RETURN_IF_ERROR(transaction.Lock(K(name), options, nullptr));
    return transaction.Insert(K(name), "v", options);
  }
  void WaitUntilWaiting(uint64_t count) const {
    while (manager->locks().waiting_count() != count) std::this_thread::yield();
  }
  Status Attach(Transaction& transaction) {
    store::SortedLoad load(*store, Family::kData);
    for (uint32_t index : {1, 2}) {
      for (const char* name : {"a", "b"}) CAIRN_RETURN_IF_ERROR(load.Add(K(name, index), "loaded"));
      CAIRN_RETURN_IF_ERROR(load.CutFile());
    }
    std::unique_ptr<store::PendingLoad> pending;
    CAIRN_RETURN_IF_ERROR(store::PendingLoad::Make(*store, &load, kIndexes, &pending));
    transaction.StartStatement();
    CAIRN_RETURN_IF_ERROR(transaction.AttachLoad(std::move(pending)));
    transaction.AddTableCounters(TableId(7), {.row_count = 2, .auto_increment_next = 0});
    return Status::Ok();
  }
};

TEST_F(IndexClaimsTest, NobodyElseLocksAnythingThere) {
  auto claimer = Begin(), other = Begin();
  ASSERT_TRUE(Claim(*claimer));
  for (const LockMode mode : {LockMode::kShared, LockMode::kExclusive}) {
    EXPECT_TRUE(other->Lock(K("a"), {.mode = mode, .wait = LockWait::kNoWait}, nullptr).Is(Code::kLockBusy));
    EXPECT_TRUE(other->Lock(K("a", 2), {.mode = mode, .timeout_ms = 1}, nullptr).Is(Code::kLockTimeout));
  }
  EXPECT_EQ(other->lock_count(), 0u);
  EXPECT_TRUE(other->WaitForClaim(IndexId(1), kNoWait).Is(Code::kLockBusy));
  EXPECT_TRUE(other->Lock(K("a", 3), kNoWait, nullptr).ok());
  EXPECT_TRUE(other->WaitForClaim(IndexId(3), kNoWait).ok());
  // Its own locks and insertions are not in its way.
  EXPECT_TRUE(Insert(*claimer, "a").ok());
  ASSERT_TRUE(claimer->Commit(Durability::kOs).ok());
  EXPECT_TRUE(other->Lock(K("a"), kNoWait, nullptr).ok());
  EXPECT_TRUE(other->WaitForClaim(IndexId(1), kNoWait).ok());
  EXPECT_EQ(claimer->lock_count(), 0u);
}

TEST_F(IndexClaimsTest, WhoWaitsGoesOnWhenTheClaimEnds) {
  for (const bool commits : {false, true}) {
    auto claimer = Begin(), other = Begin();
    ASSERT_TRUE(Claim(*claimer));
    auto inserted = std::async(std::launch::async, [&] {
      LockResult got;
      const Status status = other->Lock(K("a"), LockOptions{}, &got);
      EXPECT_TRUE(got.waited);
      return status.ok();
    });
    WaitUntilWaiting(1);
    ASSERT_TRUE((commits ? claimer->Commit(Durability::kOs) : claimer->Rollback()).ok());
    EXPECT_TRUE(inserted.get());
  }
}

TEST_F(IndexClaimsTest, OthersLocksRangesAndEntriesKeepItFromBeingMade) {
  auto claimer = Begin(), other = Begin();
  ASSERT_TRUE(other->Lock(K("absent", 2), {.mode = LockMode::kShared}, nullptr).ok());
  EXPECT_FALSE(Claim(*claimer));
  EXPECT_EQ(claimer->lock_count(), 0u);
  ASSERT_TRUE(other->Rollback().ok());

  other->Begin(Isolation::kRepeatableRead);
  RangeWalk walk;
  ASSERT_TRUE(walk.Begin(other.get(), IndexId(1), K(""), K("", 2), true, true).ok());
  EXPECT_FALSE(Claim(*claimer));
  ASSERT_TRUE(walk.Look({}).ok());
  ASSERT_TRUE(walk.ExtendToEnd());
  walk.End();
  EXPECT_FALSE(Claim(*claimer));
  ASSERT_TRUE(other->Rollback().ok());

  other->Begin(Isolation::kRepeatableRead);
  ASSERT_TRUE(Insert(*other, "a").ok());
  EXPECT_FALSE(Claim(*claimer));
  ASSERT_TRUE(other->Commit(Durability::kOs).ok());
  EXPECT_FALSE(Claim(*claimer));
  ASSERT_TRUE(claimer->Rollback().ok());

  // The newest version counts, not the view.
  claimer->Begin(Isolation::kRepeatableRead);
  EXPECT_EQ(Read(*claimer, "a"), "v");
  other->Begin(Isolation::kRepeatableRead);
  ASSERT_TRUE(other->Lock(K("a"), kNoWait, nullptr).ok());
  ASSERT_TRUE(other->Delete(Family::kData, K("a")).ok());
  ASSERT_TRUE(other->Commit(Durability::kOs).ok());
  EXPECT_TRUE(Claim(*claimer));
  other->Begin(Isolation::kRepeatableRead);
  EXPECT_FALSE(Claim(*other));
}

// Two who take locks of each other's at the same time: never both have what they want.
TEST_F(IndexClaimsTest, AClaimAndALockExcludeEachOther) {
  auto claimer = Begin();
  auto other = Begin();
  for (int round = 0; round < 2000; ++round) {
    bool claimed = false, locked = false;
    std::atomic<int> ready{0};
    const auto meet = [&ready] {
      ready.fetch_add(1);
      while (ready.load() != 2) std::this_thread::yield();
    };
    std::thread locker([&] {
      meet();
      locked = other->Lock(K("a"), kNoWait, nullptr).ok();
    });
    meet();
    EXPECT_TRUE(claimer->ClaimIndexes(kIndexes, &claimed).ok());
    locker.join();
    EXPECT_FALSE(claimed && locked);
    ASSERT_TRUE(claimer->Rollback().ok());
    ASSERT_TRUE(other->Rollback().ok());
    claimer->Begin(Isolation::kRepeatableRead);
    other->Begin(Isolation::kRepeatableRead);
  }
}

// Whoever waits for a claim that is given up goes on at once, though its transaction does not end.
TEST_F(IndexClaimsTest, AClaimThatFailsLetsWaitersGo) {
  auto claimer = Begin();
  auto holder = Begin(), other = Begin();
  ASSERT_TRUE(holder->Lock(K("z"), kNoWait, nullptr).ok());
  std::atomic<bool> stop{false};
  std::thread locker([&] {
    for (int i = 0; i < 500; ++i) {
      EXPECT_TRUE(other->Lock(K("a"), LockOptions{}, nullptr).ok());
      EXPECT_TRUE(other->Rollback().ok());
      other->Begin(Isolation::kRepeatableRead);
    }
    stop = true;
  });
  while (!stop) EXPECT_FALSE(Claim(*claimer));
  locker.join();
}

// Entries in any of the indexes stand against it, a claim that is killed is none, and both leave nothing behind.
TEST_F(IndexClaimsTest, OnlyEmptyIndexesAreClaimed) {
  for (const uint32_t index : {1, 2}) {
    auto writer = Begin();
    ASSERT_TRUE(writer->Put(Family::kData, K("old", index), "v").ok());
    ASSERT_TRUE(writer->Commit(Durability::kOs).ok());
    auto claimer = Begin(), other = Begin();
    EXPECT_FALSE(Claim(*claimer));
    EXPECT_TRUE(other->Lock(K("a"), kNoWait, nullptr).ok());
    writer = Begin();
    ASSERT_TRUE(writer->Delete(Family::kData, K("old", index)).ok());
    ASSERT_TRUE(writer->Commit(Durability::kOs).ok());
  }
  auto claimer = Begin();
  claimer->StartStatement();
  claimer->Interrupt();
  bool claimed = true;
  EXPECT_TRUE(claimer->ClaimIndexes(kIndexes, &claimed).Is(Code::kInterrupted));
  EXPECT_FALSE(claimed);
  claimer->EndStatement();
  claimer->StartStatement();
  EXPECT_TRUE(Claim(*claimer));
}

TEST_F(IndexClaimsTest, ALoadComesWithItsTransaction) {
  auto reader = Begin();
  EXPECT_EQ(Scan(*reader), "");
  auto loader = Begin();
  ASSERT_TRUE(Claim(*loader));
  ASSERT_TRUE(Attach(*loader).ok());
  EXPECT_TRUE(loader->HasWrites());
  EXPECT_TRUE(loader->HasWritten(IndexId(2)));
  ASSERT_TRUE(loader->Commit(Durability::kOs).ok());
  EXPECT_EQ(Scan(*reader), "");
  EXPECT_EQ(Scan(*reader, View::kNewest), "a=loaded b=loaded");
  EXPECT_EQ(Scan(*Begin(), View::kConsistent, 2), "a=loaded b=loaded");
  EXPECT_EQ(Counters(TableId(7)).row_count, 2);
  EXPECT_EQ(live[TableId(7)].row_count, 2);
}

TEST_F(IndexClaimsTest, RollingTheStatementBackTakesALoadAway) {
  auto loader = Begin();
  loader->StartStatement();
  ASSERT_TRUE(Claim(*loader));
  ASSERT_TRUE(Attach(*loader).ok());
  ASSERT_TRUE(loader->RollbackStatement().ok());
  EXPECT_TRUE(env.Files("/db/loads", ".sst").empty());
  ASSERT_TRUE(loader->Commit(Durability::kOs).ok());
  EXPECT_EQ(Scan(*Begin()), "");
  EXPECT_EQ(Counters(TableId(7)).row_count, 0);
}

// A load found prepared has its indexes to itself, and counts as having written them.
TEST_F(IndexClaimsTest, APreparedLoadIsClaimedAgain) {
  for (const bool commits : {false, true}) {
    auto loader = Begin();
    ASSERT_TRUE(Claim(*loader));
    ASSERT_TRUE(Attach(*loader).ok());
    ASSERT_TRUE(loader->Prepare("name", Durability::kSync).ok());
    EXPECT_TRUE(manager->PreparedHaveWritten(IndexId(2)));
    loader.reset();
    CrashAll();
    OpenAll();
    ASSERT_TRUE(manager->RecoverPrepared().ok());
    EXPECT_TRUE(manager->PreparedHaveWritten(IndexId(2)));
    auto other = Begin();
    EXPECT_TRUE(Insert(*other, "c").Is(Code::kLockBusy));
    EXPECT_EQ(Scan(*other, View::kNewest), "");
    ASSERT_TRUE((commits ? manager->CommitPrepared("name", Durability::kSync) : manager->RollbackPrepared("name")).ok());
    EXPECT_TRUE(Insert(*other, "c").ok());
    EXPECT_EQ(Scan(*Begin(), View::kNewest), commits ? "a=loaded b=loaded" : "");
  }
}

// So that no hidden row id of a load is given out while it waits, nor after its commit.
TEST_F(IndexClaimsTest, TheGreatestRowOfAPreparedLoadIsTold) {
  auto loader = Begin();
  ASSERT_TRUE(Claim(*loader));
  ASSERT_TRUE(Attach(*loader).ok());
  ASSERT_TRUE(loader->Prepare("name", Durability::kSync).ok());
  loader.reset();
  CrashAll();
  Open();
  std::vector<std::string> told;
  TransactionHooks hooks;
  hooks.recovered_lock_keys = [&told](ByteView key, const std::function<void(ByteView)>& lock) {
    told.emplace_back(key);
    lock(key);
  };
  manager = std::make_unique<TransactionManager>(*store, PointLocks::Options{}, hooks);
  ASSERT_TRUE(manager->RecoverPrepared().ok());
  EXPECT_EQ(told, std::vector{K("b")});
  EXPECT_TRUE(manager->CommitPrepared("name", Durability::kSync).ok());
  EXPECT_EQ(Scan(*Begin()), "a=loaded b=loaded");
}

TEST_F(IndexClaimsTest, TakeBackGivesWhatWasPutAndKeepsLocksAndCounters) {
  auto transaction = Begin();
  transaction->StartStatement();
  bool taken = true;
  std::string seen;
  const auto visit = [&seen](ByteView key, ByteView value) {
    seen.append(key.substr(4)).append("=").append(value).append(" ");
    return Status::Ok();
  };
  ASSERT_TRUE(transaction->TakeBack(visit, &taken).ok());
  EXPECT_FALSE(taken);
  ASSERT_TRUE(Insert(*transaction, "b").ok());
  ASSERT_TRUE(Insert(*transaction, "a").ok());
  transaction->AddTableCounters(TableId(7), {.row_count = 2, .auto_increment_next = 5});
  ASSERT_TRUE(transaction->TakeBack(visit, &taken).ok());
  EXPECT_TRUE(taken);
  EXPECT_EQ(seen, "b=v a=v ");
  EXPECT_EQ(transaction->PendingTableCounters(TableId(7)).auto_increment_next, 5u);
  auto other = Begin();
  EXPECT_TRUE(Insert(*other, "a").Is(Code::kLockBusy));
  EXPECT_FALSE(transaction->HasWrites());
  ASSERT_TRUE(Insert(*transaction, "a").ok());
  ASSERT_TRUE(transaction->RollbackStatement().ok());
  EXPECT_EQ(transaction->PendingTableCounters(TableId(7)).row_count, 0);
  EXPECT_EQ(Scan(*transaction), "");

  // Removals and what lies before a savepoint are not given.
  ASSERT_TRUE(Insert(*transaction, "c").ok());
  transaction->EndStatement();
  (void)transaction->SetSavepoint();
  ASSERT_TRUE(Insert(*transaction, "d").ok());
  ASSERT_TRUE(transaction->TakeBack(visit, &taken).ok());
  EXPECT_FALSE(taken);
}

}  // namespace
}  // namespace cairn::txn
