// SPDX-License-Identifier: GPL-2.0-only
// What observers of point locks are told, on which they may rely meanwhile.
#include <atomic>
#include <mutex>
#include <optional>
#include <set>
#include <thread>
#include <utility>

#include <gtest/gtest.h>

#include "txn/point_locks.h"
#include "txn/point_locks_testing.h"

namespace cairn::txn {
namespace {

using Code = Status::Code;

class RecordingObserver final : public WaitObserver {
 public:
  bool WantsBlockers(LockOwner&) override { return wants_blockers; }
  void OnWait(LockOwner& waiter, LockOwner& blocker) override {
    last_waiter = waiter.id();
    last_blocker = blocker.id();
    if (interrupt_blocker) blocker.Interrupt();
    ++waits;
  }
  void OnSleep(LockOwner&) override { ++sleeps; }
  void OnWake(LockOwner&) override { ++wakes; }
  bool IsKilled(LockOwner& waiter) override { return waiter.id() == killed_id; }
  int VictimPreference(LockOwner& a, LockOwner& b) override {
    return a.id() == preferred_victim_id ? -1 : b.id() == preferred_victim_id ? 1 : 0;
  }
  std::atomic<uint64_t> last_waiter{0}, last_blocker{0}, killed_id{0}, preferred_victim_id{0};
  std::atomic<int> waits{0}, sleeps{0}, wakes{0};
  std::atomic<bool> interrupt_blocker{false}, wants_blockers{true};
};

// Each of two has what the other comes to want.
template <typename Observer>
class CrossedTest : public ::testing::Test {
 protected:
  CrossedTest() { LockOwn(); }
  ~CrossedTest() override {
    for (Owner* owner : {&a, &b}) locks.ReleaseAll(*owner);
  }
  void LockOwn() {
    EXPECT_TRUE(locks.Lock(a, "x", kX, nullptr).ok());
    EXPECT_TRUE(locks.Lock(b, "y", kX, nullptr).ok());
  }

  Observer observer;
  PointLocks locks{PointLocks::Options{.shard_count = 1, .observer = &observer}};
  Owner a{1}, b{2};
};
using PointLocksObserverTest = CrossedTest<RecordingObserver>;

TEST_F(PointLocksObserverTest, HearsOfWaitsAndDecidesAboutVictims) {
  observer.killed_id = 2;
  EXPECT_EQ(locks.Lock(b, "x", kX, nullptr).code(), Code::kInterrupted);
  EXPECT_EQ(observer.sleeps, 0);
  observer.killed_id = 0;
  observer.preferred_victim_id = 1;
  observer.waits = 0;
  Waiter waiter(locks, a, "y", kX);
  AwaitWaiting(locks, 1);
  while (observer.waits != 1) std::this_thread::yield();
  EXPECT_EQ(observer.last_waiter, 1u);
  EXPECT_EQ(observer.last_blocker, 2u);
  Waiter closing(locks, b, "x", kX);
  EXPECT_EQ(waiter.Join(), Code::kDeadlock);
  locks.ReleaseAll(a);
  EXPECT_EQ(closing.Join(), Code::kOk);
  EXPECT_EQ(observer.sleeps, observer.wakes);
}

TEST_F(PointLocksObserverTest, MayInterruptTheBlocker) {
  Owner c{3};
  Waiter blocker(locks, b, "x", kX);
  AwaitWaiting(locks, 1);
  while (observer.waits != 1) std::this_thread::yield();
  observer.interrupt_blocker = true;
  Waiter waiter(locks, c, "y", kX);
  EXPECT_EQ(blocker.Join(), Code::kInterrupted);
  locks.ReleaseAll(b);
  EXPECT_EQ(waiter.Join(), Code::kOk);
  locks.ReleaseAll(a);
  locks.ReleaseAll(c);
}

TEST(PointLocksObserver, HearsOfEachBlockerOnceAndOnlyWhereItWants) {
  RecordingObserver observer;
  PointLocks locks(PointLocks::Options{.shard_count = 1, .observer = &observer});
  Owner a{1}, b{2}, c{3}, d{4};
  ASSERT_TRUE(locks.Lock(a, "x", kS, nullptr).ok());
  ASSERT_TRUE(locks.Lock(b, "x", kS, nullptr).ok());
  Waiter upgrade(locks, a, "x", kX);
  while (observer.sleeps != 1) std::this_thread::yield();
  EXPECT_EQ(observer.waits, 1);
  Waiter behind_it(locks, c, "x", kX);  // which both holds and waits
  while (observer.sleeps != 2) std::this_thread::yield();
  EXPECT_EQ(observer.waits, 3);
  observer.wants_blockers = false;
  Waiter untold(locks, d, "x", kX);
  while (observer.sleeps != 3) std::this_thread::yield();
  EXPECT_EQ(observer.waits, 3);
  for (auto [owner, next] : {std::pair{&b, &upgrade}, std::pair{&a, &behind_it}, std::pair{&c, &untold}}) {
    locks.ReleaseAll(*owner);
    EXPECT_EQ(next->Join(), Code::kOk);
  }
  locks.ReleaseAll(d);
}

TEST_F(PointLocksObserverTest, WhoIsKilledIsNoVictim) {
  for (const bool closes : {true, false}) {
    // Killed when it has been chosen, as the one that closes the cycle or as the one that sleeps.
    observer.killed_id = 0;
    observer.preferred_victim_id = 2;
    const int asleep = observer.sleeps + 1;
    std::optional<Waiter> first(std::in_place, locks, closes ? a : b, closes ? "y" : "x", kX);
    while (observer.sleeps != asleep) std::this_thread::yield();
    observer.killed_id = 2;
    std::optional<Waiter> closing(std::in_place, locks, closes ? b : a, closes ? "x" : "y", kX);
    EXPECT_EQ((closes ? closing : first)->Join(), Code::kInterrupted);
    EXPECT_TRUE(locks.Holds(b, "y", LockMode::kExclusive));
    locks.ReleaseAll(b);
    EXPECT_EQ((closes ? first : closing)->Join(), Code::kOk);
    EXPECT_EQ(locks.deadlock_count(), closes ? 1u : 2u);
    locks.ReleaseAll(a);
    LockOwn();
  }
}

TEST_F(PointLocksObserverTest, NobodyElseIsAVictimForAnInterruptedOne) {
  observer.preferred_victim_id = 1;
  Waiter waiter(locks, a, "y", kX);
  while (observer.sleeps != 1) std::this_thread::yield();
  b.Interrupt();
  EXPECT_EQ(locks.Lock(b, "x", kX, nullptr).code(), Code::kInterrupted);
  EXPECT_EQ(locks.deadlock_count(), 0u);
  locks.ReleaseAll(b);
  EXPECT_EQ(waiter.Join(), Code::kOk);
}

// Wakes, and is held up before it can leave the queue.
class SleepyObserver final : public WaitObserver {
 public:
  void OnWait(LockOwner&, LockOwner&) override {}
  void OnSleep(LockOwner&) override { ++sleeps; }
  void OnWake(LockOwner& waiter) override {
    if (waiter.id() != 2) return;
    woken = true;
    while (!may_leave) std::this_thread::yield();
  }
  std::atomic<int> sleeps{0};
  std::atomic<bool> woken{false}, may_leave{false};
};

using SleepyObserverTest = CrossedTest<SleepyObserver>;

TEST_F(SleepyObserverTest, WhoIsInterruptedClosesNoCycleAnyMore) {
  Waiter interrupted(locks, b, "x", kX);
  while (observer.sleeps != 1) std::this_thread::yield();
  b.Interrupt();
  while (!observer.woken) std::this_thread::yield();
  Waiter closing(locks, a, "y", kX);
  while (observer.sleeps != 2 && !closing.done()) std::this_thread::yield();
  EXPECT_EQ(locks.deadlock_count(), 0u);
  observer.may_leave = true;
  EXPECT_EQ(interrupted.Join(), Code::kInterrupted);
  locks.ReleaseAll(b);
  EXPECT_EQ(closing.Join(), Code::kOk);
}

// Is told of one wait and does not return from that until it may.
class SlowObserver final : public WaitObserver {
 public:
  void OnWait(LockOwner&, LockOwner& blocker) override {
    before = blocker.user_data();
    told = true;
    while (!may_return) std::this_thread::yield();
    after = blocker.user_data();
    returned = true;
  }
  std::atomic<bool> told{false}, may_return{false}, returned{false};
  void* before = nullptr;
  void* after = nullptr;
};

TEST(PointLocksObserver, UserDataStaysWhileAnObserverLooksAtIt) {
  SlowObserver observer;
  PointLocks locks(PointLocks::Options{.shard_count = 1, .observer = &observer});
  Owner a{1}, b{2};
  int connection = 0;
  a.SetUserData(&connection);
  ASSERT_TRUE(locks.Lock(a, "x", kX, nullptr).ok());
  Waiter waiter(locks, b, "x", kX);
  while (!observer.told) std::this_thread::yield();
  std::atomic<bool> detaching{false};
  bool returned_before = false;
  std::thread detacher([&] {
    detaching = true;
    a.SetUserData(nullptr);
    returned_before = observer.returned;
  });
  while (!detaching) std::this_thread::yield();
  // Time for the detacher to go wrong; right, it is held up however long this takes.
  for (int i = 0; i < 10'000; ++i) std::this_thread::yield();
  observer.may_return = true;
  detacher.join();
  EXPECT_TRUE(returned_before);
  EXPECT_EQ(observer.before, &connection);
  EXPECT_EQ(observer.after, &connection);
  EXPECT_EQ(a.user_data(), nullptr);
  locks.ReleaseAll(a);
  EXPECT_EQ(waiter.Join(), Code::kOk);
  locks.ReleaseAll(b);
}

// Keeps who was said to wait for whom.
class PairsObserver final : public WaitObserver {
 public:
  bool WantsBlockers(LockOwner& waiter) override { return waiter.id() != not_of_id; }
  void OnWait(LockOwner& waiter, LockOwner& blocker) override {
    std::lock_guard lock(mutex_);
    pairs_.emplace(waiter.id(), blocker.id());
  }
  bool Has(uint64_t waiter, uint64_t blocker) const {
    std::lock_guard lock(mutex_);
    return pairs_.count({waiter, blocker}) != 0;
  }
  void Await(uint64_t waiter, uint64_t blocker) const {
    while (!Has(waiter, blocker)) std::this_thread::yield();
  }
  std::atomic<uint64_t> not_of_id{0};

 private:
  mutable std::mutex mutex_;
  std::set<std::pair<uint64_t, uint64_t>> pairs_;
};

class OvertakingTest : public ::testing::Test {
 protected:
  // `a` and, if so told, `b` hold the lock shared; `c` wants it exclusive, and `d` shared, behind `c`.
  void Queue(bool b_holds) {
    ASSERT_TRUE(locks.Lock(a, "k", kS, nullptr).ok());
    ASSERT_TRUE(!b_holds || locks.Lock(b, "k", kS, nullptr).ok());
    exclusive.emplace(locks, c, "k", kX);
    observer.Await(3, 1);
    shared.emplace(locks, d, "k", kS);
    AwaitWaiting(locks, 2);
    if (observer.not_of_id != 4) observer.Await(4, 3);
    EXPECT_FALSE(observer.Has(4, 1));
  }
  void End() {
    locks.ReleaseAll(a);
    EXPECT_EQ(exclusive->Join(), Code::kOk);
    locks.ReleaseAll(c);
    EXPECT_EQ(shared->Join(), Code::kOk);
    locks.ReleaseAll(d);
  }

  PairsObserver observer;
  PointLocks locks{PointLocks::Options{.shard_count = 1, .observer = &observer}};
  Owner a{1}, b{2}, c{3}, d{4};
  std::optional<Waiter> exclusive, shared;
};

TEST_F(OvertakingTest, AnUpgradeThatWaitsIsReportedForThoseBehindIt) {
  Queue(/*b_holds=*/true);
  Waiter upgrade(locks, a, "k", kX);
  observer.Await(1, 2);
  observer.Await(4, 1);
  EXPECT_FALSE(observer.Has(4, 2));
  locks.ReleaseAll(b);
  EXPECT_EQ(upgrade.Join(), Code::kOk);
  End();
}

TEST_F(OvertakingTest, AnUpgradeWithoutAWaitIsReportedToo) {
  Queue(/*b_holds=*/false);
  ASSERT_TRUE(locks.Lock(a, "k", kX, nullptr).ok());
  observer.Await(4, 1);
  End();
}

TEST_F(OvertakingTest, NobodyIsWokenToReportWhatIsNotWanted) {
  observer.not_of_id = 4;
  Queue(/*b_holds=*/false);
  ASSERT_TRUE(locks.Lock(a, "k", kX, nullptr).ok());
  End();
  EXPECT_FALSE(observer.Has(4, 3) || observer.Has(4, 1));
}

}  // namespace
}  // namespace cairn::txn
