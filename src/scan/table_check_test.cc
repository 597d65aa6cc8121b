// SPDX-License-Identifier: GPL-2.0-only
// What CHECK TABLE finds in a table that was damaged on purpose.
#include "scan/table_check.h"

#include <atomic>

#include <gtest/gtest.h>

#include "scan/scan_testing.h"

namespace cairn::scan {
namespace {

using Code = Status::Code;
using store::Durability;
using store::Family;

class TableCheckTest : public ::testing::Test, public ScanFixture {
 protected:
  void SetUp() override {
    OpenAll();
    CommitRows({{1, 10, 1, "a"}, {2, 20, 2, "b"}, {3, kNull, 3, "c"}});
  }

  void PutRaw(const std::string& key, ByteView value) {
    store::Batch batch(*store);
    batch.Put(Family::kData, key, value);
    ASSERT_TRUE(store->Write(batch, Durability::kOs).ok());
  }
  void DeleteRaw(const std::string& key) {
    store::Batch batch(*store);
    batch.Delete(Family::kData, key);
    ASSERT_TRUE(store->Write(batch, Durability::kOs).ok());
  }
  // The key of a row's entry in an index.
  std::string EntryKey(const Row& row, size_t index) const {
    const auto [lower, upper] = Whole(index);
    for (const auto& [key, value] : EntriesOf(row)) {
      if (key >= lower && key < upper) return key;
    }
    return "";
  }

  CheckResult Check(bool extended = true) {
    CheckResult result;
    const Status status = CheckTable(*store, *access, {.extended = extended, .complete_record = {}, .interrupted = {}}, &result);
    EXPECT_TRUE(status.ok()) << status.ToString();
    EXPECT_EQ(result.problems.size(), result.problem_count);
    return result;
  }
  // The problems as lines.
  std::string Problems(bool extended = true) {
    std::string text;
    for (const std::string& problem : Check(extended).problems) text += problem + "\n";
    return text;
  }
};

TEST_F(TableCheckTest, AWholeTableHasNoProblems) {
  EXPECT_EQ(Problems(), "");
  EXPECT_EQ(Problems(false), "");
  EXPECT_EQ(Check().rows, 3u);
  CommitRemoval({{1, 10, 1, "a"}, {2, 20, 2, "b"}, {3, kNull, 3, "c"}});
  EXPECT_EQ(Problems(), "");
  EXPECT_EQ(Check().rows, 0u);
}

TEST_F(TableCheckTest, FindsAMissingEntry) {
  DeleteRaw(EntryKey({2, 20, 2, "b"}, kNumbers));
  EXPECT_EQ(Problems(), "a row has no entry in index n\nindex n has 2 entries for 3 rows\n");
  EXPECT_EQ(Problems(false), "index n has 2 entries for 3 rows\n");
}

TEST_F(TableCheckTest, FindsAnEntryWithoutARow) {
  PutRaw(EntryKey({4, 40, 4}, kNumbers), EntriesOf({4, 40, 4})[EntryKey({4, 40, 4}, kNumbers)]);
  EXPECT_EQ(Problems(), "an entry of index n has no row\nindex n has 4 entries for 3 rows\n");
}

TEST_F(TableCheckTest, FindsASecondEntryOfARow) {
  PutRaw(EntryKey({1, 10, 7}, kNumbers), "");
  EXPECT_EQ(Problems(), "index n has 4 entries for 3 rows\n");
}

TEST_F(TableCheckTest, FindsAnEntryUnderTheWrongKey) {
  DeleteRaw(EntryKey({1, 10, 1}, kNumbers));
  PutRaw(EntryKey({1, 10, 7}, kNumbers), "");
  EXPECT_EQ(Problems(), "a row has no entry in index n\n");
}

TEST_F(TableCheckTest, FindsAnEntryThatLeadsToAnotherRow) {
  PutRaw(UniqueKey(10), EntriesOf({2, 10, 2})[UniqueKey(10)]);
  EXPECT_EQ(Problems(), "an entry of index u differs from its row\n");
  EXPECT_EQ(Problems(false), "");
}

TEST_F(TableCheckTest, FindsARowThatCannotBeRead) {
  PutRaw(PrimaryKey(2), "\xff\xff");
  const CheckResult result = Check();
  EXPECT_EQ(result.problem_count, 1u);
  EXPECT_EQ(result.rows, 3u);
  EXPECT_NE(result.problems[0].find(CodeName(Code::kCorruption)), std::string::npos) << result.problems[0];
  EXPECT_EQ(Check(false).problem_count, 1u);
}

TEST_F(TableCheckTest, FindsAnEntryThatCannotBeRead) {
  PutRaw(UniqueKey(10), "\xff");
  EXPECT_NE(Problems(), "");
  const auto [lower, upper] = Whole(kNumbers);
  PutRaw(lower + "x", "");
  EXPECT_NE(Problems(false).find("index n has 4 entries"), std::string::npos);
}

TEST_F(TableCheckTest, ManyProblemsAreCountedAndAFewAreKept) {
  for (int id = 100; id < 200; ++id) CommitRows({{id, id, id}});
  for (int id = 100; id < 200; ++id) DeleteRaw(UniqueKey(id));
  CheckResult result;
  ASSERT_TRUE(CheckTable(*store, *access, {}, &result).ok());
  EXPECT_EQ(result.problem_count, 101u);
  EXPECT_EQ(result.problems.size(), 20u);
}

TEST_F(TableCheckTest, EndsWhenInterrupted) {
  for (int id = 100; id < 500; ++id) CommitRows({{id, id, id}});
  CheckResult result;
  int asked = 0;
  const CheckOptions options{.extended = true, .complete_record = {}, .interrupted = [&] { return ++asked == 2; }};
  EXPECT_TRUE(CheckTable(*store, *access, options, &result).Is(Code::kInterrupted));
  EXPECT_EQ(asked, 2);
}

// None of them is shown to whoever asks now and then.
TEST_F(TableCheckTest, EndsWhenInterruptedAmongRowsThatWereRemoved) {
  constexpr int kRemoved = 2 * store::CursorOptions::kHiddenPerPoll;
  for (const bool put : {true, false}) {
    auto transaction = Begin();
    transaction->StartStatement();
    for (int id = 100; id < 100 + kRemoved; ++id) {
      const Row row{id, id, id};
      ASSERT_TRUE((put ? PutRow(*transaction, row) : RemoveRow(*transaction, row)).ok());
    }
    ASSERT_TRUE(transaction->Commit(Durability::kOs).ok());
  }
  std::atomic<bool> flag{false};
  const CheckOptions options{.extended = true, .complete_record = {}, .interrupted = {}, .interrupt_flag = &flag};
  CheckResult whole;
  ASSERT_TRUE(CheckTable(*store, *access, options, &whole).ok());
  EXPECT_EQ(whole.rows, 3u);
  flag = true;
  CheckResult interrupted;
  EXPECT_TRUE(CheckTable(*store, *access, options, &interrupted).Is(Code::kInterrupted));
}

// b INT virtual, always a + 1, with an index: rows do not hold it.
TEST_F(TableCheckTest, VirtualColumnsAreComputedBeforeEntriesAreCompared) {
  using codec::ColumnType;
  const codec::RecordLayout columns = codec::testing::LayoutBuilder()
                                          .Add(ColumnType::kInteger, 4, false)
                                          .Add(ColumnType::kInteger, 4, false)
                                          .Virtual()
                                          .layout();
  using catalog::IndexKind;
  using catalog::testing::MakeIndex;
  const auto table = catalog::testing::MakeAccess(
      catalog::testing::MakeDef("test/v", columns,
                                {MakeIndex(IndexKind::kPrimary, "PRIMARY", {{.column = 0}}, 21),
                                 MakeIndex(IndexKind::kSecondary, "b", {{.column = 1}}, 22)}),
      columns);
  codec::testing::TestRecord record(columns);
  const int32_t a = 4, b = 5;
  record.Set(0, AsBytes(&a, 4));
  record.Set(1, AsBytes(&b, 4));
  catalog::testing::Entries entries;
  catalog::testing::AddEntriesOf(*table, record.data(), 0, &entries);
  for (const auto& [key, value] : entries) PutRaw(key, value);
  const auto problems = [&](uint32_t added) {
    CheckOptions options;
    options.complete_record = [&](uint8_t* to) {
      StoreLe32(to + columns.columns[1].offset, LoadLe32(to + columns.columns[0].offset) + added);
    };
    CheckResult result;
    EXPECT_TRUE(CheckTable(*store, *table, options, &result).ok());
    return result.problem_count;
  };
  EXPECT_EQ(problems(1), 0u);
  EXPECT_EQ(problems(2), 1u);
}

}  // namespace
}  // namespace cairn::scan
