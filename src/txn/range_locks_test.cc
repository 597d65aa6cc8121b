// SPDX-License-Identifier: GPL-2.0-only
// Range locks: what they keep out, what they join, and how walks learn of arrivals.
#include "txn/range_locks.h"

#include <future>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "txn/txn_testing.h"

namespace cairn::txn {
namespace {

using Code = Status::Code;
using store::Durability;
using store::Family;

class RangeLocksTest : public ::testing::Test, public TxnFixture {
 protected:
  void SetUp() override {
    lock_options.now_us = TestClock::NowUs;
    OpenAll();
  }

  static Status Insert(Transaction& transaction, std::string_view name, const LockOptions& options = kNoWait) {
    transaction.StartStatement();
    CAIRN_RETURN_IF_ERROR(transaction.Lock(K(name), options, nullptr));
    return transaction.Insert(K(name), "v", options);
  }
  // A walk over index 1 from `lower` that has come to `to`.
  static void Walk(Transaction& transaction, RangeWalk* walk, std::string_view lower, std::string_view to) {
    ASSERT_TRUE(walk->Begin(&transaction, IndexId(1), K(lower), K("", 2), true, true).ok());
    ASSERT_TRUE(walk->Look().ok());
    ASSERT_TRUE(walk->Extend(K(to)));
  }
  void WaitUntilWaiting(uint64_t count) const {
    while (manager->locks().waiting_count() != count) std::this_thread::yield();
  }
  size_t count() const { return manager->ranges().RangeCount(IndexId(1)); }
};

TEST_F(RangeLocksTest, InsertionsByOthersAreKeptOutOfWhatWasWalkedOver) {
  auto reader = Begin(), writer = Begin();
  RangeWalk walk;
  Walk(*reader, &walk, "d", "h");
  for (const char* inside : {"d", "e", "h"}) EXPECT_TRUE(Insert(*writer, inside).Is(Code::kLockBusy)) << inside;
  for (const char* outside : {"a", "c", "ha", "i"}) EXPECT_TRUE(Insert(*writer, outside).ok()) << outside;
  EXPECT_TRUE(Insert(*reader, "e2").ok());
  walk.End();
  EXPECT_TRUE(Insert(*writer, "f").Is(Code::kLockBusy));
  ASSERT_TRUE(reader->Commit(Durability::kOs).ok());
  EXPECT_EQ(count(), 0u);
  EXPECT_EQ(reader->lock_count(), 0u);
  EXPECT_TRUE(Insert(*writer, "f").ok());
}

TEST_F(RangeLocksTest, RangesDoNotConflictAndOtherIndexesAreFree) {
  auto one = Begin(), two = Begin(), writer = Begin();
  RangeWalk walk_one, walk_two;
  Walk(*one, &walk_one, "a", "z");
  Walk(*two, &walk_two, "a", "z");
  EXPECT_TRUE(Insert(*one, "m").Is(Code::kLockBusy));
  writer->StartStatement();
  EXPECT_TRUE(writer->Insert(K("m", 2), "v", kNoWait).ok());
  // The same slot, another index.
  EXPECT_TRUE(writer->Insert(K("m", 1 + 1024), "v", kNoWait).ok());
}

TEST_F(RangeLocksTest, AWalkIsToldOfArrivalsAndOfWhatIsPending) {
  auto reader = Begin(), early = Begin(), late = Begin();
  ASSERT_TRUE(Insert(*early, "c").ok());
  ASSERT_TRUE(Insert(*early, "x").ok());
  RangeWalk walk;
  ASSERT_TRUE(walk.Begin(reader.get(), IndexId(1), K("a"), K("z"), true, true).ok());
  ASSERT_TRUE(walk.Look().ok());
  EXPECT_TRUE(walk.Extend(K("b")));
  // Something uncommitted was there before.
  EXPECT_FALSE(walk.Extend(K("d")));
  ASSERT_NE(walk.blocker(), nullptr);
  EXPECT_EQ(walk.blocker()->key, K("c"));
  EXPECT_EQ(walk.settled(), K("b") + '\0');
  ASSERT_TRUE(early->Rollback().ok());
  ASSERT_TRUE(walk.Look().ok());
  EXPECT_TRUE(walk.Extend(K("d")));
  // Something comes in front.
  ASSERT_TRUE(Insert(*late, "f").ok());
  EXPECT_FALSE(walk.Extend(K("e")));
  EXPECT_EQ(walk.blocker(), nullptr);
  ASSERT_TRUE(walk.Look().ok());
  EXPECT_TRUE(walk.Extend(K("e")));
  EXPECT_FALSE(walk.ExtendToEnd());
  EXPECT_EQ(walk.blocker()->key, K("f"));
  ASSERT_TRUE(late->Commit(Durability::kOs).ok());
  ASSERT_TRUE(walk.Look().ok());
  EXPECT_TRUE(walk.Extend(K("f")));
  EXPECT_TRUE(walk.ExtendToEnd());
}

TEST_F(RangeLocksTest, AWalkMovesOnWhileOthersKeepArrivingAhead) {
  auto reader = Begin(), writer = Begin();
  RangeWalk walk;
  ASSERT_TRUE(walk.Begin(reader.get(), IndexId(1), K("a"), K("z"), true, true).ok());
  ASSERT_TRUE(walk.Look().ok());
  ASSERT_TRUE(Insert(*writer, "w1").ok());
  EXPECT_FALSE(walk.Extend(K("c")));
  ASSERT_TRUE(walk.Look().ok());
  ASSERT_TRUE(Insert(*writer, "w2").ok());
  EXPECT_TRUE(walk.Extend(K("b")));
  EXPECT_TRUE(walk.Extend(K("c")));
  EXPECT_FALSE(walk.Extend(K("d")));
}

TEST_F(RangeLocksTest, DownwardsTheSame) {
  auto reader = Begin(), writer = Begin();
  ASSERT_TRUE(Insert(*writer, "m").ok());
  RangeWalk walk;
  ASSERT_TRUE(walk.Begin(reader.get(), IndexId(1), K("a"), K("z"), false, true).ok());
  ASSERT_TRUE(walk.Look().ok());
  EXPECT_TRUE(walk.Extend(K("p")));
  EXPECT_TRUE(Insert(*writer, "p").Is(Code::kLockBusy));
  EXPECT_TRUE(Insert(*writer, "y").Is(Code::kLockBusy));
  EXPECT_TRUE(Insert(*writer, "z").ok());
  EXPECT_FALSE(walk.Extend(K("k")));
  EXPECT_EQ(walk.blocker()->key, K("m"));
  ASSERT_TRUE(writer->Commit(Durability::kOs).ok());
  ASSERT_TRUE(walk.Look().ok());
  EXPECT_TRUE(walk.Extend(K("m")));
  EXPECT_TRUE(walk.ExtendToEnd());
}

TEST_F(RangeLocksTest, RemovalsAreNobodyToWaitFor) {
  auto reader = Begin(), writer = Begin();
  writer->StartStatement();
  for (int i = 0; i < 3000; ++i) {
    const std::string name = "k" + std::to_string(10'000 + i);
    ASSERT_TRUE(writer->Delete(Family::kData, K(name)).ok());
  }
  ASSERT_TRUE(Insert(*writer, "m").ok());
  for (const bool forward : {true, false}) {
    RangeWalk walk;
    ASSERT_TRUE(walk.Begin(reader.get(), IndexId(1), K("a"), K("z"), forward, true).ok());
    ASSERT_TRUE(walk.Look().ok());
    int tries = 0;
    while (!walk.ExtendToEnd() && walk.blocker() == nullptr) {
      ASSERT_TRUE(walk.Look().ok());
      ASSERT_LT(++tries, 10);
    }
    ASSERT_NE(walk.blocker(), nullptr);
    EXPECT_EQ(walk.blocker()->key, K("m"));
    EXPECT_EQ(tries, forward ? 2 : 0);
  }
}

TEST_F(RangeLocksTest, RangesOfEndedWalksAreJoinedAndBounded) {
  auto reader = Begin(), writer = Begin();
  const auto lock = [&](const std::string& from, const std::string& to) {
    RangeWalk walk;
    Walk(*reader, &walk, from, to);
  };
  lock("b", "c");
  lock("e", "f");
  EXPECT_EQ(count(), 2u);
  EXPECT_TRUE(Insert(*writer, "d").ok());
  lock("a", "b");
  EXPECT_EQ(count(), 2u);
  ASSERT_TRUE(writer->Rollback().ok());
  lock("bb", "e5");
  EXPECT_EQ(count(), 1u);
  for (size_t i = 0; i < 3 * RangeLocks::kRangeCountMax; ++i) {
    const std::string name = "k" + std::to_string(100'000 + i);
    lock(name + "a", name + "b");
    ASSERT_LE(count(), RangeLocks::kRangeCountMax);
  }
  writer->Begin(Isolation::kRepeatableRead);
  for (const char* inside : {"a", "k100000a5", "k100777a", "k103071b"}) {
    EXPECT_TRUE(Insert(*writer, inside).Is(Code::kLockBusy)) << inside;
  }
  EXPECT_TRUE(Insert(*writer, "z").ok());
}

TEST_F(RangeLocksTest, AnInsertionWaitsForTheEndOfTheHolder) {
  auto reader = Begin(), writer = Begin();
  RangeWalk walk;
  Walk(*reader, &walk, "a", "z");
  walk.End();
  auto inserted = std::async(std::launch::async, [&] { return Insert(*writer, "m", LockOptions{}); });
  WaitUntilWaiting(1);
  // The key is not in the batch yet: a second look of the holder does not stumble over it.
  RangeWalk again;
  Walk(*reader, &again, "a", "z");
  again.End();
  ASSERT_TRUE(reader->Rollback().ok());
  EXPECT_TRUE(inserted.get().ok());
  EXPECT_TRUE(writer->Commit(Durability::kOs).ok());
}

// Who waits before he puts the key is no arrival: the walk would look again for nothing.
TEST_F(RangeLocksTest, WhoAsksForTheHolderIsNoArrival) {
  auto reader = Begin(), writer = Begin();
  RangeWalk walk;
  ASSERT_TRUE(walk.Begin(reader.get(), IndexId(1), K("a"), K("z"), true, true).ok());
  ASSERT_TRUE(walk.Look().ok());
  EXPECT_TRUE(writer->WaitForRanges(K("m"), kNoWait).ok());
  EXPECT_TRUE(walk.Extend(K("p")));
  EXPECT_TRUE(writer->WaitForRanges(K("m"), kNoWait).Is(Code::kLockBusy));
  EXPECT_TRUE(reader->WaitForRanges(K("m"), kNoWait).ok());
  EXPECT_TRUE(writer->WaitForRanges(K("q"), kNoWait).ok());
  EXPECT_EQ(writer->lock_count(), 0u);
}

TEST_F(RangeLocksTest, TwoHoldersWhoInsertAreADeadlock) {
  auto one = Begin(), two = Begin();
  RangeWalk walk_one, walk_two;
  Walk(*one, &walk_one, "a", "z");
  Walk(*two, &walk_two, "a", "z");
  walk_one.End();
  walk_two.End();
  auto inserted = std::async(std::launch::async, [&] { return Insert(*one, "m", LockOptions{}); });
  WaitUntilWaiting(1);
  EXPECT_TRUE(Insert(*two, "n", LockOptions{}).Is(Code::kDeadlock));
  ASSERT_TRUE(two->Rollback().ok());
  EXPECT_TRUE(inserted.get().ok());
  EXPECT_EQ(manager->locks().deadlock_count(), 1u);
}

TEST_F(RangeLocksTest, WaitsForRangesEndWithTimeAndByInterrupt) {
  auto reader = Begin(), writer = Begin();
  RangeWalk walk;
  Walk(*reader, &walk, "a", "z");
  EXPECT_TRUE(Insert(*writer, "m", {.timeout_ms = 1}).Is(Code::kLockTimeout));
  auto inserted = std::async(std::launch::async, [&] { return Insert(*writer, "m", LockOptions{}); });
  WaitUntilWaiting(1);
  writer->Interrupt();
  EXPECT_TRUE(inserted.get().Is(Code::kInterrupted));
}

TEST_F(RangeLocksTest, WaitsForOneHolderAfterTheOtherHaveOneTime) {
  for (const bool inserts : {true, false}) {
    auto one = Begin(), two = Begin(), writer = Begin();
    RangeWalk walk_one, walk_two;
    Walk(*one, &walk_one, "a", "z");
    Walk(*two, &walk_two, "a", "z");
    const auto call = [&] {
      return inserts ? Insert(*writer, "m", LockOptions{}) : writer->WaitForRanges(K("m"), LockOptions{});
    };
    ExpectOneTime(call, *writer, [&] { EXPECT_TRUE(one->Rollback().ok()); });
  }
}

TEST_F(RangeLocksTest, PreparedInsertionsArePendingUntilTheyEnd) {
  auto reader = Begin(), writer = Begin();
  ASSERT_TRUE(Insert(*writer, "m").ok());
  writer->EndStatement();
  ASSERT_TRUE(writer->Prepare("one", Durability::kSync).ok());
  for (const bool recovered : {false, true}) {
    if (recovered) {
      reader.reset();
      writer.reset();
      CrashAll();
      OpenAll();
      ASSERT_TRUE(manager->RecoverPrepared().ok());
      reader = Begin();
    }
    RangeWalk walk;
    ASSERT_TRUE(walk.Begin(reader.get(), IndexId(1), K("a"), K("z"), true, true).ok());
    ASSERT_TRUE(walk.Look().ok());
    EXPECT_FALSE(walk.ExtendToEnd());
    ASSERT_NE(walk.blocker(), nullptr);
    EXPECT_EQ(walk.blocker()->value, "v");
  }
  ASSERT_TRUE(manager->RollbackPrepared("one").ok());
}

TEST_F(RangeLocksTest, WhatARolledBackStatementPutIsNotPending) {
  auto reader = Begin(), writer = Begin();
  ASSERT_TRUE(Insert(*writer, "b").ok());
  writer->EndStatement();
  ASSERT_TRUE(Insert(*writer, "m").ok());
  ASSERT_TRUE(writer->RollbackStatement().ok());
  RangeWalk walk;
  ASSERT_TRUE(walk.Begin(reader.get(), IndexId(1), K("c"), K("z"), true, true).ok());
  ASSERT_TRUE(walk.Look().ok());
  EXPECT_TRUE(walk.ExtendToEnd());
}

}  // namespace
}  // namespace cairn::txn
