// SPDX-License-Identifier: GPL-2.0-only
// Isolation between transactions, own writes, counters, ending.
#include "txn/transaction.h"

#include <thread>

#include <gtest/gtest.h>

#include "txn/txn_testing.h"

namespace cairn::txn {
namespace {

using Code = Status::Code;
using store::Durability;
using store::Family;

class TransactionTest : public ::testing::Test, public TxnFixture {
 protected:
  void SetUp() override { OpenAll(); }
};

TEST_F(TransactionTest, NoDirtyReads) {
  Commit("a", "1");
  for (const Isolation isolation : {Isolation::kReadCommitted, Isolation::kRepeatableRead}) {
    auto writer = Begin();
    ASSERT_TRUE(Write(*writer, "a", "2").ok());
    auto reader = Begin(isolation);
    EXPECT_EQ(Read(*reader, "a"), "1");
    EXPECT_EQ(Read(*reader, "a", View::kNewest), "1");
    EXPECT_EQ(Scan(*reader), "a=1");
    EXPECT_EQ(Scan(*writer), "a=2");
    ASSERT_TRUE(writer->Rollback().ok());
  }
}

TEST_F(TransactionTest, RepeatableReadRepeatsAndReadCommittedDoesNot) {
  Commit("a", "1");
  auto repeatable = Begin(Isolation::kRepeatableRead);
  auto committed = Begin(Isolation::kReadCommitted);
  EXPECT_EQ(Read(*repeatable, "a"), "1");
  EXPECT_EQ(Read(*committed, "a"), "1");
  Commit("a", "2");
  Commit("b", "2");
  EXPECT_EQ(Read(*repeatable, "a"), "1");
  EXPECT_EQ(Scan(*repeatable), "a=1");
  EXPECT_EQ(Read(*committed, "a"), "2");
  EXPECT_EQ(Scan(*committed), "a=2 b=2");
  EXPECT_EQ(Read(*repeatable, "a", View::kNewest), "2");
  ASSERT_TRUE(repeatable->Commit(Durability::kSync).ok());
  repeatable->Begin(Isolation::kRepeatableRead);
  EXPECT_EQ(Read(*repeatable, "a"), "2");
}

TEST_F(TransactionTest, AReadCommittedStatementSeesOneMoment) {
  Commit("a", "1");
  auto reader = Begin(Isolation::kReadCommitted);
  reader->StartStatement();
  reader->ReadView();
  Commit("a", "2");
  store::PinnedValue value;
  ASSERT_TRUE(reader->Get(Family::kData, K("a"), View::kConsistent, &value).ok());
  EXPECT_EQ(value.view(), "1");
  value.Reset();
  reader->EndStatement();
  EXPECT_FALSE(reader->has_read_view());
  EXPECT_EQ(Read(*reader, "a"), "2");
}

TEST_F(TransactionTest, TheViewIsTakenAtTheFirstReadOrWhenAskedFor) {
  Commit("a", "1");
  auto late = Begin();
  auto early = Begin();
  early->ReadView();
  Commit("a", "2");
  EXPECT_EQ(Read(*late, "a"), "2");
  EXPECT_EQ(Read(*early, "a"), "1");
  // A consistent snapshot does not stand in the way of a write.
  ASSERT_TRUE(Write(*early, "a", "3").ok());
  EXPECT_EQ(Read(*early, "a"), "3");
  ASSERT_TRUE(early->Commit(Durability::kSync).ok());
}

TEST_F(TransactionTest, AViewThatWasDroppedIsTakenAnew) {
  Commit("a", "1");
  for (const Isolation isolation : {Isolation::kReadCommitted, Isolation::kRepeatableRead, Isolation::kSerializable}) {
    auto reader = Begin(isolation);
    reader->DropReadView();  // there is none
    reader->StartStatement();
    const uint64_t before = reader->ReadView()->sequence();
    Commit("a", "2");
    reader->DropReadView();
    EXPECT_FALSE(reader->has_read_view());
    EXPECT_EQ(manager->oldest_view_age_us(), 0u);
    EXPECT_GT(reader->ReadView()->sequence(), before);
    EXPECT_FALSE(reader->IsViewBehind());
    EXPECT_EQ(Read(*reader, "a"), "2");
    ASSERT_TRUE(reader->Commit(Durability::kSync).ok());
  }
}

// What has to be so for who looks for prepared transactions first and takes the view then.
TEST_F(TransactionTest, AViewThatIsTakenOnceNoPreparedOneIsFoundShowsWhatThatHasCommitted) {
  Commit("a", "1");
  Commit("b", "1");
  auto prepared = Begin();
  ASSERT_TRUE(Write(*prepared, "b", "2").ok());
  ASSERT_TRUE(prepared->Prepare("x", Durability::kSync).ok());
  manager->Detach(std::move(prepared));
  auto reader = Begin();
  EXPECT_EQ(Read(*reader, "a"), "1");
  EXPECT_TRUE(manager->PreparedHaveWritten(IndexId(1)));
  ASSERT_TRUE(manager->CommitPrepared("x", Durability::kSync).ok());
  EXPECT_FALSE(manager->PreparedHaveWritten(IndexId(1)));
  EXPECT_EQ(Read(*reader, "b"), "1");
  reader->DropReadView();
  EXPECT_EQ(Read(*reader, "b"), "2");
}

TEST_F(TransactionTest, NoLostUpdates) {
  Commit("a", "1");
  auto one = Begin();
  auto two = Begin();
  EXPECT_EQ(Read(*one, "a"), "1");
  EXPECT_EQ(Read(*two, "a"), "1");
  ASSERT_TRUE(one->Lock(K("a"), kNoWait, nullptr).ok());
  EXPECT_TRUE(two->Lock(K("a"), kNoWait, nullptr).Is(Code::kLockBusy));
  ASSERT_TRUE(one->Put(Family::kData, K("a"), Read(*one, "a", View::kNewest) + "+").ok());
  ASSERT_TRUE(one->Commit(Durability::kSync).ok());
  ASSERT_TRUE(two->Lock(K("a"), kNoWait, nullptr).ok());
  ASSERT_TRUE(two->Put(Family::kData, K("a"), Read(*two, "a", View::kNewest) + "+").ok());
  ASSERT_TRUE(two->Commit(Durability::kSync).ok());
  auto reader = Begin();
  EXPECT_EQ(Read(*reader, "a"), "1++");
}

TEST_F(TransactionTest, WriteSkewIsAllowed) {
  Commit("a", "1");
  Commit("b", "1");
  auto one = Begin();
  auto two = Begin();
  EXPECT_EQ(Scan(*one), "a=1 b=1");
  EXPECT_EQ(Scan(*two), "a=1 b=1");
  ASSERT_TRUE(Write(*one, "a", "0").ok());
  ASSERT_TRUE(Write(*two, "b", "0").ok());
  EXPECT_TRUE(one->Commit(Durability::kSync).ok());
  EXPECT_TRUE(two->Commit(Durability::kSync).ok());
}

TEST_F(TransactionTest, StrictSnapshotsRefuseWhatChanged) {
  Commit("a", "1");
  Commit("b", "1");
  auto strict = Begin();
  strict->SetStrictSnapshot(true);
  EXPECT_EQ(Read(*strict, "a"), "1");
  Commit("a", "2");
  Commit("new", "1");
  EXPECT_TRUE(strict->Lock(K("a"), kNoWait, nullptr).Is(Code::kSnapshotConflict));
  EXPECT_TRUE(strict->Lock(K("new"), kNoWait, nullptr).Is(Code::kSnapshotConflict));
  EXPECT_TRUE(strict->Lock(K("b"), kNoWait, nullptr).ok());
  EXPECT_EQ(strict->lock_count(), 1u);
}

TEST_F(TransactionTest, OwnWritesAreSeenOverTheView) {
  Commit("a", "1");
  Commit("c", "1");
  auto txn = Begin();
  EXPECT_EQ(Scan(*txn), "a=1 c=1");
  Commit("d", "1");
  txn->StartStatement();
  ASSERT_TRUE(txn->Put(Family::kData, K("b"), "2").ok());
  ASSERT_TRUE(txn->SingleDelete(Family::kData, K("c")).ok());
  txn->EndStatement();
  EXPECT_EQ(Scan(*txn), "a=1 b=2");
  EXPECT_EQ(Scan(*txn, View::kNewest), "a=1 b=2 d=1");
  EXPECT_EQ(Read(*txn, "c"), "-");
  EXPECT_TRUE(txn->HasWritten(IndexId(1)));
  EXPECT_FALSE(txn->HasWritten(IndexId(2)));
}

TEST_F(TransactionTest, CountersAreCommittedWithTheirTransaction) {
  const TableId t1(1), t2(2);
  auto txn = Begin();
  txn->StartStatement();
  txn->AddTableCounters(t1, {2, 3});
  txn->EndStatement();
  txn->StartStatement();
  txn->AddTableCounters(t1, {5, 9});
  txn->AddTableCounters(t2, {1, 0});
  ASSERT_TRUE(txn->RollbackStatement().ok());
  EXPECT_EQ(txn->PendingTableCounters(t1), (store::TableCounters{2, 3}));
  EXPECT_EQ(txn->PendingTableCounters(t2), store::TableCounters{});
  EXPECT_EQ(Counters(t1), store::TableCounters{});
  ASSERT_TRUE(txn->Commit(Durability::kSync).ok());
  EXPECT_EQ(Counters(t1), (store::TableCounters{2, 3}));
  EXPECT_EQ(live[t1], (store::TableCounters{2, 3}));

  txn->Begin(Isolation::kRepeatableRead);
  txn->AddTableCounters(t1, {-1, 0});
  ASSERT_TRUE(txn->Prepare("p", Durability::kSync).ok());
  ASSERT_TRUE(txn->Commit(Durability::kSync).ok());
  EXPECT_EQ(Counters(t1), (store::TableCounters{1, 3}));
  EXPECT_EQ(live[t1], (store::TableCounters{1, 3}));

  txn->Begin(Isolation::kRepeatableRead);
  txn->AddTableCounters(t1, {100, 100});
  ASSERT_TRUE(txn->Rollback().ok());
  EXPECT_EQ(Counters(t1), (store::TableCounters{1, 3}));
}

// Nothing of them is written: a transaction that has only changed rows has no record of its counters.
TEST_F(TransactionTest, ChangedRowsAreForTheHookAlone) {
  const TableId t1(1), t2(2);
  auto txn = Begin();
  ASSERT_TRUE(Write(*txn, "a", "1").ok());
  txn->NoteChangedRow(t1);
  txn->StartStatement();
  ASSERT_TRUE(txn->Put(Family::kData, K("a"), "2").ok());
  txn->NoteChangedRow(t1);
  txn->NoteChangedRow(t2);
  ASSERT_TRUE(txn->RollbackStatement().ok());
  ASSERT_TRUE(txn->Commit(Durability::kSync).ok());
  EXPECT_EQ(live_changed_rows[t1], 1u);
  EXPECT_EQ(live_changed_rows[t2], 0u);
  EXPECT_EQ(live[t1], store::TableCounters{});
  ByteBuffer key;
  key.Append(ByteView("counters"));
  key.AppendBe64(t1.value);
  EXPECT_EQ(Get(key.view(), nullptr, Family::kDictionary), "-");

  // Rows that come and rows that go do not make up for each other.
  txn->Begin(Isolation::kRepeatableRead);
  txn->AddTableCounters(t1, {-3, 0});
  txn->AddTableCounters(t1, {3, 0});
  ASSERT_TRUE(txn->Commit(Durability::kSync).ok());
  EXPECT_EQ(live_changed_rows[t1], 7u);
  EXPECT_EQ(Get(key.view(), nullptr, Family::kDictionary), "-");
}

// As of a table that a copy without rows is to replace.
TEST_F(TransactionTest, TheHookHearsOfTablesWithoutChanges) {
  auto txn = Begin();
  txn->AddTableCounters(TableId(1), {});
  ASSERT_TRUE(txn->Commit(Durability::kSync).ok());
  EXPECT_TRUE(live.contains(TableId(1)));
  EXPECT_EQ(Counters(TableId(1)), store::TableCounters{});
}

TEST_F(TransactionTest, CountersOfATableThatIsGoneAreNotWritten) {
  const TableId gone(1), stays(2);
  auto txn = Begin();
  txn->AddTableCounters(gone, {1, 5});
  txn->AddTableCounters(stays, {1, 5});
  const SavepointId savepoint = txn->SetSavepoint();
  txn->AddTableCounters(gone, {1, 6});
  txn->ForgetTableCounters(gone);
  ASSERT_TRUE(txn->RollbackToSavepoint(savepoint).ok());
  ASSERT_TRUE(txn->Commit(Durability::kSync).ok());
  EXPECT_EQ(Counters(gone), store::TableCounters{});
  EXPECT_EQ(Counters(stays), (store::TableCounters{1, 5}));
}

TEST_F(TransactionTest, LocksLastUntilTheEnd) {
  auto txn = Begin();
  LockResult result;
  ASSERT_TRUE(txn->Lock(K("a"), kNoWait, &result).ok());
  ASSERT_TRUE(Write(*txn, "b", "1").ok());
  EXPECT_EQ(txn->lock_count(), 2u);
  txn->Unlock(result.handle);
  auto other = Begin();
  EXPECT_TRUE(other->Lock(K("a"), kNoWait, nullptr).ok());
  EXPECT_TRUE(other->Lock(K("b"), kNoWait, nullptr).Is(Code::kLockBusy));
  ASSERT_TRUE(txn->Commit(Durability::kSync).ok());
  EXPECT_TRUE(other->Lock(K("b"), kNoWait, nullptr).ok());
}

TEST_F(TransactionTest, AWaiterSeesWhatTheHolderCommitted) {
  Commit("a", "1");
  auto holder = Begin();
  ASSERT_TRUE(Write(*holder, "a", "2").ok());
  auto waiter = Begin();
  EXPECT_EQ(Read(*waiter, "a"), "1");
  Status status;
  LockResult result;
  std::thread thread([&] { status = waiter->Lock(K("a"), {}, &result); });
  while (manager->locks().waiting_count() != 1) std::this_thread::yield();
  EXPECT_TRUE(manager->List()[1].waiting);
  ASSERT_TRUE(holder->Commit(Durability::kSync).ok());
  thread.join();
  ASSERT_TRUE(status.ok());
  EXPECT_TRUE(result.waited);
  EXPECT_EQ(Read(*waiter, "a", View::kNewest), "2");
  EXPECT_EQ(Read(*waiter, "a"), "1");
}

TEST_F(TransactionTest, ADeadlockHasOneVictimAndTheOtherCommits) {
  auto one = Begin();
  auto two = Begin();
  ASSERT_TRUE(Write(*one, "a", "1").ok());
  ASSERT_TRUE(Write(*one, "a2", "1").ok());
  ASSERT_TRUE(Write(*two, "b", "2").ok());
  Status status;
  std::thread thread([&] { status = Write(*one, "b", "1", {}); });
  while (manager->locks().waiting_count() != 1) std::this_thread::yield();
  EXPECT_TRUE(Write(*two, "a", "2", {}).Is(Code::kDeadlock));
  ASSERT_TRUE(two->Rollback().ok());
  thread.join();
  ASSERT_TRUE(status.ok()) << status.ToString();
  ASSERT_TRUE(one->Commit(Durability::kSync).ok());
  auto reader = Begin();
  EXPECT_EQ(Scan(*reader), "a=1 a2=1 b=1");
}

TEST_F(TransactionTest, KillingEndsAWaitAndTheNextStatementIsFree) {
  auto holder = Begin();
  ASSERT_TRUE(Write(*holder, "a", "1").ok());
  auto killed = Begin();
  Status status;
  std::thread thread([&] { status = Write(*killed, "a", "2", {}); });
  while (manager->locks().waiting_count() != 1) std::this_thread::yield();
  killed->Interrupt();
  thread.join();
  EXPECT_TRUE(status.Is(Code::kInterrupted));
  ASSERT_TRUE(killed->RollbackStatement().ok());
  EXPECT_TRUE(killed->is_interrupted());
  EXPECT_TRUE(Write(*killed, "b", "2").ok());
  EXPECT_FALSE(killed->is_interrupted());
}

TEST_F(TransactionTest, AFullDiskLeavesItActiveToRollBack) {
  auto txn = Begin();
  ASSERT_TRUE(Write(*txn, "a", "1").ok());
  txn->AddTableCounters(TableId(1), {1, 0});
  env.SetFreeBytes(0);
  store->CheckFreeSpace();
  EXPECT_TRUE(txn->Commit(Durability::kSync).Is(Code::kNoSpace));
  EXPECT_TRUE(txn->is_active());
  env.SetFreeBytes(uint64_t{1} << 40);
  store->CheckFreeSpace();
  ASSERT_TRUE(txn->Commit(Durability::kSync).ok());
  EXPECT_FALSE(txn->is_active());
  EXPECT_EQ(Counters(TableId(1)), (store::TableCounters{1, 0}));
}

TEST_F(TransactionTest, WhatWasAskedForInTimeMayEndOnAFullDisk) {
  auto txn = Begin();
  EXPECT_TRUE(txn->Admit().ok());  // of nothing
  ASSERT_TRUE(Write(*txn, "a", "1").ok());
  txn->AddTableCounters(TableId(1), {1, 0});
  ASSERT_TRUE(txn->Admit().ok());
  auto late = Begin();
  ASSERT_TRUE(Write(*late, "b", "1").ok());
  env.SetFreeBytes(0);
  store->CheckFreeSpace();
  EXPECT_TRUE(late->Admit().Is(Code::kNoSpace));
  ASSERT_TRUE(late->Rollback().ok());
  ASSERT_TRUE(txn->Commit(Durability::kSync).ok());
  EXPECT_EQ(Counters(TableId(1)), (store::TableCounters{1, 0}));
}

TEST_F(TransactionTest, AFailedCommitIsOver) {
  auto txn = Begin();
  ASSERT_TRUE(Write(*txn, "a", "1").ok());
  env.FailWrites(".log", 1);
  EXPECT_TRUE(txn->Commit(Durability::kSync).Is(Code::kIoError));
  EXPECT_FALSE(txn->is_active());
  EXPECT_EQ(manager->locks().lock_count(), 0u);
}

TEST_F(TransactionTest, TheListShowsActiveOnesOldestFirst) {
  auto idle = manager->NewTransaction();
  auto one = Begin();
  auto two = Begin(Isolation::kReadCommitted);
  ASSERT_TRUE(Write(*two, "a", "1").ok());
  EXPECT_EQ(manager->oldest_view_age_us(), 0u);
  one->ReadView();
  const auto rows = manager->List();
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(manager->active_count(), 2u);
  EXPECT_EQ(rows[0].id, one->id());
  EXPECT_GT(rows[0].view_age_us, 0u);
  EXPECT_EQ(rows[1].isolation, Isolation::kReadCommitted);
  EXPECT_EQ(rows[1].write_count, 1u);
  EXPECT_EQ(rows[1].lock_count, 1u);
  EXPECT_GT(rows[1].write_bytes, 0u);
}

TEST_F(TransactionTest, ReadingCostsNoSequenceAndNoWrite) {
  Commit("a", "1");
  const uint64_t before = store->LatestSequence();
  auto txn = Begin();
  EXPECT_EQ(Scan(*txn), "a=1");
  EXPECT_FALSE(txn->HasWrites());
  ASSERT_TRUE(txn->Commit(Durability::kSync).ok());
  EXPECT_EQ(store->LatestSequence(), before);
}

}  // namespace
}  // namespace cairn::txn
