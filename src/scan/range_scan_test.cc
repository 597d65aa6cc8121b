// SPDX-License-Identifier: GPL-2.0-only
// Locking walks that lock ranges: nothing comes into what they have read before they commit.
#include <future>
#include <random>
#include <thread>

#include <gtest/gtest.h>

#include "scan/index_scan.h"
#include "scan/scan_testing.h"

namespace cairn::scan {
namespace {

using Code = Status::Code;
using store::Durability;
using txn::LockWait;
using txn::Transaction;

class RangeScanTest : public ::testing::Test, public ScanFixture {
 protected:
  void SetUp() override {
    lock_options.now_us = txn::TestClock::NowUs;
    OpenAll();
  }

  static ReadMode Ranges(LockWait wait = LockWait::kNoWait, bool skip_locked = false) {
    ReadMode mode = Locking(wait, skip_locked);
    mode.ranges = true;
    return mode;
  }
  // As dml does it: claims first, then insertions.
  Status InsertRow(Transaction& transaction, const Row& row, LockWait wait = LockWait::kNoWait) const {
    const txn::LockOptions options{.wait = wait};
    transaction.StartStatement();
    CAIRN_RETURN_IF_ERROR(transaction.Lock(PrimaryKey(row.id), options, nullptr));
    if (row.unique != kNull) CAIRN_RETURN_IF_ERROR(transaction.Lock(UniqueKey(row.unique), options, nullptr));
    Status status;
    for (const auto& [key, value] : EntriesOf(row)) {
      if (status.ok()) status = transaction.Insert(key, value, options);
    }
    if (status.ok()) {
      transaction.EndStatement();
    } else {
      EXPECT_TRUE(transaction.RollbackStatement().ok());
    }
    return status;
  }
  bool Blocks(const Row& row) {
    auto transaction = Begin();
    const Status status = InsertRow(*transaction, row);
    EXPECT_TRUE(status.ok() || status.Is(Code::kLockBusy)) << status.ToString();
    return !status.ok();
  }
  // "1 2" of a locking walk that takes `count_max` rows.
  std::string Walk(Transaction& transaction, size_t index, const ReadMode& mode, std::string lower, std::string upper,
                   int count_max = 1000, bool backward = false) {
    RowReader reader;
    IndexScan scan;
    FoundRow row;
    transaction.StartStatement();
    reader.Bind(store.get(), &transaction, access.get(), mode);
    scan.Open(&reader, {.index = index});
    std::string text;
    Status status = backward ? scan.Last(lower, upper, &row) : scan.First(lower, upper, &row);
    while (status.ok()) {
      text += (text.empty() ? "" : " ") + TextOf(row.row);
      if (--count_max == 0) break;
      status = backward ? scan.Previous(&row) : scan.Next(&row);
    }
    scan.Close();
    return status.ok() || status.Is(Code::kNotFound) ? text : text + " " + status.ToString();
  }
  std::string WalkAll(Transaction& transaction, size_t index, const ReadMode& mode, int count_max = 1000,
                      bool backward = false) {
    const auto [lower, upper] = Whole(index);
    return Walk(transaction, index, mode, lower, upper, count_max, backward);
  }
  static std::string Past(std::string key) {
    ByteBuffer past;
    past.Assign(key);
    EXPECT_TRUE(codec::AdvancePastPrefix(&past));
    return past.ToString();
  }
  void WaitUntilWaiting(uint64_t count) const {
    while (manager->locks().waiting_count() != count) std::this_thread::yield();
  }
};

TEST_F(RangeScanTest, NothingComesIntoARangeThatWasRead) {
  CommitRows({{10, 10, 10}, {20, 20, 20}, {30, 30, 30}});
  auto transaction = Begin();
  EXPECT_EQ(Walk(*transaction, kPrimary, Ranges(), PrimaryKey(15), PrimaryKey(31)), "20 30");
  EXPECT_FALSE(Blocks({14, 14, 14}));
  EXPECT_TRUE(Blocks({15, 15, 15}));
  EXPECT_TRUE(Blocks({29, 29, 29}));
  EXPECT_FALSE(Blocks({31, 31, 31}));
  ASSERT_TRUE(transaction->Commit(Durability::kOs).ok());
  EXPECT_FALSE(Blocks({15, 15, 15}));
}

TEST_F(RangeScanTest, ASecondaryRangeIsLockedInItsOwnIndex) {
  CommitRows({{10, 10, 5}, {20, 20, 6}});
  auto transaction = Begin();
  EXPECT_EQ(Walk(*transaction, kNumbers, Ranges(), NumberKey(5), Past(NumberKey(5))), "10");
  EXPECT_TRUE(Blocks({11, 11, 5}));
  EXPECT_TRUE(Blocks({9, 9, 5}));
  EXPECT_FALSE(Blocks({12, 12, 6}));
  // Also a range with nothing in it.
  EXPECT_EQ(Walk(*transaction, kNumbers, Ranges(), NumberKey(7), Past(NumberKey(7))), "");
  EXPECT_TRUE(Blocks({13, 13, 7}));
}

TEST_F(RangeScanTest, ReadCommittedLocksNoRange) {
  CommitRows({{10, 10, 10}});
  auto transaction = Begin(txn::Isolation::kReadCommitted);
  EXPECT_EQ(WalkAll(*transaction, kPrimary, Locking()), "10");
  EXPECT_FALSE(Blocks({5, 5, 5}));
}

TEST_F(RangeScanTest, AWalkLocksOnlyAsFarAsItWent) {
  CommitRows({{10, 10, 10}, {20, 20, 20}, {30, 30, 30}});
  auto transaction = Begin();
  EXPECT_EQ(WalkAll(*transaction, kPrimary, Ranges(), 1), "10");
  EXPECT_TRUE(Blocks({5, 5, 5}));
  EXPECT_FALSE(Blocks({11, 11, 11}));
  EXPECT_FALSE(Blocks({40, 40, 40}));
  auto downward = Begin();
  EXPECT_EQ(WalkAll(*downward, kPrimary, Ranges(), 1, /*backward=*/true), "30");
  EXPECT_TRUE(Blocks({40, 40, 40}));
  EXPECT_FALSE(Blocks({29, 29, 29}));
}

TEST_F(RangeScanTest, AWalkThatTurnsLocksBothWays) {
  CommitRows({{10, 10, 10}, {20, 20, 20}, {30, 30, 30}, {40, 40, 40}});
  auto transaction = Begin();
  RowReader reader;
  IndexScan scan;
  FoundRow row;
  transaction->StartStatement();
  reader.Bind(store.get(), transaction.get(), access.get(), Ranges());
  scan.Open(&reader, {.index = kPrimary});
  ASSERT_TRUE(scan.First(PrimaryKey(25), Whole(kPrimary).second, &row).ok());
  EXPECT_EQ(TextOf(row.row), "30");
  scan.WidenDownwards();
  ASSERT_TRUE(scan.Previous(&row).ok());
  EXPECT_EQ(TextOf(row.row), "20");
  EXPECT_TRUE(Blocks({21, 21, 21}));
  EXPECT_TRUE(Blocks({26, 26, 26}));
  EXPECT_FALSE(Blocks({19, 19, 19}));
  EXPECT_FALSE(Blocks({31, 31, 31}));
  ASSERT_TRUE(scan.Next(&row).ok());
  ASSERT_TRUE(scan.Next(&row).ok());
  EXPECT_EQ(TextOf(row.row), "40");
  EXPECT_TRUE(Blocks({31, 31, 31}));
  // Letting go of the cursor keeps what is locked, and the walk goes on from there.
  scan.Detach();
  EXPECT_TRUE(Blocks({31, 31, 31}));
  EXPECT_FALSE(Blocks({41, 41, 41}));
  EXPECT_TRUE(scan.Next(&row).Is(Code::kNotFound));
  EXPECT_TRUE(Blocks({41, 41, 41}));
  scan.Close();
}

TEST_F(RangeScanTest, AnUncommittedRowInTheWayIsWaitedFor) {
  CommitRows({{10, 10, 10}, {30, 30, 30}});
  for (const size_t index : {kPrimary, kUnique, kNumbers}) {
    for (const bool backward : {false, true}) {
      for (const bool commits : {false, true}) {
        SCOPED_TRACE(std::to_string(index) + (backward ? " backward" : " forward") + (commits ? " commit" : ""));
        auto writer = Begin(), transaction = Begin();
        ASSERT_TRUE(InsertRow(*writer, {20, 20, 20}).ok());
        const bool upwards = backward == (index == kNumbers);  // which is descending
        const std::string first = upwards ? "10" : "30", last = upwards ? "30" : "10";
        auto other = Begin();
        EXPECT_EQ(WalkAll(*other, index, Ranges(), 1000, backward), first + " " + Status::Of(Code::kLockBusy).ToString());
        ASSERT_TRUE(other->Rollback().ok());
        other = Begin();
        EXPECT_EQ(WalkAll(*other, index, Ranges(LockWait::kNoWait, true), 1000, backward), first + " " + last);
        ASSERT_TRUE(other->Rollback().ok());
        auto walked = std::async(std::launch::async,
                                 [&] { return WalkAll(*transaction, index, Ranges(LockWait::kWait), 1000, backward); });
        WaitUntilWaiting(1);
        ASSERT_TRUE((commits ? writer->Commit(Durability::kOs) : writer->Rollback()).ok());
        EXPECT_EQ(walked.get(), first + (commits ? " 20 " : " ") + last);
        ASSERT_TRUE(transaction->Rollback().ok());
        if (commits) CommitRemoval({{20, 20, 20}});
      }
    }
  }
}

// Whoever is waited for can insert more, and so can others, wherever the walk has not come to.
TEST_F(RangeScanTest, AWalkThatWaitsKeepsNobodyOutOfWhatIsAheadOfIt) {
  CommitRows({{10, 10, 10}, {90, 90, 90}});
  for (const size_t index : {kPrimary, kUnique, kNumbers}) {
    for (const bool backward : {false, true}) {
      for (const bool commits : {false, true}) {
        SCOPED_TRACE(std::to_string(index) + (backward ? " backward" : " forward") + (commits ? " commit" : ""));
        auto writer = Begin(), other = Begin(), transaction = Begin();
        ASSERT_TRUE(InsertRow(*writer, {50, 50, 50}).ok());
        const bool upwards = backward == (index == kNumbers);  // which is descending
        auto walked = std::async(std::launch::async,
                                 [&] { return WalkAll(*transaction, index, Ranges(LockWait::kWait), 1000, backward); });
        WaitUntilWaiting(1);
        for (const int more : {40, 60}) EXPECT_TRUE(InsertRow(*writer, {more, more, more}).ok()) << more;
        for (const int more : {30, 70}) EXPECT_TRUE(InsertRow(*other, {more, more, more}).ok()) << more;
        const int passed = upwards ? 5 : 95, last = upwards ? 95 : 5;
        EXPECT_TRUE(Blocks({passed, passed, passed}));
        EXPECT_FALSE(Blocks({last, last, last}));
        ASSERT_TRUE(other->Commit(Durability::kOs).ok());
        ASSERT_TRUE((commits ? writer->Commit(Durability::kOs) : writer->Rollback()).ok());
        EXPECT_EQ(walked.get(), commits ? (upwards ? "10 30 40 50 60 70 90" : "90 70 60 50 40 30 10")
                                        : (upwards ? "10 30 70 90" : "90 70 30 10"));
        EXPECT_EQ(manager->locks().deadlock_count(), 0u);
        ASSERT_TRUE(transaction->Rollback().ok());
        CommitRemoval({{30, 30, 30}, {70, 70, 70}});
        if (commits) CommitRemoval({{40, 40, 40}, {50, 50, 50}, {60, 60, 60}});
      }
    }
  }
}

// Who removes a row may put it again, as who replaces the rows of a parent, and others may put some beside it: who waits for the row has not come to it.
TEST_F(RangeScanTest, AWalkThatWaitsForALockedRowKeepsNobodyFromPuttingItAgain) {
  CommitRows({{10, 10, 10}, {50, 50, 50}, {90, 90, 90}});
  for (const size_t index : {kPrimary, kUnique, kNumbers}) {
    for (const bool backward : {false, true}) {
      for (const bool commits : {false, true}) {
        SCOPED_TRACE(std::to_string(index) + (backward ? " backward" : " forward") + (commits ? " commit" : ""));
        auto writer = Begin(), other = Begin(), transaction = Begin();
        ASSERT_TRUE(RemoveRow(*writer, {50, 50, 50}).ok());
        const bool upwards = backward == (index == kNumbers);  // which is descending
        auto walked = std::async(std::launch::async,
                                 [&] { return WalkAll(*transaction, index, Ranges(LockWait::kWait), 1000, backward); });
        WaitUntilWaiting(1);
        for (const int more : {50, 40, 60}) EXPECT_TRUE(InsertRow(*writer, {more, more, more, "again"}).ok()) << more;
        for (const int more : {30, 70}) EXPECT_TRUE(InsertRow(*other, {more, more, more}).ok()) << more;
        EXPECT_TRUE(Blocks({upwards ? 5 : 95, upwards ? 5 : 95, upwards ? 5 : 95}));
        ASSERT_TRUE(other->Commit(Durability::kOs).ok());
        ASSERT_TRUE((commits ? writer->Commit(Durability::kOs) : writer->Rollback()).ok());
        EXPECT_EQ(walked.get(), commits ? (upwards ? "10 30 40:again 50:again 60:again 70 90" : "90 70 60:again 50:again 40:again 30 10")
                                        : (upwards ? "10 30 50 70 90" : "90 70 50 30 10"));
        for (const int more : {5, 20, 35, 45, 55, 80, 95}) EXPECT_TRUE(Blocks({more, more, more})) << more;
        EXPECT_EQ(manager->locks().deadlock_count(), 0u);
        ASSERT_TRUE(transaction->Rollback().ok());
        CommitRemoval({{30, 30, 30}, {40, 40, 40}, {60, 60, 60}, {70, 70, 70}});
        CommitRows({{50, 50, 50}});
      }
    }
  }
}

TEST_F(RangeScanTest, AnEntryThatIsAnotherRowsOrElsewhereAfterAWaitIsMetThere) {
  CommitRows({{10, 10, 10}, {90, 90, 90}});
  for (const size_t index : {kUnique, kNumbers}) {
    for (const bool backward : {false, true}) {
      // The row leaves it, or passes it on, to both sides.
      for (const Row& now : {Row{50, 70, 70}, Row{50, 30, 30}, Row{51, 50, 50}, Row{49, 50, 50}}) {
        SCOPED_TRACE(std::to_string(index) + (backward ? " backward " : " forward ") + std::to_string(now.id + now.number));
        CommitRows({{50, 50, 50}});
        auto writer = Begin(), transaction = Begin();
        ASSERT_TRUE(RemoveRow(*writer, {50, 50, 50}).ok());
        auto walked = std::async(std::launch::async,
                                 [&] { return WalkAll(*transaction, index, Ranges(LockWait::kWait), 1000, backward); });
        WaitUntilWaiting(1);
        ASSERT_TRUE(InsertRow(*writer, now).ok());
        ASSERT_TRUE(writer->Commit(Durability::kOs).ok());
        const bool upwards = backward == (index == kNumbers);
        const std::string id = std::to_string(now.id);
        EXPECT_EQ(walked.get(), upwards ? "10 " + id + " 90" : "90 " + id + " 10");
        // Three rows, and its number.
        EXPECT_EQ(transaction->lock_count(), 4u);
        ASSERT_TRUE(transaction->Rollback().ok());
        CommitRemoval({now});
      }
    }
  }
}

TEST_F(RangeScanTest, AWaitInVainLeavesNothingOfTheWayToTheRow) {
  CommitRows({{10, 10, 10}, {50, 50, 50}});
  for (const Code end : {Code::kInterrupted, Code::kLockTimeout, Code::kLockBusy}) {
    SCOPED_TRACE(Status::Of(end).ToString());
    auto writer = Begin(), transaction = Begin();
    ASSERT_TRUE(RemoveRow(*writer, {50, 50, 50}).ok());
    ReadMode mode = Ranges(end == Code::kLockBusy ? LockWait::kNoWait : LockWait::kWait);
    if (end == Code::kLockTimeout) mode.lock.timeout_ms = 0;
    auto walked = std::async(std::launch::async, [&] { return WalkAll(*transaction, kPrimary, mode); });
    if (end == Code::kInterrupted) {
      WaitUntilWaiting(1);
      transaction->Interrupt();
    }
    EXPECT_EQ(walked.get(), "10 " + Status::Of(end).ToString());
    EXPECT_TRUE(Blocks({5, 5, 5}));
    EXPECT_FALSE(Blocks({40, 40, 40}));
    EXPECT_TRUE(InsertRow(*writer, {50, 50, 50}).ok());
    transaction->ClearInterrupt();
  }
}

// Who came second does not get the row before, although the walk looks again for what has come.
TEST_F(RangeScanTest, AWalkThatWaitsForARowKeepsItsPlace) {
  CommitRows({{10, 10, 10}, {50, 50, 50}});
  auto writer = Begin(), first = Begin(), second = Begin();
  ASSERT_TRUE(RemoveRow(*writer, {50, 50, 50}).ok());
  const std::string lower = PrimaryKey(20), upper = PrimaryKey(60);
  const auto walk = [&](Transaction& t) { return Walk(t, kPrimary, Ranges(LockWait::kWait), lower, upper); };
  auto first_walked = std::async(std::launch::async, [&] { return walk(*first); });
  WaitUntilWaiting(1);
  auto second_walked = std::async(std::launch::async, [&] { return walk(*second); });
  WaitUntilWaiting(2);
  EXPECT_TRUE(InsertRow(*writer, {50, 50, 50, "again"}).ok());
  ASSERT_TRUE(writer->Commit(Durability::kOs).ok());
  const bool has_first = first_walked.wait_for(std::chrono::seconds(20)) == std::future_status::ready;
  EXPECT_TRUE(has_first);
  if (!has_first) first->Interrupt();
  EXPECT_EQ(first_walked.get(), "50:again");
  EXPECT_EQ(manager->locks().waiting_count(), has_first ? 1u : 0u);
  ASSERT_TRUE(first->Rollback().ok());
  EXPECT_EQ(second_walked.get(), "50:again");
}

TEST_F(RangeScanTest, WhatIsMetInsteadOfALockedRowIsWaitedForInTheSameTime) {
  CommitRows({{10, 10, 10}, {50, 50, 50}});
  auto writer = Begin(), other = Begin(), transaction = Begin();
  ASSERT_TRUE(RemoveRow(*writer, {50, 50, 50}).ok());
  const auto walk = [&] {
    const std::string text = WalkAll(*transaction, kPrimary, Ranges(LockWait::kWait));
    return text == "10 lock wait timeout" ? Status::Of(Code::kLockTimeout) : Status::Ok();
  };
  ExpectOneTime(walk, *transaction, [&] {
    EXPECT_TRUE(InsertRow(*other, {40, 40, 40}).ok());
    EXPECT_TRUE(writer->Rollback().ok());
  });
}

// As long as it does not get on: each row that it has come to is another wait.
TEST_F(RangeScanTest, AWalkWaitsForOnePendingRowAfterTheOtherInOneTime) {
  CommitRows({{10, 10, 10}, {40, 40, 40}});
  txn::HourObserver observer;
  for (const bool commits : {false, true}) {
    SCOPED_TRACE(commits);
    if (commits) ObserveWaits(&observer);
    auto one = Begin(), two = Begin(), transaction = Begin();
    ASSERT_TRUE(InsertRow(*one, {20, 20, 20}).ok());
    ASSERT_TRUE(InsertRow(*two, {30, 30, 30}).ok());
    std::string text;
    const auto walk = [&] {
      text = WalkAll(*transaction, kPrimary, Ranges(LockWait::kWait));
      return text == "10 lock wait timeout" ? Status::Of(Code::kLockTimeout) : Status::Ok();
    };
    if (!commits) {
      ExpectOneTime(walk, *transaction, [&] { EXPECT_TRUE(one->Rollback().ok()); });
      continue;
    }
    auto walked = std::async(std::launch::async, walk);
    WaitUntilWaiting(1);
    ASSERT_TRUE(one->Commit(Durability::kOs).ok());
    const std::string pending = PrimaryKey(30);
    const auto waits_there = [&] {
      const auto waits = manager->locks().ListWaits(2);
      return waits.size() == 1 && waits[0].key == pending;
    };
    while (!waits_there() && walked.wait_for(std::chrono::seconds(0)) != std::future_status::ready) std::this_thread::yield();
    EXPECT_TRUE(two->Rollback().ok());
    EXPECT_TRUE(walked.get().ok());
    EXPECT_EQ(text, "10 20 40");
  }
}

TEST_F(RangeScanTest, ARowThatComesInFrontOfAWalkIsMet) {
  CommitRows({{10, 10, 10}, {30, 30, 30}});
  auto transaction = Begin();
  RowReader reader;
  IndexScan scan;
  FoundRow row;
  transaction->StartStatement();
  reader.Bind(store.get(), transaction.get(), access.get(), Ranges());
  scan.Open(&reader, {.index = kPrimary});
  const auto [lower, upper] = Whole(kPrimary);
  ASSERT_TRUE(scan.First(lower, upper, &row).ok());
  auto writer = Begin();
  ASSERT_TRUE(InsertRow(*writer, {20, 20, 20}).ok());
  ASSERT_TRUE(writer->Commit(Durability::kOs).ok());
  ASSERT_TRUE(scan.Next(&row).ok());
  EXPECT_EQ(TextOf(row.row), "20");
  ASSERT_TRUE(scan.Next(&row).ok());
  EXPECT_EQ(TextOf(row.row), "30");
  EXPECT_TRUE(scan.Next(&row).Is(Code::kNotFound));
  scan.Close();
}

TEST_F(RangeScanTest, AnAbsentUniqueKeyStaysAbsent) {
  auto transaction = Begin();
  RowReader reader;
  StoredRow row;
  transaction->StartStatement();
  reader.Bind(store.get(), transaction.get(), access.get(), Ranges());
  EXPECT_TRUE(reader.ByUniqueKey(kUnique, UniqueKey(7), &row).Is(Code::kNotFound));
  EXPECT_TRUE(Blocks({1, 7, 1}));
  EXPECT_FALSE(Blocks({1, 8, 1}));
  // READ COMMITTED leaves nothing locked.
  auto committed = Begin(txn::Isolation::kReadCommitted);
  committed->StartStatement();
  reader.Bind(store.get(), committed.get(), access.get(), Locking());
  EXPECT_TRUE(reader.ByUniqueKey(kUnique, UniqueKey(9), &row).Is(Code::kNotFound));
  EXPECT_TRUE(reader.ByPrimaryKey(PrimaryKey(9), &row).Is(Code::kNotFound));
  EXPECT_EQ(committed->lock_count(), 0u);
}

// Whose insertions are always nearer to where the walk stands than what it waits for.
TEST_F(RangeScanTest, AWalkFromTheNewestRowEndsWhileOthersInsertNewerOnes) {
  constexpr int kThreadCount = 3, kWalkCount = 100;
  CommitRows({{1, 1, 1}});
  std::atomic<int> next_id{2};
  std::atomic<bool> done{false};
  const auto insert = [&] {
    while (!done) {
      const int id = next_id++;
      auto transaction = Begin();
      const Status status = InsertRow(*transaction, {id, id, id}, LockWait::kWait);
      EXPECT_TRUE(status.ok()) << status.ToString();
      EXPECT_TRUE(transaction->Commit(Durability::kOs).ok());
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreadCount; ++i) threads.emplace_back(insert);
  for (int i = 0; i < kWalkCount; ++i) {
    auto transaction = Begin();
    const std::string newest = WalkAll(*transaction, kPrimary, Ranges(LockWait::kWait), 1, /*backward=*/true);
    EXPECT_EQ(WalkAll(*transaction, kPrimary, Ranges(LockWait::kWait), 1, /*backward=*/true), newest);
    EXPECT_TRUE(transaction->Rollback().ok());
  }
  done = true;
  for (std::thread& thread : threads) thread.join();
}

// Many look whether a group has a row, and add one if it has none, else remove it. Without range locks
// two would add one at once.
TEST_F(RangeScanTest, TransactionsThatCheckAndInsertNeverSeeEachOthersHalf) {
  constexpr int kThreadCount = 4, kGroupCount = 3, kRoundCount = 300;
  std::atomic<int> next_id{1}, wrong_count{0}, done_count{0};
  const auto work = [&](unsigned seed) {
    std::mt19937 random(seed);
    for (int round = 0; round < kRoundCount;) {
      const int group = static_cast<int>(random() % kGroupCount);
      auto transaction = Begin();
      transaction->StartStatement();
      RowReader reader;
      IndexScan scan;
      FoundRow row;
      reader.Bind(store.get(), transaction.get(), access.get(), Ranges(LockWait::kWait));
      scan.Open(&reader, {.index = kNumbers});
      std::vector<int> found;
      const bool backward = random() % 2 != 0;
      const std::string lower = NumberKey(group), upper = Past(lower);
      Status status = backward ? scan.Last(lower, upper, &row) : scan.First(lower, upper, &row);
      while (status.ok()) {
        found.push_back(std::stoi(TextOf(row.row)));
        status = backward ? scan.Previous(&row) : scan.Next(&row);
      }
      scan.Close();
      if (status.Is(Code::kNotFound)) {
        if (found.size() > 1) ++wrong_count;
        status = found.empty() ? InsertRow(*transaction, {next_id++, kNull, group}, LockWait::kWait)
                               : RemoveRow(*transaction, {found.front(), kNull, group});
      }
      if (status.ok()) status = transaction->Commit(Durability::kOs);
      if (status.ok()) {
        ++round;
        ++done_count;
        continue;
      }
      if (!status.Is(Code::kDeadlock)) {
        ADD_FAILURE() << status.ToString();
        return;
      }
      EXPECT_TRUE(transaction->Rollback().ok());
    }
  };
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < kThreadCount; ++i) threads.emplace_back(work, i);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong_count, 0);
  EXPECT_EQ(done_count, kThreadCount * kRoundCount);
}

}  // namespace
}  // namespace cairn::scan
