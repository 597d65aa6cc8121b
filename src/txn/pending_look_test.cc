// SPDX-License-Identifier: GPL-2.0-only
// Looks for what others have not committed: whom they wait for, and that walks miss nothing.
#include <atomic>
#include <chrono>
#include <future>
#include <random>
#include <set>
#include <thread>

#include <gtest/gtest.h>

#include "txn/txn_testing.h"

namespace cairn::txn {
namespace {

using store::Durability;
using store::Family;

// Private members have no names outside; an explicit instantiation may name them all the same.
template <auto kMember>
struct LatchMember {
  friend BatchLatch& LatchOf(Transaction& transaction) { return transaction.*kMember; }
};
template struct LatchMember<&Transaction::latch_>;
BatchLatch& LatchOf(Transaction& transaction);

class PendingLookTest : public ::testing::Test, public TxnFixture {
 protected:
  void SetUp() override { OpenAll(); }

  static Status Insert(Transaction& txn, const std::string& name, const LockOptions& options = {}) {
    txn.StartStatement();
    CAIRN_RETURN_IF_ERROR(txn.Lock(K(name), options, nullptr));
    CAIRN_RETURN_IF_ERROR(txn.Insert(K(name), "v", options));
    txn.EndStatement();
    return Status::Ok();
  }

  static std::future<Status> CommitElsewhere(Transaction& txn) {
    return std::async(std::launch::async, [&txn] { return txn.Commit(Durability::kOs); });
  }

  // It gets as far as the log.
  void HoldCommit(Transaction& txn, std::future<Status>* committed) {
    env.HoldWrites(".log");
    *committed = CommitElsewhere(txn);
    env.AwaitHeldWrite();
  }

  static void AwaitLooker(const Transaction& txn) {
    while (!txn.is_awaited()) std::this_thread::yield();
  }

  static bool IsReady(const std::future<Status>& future) {
    return future.wait_for(std::chrono::minutes(2)) == std::future_status::ready;
  }
};

TEST_F(PendingLookTest, WaitsForACommitThatIsUnderWayAndNotForLaterOnes) {
  auto reader = Begin(), first = Begin(), second = Begin();
  ASSERT_TRUE(Insert(*first, "b").ok());
  std::future<Status> first_committed;
  HoldCommit(*first, &first_committed);
  RangeWalk walk;
  ASSERT_TRUE(walk.Begin(reader.get(), IndexId(1), K("a"), K("z"), true, true).ok());
  auto looked = std::async(std::launch::async, [&] { return walk.Look({}); });
  AwaitLooker(*first);
  ASSERT_TRUE(Insert(*second, "c").ok());
  auto second_committed = CommitElsewhere(*second);
  env.PassHeldWrite();
  EXPECT_TRUE(first_committed.get().ok());
  env.AwaitHeldWrite();
  EXPECT_TRUE(IsReady(looked));
  EXPECT_NE(second_committed.wait_for(std::chrono::seconds(0)), std::future_status::ready);
  env.ReleaseWrites();
  EXPECT_TRUE(looked.get().ok());
  EXPECT_TRUE(second_committed.get().ok());
  // What came later is known as an arrival.
  EXPECT_FALSE(walk.ExtendToEnd());
  EXPECT_EQ(walk.blocker(), nullptr);
  ASSERT_TRUE(walk.Look({}).ok());
  EXPECT_TRUE(walk.ExtendToEnd());
  EXPECT_EQ(Scan(*reader, View::kNewest), "b=v c=v");
}

TEST_F(PendingLookTest, FindsWhatIsLeftAfterAPrepare) {
  auto reader = Begin(), writer = Begin();
  ASSERT_TRUE(Insert(*writer, "b").ok());
  env.HoldWrites(".log");
  auto prepared = std::async(std::launch::async, [&] { return writer->Prepare("one", Durability::kOs); });
  env.AwaitHeldWrite();
  RangeWalk walk;
  ASSERT_TRUE(walk.Begin(reader.get(), IndexId(1), K("a"), K("z"), true, true).ok());
  auto looked = std::async(std::launch::async, [&] { return walk.Look({}); });
  AwaitLooker(*writer);
  env.ReleaseWrites();
  EXPECT_TRUE(prepared.get().ok());
  EXPECT_TRUE(looked.get().ok());
  EXPECT_FALSE(walk.ExtendToEnd());
  ASSERT_NE(walk.blocker(), nullptr);
  EXPECT_EQ(walk.blocker()->key, K("b"));
  ASSERT_TRUE(writer->Rollback().ok());
}

TEST_F(PendingLookTest, EndsByAnInterrupt) {
  auto reader = Begin(), writer = Begin();
  ASSERT_TRUE(Insert(*writer, "b").ok());
  std::future<Status> committed;
  HoldCommit(*writer, &committed);
  RangeWalk walk;
  ASSERT_TRUE(walk.Begin(reader.get(), IndexId(1), K("a"), K("z"), true, true).ok());
  auto looked = std::async(std::launch::async, [&] { return walk.Look({}); });
  AwaitLooker(*writer);
  reader->Interrupt();
  EXPECT_TRUE(looked.get().Is(Status::Code::kInterrupted));
  env.ReleaseWrites();
  EXPECT_TRUE(committed.get().ok());
}

// To put it in order takes long, if it is large enough.
TEST_F(PendingLookTest, ALargeBatchIsNotPutInOrderForWhoIsKilled) {
  auto reader = Begin(), writer = Begin();
  for (int i = 3000; i-- > 0;) ASSERT_TRUE(writer->Put(Family::kData, K("b" + std::to_string(i)), "v").ok());
  bool found = false;
  PendingEntry entry;
  const auto find = [&] { return reader->FindPending(IndexId(1), K("a"), K("z"), true, {}, &found, &entry); };
  reader->Interrupt();
  EXPECT_TRUE(find().Is(Status::Code::kInterrupted));
  EXPECT_FALSE(found);
  reader->ClearInterrupt();
  ASSERT_TRUE(find().ok());
  EXPECT_TRUE(found);
  EXPECT_EQ(entry.key, K("b0"));
  // There is nothing to do any more.
  reader->Interrupt();
  EXPECT_TRUE(find().ok());
}

TEST_F(PendingLookTest, TransactionsMayGoAwayMeanwhile) {
  auto reader = Begin();
  for (int round = 0; round < 20; ++round) {
    auto writer = Begin();
    ASSERT_TRUE(Insert(*writer, "b" + std::to_string(round)).ok());
    std::future<Status> committed;
    HoldCommit(*writer, &committed);
    bool found = true;
    PendingEntry entry;
    auto looked = std::async(std::launch::async, [&] {
      return reader->FindPending(IndexId(1), K("a"), K("z"), true, {}, &found, &entry);
    });
    AwaitLooker(*writer);
    env.ReleaseWrites();
    EXPECT_TRUE(committed.get().ok());
    writer.reset();
    EXPECT_TRUE(looked.get().ok());
    EXPECT_FALSE(found);
  }
}

// Time passes as a test says.
class LookTimesTest : public PendingLookTest {
 protected:
  void SetUp() override {
    lock_options.now_us = [] {
      ++asked_count_;
      return now_us_.load();
    };
    OpenAll();
  }

  // How a look ends that has come to a commit: when so many seconds have passed, or, at 0, when the commit is over.
  Status LookBesideACommit(const LockOptions& options, uint64_t seconds) {
    auto reader = Begin(), writer = Begin();
    EXPECT_TRUE(Insert(*writer, "b").ok());
    std::future<Status> committed;
    HoldCommit(*writer, &committed);
    bool found = true;
    PendingEntry entry;
    auto looked = std::async(std::launch::async, [&] {
      return reader->FindPending(IndexId(1), K("a"), K("z"), true, options, &found, &entry);
    });
    AwaitLooker(*writer);
    now_us_ += seconds * 1'000'000;
    if (seconds != 0 && !IsReady(looked)) reader->Interrupt();
    env.ReleaseWrites();
    Status status = looked.get();
    EXPECT_TRUE(committed.get().ok());
    return status;
  }

  // Looks beside another look, which puts the writer's batch in order until the test ends it.
  std::future<Status> LookBesideALook(Transaction& reader, Transaction& writer, const LockOptions& options, bool* found) {
    EXPECT_TRUE(Insert(writer, "b").ok());
    EXPECT_TRUE(LatchOf(writer).TryLook());
    LatchOf(writer).MarkLook();
    auto looked = std::async(std::launch::async, [&reader, options, found] {
      PendingEntry entry;
      return reader.FindPending(IndexId(1), K("a"), K("z"), true, options, found, &entry);
    });
    AwaitLooker(writer);
    return looked;
  }
  // The look has seen by now that so much time has passed, and goes on, or has ended.
  static void PassSecond(const std::future<Status>& looked) {
    now_us_ += 1'000'000;
    const uint64_t asked = asked_count_.load();
    while (asked_count_.load() < asked + 2 && looked.wait_for(std::chrono::seconds(0)) != std::future_status::ready) {
      std::this_thread::yield();
    }
  }

  static inline std::atomic<uint64_t> now_us_{1};
  static inline std::atomic<uint64_t> asked_count_{0};
};

TEST_F(LookTimesTest, WhoDoesNotWaitForLocksWaitsForSmallCommitsAlone) {
  EXPECT_TRUE(LookBesideACommit(kNoWait, 0).ok());
  EXPECT_TRUE(LookBesideACommit(kNoWait, 1).Is(Status::Code::kLockBusy));
  EXPECT_TRUE(LookBesideACommit({.timeout_ms = 0}, 0).ok());
  EXPECT_TRUE(LookBesideACommit({.timeout_ms = 0}, 1).Is(Status::Code::kLockTimeout));
}

TEST_F(LookTimesTest, AWaitForACommitHasTheTimeOfOneForALock) {
  EXPECT_TRUE(LookBesideACommit({.timeout_ms = 2000}, 0).ok());
  EXPECT_TRUE(LookBesideACommit({.timeout_ms = 2000}, 2).Is(Status::Code::kLockTimeout));
  // Others have had it before.
  uint64_t ends_us = 1;
  EXPECT_TRUE(LookBesideACommit(LockOptions().Together(&ends_us), 1).Is(Status::Code::kLockTimeout));
}

TEST_F(LookTimesTest, OtherLooksTakeNoneOfTheTime) {
  for (const LockOptions& options : {kNoWait, LockOptions{.timeout_ms = 0}, LockOptions{.timeout_ms = 500}}) {
    auto reader = Begin(), writer = Begin();
    bool found = false;
    auto looked = LookBesideALook(*reader, *writer, options, &found);
    PassSecond(looked);
    PassSecond(looked);
    LatchOf(*writer).EndLook();
    EXPECT_TRUE(looked.get().ok());
    EXPECT_TRUE(found);
  }
}

TEST_F(LookTimesTest, AWaitForAnotherLookEndsByAnInterrupt) {
  auto reader = Begin(), writer = Begin();
  bool found = false;
  auto looked = LookBesideALook(*reader, *writer, kNoWait, &found);
  PassSecond(looked);
  reader->Interrupt();
  EXPECT_TRUE(looked.get().Is(Status::Code::kInterrupted));
  LatchOf(*writer).EndLook();
}

TEST_F(LookTimesTest, TheTimeGoesOnWithACommitThatAnotherLookGivesWayTo) {
  auto reader = Begin(), writer = Begin();
  bool found = false;
  auto looked = LookBesideALook(*reader, *writer, kNoWait, &found);
  env.HoldWrites(".log");
  auto committed = CommitElsewhere(*writer);
  while (!LatchOf(*writer).is_wanted()) std::this_thread::yield();
  LatchOf(*writer).EndLook();
  env.AwaitHeldWrite();
  AwaitLooker(*writer);
  now_us_ += 1'000'000;
  if (!IsReady(looked)) reader->Interrupt();
  env.ReleaseWrites();
  EXPECT_TRUE(looked.get().Is(Status::Code::kLockBusy));
  EXPECT_TRUE(committed.get().ok());
}

// Writers insert, in short transactions; readers walk over all there is, as a scan does, and look again.
class WalksBesideCommitsTest : public PendingLookTest {
 protected:
  static constexpr int kWriters = 3, kReaders = 2, kRounds = 150;

  static Status WriteSome(Transaction& txn, const std::string& prefix, std::mt19937& random) {
    for (int i = 0; i < 3; ++i) {
      const std::string name = std::to_string(random() % 100) + prefix + std::to_string(i);
      CAIRN_RETURN_IF_ERROR(Insert(txn, name));
      if (random() % 4 == 0) CAIRN_RETURN_IF_ERROR(txn.Delete(Family::kData, K(name)));
    }
    if (random() % 4 == 0) return txn.Rollback();
    if (random() % 4 == 0) CAIRN_RETURN_IF_ERROR(txn.Prepare(prefix, Durability::kOs));
    return txn.Commit(Durability::kOs);
  }

  void RunWriter(int number) {
    std::mt19937 random(static_cast<unsigned>(number));
    auto txn = manager->NewTransaction();
    for (int round = 0; round < kRounds; ++round) {
      txn->Begin(Isolation::kRepeatableRead);
      const Status status = WriteSome(*txn, "w" + std::to_string(number) + "." + std::to_string(round) + ".", random);
      if (status.ok()) continue;
      ASSERT_TRUE(status.Is(Status::Code::kDeadlock)) << status.ToString();
      ASSERT_TRUE(txn->Rollback().ok());
    }
  }

  // The keys in the range, all of it locked at the end.
  static Status WalkOver(Transaction& txn, const std::string& lower, const std::string& upper, bool forward,
                         std::set<std::string>* keys) {
    RangeWalk walk;
    CAIRN_RETURN_IF_ERROR(walk.Begin(&txn, IndexId(1), lower, upper, forward, true));
    for (;;) {
      CAIRN_RETURN_IF_ERROR(walk.Look({}));
      const std::string from(forward ? walk.settled() : lower), to(forward ? upper : walk.settled());
      store::Cursor cursor;
      CAIRN_RETURN_IF_ERROR(txn.OpenCursor({.lower_bound = from, .upper_bound = to}, View::kNewest, &cursor));
      bool complete = true;
      for (forward ? cursor.SeekToFirst() : cursor.SeekToLast(); complete && cursor.Valid();
           forward ? cursor.Next() : cursor.Prev()) {
        complete = walk.Extend(cursor.key());
        if (complete) keys->emplace(cursor.key());
      }
      if (complete && walk.ExtendToEnd()) return Status::Ok();
      cursor.Close();
      if (walk.blocker() != nullptr) CAIRN_RETURN_IF_ERROR(txn.Lock(std::string(walk.blocker()->key), {}, nullptr));
    }
  }

  void RunReader(int number, const std::atomic<bool>& stop) {
    std::mt19937 random(static_cast<unsigned>(100 + number));
    auto txn = manager->NewTransaction();
    for (int round = 0; !stop || round < 10; ++round) {
      txn->Begin(Isolation::kRepeatableRead);
      const std::string lower = K(std::to_string(random() % 10)), upper = K(":");
      std::set<std::string> keys;
      const Status status = WalkOver(*txn, lower, upper, random() % 2 == 0, &keys);
      if (status.ok()) {
        std::set<std::string> again;
        store::Cursor cursor;
        ASSERT_TRUE(txn->OpenCursor({.lower_bound = lower, .upper_bound = upper}, View::kNewest, &cursor).ok());
        for (cursor.SeekToFirst(); cursor.Valid(); cursor.Next()) again.emplace(cursor.key());
        cursor.Close();
        ASSERT_EQ(keys, again);
      } else {
        ASSERT_TRUE(status.Is(Status::Code::kDeadlock)) << status.ToString();
      }
      ASSERT_TRUE(txn->Rollback().ok());
    }
  }
};

TEST_F(WalksBesideCommitsTest, WhatWasWalkedOverStaysAsItWas) {
  std::atomic<bool> stop{false};
  std::vector<std::thread> writers, readers;
  for (int i = 0; i < kWriters; ++i) writers.emplace_back([this, i] { RunWriter(i); });
  for (int i = 0; i < kReaders; ++i) readers.emplace_back([this, i, &stop] { RunReader(i, stop); });
  for (auto& writer : writers) writer.join();
  stop = true;
  for (auto& reader : readers) reader.join();
  EXPECT_EQ(manager->locks().lock_count(), 0u);
}

}  // namespace
}  // namespace cairn::txn
