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
    ASSERT_TRUE(walk->Look({}).ok());
    ASSERT_TRUE(walk->Extend(K(to)));
  }
  void Remove(std::initializer_list<const char*> names) {
    auto transaction = Begin();
    transaction->StartStatement();
    for (const char* name : names) ASSERT_TRUE(transaction->Delete(Family::kData, K(name)).ok());
    ASSERT_TRUE(transaction->Commit(Durability::kOs).ok());
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
  ASSERT_TRUE(walk.Look({}).ok());
  EXPECT_TRUE(walk.Extend(K("b")));
  // Something uncommitted was there before.
  EXPECT_FALSE(walk.Extend(K("d")));
  ASSERT_NE(walk.blocker(), nullptr);
  EXPECT_EQ(walk.blocker()->key, K("c"));
  EXPECT_EQ(walk.settled(), K("b") + '\0');
  ASSERT_TRUE(early->Rollback().ok());
  ASSERT_TRUE(walk.Look({}).ok());
  EXPECT_TRUE(walk.Extend(K("d")));
  // Something comes in front.
  ASSERT_TRUE(Insert(*late, "f").ok());
  EXPECT_FALSE(walk.Extend(K("g")));
  EXPECT_EQ(walk.blocker(), nullptr);
  ASSERT_TRUE(walk.Look({}).ok());
  EXPECT_FALSE(walk.ExtendToEnd());
  EXPECT_EQ(walk.blocker()->key, K("f"));
  ASSERT_TRUE(late->Commit(Durability::kOs).ok());
  ASSERT_TRUE(walk.Look({}).ok());
  EXPECT_TRUE(walk.Extend(K("f")));
  EXPECT_TRUE(walk.ExtendToEnd());
}

TEST_F(RangeLocksTest, ArrivalsFarAheadAreNotLookedForBeforeTheWalkComesThere) {
  for (const bool forward : {true, false}) {
    SCOPED_TRACE(forward);
    auto reader = Begin(), writer = Begin();
    RangeWalk walk;
    ASSERT_TRUE(walk.Begin(reader.get(), IndexId(1), K("a"), K("z"), forward, true).ok());
    ASSERT_TRUE(walk.Look({}).ok());
    for (const char* ahead : {"m5", "m1", "m9"}) ASSERT_TRUE(Insert(*writer, ahead).ok());
    EXPECT_TRUE(walk.Extend(K(forward ? "c" : "w")));
    EXPECT_TRUE(walk.Extend(K(forward ? "m" : "n")));
    EXPECT_FALSE(walk.Extend(K(forward ? "m1" : "m9")));
    EXPECT_EQ(walk.blocker(), nullptr);
    ASSERT_TRUE(walk.Look({}).ok());
    EXPECT_FALSE(walk.ExtendToEnd());
    ASSERT_NE(walk.blocker(), nullptr);
    EXPECT_EQ(walk.blocker()->key, K(forward ? "m1" : "m9"));
  }
}

// Not even what is before it in the walk's way: whoever is waited for may want to put more there.
TEST_F(RangeLocksTest, AWalkLocksNothingFurtherWhileItWaits) {
  for (const bool forward : {true, false}) {
    SCOPED_TRACE(forward);
    auto reader = Begin(), writer = Begin(), other = Begin();
    ASSERT_TRUE(Insert(*writer, "m").ok());
    RangeWalk walk;
    ASSERT_TRUE(walk.Begin(reader.get(), IndexId(1), K("a"), K("z"), forward, true).ok());
    ASSERT_TRUE(walk.Look({}).ok());
    EXPECT_TRUE(walk.Extend(K(forward ? "c" : "x")));
    EXPECT_FALSE(walk.ExtendToEnd());
    ASSERT_NE(walk.blocker(), nullptr);
    EXPECT_TRUE(Insert(*writer, forward ? "b" : "y").Is(Code::kLockBusy));
    for (const char* name : {"d", "l", "n", "w"}) EXPECT_TRUE(Insert(*writer, name).ok()) << name;
    for (const char* name : {"e", "v"}) EXPECT_TRUE(Insert(*other, name).ok()) << name;
    ASSERT_TRUE(writer->Commit(Durability::kOs).ok());
    // What has come before the key that was waited for is seen.
    ASSERT_TRUE(walk.Look({}).ok());
    EXPECT_TRUE(walk.Extend(K(forward ? "d" : "w")));
    EXPECT_FALSE(walk.Extend(K(forward ? "l" : "n")));
    ASSERT_NE(walk.blocker(), nullptr);
    EXPECT_EQ(walk.blocker()->key, K(forward ? "e" : "v"));
    ASSERT_TRUE(other->Rollback().ok());
    ASSERT_TRUE(walk.Look({}).ok());
    for (const char* name : {forward ? "l" : "n", "m", forward ? "n" : "l"}) EXPECT_TRUE(walk.Extend(K(name))) << name;
    EXPECT_TRUE(walk.ExtendToEnd());
    walk.End();
    ASSERT_TRUE(reader->Rollback().ok());
    Remove({"d", "l", "m", "n", "w"});
  }
}

TEST_F(RangeLocksTest, AWalkMovesOnWhileOthersKeepArrivingNearer) {
  for (const bool forward : {true, false}) {
    SCOPED_TRACE(forward);
    auto reader = Begin(), writer = Begin();
    const auto nearer = [&](int i) { return "m" + std::to_string(forward ? 50 - i : 50 + i); };
    const auto further = [&](int i) { return nearer(-i); };
    RangeWalk walk;
    ASSERT_TRUE(walk.Begin(reader.get(), IndexId(1), K("a"), K("z"), forward, true).ok());
    for (int i = 0; i <= RangeWalk::kTriesMax; ++i) {
      ASSERT_TRUE(writer->Rollback().ok());
      writer->Begin(Isolation::kRepeatableRead);
      ASSERT_TRUE(walk.Look({}).ok());
      ASSERT_TRUE(Insert(*writer, nearer(i)).ok());
      EXPECT_FALSE(walk.Extend(K(further(10))));
      EXPECT_EQ(walk.blocker(), nullptr);
    }
    // Now it has locked that, and looks again before it trusts its cursor.
    EXPECT_TRUE(Insert(*writer, nearer(40)).Is(Code::kLockBusy));
    EXPECT_TRUE(Insert(*writer, further(5)).Is(Code::kLockBusy));
    EXPECT_TRUE(Insert(*writer, further(11)).ok());
    ASSERT_TRUE(walk.Look({}).ok());
    EXPECT_FALSE(walk.Extend(K(further(10))));
    ASSERT_NE(walk.blocker(), nullptr);
    EXPECT_EQ(walk.blocker()->key, K(nearer(RangeWalk::kTriesMax)));
    ASSERT_TRUE(writer->Rollback().ok());
    ASSERT_TRUE(walk.Look({}).ok());
    EXPECT_TRUE(walk.Extend(K(further(10))));
  }
}

TEST_F(RangeLocksTest, AWalkThatHasWaitedOftenKeepsOthersFromComingNearer) {
  for (const bool forward : {true, false}) {
    SCOPED_TRACE(forward);
    auto reader = Begin(), writer = Begin();
    const auto nearer = [&](int i) { return "m" + std::to_string(forward ? 50 - i : 50 + i); };
    RangeWalk walk;
    ASSERT_TRUE(walk.Begin(reader.get(), IndexId(1), K("a"), K("z"), forward, true).ok());
    for (int i = 0; i <= RangeWalk::kTriesMax; ++i) {
      ASSERT_TRUE(Insert(*writer, nearer(i)).ok());
      ASSERT_TRUE(walk.Look({}).ok());
      EXPECT_FALSE(walk.ExtendToEnd());
      ASSERT_NE(walk.blocker(), nullptr);
      EXPECT_EQ(walk.blocker()->key, K(nearer(i)));
    }
    EXPECT_TRUE(Insert(*writer, nearer(30)).Is(Code::kLockBusy));
    EXPECT_TRUE(Insert(*writer, nearer(-1)).ok());
  }
}

TEST_F(RangeLocksTest, AWalkAsksWhetherItMayComeToAnEntry) {
  for (const bool forward : {true, false}) {
    SCOPED_TRACE(forward);
    auto reader = Begin(), writer = Begin();
    const std::string passed = K(forward ? "c" : "w");
    const char* const nearer = forward ? "k" : "o";
    RangeWalk walk;
    ASSERT_TRUE(walk.Begin(reader.get(), IndexId(1), K("a"), K("z"), forward, true).ok());
    ASSERT_TRUE(walk.Look({}).ok());
    EXPECT_TRUE(walk.MayExtend(K("m")));
    EXPECT_EQ(count(), 0u);
    EXPECT_TRUE(walk.Extend(passed));
    const std::string settled(walk.settled());
    EXPECT_TRUE(walk.MayExtend(K("m")));
    EXPECT_EQ(walk.settled(), settled);
    for (const char* name : {"m", "k", "o"}) EXPECT_TRUE(Insert(*writer, name).ok()) << name;
    EXPECT_FALSE(walk.MayExtend(K("m")));
    EXPECT_EQ(walk.blocker(), nullptr);
    ASSERT_TRUE(walk.Look({}).ok());
    EXPECT_FALSE(walk.MayExtend(K("m")));
    ASSERT_NE(walk.blocker(), nullptr);
    EXPECT_EQ(walk.blocker()->key, K(nearer));
    ASSERT_TRUE(writer->Rollback().ok());
    ASSERT_TRUE(walk.Look({}).ok());
    EXPECT_TRUE(walk.MayExtend(K("m")));
    EXPECT_TRUE(walk.Extend(K("m")));
    writer->Begin(Isolation::kRepeatableRead);
    for (const char* name : {"m", nearer}) EXPECT_TRUE(Insert(*writer, name).Is(Code::kLockBusy)) << name;
  }
}

// As if it had extended: a walk that waits for rows moves on, too.
TEST_F(RangeLocksTest, AWalkThatHasAskedInVainOftenKeepsOthersFromComingNearer) {
  auto reader = Begin(), writer = Begin();
  RangeWalk walk;
  ASSERT_TRUE(walk.Begin(reader.get(), IndexId(1), K("a"), K("z"), true, true).ok());
  ASSERT_TRUE(walk.Look({}).ok());
  ASSERT_TRUE(Insert(*writer, "m").ok());
  for (int i = 0; i < RangeWalk::kTriesMax; ++i) EXPECT_FALSE(walk.MayExtend(K("n")));
  EXPECT_EQ(count(), 0u);
  EXPECT_FALSE(walk.MayExtend(K("n")));
  EXPECT_EQ(count(), 1u);
  EXPECT_TRUE(Insert(*writer, "k").Is(Code::kLockBusy));
}

TEST_F(RangeLocksTest, DownwardsTheSame) {
  auto reader = Begin(), writer = Begin();
  ASSERT_TRUE(Insert(*writer, "m").ok());
  RangeWalk walk;
  ASSERT_TRUE(walk.Begin(reader.get(), IndexId(1), K("a"), K("z"), false, true).ok());
  ASSERT_TRUE(walk.Look({}).ok());
  EXPECT_TRUE(walk.Extend(K("p")));
  EXPECT_TRUE(Insert(*writer, "p").Is(Code::kLockBusy));
  EXPECT_TRUE(Insert(*writer, "y").Is(Code::kLockBusy));
  EXPECT_TRUE(Insert(*writer, "z").ok());
  EXPECT_FALSE(walk.Extend(K("k")));
  EXPECT_EQ(walk.blocker()->key, K("m"));
  ASSERT_TRUE(writer->Commit(Durability::kOs).ok());
  ASSERT_TRUE(walk.Look({}).ok());
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
    ASSERT_TRUE(walk.Look({}).ok());
    int tries = 0;
    while (!walk.ExtendToEnd() && walk.blocker() == nullptr) {
      ASSERT_TRUE(walk.Look({}).ok());
      ASSERT_LT(++tries, 10);
    }
    ASSERT_NE(walk.blocker(), nullptr);
    EXPECT_EQ(walk.blocker()->key, K("m"));
    EXPECT_EQ(tries, forward ? 2 : 0);
  }
}

// A look ends at so many removals, which is no reason to miss what comes between them, nor the rows that are being removed.
TEST_F(RangeLocksTest, WhatComesAmongRemovalsIsMet) {
  constexpr int kCount = 3000;
  const auto name = [](int i) { return "k" + std::to_string(10'000 + i); };
  for (const bool forward : {true, false}) {
    SCOPED_TRACE(forward);
    auto reader = Begin(), remover = Begin(), writer = Begin();
    remover->StartStatement();
    for (int i = 0; i < kCount; ++i) ASSERT_TRUE(remover->Delete(Family::kData, K(name(i))).ok());
    const std::string first = name(forward ? 5 : kCount - 5) + "a", second = name(forward ? 7 : kCount - 7) + "a";
    RangeWalk walk;
    ASSERT_TRUE(walk.Begin(reader.get(), IndexId(1), K("a"), K("z"), forward, true).ok());
    ASSERT_TRUE(walk.Look({}).ok());
    ASSERT_TRUE(Insert(*writer, first).ok());
    EXPECT_FALSE(walk.ExtendToEnd());
    EXPECT_EQ(walk.blocker(), nullptr);
    ASSERT_TRUE(Insert(*writer, second).ok());
    ASSERT_TRUE(walk.Look({}).ok());
    EXPECT_FALSE(walk.ExtendToEnd());
    ASSERT_NE(walk.blocker(), nullptr);
    EXPECT_EQ(walk.blocker()->key, K(first));
    ASSERT_TRUE(writer->Rollback().ok());
    ASSERT_TRUE(walk.Look({}).ok());
    EXPECT_FALSE(walk.ExtendToEnd());
    EXPECT_EQ(walk.blocker(), nullptr);
    writer->Begin(Isolation::kRepeatableRead);
    EXPECT_TRUE(Insert(*writer, second).Is(Code::kLockBusy));
  }
}

TEST_F(RangeLocksTest, AWalkComesToEachRowThatIsBeingRemoved) {
  constexpr int kCount = 3000;
  const auto name = [](int i) { return "k" + std::to_string(10'000 + i); };
  for (const bool forward : {true, false}) {
    SCOPED_TRACE(forward);
    auto reader = Begin(), remover = Begin();
    remover->StartStatement();
    for (int i = 0; i < kCount; ++i) ASSERT_TRUE(remover->Delete(Family::kData, K(name(i))).ok());
    RangeWalk walk;
    ASSERT_TRUE(walk.Begin(reader.get(), IndexId(1), K("a"), K("z"), forward, true).ok());
    ASSERT_TRUE(walk.Look({}).ok());
    int refusals = 0;
    for (int i = 0; i < kCount; ++i) {
      const std::string key = K(name(forward ? i : kCount - 1 - i));
      if (walk.Extend(key)) continue;
      ++refusals;
      ASSERT_EQ(walk.blocker(), nullptr);
      ASSERT_TRUE(forward ? walk.settled() <= key : walk.settled() > key) << key;
      ASSERT_TRUE(walk.Look({}).ok());
      ASSERT_TRUE(walk.Extend(key)) << key;
    }
    EXPECT_TRUE(walk.ExtendToEnd());
    EXPECT_EQ(refusals, 2);
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

TEST_F(RangeLocksTest, AsManyRangesAsLocksOfRowsAreKeptApart) {
  auto reader = Begin(), writer = Begin();
  constexpr size_t kRows = RangeLocks::kRangeCountMax + 10;
  for (size_t i = 0; i < kRows; ++i) {
    const std::string name = "k" + std::to_string(100'000 + i);
    ASSERT_TRUE(reader->Lock(K(name, 2), kNoWait, nullptr).ok());
    RangeWalk walk;
    Walk(*reader, &walk, name + "a", name + "b");
  }
  EXPECT_EQ(count(), kRows);
  EXPECT_TRUE(Insert(*writer, "k100000a5").Is(Code::kLockBusy));
  EXPECT_TRUE(Insert(*writer, "k100000c").ok());
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
  ASSERT_TRUE(walk.Look({}).ok());
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
    ASSERT_TRUE(walk.Look({}).ok());
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
  ASSERT_TRUE(walk.Look({}).ok());
  EXPECT_TRUE(walk.ExtendToEnd());
}

}  // namespace
}  // namespace cairn::txn
