// SPDX-License-Identifier: GPL-2.0-only
// Prepared transactions: detaching, crashing, finding them again with their locks.
#include "txn/transaction_manager.h"

#include <atomic>
#include <set>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "txn/txn_testing.h"

namespace cairn::txn {
namespace {

using Code = Status::Code;
using store::Durability;
using store::Family;

// Is told of one wait and does not return from that until it may.
class SlowObserver final : public WaitObserver {
 public:
  void OnWait(LockOwner&, LockOwner& blocker) override {
    told = true;
    // The locks are free, but the end has to wait: time for it to go wrong.
    while (blocker.lock_count() != 0) std::this_thread::yield();
    for (int i = 0; i < 10'000; ++i) std::this_thread::yield();
    returned = true;
  }
  std::atomic<bool> told{false}, returned{false};
};

class TransactionManagerTest : public ::testing::Test, public TxnFixture {
 protected:
  void SetUp() override { OpenAll(); }

  void PrepareOne(const char* name, const char* row) {
    auto txn = Begin();
    ASSERT_TRUE(Write(*txn, row, name).ok());
    txn->AddTableCounters(TableId(1), {1, 0});
    ASSERT_TRUE(txn->Prepare(name, Durability::kSync).ok());
    EXPECT_TRUE(txn->is_prepared());
    manager->Detach(std::move(txn));
  }

  // One that has changed "a" and removed "b", added under "h", and locked "c", "h", "s" (shared) and a range.
  std::unique_ptr<Transaction> PrepareWithLocks(bool rows_too) {
    auto txn = Begin();
    EXPECT_TRUE(Write(*txn, "a", "1").ok());
    for (const char* row : {"b", "c", "h"}) EXPECT_TRUE(txn->Lock(K(row), kNoWait, nullptr).ok());
    EXPECT_TRUE(txn->Lock(K("s"), {.mode = LockMode::kShared}, nullptr).ok());
    EXPECT_TRUE(txn->Delete(Family::kData, K("b")).ok());
    EXPECT_TRUE(txn->Put(Family::kData, K("h1"), "1").ok());
    WalkedRange walk;
    walk.lower = walk.locked_lower = walk.locked_upper = K("r");
    walk.upper = K("rz");
    EXPECT_TRUE(txn->BeginRange(IndexId(1), &walk).ok());
    EXPECT_TRUE(txn->ranges().ExtendTo(&walk, K("rz"), false));
    txn->EndRange(&walk);
    EXPECT_TRUE(txn->Prepare("x", Durability::kSync).ok());
    txn->GiveUpUnchanged(rows_too);
    return txn;
  }
  // What of "abchsr" others cannot lock, or insert.
  std::string Held() {
    std::string held;
    for (const char* row : {"a", "b", "c", "h", "s"}) {
      auto other = Begin();
      if (!other->Lock(K(row), kNoWait, nullptr).ok()) held += row;
    }
    auto other = Begin();
    if (!other->Insert(K("ra"), "1", kNoWait).ok()) held += "r";
    return held;
  }

  // Whether an active transaction may have.
  bool MayHaveWritten(IndexId index) {
    std::vector<IndexId> unwritten = {index};
    manager->EraseMaybeWritten(&unwritten);
    return unwritten.empty();
  }

  // A flush finds the disk full, which keeps everybody from writing.
  void RefuseWrites() {
    ASSERT_TRUE(Put(K("flushed", 2), "1").ok());
    env.SetFreeBytes(0);
    env.FailWrites(".sst", 1);
    ASSERT_FALSE(store->FlushMemtables().ok());
    ASSERT_NE(store->write_gate(), store::WriteGate::kOpen);
  }
  // There is room again; RocksDB looks every few seconds.
  void AwaitWrites() {
    env.SetFreeBytes(uint64_t{1} << 40);
    env.Heal();
    while (store->write_gate() != store::WriteGate::kOpen) {
      std::this_thread::yield();
      store->CheckFreeSpace();
    }
  }
};

TEST_F(TransactionManagerTest, WhatIsPreparedKeepsLocksOfWhatItHasChanged) {
  for (const bool rows_too : {false, true}) {
    auto txn = PrepareWithLocks(rows_too);
    EXPECT_EQ(Held(), rows_too ? "abh" : "abchs");
    manager->Detach(std::move(txn));
    EXPECT_EQ(Held(), rows_too ? "abh" : "abchs");
    ASSERT_TRUE(manager->RollbackPrepared("x").ok());
    EXPECT_EQ(Held(), "");
  }
}

TEST_F(TransactionManagerTest, DetachedOnesKeepTheirLocksAndEndByName) {
  PrepareOne("x1", "a");
  PrepareOne("x2", "b");
  EXPECT_EQ(manager->ListPrepared(), (std::vector<std::string>{"x1", "x2"}));
  auto other = Begin();
  EXPECT_TRUE(Write(*other, "a", "-").Is(Code::kLockBusy));
  ASSERT_TRUE(manager->CommitPrepared("x1", Durability::kSync).ok());
  EXPECT_TRUE(manager->CommitPrepared("x1", Durability::kSync).Is(Code::kNotFound));
  ASSERT_TRUE(manager->RollbackPrepared("x2").ok());
  EXPECT_TRUE(manager->RollbackPrepared("x2").Is(Code::kNotFound));
  EXPECT_EQ(Scan(*other), "a=x1");
  EXPECT_EQ(Counters(TableId(1)), (store::TableCounters{1, 0}));
  EXPECT_EQ(manager->locks().lock_count(), 0u);
}

// As the next start finds it again, its row must be as it was.
TEST_F(TransactionManagerTest, WhatCannotBeRolledBackStaysPreparedWithItsLocks) {
  PrepareOne("x1", "a");
  RefuseWrites();
  const Status refused = manager->RollbackPrepared("x1");
  EXPECT_TRUE(refused.Is(Code::kNoSpace)) << refused.ToString();
  EXPECT_EQ(manager->ListPrepared(), (std::vector<std::string>{"x1"}));
  EXPECT_TRUE(manager->PreparedHaveWritten(IndexId(1)));
  EXPECT_TRUE(Write(*Begin(), "a", "-").Is(Code::kLockBusy));
  CrashAll();
  env.SetFreeBytes(uint64_t{1} << 40);
  env.Heal();
  OpenAll();
  ASSERT_TRUE(manager->RecoverPrepared().ok());
  EXPECT_EQ(manager->ListPrepared(), (std::vector<std::string>{"x1"}));
  ASSERT_TRUE(manager->RollbackPrepared("x1").ok());
  EXPECT_EQ(Scan(*Begin()), "");
}

TEST_F(TransactionManagerTest, WhatNobodyWillRollBackByNameIsTriedAgain) {
  auto txn = Begin();
  ASSERT_TRUE(Write(*txn, "a", "1").ok());
  ASSERT_TRUE(txn->Prepare("own", Durability::kSync).ok());
  PrepareOne("user's", "b");
  RefuseWrites();
  ASSERT_FALSE(txn->Rollback().ok());
  EXPECT_TRUE(txn->is_prepared());
  manager->Detach(std::move(txn));
  manager->RollBackLater("own");
  manager->RetryRollbacks();
  EXPECT_EQ(manager->ListPrepared(), (std::vector<std::string>{"user's"}));
  EXPECT_TRUE(manager->PreparedHaveWritten(IndexId(1)));
  EXPECT_TRUE(Write(*Begin(), "a", "-").Is(Code::kLockBusy));
  AwaitWrites();
  manager->RetryRollbacks();
  EXPECT_EQ(manager->ListPrepared(), (std::vector<std::string>{"user's"}));
  EXPECT_TRUE(Write(*Begin(), "a", "-").ok());
  EXPECT_TRUE(Write(*Begin(), "b", "-").Is(Code::kLockBusy));
  CrashAll();
  OpenAll();
  ASSERT_TRUE(manager->RecoverPrepared().ok());
  EXPECT_EQ(manager->ListPrepared(), (std::vector<std::string>{"user's"}));
}

// The server has forgotten its name, so that a user may give it again. Of what changes nothing the store hears nothing.
TEST_F(TransactionManagerTest, ANamesakeIsNotTakenForWhatIsToBeRolledBack) {
  PrepareOne("x1", "a");
  RefuseWrites();
  ASSERT_FALSE(manager->RollbackPrepared("x1").ok());
  manager->RollBackLater("x1");
  for (const bool commits : {true, false}) {
    auto txn = Begin();
    ASSERT_TRUE(txn->Prepare("x1", Durability::kSync).ok());
    manager->Detach(std::move(txn));
    EXPECT_EQ(manager->ListPrepared(), (std::vector<std::string>{"x1"}));
    EXPECT_TRUE(Write(*Begin(), "a", "-").Is(Code::kLockBusy));
    if (commits) AwaitWrites();
    ASSERT_TRUE((commits ? manager->CommitPrepared("x1", Durability::kSync) : manager->RollbackPrepared("x1")).ok());
    EXPECT_TRUE(Write(*Begin(), "a", "-").Is(Code::kLockBusy));
    EXPECT_EQ(Scan(*Begin()), "");
  }
  manager->RetryRollbacks();
  EXPECT_TRUE(Write(*Begin(), "a", "-").ok());
  EXPECT_EQ(Scan(*Begin()), "");
  CrashAll();
  OpenAll();
  ASSERT_TRUE(manager->RecoverPrepared().ok());
  EXPECT_EQ(manager->ListPrepared().size(), 0u);
}

// The server may have struck the XID off its list, so that it can be given again; the store's list has only what has changed something.
TEST_F(TransactionManagerTest, ANamesakeThatChangedNothingTakesNoPlace) {
  PrepareOne("x1", "a");
  EXPECT_TRUE(manager->IsPrepared("x1"));
  EXPECT_FALSE(manager->IsPrepared("x2"));
  auto txn = Begin();
  ASSERT_TRUE(txn->Prepare("x1", Durability::kSync).ok());
  manager->Detach(std::move(txn));
  EXPECT_TRUE(Write(*Begin(), "a", "-").Is(Code::kLockBusy));
  ASSERT_TRUE(manager->CommitPrepared("x1", Durability::kSync).ok());
  EXPECT_EQ(Scan(*Begin()), "a=x1");
  EXPECT_FALSE(manager->IsPrepared("x1"));
}

// It would keep all versions there are from then on, for as long as nobody ends the transaction.
TEST_F(TransactionManagerTest, DetachedOnesKeepNoView) {
  auto txn = Begin();
  txn->ReadView();
  ASSERT_TRUE(Write(*txn, "a", "1").ok());
  ASSERT_TRUE(txn->Prepare("x", Durability::kSync).ok());
  EXPECT_NE(manager->oldest_view_age_us(), 0u);
  manager->Detach(std::move(txn));
  EXPECT_EQ(manager->oldest_view_age_us(), 0u);
  ASSERT_TRUE(manager->CommitPrepared("x", Durability::kSync).ok());
}

TEST_F(TransactionManagerTest, OnesAreListedWithTheirConnectionUntilTheyAreDetached) {
  auto txn = manager->NewTransaction(nullptr, 71);
  txn->Begin(Isolation::kRepeatableRead);
  ASSERT_TRUE(Write(*txn, "a", "1").ok());
  auto other = Begin();
  const auto before = manager->List();
  ASSERT_EQ(before.size(), 2u);
  EXPECT_EQ(before[0].connection_id, 71u);
  EXPECT_EQ(before[1].connection_id, 0u);
  ASSERT_TRUE(txn->Prepare("x", Durability::kSync).ok());
  manager->Detach(std::move(txn));
  const auto after = manager->List();
  ASSERT_EQ(after.size(), 2u);
  EXPECT_EQ(after[0].connection_id, 0u);
  ASSERT_TRUE(manager->RollbackPrepared("x").ok());
}

TEST_F(TransactionManagerTest, PreparedOnesSurvivePowerLossWithTheirLocks) {
  Commit("c", "0");
  PrepareOne("x1", "a");
  PrepareOne("x2", "b");
  auto lost = Begin();
  ASSERT_TRUE(Write(*lost, "c", "1").ok());
  lost.reset();
  CrashAll();
  OpenAll();
  ASSERT_TRUE(manager->RecoverPrepared().ok());
  EXPECT_EQ(manager->ListPrepared(), (std::vector<std::string>{"x1", "x2"}));
  const auto rows = manager->List();
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_TRUE(rows[0].prepared);
  EXPECT_EQ(std::set<std::string>({rows[0].name, rows[1].name}), std::set<std::string>({"x1", "x2"}));
  for (const TransactionRow& row : rows) EXPECT_NE(row.prepare_log_number, 0u);
  auto other = Begin();
  EXPECT_EQ(Scan(*other), "c=0");
  EXPECT_TRUE(Write(*other, "a", "-").Is(Code::kLockBusy));
  EXPECT_TRUE(Write(*other, "b", "-").Is(Code::kLockBusy));
  EXPECT_TRUE(Write(*other, "c", "2").ok());
  other.reset();
  ASSERT_TRUE(manager->CommitPrepared("x2", Durability::kSync).ok());
  ASSERT_TRUE(manager->RollbackPrepared("x1").ok());
  CrashAll();
  OpenAll();
  ASSERT_TRUE(manager->RecoverPrepared().ok());
  EXPECT_EQ(manager->ListPrepared().size(), 0u);
  auto reader = Begin();
  EXPECT_EQ(Scan(*reader), "b=x2 c=0");
  EXPECT_EQ(Counters(TableId(1)), (store::TableCounters{1, 0}));
}

TEST_F(TransactionManagerTest, TheHookSaysWhatToLockForARecoveredChange) {
  PrepareOne("x1", "a");
  CrashAll();
  Open();
  TransactionHooks hooks;
  hooks.recovered_lock_keys = [](ByteView key, const std::function<void(ByteView)>& lock) {
    lock(key);
    lock(std::string(key) + "!");
  };
  manager = std::make_unique<TransactionManager>(*store, PointLocks::Options{}, hooks);
  ASSERT_TRUE(manager->RecoverPrepared().ok());
  EXPECT_EQ(manager->locks().lock_count(), 2u);
  auto other = Begin();
  EXPECT_TRUE(Write(*other, "a!", "-").Is(Code::kLockBusy));
}

TEST_F(TransactionManagerTest, AnUnfinishedPreparedOneOutlivesItsManager) {
  PrepareOne("x1", "a");
  manager.reset();
  store.reset();
  OpenAll();
  ASSERT_TRUE(manager->RecoverPrepared().ok());
  EXPECT_EQ(manager->ListPrepared(), (std::vector<std::string>{"x1"}));
}

// As a temporary table's rows have, which is dropped before the transaction ends.
TEST_F(TransactionManagerTest, WhoHasWrittenAnIndexIsFoundUntilItEnds) {
  auto txn = Begin();
  EXPECT_FALSE(MayHaveWritten(IndexId(1)));
  ASSERT_TRUE(Write(*txn, "a", "1").ok());
  EXPECT_TRUE(MayHaveWritten(IndexId(1)));
  EXPECT_FALSE(MayHaveWritten(IndexId(2)));
  EXPECT_FALSE(manager->PreparedHaveWritten(IndexId(1)));
  ASSERT_TRUE(txn->Prepare("x", Durability::kSync).ok());
  EXPECT_TRUE(MayHaveWritten(IndexId(1)));
  EXPECT_TRUE(manager->PreparedHaveWritten(IndexId(1)));
  EXPECT_FALSE(manager->FoundPrepared(IndexId(1)));
  txn.reset();
  CrashAll();
  OpenAll();
  ASSERT_TRUE(manager->RecoverPrepared().ok());
  EXPECT_TRUE(manager->FoundPrepared(IndexId(1)));
  EXPECT_TRUE(MayHaveWritten(IndexId(1)));
  ASSERT_TRUE(manager->CommitPrepared("x", Durability::kSync).ok());
  EXPECT_FALSE(MayHaveWritten(IndexId(1)));
  EXPECT_FALSE(manager->FoundPrepared(IndexId(2)));
}

TEST_F(TransactionManagerTest, OfManyIndexesThoseOfAllWritersAreFoundAtOnce) {
  auto first = Begin(), second = Begin(), ended = Begin();
  for (const uint32_t index : {3u, 70u, 200u}) ASSERT_TRUE(first->Put(Family::kData, K("a", index), "1").ok());
  ASSERT_TRUE(second->Put(Family::kData, K("a", 5), "1").ok());
  ASSERT_TRUE(ended->Put(Family::kData, K("a", 7), "1").ok());
  ASSERT_TRUE(ended->Commit(Durability::kOs).ok());
  // 6 and 134 have one bit with 70.
  std::vector<IndexId> indexes;
  for (const uint32_t index : {3u, 4u, 5u, 6u, 7u, 70u, 134u}) indexes.emplace_back(index);
  manager->EraseMaybeWritten(&indexes);
  EXPECT_EQ(indexes, (std::vector<IndexId>{IndexId(4), IndexId(6), IndexId(7), IndexId(134)}));
  indexes.clear();
  manager->EraseMaybeWritten(&indexes);
  EXPECT_TRUE(indexes.empty());
}

// The server changes its own object for the connection afterwards.
TEST_F(TransactionManagerTest, AnEndWaitsForWhoIsToldOfTheTransaction) {
  SlowObserver observer;
  manager = std::make_unique<TransactionManager>(*store, PointLocks::Options{.observer = &observer}, TransactionHooks{});
  auto blocker = Begin(), waiter = Begin();
  ASSERT_TRUE(Write(*blocker, "a", "1").ok());
  Status waited;
  std::thread thread([&] { waited = Write(*waiter, "a", "2", {.mode = LockMode::kExclusive}); });
  while (!observer.told) std::this_thread::yield();
  ASSERT_TRUE(blocker->Rollback().ok());
  EXPECT_TRUE(observer.returned);
  thread.join();
  EXPECT_TRUE(waited.ok()) << waited.ToString();
}

TEST_F(TransactionManagerTest, PreparingNothingWritesNothing) {
  const uint64_t before = store->LatestSequence();
  auto txn = Begin();
  EXPECT_EQ(Scan(*txn), "");
  ASSERT_TRUE(txn->Prepare("x", Durability::kSync).ok());
  manager->Detach(std::move(txn));
  ASSERT_TRUE(manager->CommitPrepared("x", Durability::kSync).ok());
  EXPECT_EQ(store->LatestSequence(), before);
}

TEST_F(TransactionManagerTest, TheSameNameTwiceIsRefused) {
  PrepareOne("x1", "a");
  auto txn = Begin();
  ASSERT_TRUE(Write(*txn, "b", "1").ok());
  EXPECT_TRUE(txn->Prepare("x1", Durability::kSync).Is(Code::kAlreadyExists));
  EXPECT_TRUE(txn->is_active());
  EXPECT_FALSE(txn->is_prepared());
  ASSERT_TRUE(txn->Rollback().ok());
}

}  // namespace
}  // namespace cairn::txn
