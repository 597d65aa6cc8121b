// SPDX-License-Identifier: GPL-2.0-only
// Transactions that are prepared, and what fails then: the log, files, the process.
#include <utility>

#include <gtest/gtest.h>

#include "store/store.h"
#include "store/store_testing.h"

namespace cairn::store {
namespace {

using Code = Status::Code;

class PreparedTest : public ::testing::Test, public StoreFixture {};

// What was only prepared is in the log all the same, and has to be made durable.
TEST_F(PreparedTest, WhatIsOnlyPreparedChangesTheLog) {
  Open();
  auto one = store->BeginWrite();
  ASSERT_TRUE(one->Put(Family::kData, "a", "1").ok());
  uint64_t version = store->LogVersion();
  const auto has_changed = [&] { return std::exchange(version, store->LogVersion()) != version; };
  ASSERT_TRUE(one->Prepare("x", Durability::kOs).ok());
  EXPECT_TRUE(has_changed());
  ASSERT_TRUE(one->Rollback().ok());
  EXPECT_TRUE(has_changed());
  EXPECT_FALSE(has_changed());
  ASSERT_TRUE(Put("b", "1", Durability::kOs).ok());
  EXPECT_TRUE(has_changed());
}

// A replica's transaction lets the next one on before it is synced itself, and so must not be lost alone where that one prepares with a sync.
TEST_F(PreparedTest, ASyncedPrepareTakesAlongWhatWasCommittedBefore) {
  Open();
  {
    auto before = store->BeginWrite();
    ASSERT_TRUE(before->Put(Family::kData, "a", "1").ok());
    ASSERT_TRUE(before->Commit(Durability::kOs).ok());
    auto next = store->BeginWrite();
    ASSERT_TRUE(next->Put(Family::kData, "b", "1").ok());
    ASSERT_TRUE(next->Prepare("x", Durability::kSync).ok());
  }
  Crash();
  Open();
  EXPECT_EQ(Get("a"), "1");
  const auto recovered = store->TakeRecovered();
  ASSERT_EQ(recovered.size(), 1u);
  ASSERT_TRUE(recovered.front()->Commit(Durability::kOs).ok());
  EXPECT_EQ(Get("b"), "1");
}

// One that is not decided elsewhere need not be durable by itself: its commit makes it so.
TEST_F(PreparedTest, ASyncedCommitTakesAlongWhatWasPreparedBefore) {
  Open();
  auto one = store->BeginWrite();
  ASSERT_TRUE(one->Put(Family::kData, "a", "1").ok());
  ASSERT_TRUE(one->Prepare("x", Durability::kOs).ok());
  ASSERT_TRUE(one->Commit(Durability::kOs).ok());
  ASSERT_TRUE(store->SyncWal().ok());
  one.reset();
  Crash();
  Open();
  EXPECT_EQ(Get("a"), "1");
  EXPECT_EQ(store->TakeRecovered().size(), 0u);
}

// Committed by the binary log, and not to be committed here: the store stops, and the next start finds it.
TEST_F(PreparedTest, APromiseThatCannotBeKeptStopsTheStore) {
  int stops = 0;
  options.on_wal_failure = [&stops](const Status&) { ++stops; };
  Open();
  auto one = store->BeginWrite();
  ASSERT_TRUE(one->Put(Family::kData, "a", "1").ok());
  ASSERT_TRUE(one->Prepare("x", Durability::kSync).ok());
  ASSERT_TRUE(Put("b", "1", Durability::kOs).ok());
  env.FailWrites(".sst", 1);
  ASSERT_FALSE(store->FlushMemtables().ok());
  const Status refused = one->Commit(Durability::kOs);
  ASSERT_FALSE(refused.ok());
  EXPECT_TRUE(one->is_prepared());
  EXPECT_EQ(stops, 0);
  store->StopForPromised(refused);
  store->StopForPromised(refused);
  EXPECT_EQ(stops, 1);
  env.Heal();
  one.reset();
  Crash();
  Open();
  const auto recovered = store->TakeRecovered();
  ASSERT_EQ(recovered.size(), 1u);
  ASSERT_TRUE(recovered.front()->Commit(Durability::kOs).ok());
  EXPECT_EQ(Get("a"), "1");
}

// It would hide what the first has written to the log, which then was kept for ever.
TEST_F(PreparedTest, ASecondPrepareIsRefused) {
  Open();
  auto one = store->BeginWrite();
  ASSERT_TRUE(one->Put(Family::kData, "a", "1").ok());
  EXPECT_EQ(one->prepare_log_number(), 0u);
  ASSERT_TRUE(one->Prepare("x", Durability::kSync).ok());
  const uint64_t log_number = one->prepare_log_number();
  EXPECT_NE(log_number, 0u);
  EXPECT_TRUE(one->Prepare("x", Durability::kSync).Is(Code::kInvalidArgument));
  EXPECT_TRUE(one->is_prepared());
  EXPECT_EQ(one->prepare_log_number(), log_number);
  ASSERT_TRUE(one->Rollback().ok());
  EXPECT_EQ(one->prepare_log_number(), 0u);
  EXPECT_TRUE(one->Prepare("x", Durability::kSync).Is(Code::kInvalidArgument));
}

TEST_F(PreparedTest, PreparedTransactionsAreFoundAgain) {
  Open();
  {
    auto one = store->BeginWrite();
    ASSERT_TRUE(one->Put(Family::kData, "a", "1").ok());
    ASSERT_TRUE(one->Prepare("first", Durability::kSync).ok());
    auto two = store->BeginWrite();
    ASSERT_TRUE(two->Put(Family::kData, "b", "1").ok());
    EXPECT_TRUE(two->Prepare("first", Durability::kSync).Is(Code::kAlreadyExists));
    ASSERT_TRUE(two->Prepare("second", Durability::kSync).ok());
    EXPECT_EQ(Get("a"), "-");
  }
  Crash();
  Open();
  auto recovered = store->TakeRecovered();
  ASSERT_EQ(recovered.size(), 2u);
  EXPECT_EQ(store->TakeRecovered().size(), 0u);
  for (auto& txn : recovered) {
    EXPECT_TRUE(txn->is_prepared());
    ASSERT_TRUE((txn->name() == "first" ? txn->Commit(Durability::kSync) : txn->Rollback()).ok());
  }
  recovered.clear();
  EXPECT_EQ(Get("a"), "1");
  EXPECT_EQ(Get("b"), "-");
  Crash();
  Open();
  EXPECT_EQ(Get("a"), "1");
  EXPECT_EQ(store->TakeRecovered().size(), 0u);
}

TEST_F(PreparedTest, AFailedPrepareCanBeRolledBack) {
  Open();
  auto txn = store->BeginWrite();
  ASSERT_TRUE(txn->Put(Family::kData, "a", "1").ok());
  env.FailWrites(".log", 1);
  EXPECT_FALSE(txn->Prepare("p", Durability::kSync).ok());
  EXPECT_FALSE(txn->is_prepared());
  EXPECT_TRUE(txn->Rollback().ok());
  EXPECT_EQ(Get("a"), "-");
}

TEST_F(PreparedTest, TheNameOfARolledBackTransactionIsFree) {
  Open();
  auto rolled_back = store->BeginWrite();
  ASSERT_TRUE(rolled_back->Put(Family::kData, "a", "1").ok());
  ASSERT_TRUE(rolled_back->Prepare("x", Durability::kSync).ok());
  ASSERT_TRUE(rolled_back->Rollback().ok());
  rolled_back->Restart();
  auto other = store->BeginWrite();
  ASSERT_TRUE(other->Put(Family::kData, "b", "1").ok());
  EXPECT_TRUE(other->Prepare("x", Durability::kSync).ok());
  EXPECT_TRUE(other->Rollback().ok());
}

}  // namespace
}  // namespace cairn::store
