// SPDX-License-Identifier: GPL-2.0-only
// The search for deadlocks: what it costs where many wait, and that it finds every cycle and imagines none.
#include <algorithm>
#include <atomic>
#include <deque>
#include <map>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "txn/point_locks.h"
#include "txn/point_locks_testing.h"

namespace cairn::txn {
namespace {

constexpr uint64_t kCrowd = 200;

// A crowd waits, and then one comes for whom another waits already: else there would be nothing to look for.
class DeadlockSearchTest : public ::testing::Test {
 protected:
  DeadlockSearchTest() {
    for (uint64_t i = 0; i < kCrowd; ++i) crowd.emplace_back(i + 10);
    EXPECT_TRUE(locks.Lock(holder, "k", kX, nullptr).ok());
    EXPECT_TRUE(locks.Lock(comer, "own", kX, nullptr).ok());
    Wait(other, "own", kX);
    EXPECT_EQ(locks.searched_count(), 0u);
  }
  void TearDown() override {
    EXPECT_EQ(locks.deadlock_count(), 0u);
    for (Owner* owner : Everybody()) owner->Interrupt();
    waiters.clear();
    for (Owner* owner : Everybody()) locks.ReleaseAll(*owner);
    EXPECT_EQ(locks.lock_count(), 0u);
  }
  std::vector<Owner*> Everybody() {
    std::vector<Owner*> all = {&holder, &comer, &other};
    for (Owner& owner : crowd) all.push_back(&owner);
    return all;
  }
  // Returns when it has begun to wait, and nobody searches.
  void Wait(Owner& owner, const char* key, const LockOptions& options) {
    waiters.emplace_back(locks, owner, key, options);
    AwaitWaiting(locks, waiters.size());
    (void)locks.lock_count();  // takes the mutex of who still searches
  }
  void HoldOneAndWaitForAnother(const LockOptions& wanted) {
    for (Owner& owner : crowd) ASSERT_TRUE(locks.Lock(owner, "held by all", kS, nullptr).ok());
    for (Owner& owner : crowd) Wait(owner, "k", wanted);
    EXPECT_EQ(locks.searched_count(), 0u);
    Wait(comer, "held by all", kX);
    EXPECT_LE(locks.searched_count(), 3 * (kCrowd + 1));
  }

  PointLocks locks{PointLocks::Options{.shard_count = 1}};
  Owner holder{1}, comer{2}, other{3};
  std::deque<Owner> crowd;
  std::deque<Waiter> waiters;
};

TEST_F(DeadlockSearchTest, WhoIsNotWaitedForLooksAtNobody) {
  for (Owner& owner : crowd) Wait(owner, "k", kX);
  EXPECT_EQ(locks.searched_count(), 0u);
}

TEST_F(DeadlockSearchTest, ASharedRequestGoesThroughAQueueOnce) {
  for (Owner& owner : crowd) Wait(owner, "k", kX);
  Wait(comer, "k", kS);
  EXPECT_LE(locks.searched_count(), 2 * (kCrowd + 1));
}

TEST_F(DeadlockSearchTest, SoItIsWithAnExclusiveOneBehindBothKinds) {
  for (size_t i = 0; i < kCrowd; ++i) Wait(crowd[i], "k", i % 2 == 0 ? kX : kS);
  Wait(comer, "k", kX);
  EXPECT_LE(locks.searched_count(), 3 * (kCrowd + 1));
}

TEST_F(DeadlockSearchTest, HoldersOfOneLockThatWaitForAnotherAreGoneThroughOnce) { HoldOneAndWaitForAnother(kX); }

TEST_F(DeadlockSearchTest, AlsoWhereTheyWaitTogether) { HoldOneAndWaitForAnother(kS); }

// What people see of a table of locks, and by brute force whatever follows from it.
struct Request {
  uint64_t owner_id;
  LockMode mode;
  bool waits;
};
using Table = std::map<std::string, std::vector<Request>>;  // of each key first who holds it, then who waits for it, in order
using Graph = std::map<uint64_t, std::set<uint64_t>>;        // waiter -> blockers

Table TableOf(const PointLocks& locks) {
  Table table;
  for (const LockRow& row : locks.ListLocks(10'000)) table[row.key].push_back({row.owner_id, row.mode, row.waiting});
  return table;
}

bool Conflict(const Request& a, const Request& b) {
  return a.owner_id != b.owner_id && (a.mode == LockMode::kExclusive || b.mode == LockMode::kExclusive);
}

Graph GraphOf(const Table& table) {
  Graph graph;
  for (const auto& [key, requests] : table) {
    for (size_t i = 0; i < requests.size(); ++i) {
      for (size_t before = 0; requests[i].waits && before < i; ++before) {
        if (Conflict(requests[before], requests[i])) graph[requests[i].owner_id].insert(requests[before].owner_id);
      }
    }
  }
  return graph;
}

bool IsInCycle(const Graph& graph, uint64_t id) {
  std::set<uint64_t> seen;
  std::vector<uint64_t> open = {id};
  while (!open.empty()) {
    const uint64_t at = open.back();
    open.pop_back();
    const auto blockers = graph.find(at);
    if (blockers == graph.end()) continue;
    if (blockers->second.contains(id)) return true;
    for (const uint64_t blocker : blockers->second) {
      if (seen.insert(blocker).second) open.push_back(blocker);
    }
  }
  return false;
}

// Adds a request that has to wait; does nothing with one that has not.
void AddWait(Table* table, const std::string& key, const Request& wanted) {
  std::vector<Request>& requests = (*table)[key];
  const auto holds = [&requests](uint64_t id) {
    return std::ranges::any_of(requests, [id](const Request& one) { return !one.waits && one.owner_id == id; });
  };
  const bool upgrades = holds(wanted.owner_id);
  const bool is_free = std::ranges::none_of(requests, [&](const Request& one) {
    return one.waits ? !upgrades : Conflict(one, wanted);
  });
  const bool is_had = std::ranges::any_of(requests, [&](const Request& one) {
    return !one.waits && one.owner_id == wanted.owner_id && one.mode >= wanted.mode;
  });
  if (is_free || is_had) return;
  const auto place = std::ranges::find_if(
      requests, [&](const Request& one) { return one.waits && upgrades && !holds(one.owner_id); });
  requests.insert(place, wanted);
}

// Some owners that do at random what transactions do, one step after the other: each goes on until all who are at it wait.
class RandomParties {
 public:
  explicit RandomParties(unsigned seed) : random_(seed) {
    for (uint64_t id = 1; id <= kParties; ++id) parties_.emplace_back(id);
  }
  ~RandomParties() {
    for (Party& party : parties_) party.owner.Interrupt();
    for (Party& party : parties_) Join(party);
    for (Party& party : parties_) locks_.ReleaseAll(party.owner);
    EXPECT_EQ(locks_.lock_count(), 0u);
  }

  void Step() {
    Party& party = parties_[random_() % kParties];
    const unsigned dice = random_() % 100;
    if (party.is_busy) {
      if (dice >= 10) return;
      Interrupt(party);
    } else if (dice < 12) {
      locks_.ReleaseAll(party.owner);
      party.last = nullptr;
    } else if (dice < 20 && party.last != nullptr) {
      locks_.Unlock(party.owner, std::exchange(party.last, nullptr));
    } else {
      RequestOne(party);
    }
    Settle();
    const Graph graph = GraphOf(TableOf(locks_));
    for (const Party& one : parties_) ASSERT_FALSE(IsInCycle(graph, one.owner.id()));
    ASSERT_TRUE(std::ranges::any_of(parties_, [](const Party& one) { return !one.is_busy; }));
  }
  uint64_t deadlock_count() const { return locks_.deadlock_count(); }

 private:
  static constexpr uint64_t kParties = 8;
  static constexpr uint64_t kRows = 4;

  struct Party {
    explicit Party(uint64_t id) : owner(id) {}
    Owner owner;
    std::thread thread;
    std::atomic<bool> is_busy{false};
    LockRequest* last = nullptr;
  };

  // What `party` does on a thread of its own, as it may have to wait. A victim is rolled back.
  void Begin(Party& party, const std::string& key, LockMode mode, bool gives_back) {
    Join(party);
    party.is_busy = true;
    ++busy_count_;
    party.thread = std::thread([this, &party, key, mode, gives_back] {
      LockResult got;
      const Status status = locks_.Lock(party.owner, key, {.mode = mode}, &got);
      if (status.Is(Status::Code::kDeadlock)) {
        locks_.ReleaseAll(party.owner);
        party.last = nullptr;
      } else if (status.ok() && gives_back) {
        locks_.Unlock(party.owner, got.handle);
      } else if (status.ok()) {
        party.last = got.handle;
      }
      party.is_busy = false;
      --busy_count_;
    });
  }
  static void Join(Party& party) {
    if (party.thread.joinable()) party.thread.join();
  }
  // Until everybody who is busy waits. It was so when the first number was read, as both only go down; who still searched then has
  // ended that once the table can be read.
  void Settle() const {
    const auto all_wait = [this] {
      const uint64_t busy = busy_count_;
      return busy == locks_.waiting_count();
    };
    do {
      while (!all_wait()) std::this_thread::yield();
      (void)locks_.lock_count();
    } while (!all_wait());
  }
  void Interrupt(Party& party) {
    party.owner.Interrupt();
    Join(party);
    party.owner.ClearInterrupt();
  }

  // A row, or the number of somebody who has ranges or claims: one's own to have it, another's to wait for its end.
  void RequestOne(Party& party) {
    const unsigned dice = random_() % 10;
    const bool is_others_number = dice < 2, is_own_number = dice == 2;
    const uint64_t number = is_own_number ? party.owner.id() : 1 + random_() % kParties;
    if (is_others_number && number == party.owner.id()) return;
    const std::string key = is_others_number || is_own_number ? "n" + std::to_string(number) : std::to_string(random_() % kRows);
    const LockMode mode = is_others_number || (!is_own_number && random_() % 2 == 0) ? LockMode::kShared : LockMode::kExclusive;
    Table table = TableOf(locks_);
    AddWait(&table, key, {party.owner.id(), mode, /*waits=*/true});
    const Graph graph = GraphOf(table);
    const uint64_t before = locks_.deadlock_count();
    Begin(party, key, mode, is_others_number);
    Settle();
    const uint64_t found = locks_.deadlock_count() - before;
    ASSERT_EQ(found != 0, IsInCycle(graph, party.owner.id()));
    const auto history = locks_.ListDeadlocks();
    for (size_t i = history.size() - found; i < history.size(); ++i) ExpectCycle(graph, history[i], party.owner.id());
  }
  static void ExpectCycle(const Graph& graph, const DeadlockRow& row, uint64_t closer_id) {
    ASSERT_EQ(row.cycle.front().owner_id, closer_id);
    bool has_victim = false;
    for (size_t i = 0; i < row.cycle.size(); ++i) {
      const uint64_t blocker = row.cycle[(i + 1) % row.cycle.size()].owner_id;
      EXPECT_TRUE(graph.at(row.cycle[i].owner_id).contains(blocker));
      has_victim |= row.cycle[i].owner_id == row.victim_id;
    }
    EXPECT_TRUE(has_victim);
  }

  std::mt19937 random_;
  PointLocks locks_{PointLocks::Options{.shard_count = 1}};
  std::deque<Party> parties_;
  std::atomic<uint64_t> busy_count_{0};
};

// It began to wait for the lock first, and is the one whom the next to come wait for.
TEST(PointLocksDeadlocks, AreFoundOfWhoHasGivenUpAnUpgrade) {
  PointLocks locks{PointLocks::Options{}};
  Owner a{1}, b{2}, c{3};
  for (Owner* owner : {&a, &b}) ASSERT_TRUE(locks.Lock(*owner, "k", kS, nullptr).ok());
  ASSERT_TRUE(locks.Lock(c, "other", kX, nullptr).ok());
  Waiter upgrade(locks, a, "k", kX);
  AwaitWaiting(locks, 1);
  Waiter behind(locks, c, "k", kX);
  AwaitWaiting(locks, 2);
  a.Interrupt();
  EXPECT_EQ(upgrade.Join(), Status::Code::kInterrupted);
  a.ClearInterrupt();
  EXPECT_EQ(locks.Lock(a, "other", {.timeout_ms = 1000}, nullptr).code(), Status::Code::kDeadlock);
  for (Owner* owner : {&a, &b}) locks.ReleaseAll(*owner);
  EXPECT_EQ(behind.Join(), Status::Code::kOk);
  locks.ReleaseAll(c);
}

TEST(PointLocksDeadlocks, AreFoundWhenAndOnlyWhenThereIsACycle) {
  uint64_t deadlocks = 0;
  for (unsigned seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE(seed);
    RandomParties parties(seed);
    for (int step = 0; step < 600; ++step) {
      SCOPED_TRACE(step);
      parties.Step();
      if (::testing::Test::HasFatalFailure()) return;
    }
    deadlocks += parties.deadlock_count();
  }
  EXPECT_GT(deadlocks, 100u);
}

}  // namespace
}  // namespace cairn::txn
