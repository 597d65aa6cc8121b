// SPDX-License-Identifier: GPL-2.0-only
// Consistent walks: order, bounds, the transaction's own changes, read views, filters.
#include "scan/index_scan.h"

#include <functional>

#include <gtest/gtest.h>

#include "scan/scan_testing.h"

namespace cairn::scan {
namespace {

using Code = Status::Code;
using store::Durability;
using txn::Isolation;
using txn::Transaction;

class IndexScanTest : public ::testing::Test, public ScanFixture {
 protected:
  void SetUp() override { OpenAll(); }
  void TearDown() override { scan.Close(); }

  void OpenScan(Transaction& transaction, size_t index, EntryFilter* filter = nullptr, bool covering = false) {
    transaction.StartStatement();
    reader.Bind(store.get(), &transaction, access.get(), ReadMode::Consistent());
    scan.Open(&reader, {.index = index, .covering = covering, .filter = filter});
  }
  std::string Describe(const Status& status) const {
    if (status.ok()) return TextOf(row.row);
    return status.Is(Code::kNotFound) ? "-" : status.ToString();
  }
  std::string First(size_t index) {
    const auto [lower, upper] = Whole(index);
    return Describe(scan.First(lower, upper, &row));
  }
  std::string Last(size_t index) {
    const auto [lower, upper] = Whole(index);
    return Describe(scan.Last(lower, upper, &row));
  }
  std::string Next() { return Describe(scan.Next(&row)); }
  std::string Previous() { return Describe(scan.Previous(&row)); }

  // "1 2 3" between bounds.
  std::string Forward(const std::string& lower, const std::string& upper) {
    std::string text;
    Status status = scan.First(lower, upper, &row);
    for (; status.ok(); status = scan.Next(&row)) text += (text.empty() ? "" : " ") + TextOf(row.row);
    return status.Is(Code::kNotFound) ? text : text + status.ToString();
  }
  std::string Backward(const std::string& lower, const std::string& upper) {
    std::string text;
    Status status = scan.Last(lower, upper, &row);
    for (; status.ok(); status = scan.Previous(&row)) text += (text.empty() ? "" : " ") + TextOf(row.row);
    return status.Is(Code::kNotFound) ? text : text + status.ToString();
  }
  std::string All(Transaction& transaction, size_t index) {
    OpenScan(transaction, index);
    const auto [lower, upper] = Whole(index);
    const std::string text = Forward(lower, upper);
    scan.Close();
    transaction.EndStatement();
    return text;
  }

  RowReader reader;
  IndexScan scan;
  FoundRow row;
};

TEST_F(IndexScanTest, WalksEachIndexInItsOrderBothWays) {
  CommitRows({{1, 30, 5}, {2, kNull, 7}, {3, 10, 6}, {4, 20, 7}});
  auto transaction = Begin();
  const struct {
    size_t index;
    const char *forward, *backward;
  } walks[] = {{kPrimary, "1 2 3 4", "4 3 2 1"}, {kUnique, "2 3 4 1", "1 4 3 2"}, {kNumbers, "2 4 3 1", "1 3 4 2"}};
  for (const auto& walk : walks) {
    SCOPED_TRACE(walk.index);
    const auto [lower, upper] = Whole(walk.index);
    OpenScan(*transaction, walk.index);
    EXPECT_EQ(Forward(lower, upper), walk.forward);
    EXPECT_EQ(Backward(lower, upper), walk.backward);
  }
}

TEST_F(IndexScanTest, TurnsRoundAnywhereAndEndsAtBothEnds) {
  CommitRows({{1, 1, 1}, {2, 2, 2}, {3, 3, 3}});
  auto transaction = Begin();
  OpenScan(*transaction, kPrimary);
  EXPECT_EQ(First(kPrimary), "1");
  EXPECT_EQ(Next(), "2");
  EXPECT_EQ(Next(), "3");
  EXPECT_EQ(Previous(), "2");
  EXPECT_EQ(Next(), "3");
  EXPECT_EQ(Next(), "-");
  EXPECT_EQ(Next(), "-");
  EXPECT_EQ(Last(kPrimary), "3");
  EXPECT_EQ(Previous(), "2");
  EXPECT_EQ(Previous(), "1");
  EXPECT_EQ(Previous(), "-");
}

TEST_F(IndexScanTest, TurnsRoundAtTheEnds) {
  CommitRows({{1, 1, 1}, {2, 2, 2}, {3, 3, 3}});
  auto transaction = Begin();
  for (const bool locking : {false, true}) {
    SCOPED_TRACE(locking);
    transaction->StartStatement();
    reader.Bind(store.get(), transaction.get(), access.get(), locking ? Locking() : ReadMode::Consistent());
    scan.Open(&reader, {.index = kPrimary});
    for (const bool detached : {false, true}) {
      SCOPED_TRACE(detached);
      const auto pause = [&] {
        if (detached) scan.Detach();
      };
      EXPECT_EQ(Last(kPrimary), "3");
      EXPECT_EQ(Next(), "-");
      pause();
      EXPECT_EQ(Next(), "-");
      pause();
      EXPECT_EQ(Previous(), "3");
      EXPECT_EQ(Previous(), "2");
      EXPECT_EQ(Previous(), "1");
      EXPECT_EQ(Previous(), "-");
      pause();
      EXPECT_EQ(Previous(), "-");
      pause();
      EXPECT_EQ(Next(), "1");
      EXPECT_EQ(Next(), "2");
    }
    scan.Close();
  }
}

// As after a look for a key that is not there, or for all of a prefix.
TEST_F(IndexScanTest, GoesOnInWiderBoundsFromWhereItFoundNothing) {
  CommitRows({{1, 1, 10}, {3, 3, 30}, {5, 5, 50}, {7, 7, 70}});
  auto transaction = Begin();
  for (const bool covering : {false, true}) {
    OpenScan(*transaction, kPrimary, nullptr, covering);
    for (const bool detached : {false, true}) {
      SCOPED_TRACE(detached);
      const auto after = [&](int lower, int upper, bool forward) {
        const Status status = forward ? scan.First(PrimaryKey(lower), PrimaryKey(upper), &row)
                                      : scan.Last(PrimaryKey(lower), PrimaryKey(upper), &row);
        EXPECT_EQ(Describe(status), "-");
        if (detached) scan.Detach();
        scan.Widen();
      };
      for (const bool forward : {true, false}) {
        after(4, 5, forward);
        EXPECT_EQ(Next(), "5");
        EXPECT_EQ(Next(), "7");
        after(4, 5, forward);
        EXPECT_EQ(Previous(), "3");
        EXPECT_EQ(Previous(), "1");
        after(8, 9, forward);
        EXPECT_EQ(Next(), "-");
        EXPECT_EQ(Previous(), "7");
        after(0, 1, forward);
        EXPECT_EQ(Previous(), "-");
        EXPECT_EQ(Next(), "1");
      }
      EXPECT_EQ(Forward(PrimaryKey(3), PrimaryKey(6)), "3 5");
      scan.Widen();
      EXPECT_EQ(Next(), "7") << "the row at the bound itself is not passed over";
      EXPECT_EQ(Backward(PrimaryKey(3), PrimaryKey(6)), "5 3");
      scan.Widen();
      EXPECT_EQ(Previous(), "1");
      EXPECT_EQ(Forward(PrimaryKey(3), PrimaryKey(5)), "3");
      scan.Widen();
      EXPECT_EQ(Next(), "5");
    }
  }
}

TEST_F(IndexScanTest, BoundsIncludeTheLowerEndOnly) {
  CommitRows({{1, 1, 1}, {3, 3, 3}, {5, 5, 5}, {7, 7, 7}});
  auto transaction = Begin();
  OpenScan(*transaction, kPrimary);
  EXPECT_EQ(Forward(PrimaryKey(3), PrimaryKey(7)), "3 5");
  EXPECT_EQ(Backward(PrimaryKey(3), PrimaryKey(7)), "5 3");
  EXPECT_EQ(Forward(PrimaryKey(2), PrimaryKey(3)), "");
  EXPECT_EQ(Backward(PrimaryKey(8), PrimaryKey(9)), "");
  OpenScan(*transaction, kNumbers);  // descending: the greater number is the lower key
  EXPECT_EQ(Forward(NumberKey(7), NumberKey(3)), "7 5");
}

TEST_F(IndexScanTest, AnEmptyTableHasNoRowInAnyDirection) {
  auto transaction = Begin();
  for (const size_t index : {kPrimary, kUnique, kNumbers}) {
    OpenScan(*transaction, index);
    EXPECT_EQ(First(index), "-");
    EXPECT_EQ(Next(), "-");
    EXPECT_EQ(Last(index), "-");
    EXPECT_EQ(Previous(), "-");
  }
}

TEST_F(IndexScanTest, ShowsTheTransactionsOwnChangesToNobodyElse) {
  CommitRows({{1, 10, 1}, {2, 20, 2}, {3, 30, 3}});
  auto writer = Begin(), other = Begin();
  writer->StartStatement();
  ASSERT_TRUE(RemoveRow(*writer, {1, 10, 1}).ok());
  ASSERT_TRUE(RemoveRow(*writer, {2, 20, 2}).ok());
  ASSERT_TRUE(PutRow(*writer, {2, 5, 9, "new"}).ok());
  ASSERT_TRUE(PutRow(*writer, {4, 40, 0}).ok());
  writer->EndStatement();
  EXPECT_EQ(All(*writer, kPrimary), "2:new 3 4");
  EXPECT_EQ(All(*writer, kUnique), "2:new 3 4");
  EXPECT_EQ(All(*writer, kNumbers), "2:new 3 4");
  for (const size_t index : {kPrimary, kUnique}) EXPECT_EQ(All(*other, index), "1 2 3");
  EXPECT_EQ(All(*other, kNumbers), "3 2 1");
}

TEST_F(IndexScanTest, AReadViewStaysAsIsolationSays) {
  CommitRows({{1, 10, 1}, {2, 20, 2}});
  auto repeatable = Begin(), committed = Begin(Isolation::kReadCommitted);
  for (const size_t index : {kPrimary, kUnique}) {
    EXPECT_EQ(All(*repeatable, index), "1 2");
    EXPECT_EQ(All(*committed, index), "1 2");
  }
  CommitRemoval({{1, 10, 1}});
  CommitRows({{3, 30, 3}});
  ASSERT_TRUE(store->FlushMemtables().ok());
  for (const size_t index : {kPrimary, kUnique}) {
    EXPECT_EQ(All(*repeatable, index), "1 2");
    EXPECT_EQ(All(*committed, index), "2 3");
  }
}

// Others have passed on a unique value; the transaction removes the row that has it now, and not the one that has it in its view.
TEST_F(IndexScanTest, ARemovalHidesNoOtherRowOfTheView) {
  CommitRows({{1, 10, 1}, {2, 20, 2}, {3, 30, 3}});
  auto transaction = Begin();
  EXPECT_EQ(All(*transaction, kUnique), "1 2 3");
  CommitRemoval({{1, 10, 1}, {2, 20, 2}});
  CommitRows({{1, 40, 1}, {2, 10, 2}});
  transaction->StartStatement();
  ASSERT_TRUE(RemoveRow(*transaction, {2, 10, 2}).ok());
  ASSERT_TRUE(RemoveRow(*transaction, {3, 30, 3}).ok());
  transaction->EndStatement();
  EXPECT_EQ(All(*transaction, kPrimary), "1");
  EXPECT_EQ(All(*transaction, kUnique), "1");
  for (const bool covering : {false, true}) {
    OpenScan(*transaction, kUnique, nullptr, covering);
    const auto [lower, upper] = Whole(kUnique);
    ASSERT_TRUE(scan.Last(lower, upper, &row).ok());
    EXPECT_EQ(row.key, UniqueKey(10));
    EXPECT_TRUE(scan.Previous(&row).Is(Code::kNotFound));
    ASSERT_TRUE(scan.First(lower, upper, &row).ok());
    EXPECT_EQ(row.key, UniqueKey(10));
    EXPECT_TRUE(scan.Next(&row).Is(Code::kNotFound));
  }
  StoredRow found;
  ASSERT_TRUE(reader.ByUniqueKey(kUnique, UniqueKey(10), &found).ok());
  EXPECT_EQ(TextOf(found), "1");
  for (const int gone : {20, 30, 40}) EXPECT_TRUE(reader.ByUniqueKey(kUnique, UniqueKey(gone), &found).Is(Code::kNotFound)) << gone;
  // What it has removed itself is passed by one after the other, until the statement is to end.
  transaction->Interrupt();
  EXPECT_TRUE(scan.First(UniqueKey(11), Whole(kUnique).second, &row).Is(Code::kInterrupted));
  // Whoever looks at what is committed now finds neither.
  reader.Bind(store.get(), transaction.get(), access.get(), Locking());
  EXPECT_TRUE(reader.ByUniqueKey(kUnique, UniqueKey(10), &found).Is(Code::kNotFound));
}

TEST_F(IndexScanTest, ACoveringScanGivesEntriesWithoutRows) {
  CommitRows({{1, 10, 1}, {2, 20, 2}});
  // Without its row the first entry can only be given by a scan that does not look for it.
  store::Batch batch(*store);
  batch.Delete(store::Family::kData, PrimaryKey(1));
  ASSERT_TRUE(store->Write(batch, Durability::kOs).ok());
  auto transaction = Begin();
  OpenScan(*transaction, kUnique, nullptr, /*covering=*/true);
  const auto [lower, upper] = Whole(kUnique);
  ASSERT_TRUE(scan.First(lower, upper, &row).ok());
  EXPECT_EQ(row.key, UniqueKey(10));
  EXPECT_EQ(row.value, EntriesOf({1, 10, 1})[UniqueKey(10)]);
  OpenScan(*transaction, kUnique);
  EXPECT_TRUE(scan.First(lower, upper, &row).Is(Code::kCorruption));
}

TEST_F(IndexScanTest, ADetachedScanGoesOnFromItsPlace) {
  CommitRows({{1, 1, 1}, {2, 2, 2}, {3, 3, 3}, {4, 4, 4}});
  auto transaction = Begin(Isolation::kReadCommitted);
  OpenScan(*transaction, kPrimary);
  EXPECT_EQ(First(kPrimary), "1");
  EXPECT_EQ(Next(), "2");
  scan.Detach();
  scan.Detach();
  transaction->EndStatement();
  CommitRemoval({{2, 2, 2}, {3, 3, 3}});
  transaction->StartStatement();
  EXPECT_EQ(Next(), "4");
  scan.Detach();
  EXPECT_EQ(Previous(), "1");
  scan.Detach();
  EXPECT_EQ(Previous(), "-");
  scan.Close();
  scan.Detach();
  EXPECT_FALSE(scan.is_open());
}

TEST_F(IndexScanTest, DetachedAtItsEndItStaysThere) {
  CommitRows({{1, 1, 1}});
  auto transaction = Begin();
  OpenScan(*transaction, kPrimary);
  EXPECT_EQ(First(kPrimary), "1");
  EXPECT_EQ(Next(), "-");
  scan.Detach();
  EXPECT_EQ(Next(), "-");
}

TEST_F(IndexScanTest, WideningKeepsThePlace) {
  CommitRows({{1, 1, 1}, {2, 2, 2}, {3, 3, 3}, {4, 4, 4}});
  auto transaction = Begin();
  OpenScan(*transaction, kPrimary);
  ASSERT_TRUE(scan.First(PrimaryKey(2), PrimaryKey(3), &row).ok());
  scan.Widen();
  EXPECT_EQ(Next(), "3");
  EXPECT_EQ(Next(), "4");
  ASSERT_TRUE(scan.First(PrimaryKey(3), PrimaryKey(4), &row).ok());
  scan.WidenDownwards();
  EXPECT_EQ(Previous(), "2");
  scan.WidenDownwards();
  EXPECT_EQ(Previous(), "1");
  EXPECT_EQ(Previous(), "-");
}

// A scan whose cursor was opened before the transaction's first write to the index may show rows
// that the transaction has removed since; it passes over them or shows them, but never takes them for damage.
TEST_F(IndexScanTest, RowsTheTransactionRemovesInFrontOfAnOpenScanAreNoDamage) {
  for (const bool locking : {false, true}) {
    CommitRows({{1, 1, 1}, {2, 2, 2}, {3, 3, 3}});
    auto transaction = Begin();
    transaction->StartStatement();
    reader.Bind(store.get(), transaction.get(), access.get(), locking ? Locking() : ReadMode::Consistent());
    scan.Open(&reader, {.index = kUnique});
    EXPECT_EQ(First(kUnique), "1");
    ASSERT_TRUE(RemoveRow(*transaction, {2, 2, 2}).ok());
    EXPECT_EQ(Next(), "3");
    EXPECT_EQ(Next(), "-");
    scan.Close();
    ASSERT_TRUE(transaction->Rollback().ok());
  }
}

class CallbackFilter final : public EntryFilter {
 public:
  explicit CallbackFilter(std::function<Verdict(ByteView)> check) : check_(std::move(check)) {}
  Verdict Check(ByteView key, ByteView) override {
    const Verdict verdict = check_(key);
    if (verdict == Verdict::kFailed) failure_ = Status::Corruption("what it found");
    return verdict;
  }

 private:
  const std::function<Verdict(ByteView)> check_;
};

TEST_F(IndexScanTest, FiltersSkipEndInterruptAndFail) {
  CommitRows({{1, 1, 1}, {2, 2, 2}, {3, 3, 3}, {4, 4, 4}});
  const auto [lower, upper] = Whole(kUnique);
  const auto walk = [&](EntryFilter::Verdict at_three) {
    auto transaction = Begin();
    CallbackFilter filter([&](ByteView key) {
      if (key == UniqueKey(2)) return EntryFilter::Verdict::kSkip;
      return key == UniqueKey(3) ? at_three : EntryFilter::Verdict::kTake;
    });
    OpenScan(*transaction, kUnique, &filter);
    const std::string text = Forward(lower, upper) + "|" + Backward(lower, upper);
    scan.Close();
    return text;
  };
  EXPECT_EQ(walk(EntryFilter::Verdict::kTake), "1 3 4|4 3 1");
  EXPECT_EQ(walk(EntryFilter::Verdict::kSkip), "1 4|4 1");
  EXPECT_EQ(walk(EntryFilter::Verdict::kEnd), "1|4");
  const std::string interrupted = Status::Of(Code::kInterrupted).ToString();
  EXPECT_EQ(walk(EntryFilter::Verdict::kInterrupted), "1" + interrupted + "|4" + interrupted);
  const std::string failed = Status::Corruption("what it found").ToString();
  EXPECT_EQ(walk(EntryFilter::Verdict::kFailed), "1" + failed + "|4" + failed);
}

TEST_F(IndexScanTest, WhatTheFilterSkipsIsNeitherLockedNorFetched) {
  CommitRows({{1, 1, 1}, {2, 2, 2}});
  auto holder = Begin(), transaction = Begin();
  ASSERT_TRUE(holder->Lock(PrimaryKey(1), {}, nullptr).ok());
  CallbackFilter filter([&](ByteView key) {
    return key == UniqueKey(1) ? EntryFilter::Verdict::kSkip : EntryFilter::Verdict::kTake;
  });
  transaction->StartStatement();
  reader.Bind(store.get(), transaction.get(), access.get(), Locking());
  scan.Open(&reader, {.index = kUnique, .filter = &filter});
  EXPECT_EQ(First(kUnique), "2");
  EXPECT_EQ(Next(), "-");
  EXPECT_EQ(transaction->lock_count(), 1u);
}

}  // namespace
}  // namespace cairn::scan
