// SPDX-License-Identifier: GPL-2.0-only
// Locking walks and point reads among other transactions: they wait, and then read what is newest.
#include <functional>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "scan/index_scan.h"
#include "scan/scan_testing.h"

namespace cairn::scan {
namespace {

using Code = Status::Code;
using store::Durability;
using txn::LockWait;
using txn::Transaction;

class LockingScanTest : public ::testing::Test, public ScanFixture {
 protected:
  void SetUp() override { OpenAll(); }

  // "1 2" of a locking walk over a whole index.
  std::string Walk(Transaction& transaction, size_t index, const ReadMode& mode, bool backward = false) {
    RowReader reader;
    IndexScan scan;
    FoundRow row;
    transaction.StartStatement();
    reader.Bind(store.get(), &transaction, access.get(), mode);
    scan.Open(&reader, {.index = index, .covering = true});
    const auto [lower, upper] = Whole(index);
    std::string text;
    Status status = backward ? scan.Last(lower, upper, &row) : scan.First(lower, upper, &row);
    while (status.ok()) {
      text += (text.empty() ? "" : " ") + TextOf(row.row);
      status = backward ? scan.Previous(&row) : scan.Next(&row);
    }
    scan.Close();
    return status.Is(Code::kNotFound) ? text : text + " " + status.ToString();
  }
  // The same at READ COMMITTED, without waiting for rows that are not wanted, as UPDATE does: "(2)" is a row seen without its lock.
  std::string SemiConsistentWalk(Transaction& transaction, size_t index, const std::string& wanted, bool backward) {
    RowReader reader;
    IndexScan scan;
    FoundRow row;
    transaction.StartStatement();
    reader.Bind(store.get(), &transaction, access.get(), Locking(LockWait::kWait));
    scan.Open(&reader, {.index = index});
    scan.SetSemiConsistent(true);
    const auto [lower, upper] = Whole(index);
    std::string text;
    Status status = backward ? scan.Last(lower, upper, &row) : scan.First(lower, upper, &row);
    while (status.ok()) {
      const std::string found = TextOf(row.row);
      text += (text.empty() ? "" : " ") + (scan.gave_unlocked() ? "(" + found + ")" : found);
      if (found != wanted) scan.gave_unlocked() ? scan.PassUnlocked() : reader.UnlockLast();
      status = backward ? scan.Previous(&row) : scan.Next(&row);
    }
    scan.Close();
    return status.Is(Code::kNotFound) ? text : text + " " + status.ToString();
  }
  std::string ByUnique(Transaction& transaction, int unique, const ReadMode& mode) {
    RowReader reader;
    StoredRow row;
    transaction.StartStatement();
    reader.Bind(store.get(), &transaction, access.get(), mode);
    const Status status = reader.ByUniqueKey(kUnique, UniqueKey(unique), &row);
    if (status.Is(Code::kNotFound)) return "-";
    return status.ok() ? TextOf(row) : status.ToString();
  }

  // Runs `read` in a transaction of its own on another thread until it waits for a lock, then changes
  // and commits what `holder` changes, and gives what was read.
  std::string ReadAcross(Transaction& holder, const std::function<std::string(Transaction&)>& read,
                         const std::function<void()>& change) {
    std::string text;
    auto transaction = Begin();
    std::thread reading([&] { text = read(*transaction); });
    while (manager->locks().waiting_count() == 0) std::this_thread::yield();
    change();
    EXPECT_TRUE(holder.Commit(Durability::kOs).ok());
    reading.join();
    EXPECT_TRUE(transaction->Rollback().ok());
    return text;
  }
  std::unique_ptr<Transaction> Hold(int id) {
    auto transaction = Begin();
    transaction->StartStatement();
    EXPECT_TRUE(transaction->Lock(PrimaryKey(id), txn::kNoWait, nullptr).ok());
    return transaction;
  }
};

TEST_F(LockingScanTest, LocksWhatItGivesAndReadsTheNewestState) {
  CommitRows({{1, 10, 1}, {2, 20, 2}});
  auto transaction = Begin();
  EXPECT_TRUE(transaction->ReadView()->taken());
  CommitRemoval({{1, 10, 1}});
  CommitRows({{3, 30, 3}});
  for (const size_t index : {kPrimary, kUnique}) EXPECT_EQ(Walk(*transaction, index, Locking()), "2 3");
  EXPECT_EQ(Walk(*transaction, kNumbers, Locking(), /*backward=*/true), "2 3");
  EXPECT_TRUE(manager->locks().Holds(*transaction, PrimaryKey(2), txn::LockMode::kExclusive));
  EXPECT_TRUE(manager->locks().Holds(*transaction, PrimaryKey(3), txn::LockMode::kExclusive));
  EXPECT_EQ(transaction->lock_count(), 2u);
}

TEST_F(LockingScanTest, LockedRowsAreRefusedOrSkipped) {
  CommitRows({{1, 10, 1}, {2, 20, 2}, {3, 30, 3}});
  auto holder = Hold(2);
  for (const size_t index : {kPrimary, kUnique}) {
    auto transaction = Begin();
    EXPECT_EQ(Walk(*transaction, index, Locking()), "1 " + Status::Of(Code::kLockBusy).ToString());
    EXPECT_EQ(Walk(*transaction, index, Locking(LockWait::kNoWait, true)), "1 3");
    EXPECT_EQ(Walk(*transaction, index, Locking(LockWait::kNoWait, true), true), "3 1");
  }
}

TEST_F(LockingScanTest, AfterAWaitItGivesTheRowAsItIsThen) {
  for (const size_t index : {kPrimary, kUnique, kNumbers}) {
    for (const bool backward : {false, true}) {
      SCOPED_TRACE(std::to_string(index) + (backward ? " backward" : " forward"));
      CommitRows({{1, 10, 1}, {2, 20, 1}, {3, 30, 1}});
      auto holder = Hold(2);
      const std::string text = ReadAcross(
          *holder, [&](Transaction& t) { return Walk(t, index, Locking(LockWait::kWait), backward); },
          [&] { ASSERT_TRUE(PutRow(*holder, {2, 20, 1, "new"}).ok()); });
      EXPECT_EQ(text, backward ? "3 2:new 1" : "1 2:new 3");
    }
  }
}

TEST_F(LockingScanTest, AfterAWaitARowThatHasGoneIsPassedOver) {
  for (const size_t index : {kPrimary, kUnique, kNumbers}) {
    for (const bool backward : {false, true}) {
      SCOPED_TRACE(std::to_string(index) + (backward ? " backward" : " forward"));
      CommitRows({{1, 10, 1}, {2, 20, 1}, {3, 30, 1}});
      auto holder = Hold(2);
      const std::string text = ReadAcross(
          *holder, [&](Transaction& t) { return Walk(t, index, Locking(LockWait::kWait), backward); },
          [&] { ASSERT_TRUE(RemoveRow(*holder, {2, 20, 1}).ok()); });
      EXPECT_EQ(text, backward ? "3 1" : "1 3");
    }
  }
}

TEST_F(LockingScanTest, AfterAWaitItMeetsWhatWasCommittedInFrontOfIt) {
  CommitRows({{1, 10, 1}, {2, 20, 2}});
  auto holder = Hold(2);
  const std::string text = ReadAcross(
      *holder, [&](Transaction& t) { return Walk(t, kUnique, Locking(LockWait::kWait)); },
      [&] {
        // The row's own entry moves ahead of the walk, and a new row comes.
        ASSERT_TRUE(RemoveRow(*holder, {2, 20, 2}).ok());
        ASSERT_TRUE(PutRow(*holder, {2, 40, 2, "moved"}).ok());
        ASSERT_TRUE(PutRow(*holder, {3, 30, 3, "new"}).ok());
      });
  EXPECT_EQ(text, "1 3:new 2:moved");
}

TEST_F(LockingScanTest, AnEntryThatNowBelongsToAnotherRowIsMetAgain) {
  CommitRows({{1, 10, 1}, {2, 20, 2}});
  auto holder = Hold(1);
  const std::string text = ReadAcross(
      *holder, [&](Transaction& t) { return Walk(t, kUnique, Locking(LockWait::kWait)); },
      [&] {
        ASSERT_TRUE(RemoveRow(*holder, {1, 10, 1}).ok());
        ASSERT_TRUE(PutRow(*holder, {1, 30, 1, "moved"}).ok());
      });
  EXPECT_EQ(text, "2 1:moved");
}

// Where the walk stands, not only in front of it.
TEST_F(LockingScanTest, AnEntryThatWasPassedOnToAnotherRowIsMetThere) {
  for (const bool backward : {false, true}) {
    for (const bool goes : {false, true}) {
      SCOPED_TRACE((backward ? "backward" : "forward") + std::string(goes ? ", gone" : ""));
      CommitRows({{1, 10, 1}, {2, 20, 2}});
      auto holder = Hold(1);
      uint64_t lock_count = 0;
      const std::string text = ReadAcross(
          *holder,
          [&](Transaction& t) {
            std::string walked = Walk(t, kUnique, Locking(LockWait::kWait), backward);
            lock_count = t.lock_count();
            return walked;
          },
          [&] {
            ASSERT_TRUE(RemoveRow(*holder, {1, 10, 1}).ok());
            if (!goes) {
              ASSERT_TRUE(PutRow(*holder, {1, 30, 1, "moved"}).ok());
            }
            ASSERT_TRUE(PutRow(*holder, {3, 10, 3, "heir"}).ok());
          });
      EXPECT_EQ(text, backward ? "2 3:heir" : goes ? "3:heir 2" : "3:heir 2 1:moved");
      EXPECT_EQ(lock_count, backward || goes ? 2u : 3u);
      CommitRemoval({{1, 30, 1}, {3, 10, 3}});
    }
  }
}

TEST_F(LockingScanTest, ASemiConsistentOneDoesNotWaitForWhatIsNotWanted) {
  CommitRows({{1, 10, 1}, {2, 20, 1}, {3, 30, 1}});
  for (const bool backward : {false, true}) {
    SCOPED_TRACE(backward ? "backward" : "forward");
    auto holder = Hold(2);
    ASSERT_TRUE(RemoveRow(*holder, {2, 20, 1}).ok());
    auto transaction = Begin(txn::Isolation::kReadCommitted);
    EXPECT_EQ(SemiConsistentWalk(*transaction, kPrimary, "3", backward), backward ? "3 (2) 1" : "1 (2) 3");
    EXPECT_EQ(transaction->lock_count(), 1u);
    EXPECT_TRUE(transaction->Rollback().ok());
    EXPECT_TRUE(holder->Rollback().ok());
  }
}

TEST_F(LockingScanTest, ASemiConsistentOneGivesWhatIsWantedAgain) {
  for (const bool backward : {false, true}) {
    for (const bool goes : {false, true}) {
      SCOPED_TRACE((backward ? "backward" : "forward") + std::string(goes ? ", gone" : ""));
      CommitRows({{1, 10, 1}, {2, 20, 1}, {3, 30, 1}});
      auto holder = Hold(2);
      const std::string text = ReadAcross(
          *holder, [&](Transaction& t) { return SemiConsistentWalk(t, kPrimary, "2", backward); },
          [&] {
            ASSERT_TRUE((goes ? RemoveRow(*holder, {2, 20, 1}) : PutRow(*holder, {2, 20, 1, "new"})).ok());
          });
      const std::string again = goes ? "" : "2:new ";
      EXPECT_EQ(text, backward ? "3 (2) " + again + "1" : "1 (2) " + again + "3");
    }
  }
}

// The row goes, and its holder with it, between the look and the second one.
TEST_F(LockingScanTest, ASemiConsistentOneDoesNotWaitForTheNeighbourOfWhatIsGone) {
  for (const bool backward : {false, true}) {
    SCOPED_TRACE(backward ? "backward" : "forward");
    CommitRows({{1, 10, 1}, {2, 20, 1}, {3, 30, 1}});
    auto holder = Hold(2), first = Hold(1), last = Hold(3);
    ASSERT_TRUE(RemoveRow(*holder, {2, 20, 1}).ok());
    auto transaction = Begin(txn::Isolation::kReadCommitted);
    ReadMode mode = Locking(LockWait::kWait);
    mode.lock.timeout_ms = 0;
    RowReader reader;
    IndexScan scan;
    FoundRow row;
    transaction->StartStatement();
    reader.Bind(store.get(), transaction.get(), access.get(), mode);
    scan.Open(&reader, {.index = kPrimary});
    scan.SetSemiConsistent(true);
    const auto [lower, upper] = Whole(kPrimary);
    ASSERT_TRUE((backward ? scan.Last(lower, upper, &row) : scan.First(lower, upper, &row)).ok());
    scan.PassUnlocked();
    ASSERT_TRUE((backward ? scan.Previous(&row) : scan.Next(&row)).ok());
    EXPECT_EQ(TextOf(row.row), "2");
    ASSERT_TRUE(holder->Commit(Durability::kOs).ok());
    const Status status = backward ? scan.Previous(&row) : scan.Next(&row);
    ASSERT_TRUE(status.ok()) << status.ToString();
    EXPECT_EQ(TextOf(row.row), backward ? "1" : "3");
    EXPECT_TRUE(scan.gave_unlocked());
    EXPECT_TRUE((backward ? scan.Previous(&row) : scan.Next(&row)).Is(Code::kLockTimeout));
    scan.Close();
  }
}

// As the server's merges of walks over them cannot ask for a row again.
TEST_F(LockingScanTest, WalksOverSecondaryIndexesAreNotSemiConsistent) {
  for (const size_t index : {kUnique, kNumbers}) {
    SCOPED_TRACE(std::to_string(index));
    CommitRows({{1, 10, 1}, {2, 20, 1}, {3, 30, 1}});
    auto holder = Hold(2);
    const std::string text = ReadAcross(
        *holder, [&](Transaction& t) { return SemiConsistentWalk(t, index, "1", false); },
        [&] { ASSERT_TRUE(PutRow(*holder, {2, 20, 1, "new"}).ok()); });
    EXPECT_EQ(text, "1 2:new 3");
  }
}

TEST_F(LockingScanTest, RowsPassedOverAfterAWaitAreNotLocked) {
  CommitRows({{1, 10, 1}, {2, 20, 2}});
  auto holder = Hold(1);
  uint64_t lock_count = 0;
  ReadAcross(
      *holder,
      [&](Transaction& t) {
        const std::string text = Walk(t, kUnique, Locking(LockWait::kWait));
        lock_count = t.lock_count();
        return text;
      },
      [&] { ASSERT_TRUE(RemoveRow(*holder, {1, 10, 1}).ok()); });
  EXPECT_EQ(lock_count, 1u);
}

// Who waits for the first row holds nothing that the one before him could meet when he puts it again, not for a moment.
TEST_F(LockingScanTest, ThoseWhoReplaceTheSameRowsAreNoDeadlock) {
  constexpr int kThreadCount = 4, kRoundCount = 500;
  const std::initializer_list<Row> rows = {{1, 10, 1}, {2, 20, 2}, {3, 30, 3}};
  CommitRows(rows);
  ReadMode mode = Locking(LockWait::kWait);
  mode.ranges = true;
  const auto replace = [&] {
    for (int round = 0; round < kRoundCount; ++round) {
      auto transaction = Begin();
      ASSERT_EQ(Walk(*transaction, kUnique, mode), "1 2 3");
      for (const Row& row : rows) ASSERT_TRUE(RemoveRow(*transaction, row).ok());
      for (const Row& row : rows) {
        for (const auto& [key, value] : EntriesOf(row)) ASSERT_TRUE(transaction->Insert(key, value, txn::kNoWait).ok());
      }
      ASSERT_TRUE(transaction->Commit(Durability::kOs).ok());
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreadCount; ++i) threads.emplace_back(replace);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(manager->locks().deadlock_count(), 0u);
}

// Who has a row shared and wants it for itself has it shared again while it waits for what comes first.
TEST_F(LockingScanTest, AWalkThatGivesARowBackHasItAsBefore) {
  CommitRows({{5, 50, 5}});
  ReadMode mode = Locking(LockWait::kWait);
  mode.ranges = true;
  const txn::LockOptions shared{.mode = txn::LockMode::kShared, .wait = LockWait::kNoWait};
  for (const bool waits_first : {false, true}) {
    SCOPED_TRACE(waits_first);
    auto writer = Begin(), other = Begin(), third = Begin(), transaction = Begin();
    const auto insert = [&] {
      ASSERT_TRUE(writer->Lock(PrimaryKey(4), txn::kNoWait, nullptr).ok());
      for (const auto& [key, value] : EntriesOf({4, 40, 4})) ASSERT_TRUE(writer->Insert(key, value, txn::kNoWait).ok());
    };
    ASSERT_TRUE(transaction->Lock(PrimaryKey(5), shared, nullptr).ok());
    if (waits_first) {
      ASSERT_TRUE(other->Lock(PrimaryKey(5), shared, nullptr).ok());
    } else {
      insert();
    }
    std::string walked;
    std::thread walk([&] { walked = Walk(*transaction, kPrimary, mode); });
    const auto await_waiting = [&] {
      while (manager->locks().waiting_count() != 1) std::this_thread::yield();
    };
    await_waiting();
    if (waits_first) {
      insert();
      EXPECT_TRUE(other->Rollback().ok());
      await_waiting();
    }
    EXPECT_TRUE(third->Lock(PrimaryKey(5), shared, nullptr).ok());
    EXPECT_TRUE(third->Rollback().ok());
    EXPECT_TRUE(writer->Commit(Durability::kOs).ok());
    walk.join();
    EXPECT_EQ(walked, "4 5");
    EXPECT_TRUE(manager->locks().Holds(*transaction, PrimaryKey(5), txn::LockMode::kExclusive));
    ASSERT_TRUE(transaction->Rollback().ok());
    CommitRemoval({{4, 40, 4}});
  }
}

TEST_F(LockingScanTest, PointReadsLockAlsoWhatIsNotThere) {
  CommitRows({{1, 10, 1, "one"}});
  auto transaction = Begin(), other = Begin();
  RowReader reader;
  StoredRow row;
  transaction->StartStatement();
  reader.Bind(store.get(), transaction.get(), access.get(), Locking());
  ASSERT_TRUE(reader.ByPrimaryKey(PrimaryKey(1), &row).ok());
  EXPECT_EQ(TextOf(row), "1:one");
  EXPECT_FALSE(reader.waited());
  EXPECT_TRUE(reader.ByPrimaryKey(PrimaryKey(2), &row).Is(Code::kNotFound));
  EXPECT_EQ(transaction->lock_count(), 2u);
  // Only what the last call itself took is given back.
  ASSERT_TRUE(reader.ByPrimaryKey(PrimaryKey(1), &row).ok());
  reader.UnlockLast();
  EXPECT_EQ(transaction->lock_count(), 2u);
  ASSERT_TRUE(transaction->Rollback().ok());

  transaction->Begin(txn::Isolation::kReadCommitted);
  transaction->StartStatement();
  ASSERT_TRUE(reader.ByPrimaryKey(PrimaryKey(1), &row).ok());
  reader.UnlockLast();
  reader.UnlockLast();
  EXPECT_EQ(transaction->lock_count(), 0u);
  reader.Bind(store.get(), other.get(), access.get(), ReadMode::Consistent());
  ASSERT_TRUE(reader.ByPrimaryKey(PrimaryKey(1), &row).ok());
  EXPECT_TRUE(reader.ByUniqueKey(kUnique, UniqueKey(11), &row).Is(Code::kNotFound));
  ASSERT_TRUE(reader.ByUniqueKey(kUnique, UniqueKey(10), &row).ok());
  EXPECT_EQ(TextOf(row), "1:one");
  EXPECT_EQ(other->lock_count(), 0u);
}

TEST_F(LockingScanTest, WhatWasHeldSharedIsSharedAgain) {
  CommitRows({{1, 10, 1, "one"}});
  auto transaction = Begin();
  RowReader reader, other;
  StoredRow row;
  transaction->StartStatement();
  reader.Bind(store.get(), transaction.get(), access.get(), Locking());
  other.Bind(store.get(), transaction.get(), access.get(), Locking());
  const auto holds = [&](txn::LockMode mode) { return manager->locks().Holds(*transaction, PrimaryKey(1), mode); };
  ASSERT_TRUE(transaction->Lock(PrimaryKey(1), {.mode = txn::LockMode::kShared}, nullptr).ok());
  ASSERT_TRUE(reader.ByPrimaryKey(PrimaryKey(1), &row).ok());
  EXPECT_TRUE(holds(txn::LockMode::kExclusive));
  reader.UnlockLast();
  EXPECT_FALSE(holds(txn::LockMode::kExclusive));
  EXPECT_TRUE(holds(txn::LockMode::kShared));
  // Somebody else has locked it meanwhile, and may have changed it.
  ASSERT_TRUE(reader.ByPrimaryKey(PrimaryKey(1), &row).ok());
  ASSERT_TRUE(other.ByPrimaryKey(PrimaryKey(1), &row).ok());
  reader.UnlockLast();
  other.UnlockLast();
  EXPECT_TRUE(holds(txn::LockMode::kExclusive));
}

TEST_F(LockingScanTest, AUniqueKeyIsFollowedToTheRowItMovesTo) {
  CommitRows({{1, 10, 1}, {2, 20, 2}});
  // The row it belonged to stays, with another unique value.
  auto holder = Hold(1);
  const auto read = [&](Transaction& t) { return ByUnique(t, 10, Locking(LockWait::kWait)); };
  EXPECT_EQ(ReadAcross(*holder, read,
                       [&] {
                         ASSERT_TRUE(RemoveRow(*holder, {1, 10, 1}).ok());
                         ASSERT_TRUE(RemoveRow(*holder, {2, 20, 2}).ok());
                         ASSERT_TRUE(PutRow(*holder, {1, 20, 1}).ok());
                         ASSERT_TRUE(PutRow(*holder, {2, 10, 2, "swapped"}).ok());
                       }),
            "2:swapped");
  // The row it belonged to goes.
  holder = Hold(2);
  EXPECT_EQ(ReadAcross(*holder, read,
                       [&] {
                         ASSERT_TRUE(RemoveRow(*holder, {2, 10, 2, "swapped"}).ok());
                         ASSERT_TRUE(PutRow(*holder, {3, 10, 3, "heir"}).ok());
                       }),
            "3:heir");
  // Both go.
  holder = Hold(3);
  EXPECT_EQ(ReadAcross(*holder, read, [&] { ASSERT_TRUE(RemoveRow(*holder, {3, 10, 3, "heir"}).ok()); }), "-");
}

// As a child's check reads at READ COMMITTED, which does not keep the lock of a row that has gone while it waits for who puts it again.
TEST_F(LockingScanTest, ARowThatGoesAndComesAgainIsNoDamage) {
  CommitRows({{1, 10, 1}});
  auto holder = Hold(1), other = Begin(), transaction = Begin(txn::Isolation::kReadCommitted);
  ASSERT_TRUE(RemoveRow(*holder, {1, 10, 1}).ok());
  other->StartStatement();
  ASSERT_TRUE(other->Lock(UniqueKey(10), txn::kNoWait, nullptr).ok());
  ReadMode mode = Locking(LockWait::kWait);
  mode.ranges = true;
  std::string text;
  std::thread reading([&] { text = ByUnique(*transaction, 10, mode); });
  while (manager->locks().waiting_count() == 0) std::this_thread::yield();
  // Its wait for the row ends with this; the next one is for the entry.
  EXPECT_TRUE(holder->Commit(Durability::kOs).ok());
  while (manager->locks().waiting_count() == 0) std::this_thread::yield();
  EXPECT_TRUE(PutRow(*other, {1, 10, 1, "again"}).ok());
  EXPECT_TRUE(other->Commit(Durability::kOs).ok());
  reading.join();
  EXPECT_EQ(text, "1:again");
  EXPECT_EQ(transaction->lock_count(), 1u);
}

TEST_F(LockingScanTest, AUniqueEntryWithoutItsRowIsDamage) {
  CommitRows({{1, 10, 1}});
  store::Batch batch(*store);
  batch.Delete(store::Family::kData, PrimaryKey(1));
  ASSERT_TRUE(store->Write(batch, Durability::kOs).ok());
  for (const ReadMode& mode : {ReadMode::Consistent(), Locking()}) {
    auto transaction = Begin();
    RowReader reader;
    StoredRow row;
    transaction->StartStatement();
    reader.Bind(store.get(), transaction.get(), access.get(), mode);
    EXPECT_TRUE(reader.ByUniqueKey(kUnique, UniqueKey(10), &row).Is(Code::kCorruption));
  }
}

}  // namespace
}  // namespace cairn::scan
