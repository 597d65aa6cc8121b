// SPDX-License-Identifier: GPL-2.0-only
// What is locked for a row that is written, or that meets a duplicate, and for whom it waits.
#include <atomic>
#include <thread>

#include "base/index_bounds.h"
#include "dml/row_writer_testing.h"
#include "txn/range_walk.h"

namespace cairn::dml {
namespace {

using Code = Status::Code;
using store::Durability;
using txn::kNoWait;
using txn::Transaction;

class RowWriterLocksTest : public SmallTableTest {
 protected:
  void SetUp() override {
    lock_options.now_us = txn::TestClock::NowUs;
    SmallTableTest::SetUp();
  }
};

TEST_F(RowWriterLocksTest, KeysBeingWrittenAreLockedForOthers) {
  auto first = Begin(), second = Begin();
  ASSERT_TRUE(Insert(*first, Row(1, 10, "a")).ok());
  EXPECT_TRUE(Insert(*second, Row(1, 20, "b")).Is(Code::kLockBusy));
  EXPECT_TRUE(Insert(*second, Row(2, 10, "b")).Is(Code::kLockBusy));
  // Equal values of an index that is not unique do not meet.
  EXPECT_TRUE(Insert(*second, Row(3, -1, "a")).ok());
  EXPECT_TRUE(Insert(*first, Row(4, -1, "a")).ok());
  ASSERT_TRUE(first->Commit(Durability::kOs).ok());
  EXPECT_TRUE(Insert(*second, Row(1, 20, "b")).Is(Code::kDuplicateKey));
  ASSERT_TRUE(second->Commit(Durability::kOs).ok());
  EXPECT_EQ(Committed(), EntriesOf({Row(1, 10, "a"), Row(3, -1, "a"), Row(4, -1, "a")}));
}

// Who meets a duplicate wants it to stay, and nothing else: others may meet it too, and write what was not written.
TEST_F(RowWriterLocksTest, ADuplicateIsLockedSharedAndNothingElse) {
  const TestRecord one = Row(1, 10, "a"), two = Row(2, 20, "b");
  CommitRows({one, two});
  auto first = Begin(), second = Begin();
  for (Transaction* transaction : {first.get(), second.get()}) {
    EXPECT_TRUE(Insert(*transaction, Row(1, 30, "x")).Is(Code::kDuplicateKey));
    EXPECT_TRUE(Insert(*transaction, Row(3, 20, "x")).Is(Code::kDuplicateKey));
    EXPECT_EQ(writer.duplicate_primary_key(), PrimaryKey(two));
    EXPECT_TRUE(Insert(*transaction, one).Is(Code::kDuplicateKey));
    EXPECT_EQ(transaction->lock_count(), 2u);
    for (const TestRecord& row : {one, two}) {
      EXPECT_TRUE(manager->locks().Holds(*transaction, PrimaryKey(row), txn::LockMode::kShared));
      EXPECT_FALSE(manager->locks().Holds(*transaction, PrimaryKey(row), txn::LockMode::kExclusive));
    }
  }
  ASSERT_TRUE(Insert(*second, Row(3, 30, "c")).ok());
  EXPECT_TRUE(second->Lock(PrimaryKey(one), kNoWait, nullptr).Is(Code::kLockBusy));
  ASSERT_TRUE(first->Rollback().ok());
  EXPECT_TRUE(second->Lock(PrimaryKey(one), kNoWait, nullptr).ok());
  ASSERT_TRUE(second->Commit(Durability::kOs).ok());
  EXPECT_EQ(Committed(), EntriesOf({one, two, Row(3, 30, "c")}));
}

// What was held before stays as strong as it was.
TEST_F(RowWriterLocksTest, ADuplicateWeakensNoEarlierLock) {
  const TestRecord one = Row(1, 10, "a");
  CommitRows({one});
  auto transaction = Begin();
  ASSERT_TRUE(transaction->Lock(PrimaryKey(one), kNoWait, nullptr).ok());
  ASSERT_TRUE(Insert(*transaction, Row(2, 20, "b")).ok());
  const uint64_t lock_count = transaction->lock_count();
  EXPECT_TRUE(Insert(*transaction, Row(1, 30, "x")).Is(Code::kDuplicateKey));
  EXPECT_TRUE(Insert(*transaction, Row(2, 30, "x")).Is(Code::kDuplicateKey));
  EXPECT_TRUE(Insert(*transaction, Row(3, 20, "x")).Is(Code::kDuplicateKey));
  EXPECT_TRUE(Insert(*transaction, Row(3, 10, "x")).Is(Code::kDuplicateKey));
  EXPECT_EQ(transaction->lock_count(), lock_count);
  for (const TestRecord& row : {one, Row(2, 20, "b")}) {
    EXPECT_TRUE(manager->locks().Holds(*transaction, PrimaryKey(row), txn::LockMode::kExclusive));
  }
  auto other = Begin();
  EXPECT_TRUE(Insert(*other, Row(4, 20, "x")).Is(Code::kLockBusy));
}

// REPLACE and ON DUPLICATE KEY UPDATE change the row next: two with shared locks would wait for each other.
TEST_F(RowWriterLocksTest, ADuplicateThatIsToBeChangedIsLockedExclusively) {
  const TestRecord one = Row(1, 10, "a"), two = Row(2, 20, "b");
  CommitRows({one, two});
  auto first = Begin(), second = Begin();
  const auto insert = [&](Transaction& transaction, const TestRecord& row) {
    Bind(transaction);
    writer.SetChangesDuplicates();
    return writer.Insert({row.data()});
  };
  EXPECT_TRUE(insert(*first, Row(1, 30, "x")).Is(Code::kDuplicateKey));
  EXPECT_TRUE(insert(*first, Row(3, 20, "x")).Is(Code::kDuplicateKey));
  // Whoever wants the entry too waits for that, and not for the row: one by one they are let in.
  EXPECT_TRUE(manager->locks().Holds(*first, UniqueKey(two), txn::LockMode::kExclusive));
  for (const TestRecord& row : {one, two}) {
    EXPECT_TRUE(manager->locks().Holds(*first, PrimaryKey(row), txn::LockMode::kExclusive));
    EXPECT_TRUE(insert(*second, row).Is(Code::kLockBusy));
    EXPECT_TRUE(Insert(*second, row).Is(Code::kLockBusy));
  }
  EXPECT_TRUE(insert(*second, Row(4, 20, "x")).Is(Code::kLockBusy));
  // The key of the row to be written, until it is.
  EXPECT_TRUE(Insert(*second, Row(3, 40, "x")).Is(Code::kLockBusy));
  // Who has a row locked may put another one with its unique value.
  auto third = Begin();
  ASSERT_TRUE(first->Rollback().ok());
  ASSERT_TRUE(third->Lock(PrimaryKey(two), kNoWait, nullptr).ok());
  EXPECT_TRUE(insert(*second, Row(5, 20, "x")).Is(Code::kLockBusy));
  EXPECT_TRUE(third->Lock(UniqueKey(two), kNoWait, nullptr).ok());
}

// A hidden key is nobody else's: a row that is not written needs no lock on it, and each attempt has another.
TEST_F(RowWriterLocksTest, ARowThatIsNotWrittenLeavesNoLockOnItsHiddenKey) {
  using catalog::IndexKind;
  using catalog::testing::MakeIndex;
  access = catalog::testing::MakeAccess(
      catalog::testing::MakeDef("test/h", layout,
                                {MakeIndex(IndexKind::kHiddenPrimary, "PRIMARY", {}, 4),
                                 MakeIndex(IndexKind::kUnique, "u", {{.column = 1}}, 5)}),
      layout);
  uint64_t row_id = 0;
  const auto insert = [&](Transaction& transaction, int32_t unique, bool changes_duplicates) {
    Bind(transaction);
    if (changes_duplicates) writer.SetChangesDuplicates();
    return writer.Insert({Row(1, unique, "a").data(), ++row_id});
  };
  auto first = Begin(), second = Begin(), reader = Begin();
  ASSERT_TRUE(insert(*first, 10, false).ok());
  EXPECT_EQ(first->lock_count(), 2u);
  ASSERT_TRUE(first->Commit(Durability::kOs).ok());
  for (const bool changes_duplicates : {false, true}) {
    for (int attempt = 0; attempt < 3; ++attempt) {
      EXPECT_TRUE(insert(*second, 10, changes_duplicates).Is(Code::kDuplicateKey));
      // The row in the way; and its entry.
      EXPECT_EQ(second->lock_count(), changes_duplicates ? 2u : 1u);
    }
  }
  const IndexId index = access->indexes()[1].id();
  const IndexBounds bounds(index);
  txn::RangeWalk walk;
  ASSERT_TRUE(walk.Begin(reader.get(), index, bounds.lower(), bounds.upper(), true, true).ok());
  ASSERT_TRUE(walk.Look({}).ok());
  ASSERT_TRUE(walk.ExtendToEnd());
  EXPECT_TRUE(insert(*second, 20, false).Is(Code::kLockBusy));
  EXPECT_EQ(second->lock_count(), 2u);
  walk.End();
  ASSERT_TRUE(reader->Rollback().ok());
  EXPECT_TRUE(insert(*second, 20, false).ok());
  EXPECT_EQ(second->lock_count(), 4u);
}

// A unique key whose row another transaction is deleting is neither free nor taken until that ends.
TEST_F(RowWriterLocksTest, AUniqueKeyWaitsForTheDeletionOfItsRow) {
  for (const bool commits : {true, false}) {
    SCOPED_TRACE(commits);
    const int32_t unique = commits ? 10 : 20;
    CommitRows({Row(unique, unique, "a")});
    auto first = Begin(), second = Begin();
    Bind(*first);
    const TestRecord old = Row(unique, unique, "a");
    ByteBuffer key;
    access->primary().EncodePrimaryKey(old.data(), 0, &key);
    ASSERT_TRUE(first->Lock(key.view(), kNoWait, nullptr).ok());
    ASSERT_TRUE(writer.Delete({old.data()}).ok());
    Status inserted;
    std::thread other([&] {
      RowWriter second_writer;
      second->StartStatement();
      second_writer.Bind(second.get(), access.get(), {.mode = txn::LockMode::kExclusive});
      inserted = second_writer.Insert({Row(unique + 1, unique, "b").data()});
    });
    while (manager->locks().waiting_count() == 0) std::this_thread::yield();
    ASSERT_TRUE((commits ? first->Commit(Durability::kOs) : first->Rollback()).ok());
    other.join();
    EXPECT_EQ(inserted.ok(), commits) << inserted.ToString();
    EXPECT_EQ(inserted.Is(Code::kDuplicateKey), !commits) << inserted.ToString();
    ASSERT_TRUE(second->Commit(Durability::kOs).ok());
  }
  EXPECT_EQ(Committed(), EntriesOf({Row(11, 10, "b"), Row(20, 20, "a")}));
}

// Not everybody undoes the statement after a wait in vain. All of an index is locked by a reader, so that a row gets no entry there.
TEST_F(RowWriterLocksTest, ARowThatWaitsInVainForARangeChangesNothing) {
  const TestRecord one = Row(1, 10, "a");
  CommitRows({one});
  for (const bool has_written : {false, true}) {
    SCOPED_TRACE(has_written);
    const IndexId index = access->indexes()[2].id();
    const IndexBounds bounds(index);
    auto reader = Begin(), transaction = Begin();
    txn::RangeWalk walk;
    ASSERT_TRUE(walk.Begin(reader.get(), index, bounds.lower(), bounds.upper(), true, true).ok());
    ASSERT_TRUE(walk.Look({}).ok());
    ASSERT_TRUE(walk.ExtendToEnd());
    ByteBuffer key;
    access->primary().EncodePrimaryKey(one.data(), 0, &key);
    ASSERT_TRUE(transaction->Lock(key.view(), kNoWait, nullptr).ok());
    if (has_written) {
      ASSERT_TRUE(Update(*transaction, one, Row(1, 11, "a"), {1}).ok());
    }
    const int32_t unique = has_written ? 11 : 10;
    const uint64_t lock_count = transaction->lock_count();
    EXPECT_TRUE(Insert(*transaction, Row(2, 20, "b")).Is(Code::kLockBusy));
    EXPECT_TRUE(Update(*transaction, Row(1, unique, "a"), Row(3, 30, "c"), {0, 1, 2}).Is(Code::kLockBusy));
    EXPECT_TRUE(Update(*transaction, Row(1, unique, "a"), Row(1, unique, "d"), {2}).Is(Code::kLockBusy));
    EXPECT_EQ(transaction->HasWrites(), has_written);
    EXPECT_EQ(transaction->PendingTableCounters(TableId(1)).row_count, 0);
    walk.End();
    // Nor does it keep the keys.
    ASSERT_TRUE(reader->Lock(PrimaryKey(Row(2, 20, "b")), kNoWait, nullptr).ok());
    EXPECT_EQ(transaction->lock_count(), lock_count);
    ASSERT_TRUE(reader->Rollback().ok());
    ASSERT_TRUE(Insert(*transaction, Row(2, 20, "b")).ok());
    ASSERT_TRUE(writer.Delete({Row(2, 20, "b").data()}).ok());
    ASSERT_TRUE(transaction->Commit(Durability::kOs).ok());
    EXPECT_EQ(Committed(), EntriesOf({Row(1, unique, "a")}));
    EXPECT_EQ(live[TableId(1)].row_count, 1);
  }
}

// An insertion on a thread of its own, which may wait.
class Insertion {
 public:
  Insertion(Transaction& transaction, const catalog::TableAccess& access, const codec::testing::TestRecord& record)
      : thread_([this, &transaction, &access, record] {
          transaction.StartStatement();
          writer_.Bind(&transaction, &access, {.mode = txn::LockMode::kExclusive});
          status_ = writer_.Insert({record.data()});
          ended_ = true;
        }) {}
  bool ended() const { return ended_; }
  Status Join() {
    thread_.join();
    return std::move(status_);
  }
  const RowWriter& writer() const { return writer_; }

 private:
  RowWriter writer_;
  Status status_;
  std::atomic<bool> ended_{false};
  std::thread thread_;
};

// Whoever holds the range may insert there himself: who waits for him has nothing that he could want.
TEST_F(RowWriterLocksTest, WhoWaitsForARangeKeepsNoKeyOfTheRow) {
  for (const size_t index : {0, 1, 2}) {
    SCOPED_TRACE(index);
    const IndexId id = access->indexes()[index].id();
    const IndexBounds bounds(id);
    auto reader = Begin(), other = Begin();
    const int32_t at = static_cast<int32_t>(index) * 10 + 1;
    const TestRecord row = Row(at, at, "b");
    txn::RangeWalk walk;
    ASSERT_TRUE(walk.Begin(reader.get(), id, bounds.lower(), bounds.upper(), true, true).ok());
    ASSERT_TRUE(walk.Look({}).ok());
    ASSERT_TRUE(walk.ExtendToEnd());
    walk.End();
    Insertion insertion(*other, *access, row);
    while (manager->locks().waiting_count() == 0) std::this_thread::yield();
    EXPECT_EQ(other->lock_count(), 0u);
    EXPECT_TRUE(Insert(*reader, row).ok());
    ASSERT_TRUE(reader->Commit(Durability::kOs).ok());
    EXPECT_TRUE(insertion.Join().Is(Code::kDuplicateKey));
    EXPECT_EQ(insertion.writer().duplicate_index(), 0u);
    EXPECT_EQ(other->lock_count(), 1u);
    EXPECT_FALSE(other->HasWrites());
    EXPECT_EQ(manager->locks().deadlock_count(), 0u);
  }
}

TEST_F(RowWriterLocksTest, OneRangeAfterTheOtherIsWaitedForInOneTime) {
  const IndexBounds bounds(access->indexes()[2].id());
  auto one = Begin(), two = Begin(), other = Begin();
  txn::RangeWalk walk_one, walk_two;
  for (auto [reader, walk] : {std::pair(one.get(), &walk_one), std::pair(two.get(), &walk_two)}) {
    ASSERT_TRUE(walk->Begin(reader, access->indexes()[2].id(), bounds.lower(), bounds.upper(), true, true).ok());
    ASSERT_TRUE(walk->Look({}).ok());
    ASSERT_TRUE(walk->ExtendToEnd());
  }
  RowWriter other_writer;
  const auto insert = [&] {
    other->StartStatement();
    other_writer.Bind(other.get(), access.get(), {.mode = txn::LockMode::kExclusive});
    return other_writer.Insert({Row(1, 10, "a").data()});
  };
  ExpectOneTime(insert, *other, [&] {
    walk_one.End();
    EXPECT_TRUE(one->Rollback().ok());
  });
  EXPECT_EQ(other->lock_count(), 0u);
  EXPECT_FALSE(other->HasWrites());
}

// Who waits for a range, a row and another range has not waited for the last one yet.
TEST_F(RowWriterLocksTest, ARangeThatComesAfterAnotherWaitHasItsOwnTime) {
  txn::HourObserver observer;
  ObserveWaits(&observer);
  const TestRecord row = Row(1, 10, "a");
  auto one = Begin(), two = Begin(), holder = Begin(), other = Begin();
  const auto lock_all = [&](Transaction& reader, size_t index) {
    const IndexId id = access->indexes()[index].id();
    const IndexBounds bounds(id);
    txn::RangeWalk walk;
    EXPECT_TRUE(walk.Begin(&reader, id, bounds.lower(), bounds.upper(), true, true).ok());
    EXPECT_TRUE(walk.Look({}).ok());
    EXPECT_TRUE(walk.ExtendToEnd());
    walk.End();
  };
  lock_all(*one, 0);
  lock_all(*two, 2);
  Insertion insertion(*other, *access, row);
  const auto await_wait = [&] {
    while (manager->locks().waiting_count() == 0 && !insertion.ended()) std::this_thread::yield();
  };
  await_wait();
  ASSERT_TRUE(holder->Lock(PrimaryKey(row), kNoWait, nullptr).ok());
  ASSERT_TRUE(one->Rollback().ok());
  await_wait();
  ASSERT_TRUE(holder->Rollback().ok());
  await_wait();
  // Time for it to give up.
  for (int i = 0; i < 10'000 && !insertion.ended(); ++i) std::this_thread::yield();
  ASSERT_TRUE(two->Rollback().ok());
  const Status status = insertion.Join();
  EXPECT_TRUE(status.ok()) << status.ToString();
  EXPECT_EQ(other->lock_count(), 2u);
}

// The same of who waits for the row of a unique entry: another row may get the entry meanwhile.
TEST_F(RowWriterLocksTest, WhoWaitsForARowDoesNotKeepItsUniqueEntry) {
  for (const bool inserts : {true, false}) {
    SCOPED_TRACE(inserts);
    const TestRecord old = Row(inserts ? 1 : 4, 10, "c");
    if (inserts) CommitRows({old});
    auto first = Begin(), second = Begin();
    ASSERT_TRUE(first->Lock(PrimaryKey(old), kNoWait, nullptr).ok());
    Bind(*first);
    ASSERT_TRUE(writer.Delete({old.data()}).ok());
    Insertion insertion(*second, *access, Row(9, 10, "b"));
    while (manager->locks().waiting_count() == 0) std::this_thread::yield();
    EXPECT_EQ(second->lock_count(), 1u);
    if (inserts) {
      EXPECT_TRUE(Insert(*first, Row(4, 10, "c")).ok());
    }
    ASSERT_TRUE(first->Commit(Durability::kOs).ok());
    const Status status = insertion.Join();
    EXPECT_EQ(status.Is(Code::kDuplicateKey), inserts) << status.ToString();
    EXPECT_EQ(insertion.writer().duplicate_primary_key(), PrimaryKey(inserts ? Row(4, 10, "c") : old));
    // The row that was waited for is nobody's business any more.
    EXPECT_EQ(second->lock_count(), inserts ? 1u : 2u);
    ASSERT_TRUE(second->Commit(Durability::kOs).ok());
    EXPECT_EQ(manager->locks().deadlock_count(), 0u);
  }
  EXPECT_EQ(Committed(), EntriesOf({Row(9, 10, "b")}));
}

}  // namespace
}  // namespace cairn::dml
