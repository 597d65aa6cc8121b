// SPDX-License-Identifier: GPL-2.0-only
// Point locks: modes, queues, upgrades, deadlocks, kills. Threads meet at observable states only.
#include "txn/point_locks.h"

#include <array>
#include <atomic>
#include <random>
#include <thread>

#include <gtest/gtest.h>

#include "txn/point_locks_testing.h"

namespace cairn::txn {
namespace {

using Code = Status::Code;

class PointLocksTest : public ::testing::Test {
 protected:
  void TearDown() override {
    for (Owner* owner : {&a, &b, &c, &d}) locks.ReleaseAll(*owner);
    EXPECT_EQ(locks.lock_count(), 0u);
    EXPECT_EQ(locks.waiting_count(), 0u);
  }
  Code Lock(LockOwner& owner, const char* key, const LockOptions& options, LockResult* result = nullptr) {
    return locks.Lock(owner, key, options, result).code();
  }

  static constexpr unsigned kShards = 4;
  PointLocks locks{PointLocks::Options{.shard_count = kShards}};
  Owner a{1}, b{2}, c{3}, d{4};
};

TEST_F(PointLocksTest, SharedGoesWithSharedOnly) {
  EXPECT_EQ(Lock(a, "k", kS), Code::kOk);
  EXPECT_EQ(Lock(b, "k", kSNow), Code::kOk);
  EXPECT_EQ(Lock(c, "k", kXNow), Code::kLockBusy);
  EXPECT_EQ(Lock(c, "other", kXNow), Code::kOk);
  EXPECT_EQ(Lock(a, "other", kSNow), Code::kLockBusy);
  EXPECT_TRUE(locks.Holds(a, "k", LockMode::kShared));
  EXPECT_FALSE(locks.Holds(a, "k", LockMode::kExclusive));
  EXPECT_TRUE(locks.Holds(c, "other", LockMode::kShared));
}

TEST_F(PointLocksTest, LocksAreReentrantAndCounted) {
  LockResult first, second;
  EXPECT_EQ(Lock(a, "k", kX, &first), Code::kOk);
  EXPECT_TRUE(first.newly_acquired);
  EXPECT_FALSE(first.waited);
  EXPECT_EQ(Lock(a, "k", kS, &second), Code::kOk);
  EXPECT_FALSE(second.newly_acquired);
  EXPECT_EQ(first.handle, second.handle);
  EXPECT_EQ(a.lock_count(), 1u);
  locks.Unlock(a, second.handle);
  EXPECT_EQ(Lock(b, "k", kXNow), Code::kLockBusy);
  locks.Unlock(a, first.handle);
  EXPECT_EQ(Lock(b, "k", kXNow), Code::kOk);
  EXPECT_EQ(a.lock_count(), 0u);
}

TEST_F(PointLocksTest, TheOnlySharedHolderIsStrengthenedAtOnce) {
  LockResult result;
  EXPECT_EQ(Lock(a, "k", kS), Code::kOk);
  EXPECT_EQ(Lock(a, "k", kXNow, &result), Code::kOk);
  EXPECT_EQ(Lock(b, "k", kSNow), Code::kLockBusy);
  EXPECT_EQ(a.lock_count(), 1u);
}

TEST_F(PointLocksTest, WhatIsWeakenedLetsSharedOnesIn) {
  LockResult result;
  EXPECT_EQ(Lock(a, "k", kX, &result), Code::kOk);
  Waiter shared(locks, b, "k", kS);
  AwaitWaiting(locks, 1);
  Waiter exclusive(locks, c, "k", kX);
  AwaitWaiting(locks, 2);
  locks.Weaken(a, result.handle);
  EXPECT_EQ(shared.Join(), Code::kOk);
  EXPECT_EQ(locks.waiting_count(), 1u);
  EXPECT_TRUE(locks.Holds(a, "k", LockMode::kShared));
  EXPECT_FALSE(locks.Holds(a, "k", LockMode::kExclusive));
  locks.Unlock(a, result.handle);
  EXPECT_EQ(a.lock_count(), 0u);
  locks.ReleaseAll(b);
  EXPECT_EQ(exclusive.Join(), Code::kOk);
}

TEST_F(PointLocksTest, AWaiterGetsTheLockAndKnowsThatItWaited) {
  EXPECT_EQ(Lock(a, "k", kX), Code::kOk);
  Waiter waiter(locks, b, "k", kX);
  AwaitWaiting(locks, 1);
  EXPECT_TRUE(b.is_waiting());
  const auto waits = locks.ListWaits(10);
  ASSERT_EQ(waits.size(), 1u);
  EXPECT_EQ(waits[0].waiter_id, 2u);
  EXPECT_EQ(waits[0].blocker_id, 1u);
  EXPECT_EQ(waits[0].blocker_count, 1u);
  EXPECT_EQ(waits[0].key, "k");
  EXPECT_EQ(locks.ListLocks(10).size(), 2u);
  EXPECT_EQ(locks.ListLocks(1).size(), 1u);
  locks.ReleaseAll(a);
  EXPECT_EQ(waiter.Join(), Code::kOk);
  EXPECT_TRUE(waiter.result().waited);
  EXPECT_TRUE(waiter.result().newly_acquired);
  EXPECT_EQ(b.lock_count(), 1u);
}

TEST_F(PointLocksTest, OfEachWaiterOneBlockerIsListedAndHowManyThereAre) {
  a.SetConnectionId(71);
  c.SetConnectionId(73);
  EXPECT_EQ(Lock(a, "k", kS), Code::kOk);
  EXPECT_EQ(Lock(b, "k", kS), Code::kOk);
  Waiter upgrade(locks, a, "k", kX);
  AwaitWaiting(locks, 1);
  Waiter exclusive(locks, c, "k", kX);
  AwaitWaiting(locks, 2);
  Waiter shared(locks, d, "k", kS);
  AwaitWaiting(locks, 3);
  const auto waits = locks.ListWaits(10);
  ASSERT_EQ(waits.size(), 3u);
  EXPECT_EQ(waits[0].waiter_id, 1u);
  EXPECT_EQ(waits[0].blocker_id, 2u);
  EXPECT_EQ(waits[0].blocker_count, 1u);
  EXPECT_EQ(waits[1].waiter_id, 3u);
  EXPECT_EQ(waits[1].blocker_count, 2u);
  EXPECT_EQ(waits[1].waiter_connection_id, 73u);
  EXPECT_EQ(waits[2].waiter_id, 4u);
  EXPECT_EQ(waits[2].waiter_connection_id, 0u);
  EXPECT_EQ(waits[2].blocker_connection_id, 71u);
  EXPECT_EQ(waits[2].blocker_id, 1u);
  EXPECT_EQ(waits[2].blocker_count, 2u);
  EXPECT_EQ(locks.ListWaits(2).size(), 2u);
  locks.ReleaseAll(b);
  EXPECT_EQ(upgrade.Join(), Code::kOk);
  locks.ReleaseAll(a);
  EXPECT_EQ(exclusive.Join(), Code::kOk);
  locks.ReleaseAll(c);
  EXPECT_EQ(shared.Join(), Code::kOk);
}

TEST_F(PointLocksTest, WaitersAreServedInOrderAndSharedOnesTogether) {
  EXPECT_EQ(Lock(a, "k", kX), Code::kOk);
  Waiter exclusive(locks, b, "k", kX);
  AwaitWaiting(locks, 1);
  Waiter shared1(locks, c, "k", kS);
  AwaitWaiting(locks, 2);
  Waiter shared2(locks, d, "k", kS);
  AwaitWaiting(locks, 3);
  locks.ReleaseAll(a);
  EXPECT_EQ(exclusive.Join(), Code::kOk);
  EXPECT_EQ(locks.waiting_count(), 2u);
  locks.ReleaseAll(b);
  EXPECT_EQ(shared1.Join(), Code::kOk);
  EXPECT_EQ(shared2.Join(), Code::kOk);
}

TEST_F(PointLocksTest, ASharedRequestDoesNotOvertakeAnExclusiveOne) {
  EXPECT_EQ(Lock(a, "k", kS), Code::kOk);
  Waiter exclusive(locks, b, "k", kX);
  AwaitWaiting(locks, 1);
  EXPECT_EQ(Lock(c, "k", kSNow), Code::kLockBusy);
  EXPECT_EQ(Lock(a, "k", kSNow), Code::kOk);  // it holds it already
  locks.ReleaseAll(a);
  EXPECT_EQ(exclusive.Join(), Code::kOk);
}

TEST_F(PointLocksTest, AnUpgradeGoesBeforeOthersThatWait) {
  EXPECT_EQ(Lock(a, "k", kS), Code::kOk);
  EXPECT_EQ(Lock(b, "k", kS), Code::kOk);
  Waiter other(locks, c, "k", kX);
  AwaitWaiting(locks, 1);
  Waiter upgrade(locks, a, "k", kX);
  AwaitWaiting(locks, 2);
  locks.ReleaseAll(b);
  EXPECT_EQ(upgrade.Join(), Code::kOk);
  EXPECT_EQ(locks.waiting_count(), 1u);
  EXPECT_TRUE(locks.Holds(a, "k", LockMode::kExclusive));
  EXPECT_EQ(a.lock_count(), 1u);
  locks.ReleaseAll(a);
  EXPECT_EQ(other.Join(), Code::kOk);
}

TEST_F(PointLocksTest, ATimeoutLeavesNothingBehind) {
  EXPECT_EQ(Lock(a, "k", kX), Code::kOk);
  LockResult result;
  EXPECT_EQ(Lock(b, "k", {.timeout_ms = 0}, &result), Code::kLockTimeout);
  EXPECT_EQ(result.handle, nullptr);
  EXPECT_EQ(Lock(b, "k", {.timeout_ms = 1}), Code::kLockTimeout);
  EXPECT_EQ(b.lock_count(), 0u);
  EXPECT_EQ(locks.ListLocks(10).size(), 1u);
}

TEST_F(PointLocksTest, WaitsThatBelongTogetherEndTogether) {
  for (const char* key : {"k", "l"}) EXPECT_EQ(Lock(a, key, kX), Code::kOk);
  uint64_t ends_us = 0;
  const LockOptions together = kX.Together(&ends_us);
  EXPECT_EQ(Lock(b, "free", together), Code::kOk);
  EXPECT_EQ(ends_us, 0u);  // nothing was waited for
  Waiter waiter(locks, b, "k", together);
  AwaitWaiting(locks, 1);
  locks.ReleaseAll(a);
  EXPECT_EQ(waiter.Join(), Code::kOk);
  EXPECT_NE(ends_us, 0u);
  EXPECT_EQ(Lock(c, "l", kX), Code::kOk);
  ends_us = 1;
  EXPECT_EQ(Lock(b, "l", together), Code::kLockTimeout);
  EXPECT_EQ(ends_us, 1u);
  uint64_t others = 0;
  EXPECT_EQ(together.Together(&others).ends_us, &ends_us);
}

TEST_F(PointLocksTest, AWaiterThatGivesUpLetsThoseBehindItIn) {
  EXPECT_EQ(Lock(a, "k", kS), Code::kOk);
  Waiter exclusive(locks, b, "k", kX);
  AwaitWaiting(locks, 1);
  Waiter shared(locks, c, "k", kS);
  AwaitWaiting(locks, 2);
  b.Interrupt();
  EXPECT_EQ(exclusive.Join(), Code::kInterrupted);
  EXPECT_EQ(shared.Join(), Code::kOk);
}

TEST_F(PointLocksTest, AnInterruptThatCameBeforeIsNotSleptThrough) {
  EXPECT_EQ(Lock(a, "k", kX), Code::kOk);
  b.Interrupt();
  EXPECT_EQ(Lock(b, "free", kX), Code::kOk);
  EXPECT_EQ(Lock(b, "k", kX), Code::kInterrupted);
  b.ClearInterrupt();
  EXPECT_EQ(Lock(b, "k", {.timeout_ms = 1}), Code::kLockTimeout);
}

TEST_F(PointLocksTest, TwoInADeadlockOneVictim) {
  a.SetConnectionId(71);
  b.SetConnectionId(72);
  EXPECT_EQ(Lock(a, "x", kX), Code::kOk);
  EXPECT_EQ(Lock(b, "y", kX), Code::kOk);
  Waiter waiter(locks, a, "y", kX);
  AwaitWaiting(locks, 1);
  EXPECT_EQ(Lock(b, "x", kX), Code::kDeadlock);
  EXPECT_FALSE(waiter.done());
  locks.ReleaseAll(b);
  EXPECT_EQ(waiter.Join(), Code::kOk);
  EXPECT_EQ(locks.deadlock_count(), 1u);
  const auto history = locks.ListDeadlocks();
  ASSERT_EQ(history.size(), 1u);
  EXPECT_EQ(history[0].victim_id, 2u);
  ASSERT_EQ(history[0].cycle.size(), 2u);
  EXPECT_EQ(history[0].cycle[0].owner_id, 2u);
  EXPECT_EQ(history[0].cycle[0].connection_id, 72u);
  EXPECT_EQ(history[0].cycle[1].connection_id, 71u);
  EXPECT_EQ(history[0].cycle[0].key, "x");
  EXPECT_EQ(history[0].cycle[1].key, "y");
}

TEST_F(PointLocksTest, ThreeInADeadlockTheLightestIsTheVictim) {
  for (const char* key : {"a1", "a2"}) EXPECT_EQ(Lock(a, key, kX), Code::kOk);
  for (const char* key : {"b1"}) EXPECT_EQ(Lock(b, key, kX), Code::kOk);
  for (const char* key : {"c1", "c2", "c3"}) EXPECT_EQ(Lock(c, key, kX), Code::kOk);
  Waiter first(locks, a, "b1", kX);
  AwaitWaiting(locks, 1);
  Waiter second(locks, b, "c1", kX);
  AwaitWaiting(locks, 2);
  Waiter third(locks, c, "a1", kX);
  EXPECT_EQ(second.Join(), Code::kDeadlock);
  EXPECT_FALSE(third.done());
  locks.ReleaseAll(b);
  EXPECT_EQ(first.Join(), Code::kOk);
  locks.ReleaseAll(a);
  EXPECT_EQ(third.Join(), Code::kOk);
  EXPECT_EQ(locks.deadlock_count(), 1u);
}

TEST_F(PointLocksTest, ChangesWeighToo) {
  Owner heavy{7, 100};
  EXPECT_EQ(Lock(heavy, "x", kX), Code::kOk);
  EXPECT_EQ(Lock(b, "y", kX), Code::kOk);
  EXPECT_EQ(Lock(b, "z", kX), Code::kOk);
  Waiter light(locks, b, "x", kX);
  AwaitWaiting(locks, 1);
  Waiter requester(locks, heavy, "y", kX);
  EXPECT_EQ(light.Join(), Code::kDeadlock);
  locks.ReleaseAll(b);
  EXPECT_EQ(requester.Join(), Code::kOk);
  locks.ReleaseAll(heavy);
}

TEST_F(PointLocksTest, TwoUpgradesOfOneKeyAreADeadlock) {
  EXPECT_EQ(Lock(a, "k", kS), Code::kOk);
  EXPECT_EQ(Lock(b, "k", kS), Code::kOk);
  Waiter waiter(locks, a, "k", kX);
  AwaitWaiting(locks, 1);
  EXPECT_EQ(Lock(b, "k", kX), Code::kDeadlock);
  EXPECT_TRUE(locks.Holds(b, "k", LockMode::kShared));
  locks.ReleaseAll(b);
  EXPECT_EQ(waiter.Join(), Code::kOk);
}

TEST_F(PointLocksTest, AQueueCanCloseACycle) {
  // c waits only because b waits before it.
  EXPECT_EQ(Lock(a, "k", kS), Code::kOk);
  EXPECT_EQ(Lock(c, "other", kX), Code::kOk);
  for (const char* key : {"b1", "b2"}) EXPECT_EQ(Lock(b, key, kX), Code::kOk);
  for (const char* key : {"c1", "c2"}) EXPECT_EQ(Lock(c, key, kX), Code::kOk);
  Waiter exclusive(locks, b, "k", kX);
  AwaitWaiting(locks, 1);
  Waiter behind(locks, c, "k", kS);
  AwaitWaiting(locks, 2);
  EXPECT_EQ(Lock(a, "other", kX), Code::kDeadlock);
  EXPECT_EQ(locks.ListDeadlocks()[0].cycle.size(), 3u);
  locks.ReleaseAll(a);
  EXPECT_EQ(exclusive.Join(), Code::kOk);
  locks.ReleaseAll(b);
  EXPECT_EQ(behind.Join(), Code::kOk);
}

TEST_F(PointLocksTest, ManyLocksAreReleasedAndTheirMemoryToo) {
  const uint64_t before = locks.memory_bytes();
  for (int i = 0; i < 20000; ++i) {
    ASSERT_TRUE(locks.Lock(a, "key" + std::to_string(i), kX, nullptr).ok());
  }
  EXPECT_EQ(locks.lock_count(), 20000u);
  EXPECT_GT(locks.memory_bytes(), before + 20000 * 100);
  locks.ReleaseAll(a);
  EXPECT_EQ(locks.lock_count(), 0u);
  const uint64_t kept_bytes = kShards * LockShard::kKeptMax * LockShard::EntryBytes(16);
  EXPECT_LE(locks.memory_bytes(), before + kept_bytes);
}

// Mutual exclusion and progress under random load: each key guards a plain integer.
TEST(PointLocksStress, NoTwoExclusiveHoldersAndEverybodyFinishes) {
  constexpr int kThreads = 6;
  constexpr int kRounds = 1500;
  constexpr int kKeys = 5;
  PointLocks locks(PointLocks::Options{.shard_count = 2});
  std::array<uint64_t, kKeys> guarded{};
  std::atomic<uint64_t> expected{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      Owner owner(static_cast<uint64_t>(t) + 1);
      std::mt19937 random(static_cast<unsigned>(t));
      for (int round = 0; round < kRounds; ++round) {
        for (int step = 0; step < 3; ++step) {
          const auto k = random() % kKeys;
          const bool shared = random() % 3 == 0;
          const LockOptions options{.mode = shared ? LockMode::kShared : LockMode::kExclusive,
                                    .timeout_ms = random() % 16 == 0 ? 0u : 60'000u};
          const Status status = locks.Lock(owner, "k" + std::to_string(k), options, nullptr);
          if (!status.ok()) break;
          if (!shared) {
            ++guarded[k];
            ++expected;
          } else if (guarded[k] == UINT64_MAX) {
            ADD_FAILURE();
          }
        }
        locks.ReleaseAll(owner);
      }
    });
  }
  for (auto& thread : threads) thread.join();
  uint64_t sum = 0;
  for (const uint64_t count : guarded) sum += count;
  EXPECT_EQ(sum, expected);
  EXPECT_EQ(locks.lock_count(), 0u);
}

}  // namespace
}  // namespace cairn::txn
