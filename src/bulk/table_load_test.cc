// SPDX-License-Identifier: GPL-2.0-only
// In whatever order rows come, in the end the store holds their entries, or none.
#include "bulk/table_load.h"

#include <algorithm>
#include <random>

#include <gtest/gtest.h>

#include "base/index_bounds.h"
#include "catalog/catalog.h"
#include "catalog/testing.h"
#include "store/store_testing.h"

namespace cairn::bulk {
namespace {

using catalog::IndexKind;
using catalog::testing::MakeIndex;
using codec::ColumnType;
using codec::testing::TestRecord;
using Code = Status::Code;

// id INT primary key, u INT NULL unique, n INT, t VARCHAR.
struct Row {
  int id, unique, number;
};
constexpr int kNull = -1;
constexpr size_t kTextBytes = 2000;
constexpr int kManyRows = 4000;  // more than kSmallBytes

class TableLoadTest : public ::testing::Test, public store::StoreFixture {
 protected:
  void SetUp() override {
    Open();
    layout = codec::testing::LayoutBuilder()
                 .Add(ColumnType::kInteger, 4, false)
                 .Add(ColumnType::kInteger, 4, true)
                 .Add(ColumnType::kInteger, 4, false)
                 .Add(ColumnType::kVarchar, kTextBytes, false)
                 .layout();
    NewTable();
  }

  void NewTable() {
    const uint32_t id = next_id_;
    next_id_ += 3;
    access = catalog::testing::MakeAccess(
        catalog::testing::MakeDef("test/t", layout,
                                  {MakeIndex(IndexKind::kPrimary, "PRIMARY", {{.column = 0}}, id),
                                   MakeIndex(IndexKind::kUnique, "u", {{.column = 1}}, id + 1),
                                   MakeIndex(IndexKind::kSecondary, "n", {{.column = 2, .descending = true}}, id + 2)}),
        layout);
  }

  TestRecord RecordOf(const Row& row) const {
    TestRecord record(layout);
    record.Set(0, AsBytes(&row.id, 4));
    row.unique == kNull ? record.SetNull(1) : record.Set(1, AsBytes(&row.unique, 4));
    record.Set(2, AsBytes(&row.number, 4));
    record.Set(3, std::string(kTextBytes, static_cast<char>('a' + row.number % 26)));
    return record;
  }

  std::unique_ptr<TableLoad> NewLoad(std::function<bool()> interrupted = {}) {
    return std::make_unique<TableLoad>(
        *store, access, LoadOptions{.memory_bytes = uint64_t{6} << 20, .interrupted = std::move(interrupted)});
  }
  Status Add(TableLoad& load, const Row& row) {
    const TestRecord record = RecordOf(row);
    return load.Add({.record = record.data()});
  }
  Status AddAll(TableLoad& load, const std::vector<Row>& rows) {
    for (const Row& row : rows) CAIRN_RETURN_IF_ERROR(Add(load, row));
    return Status::Ok();
  }
  Status Finish(TableLoad& load) {
    return load.Finish({.put = [this](ByteView key, ByteView value) { return Put(std::string(key), std::string(value)); },
                        .get = [this](ByteView key, std::string* value) {
                          *value = Get(std::string(key));
                          return Status::Ok();
                        }});
  }

  static std::vector<Row> Rows(int count) {
    std::vector<Row> rows;
    for (int id = 0; id < count; ++id) rows.push_back({id, id % 3 == 0 ? kNull : count - id, id % 7});
    return rows;
  }
  void ExpectEntriesOf(const std::vector<Row>& rows) {
    catalog::testing::Entries expected;
    for (const Row& row : rows) catalog::testing::AddEntriesOf(*access, RecordOf(row).data(), 0, &expected);
    EXPECT_TRUE(catalog::testing::CommittedEntries(*store, access->def()) == expected);
  }
  void ExpectNothing() {
    EXPECT_TRUE(catalog::testing::CommittedEntries(*store, access->def()).empty());
    EXPECT_TRUE(env.Files("/db/temporary", ".").empty());
  }
  std::string RowBytesOf(const Row& row) const {
    ByteBuffer value;
    access->rows().Encode(RecordOf(row).data(), &value);
    return value.ToString();
  }

  codec::RecordLayout layout;
  std::shared_ptr<catalog::TableAccess> access;

 private:
  uint32_t next_id_ = 11;
};

TEST_F(TableLoadTest, EntriesAreThoseOfTheRowsInAnyOrder) {
  for (const int count : {0, 1, 100, kManyRows}) {
    for (const char* order : {"ascending", "descending", "shuffled", "mostly ascending"}) {
      SCOPED_TRACE(std::string(order) + " " + std::to_string(count));
      NewTable();
      const std::vector<Row> rows = Rows(count);
      std::vector<Row> given = rows;
      std::mt19937 random(7);
      if (*order == 'd') std::reverse(given.begin(), given.end());
      if (*order == 's') std::shuffle(given.begin(), given.end(), random);
      if (*order == 'm' && count > 10) {
        for (size_t i = 3; i < given.size(); i += 97) std::swap(given[i], given[random() % i]);
      }
      auto load = NewLoad();
      ASSERT_TRUE(AddAll(*load, given).ok());
      EXPECT_EQ(load->by_files(), count == kManyRows);
      EXPECT_EQ(load->row_count(), static_cast<uint64_t>(count));
      EXPECT_TRUE(catalog::testing::CommittedEntries(*store, access->def()).empty());
      const Status status = Finish(*load);
      ASSERT_TRUE(status.ok()) << status.ToString();
      ExpectEntriesOf(rows);
      load.reset();
      EXPECT_TRUE(env.Files("/db/temporary", ".").empty());
    }
  }
}

TEST_F(TableLoadTest, LoadedRowsSurviveACrashAndOthersLeaveNothing) {
  auto load = NewLoad();
  ASSERT_TRUE(AddAll(*load, Rows(kManyRows)).ok());
  ASSERT_TRUE(Finish(*load).ok());
  load.reset();
  Crash();
  Open();
  ExpectEntriesOf(Rows(kManyRows));
}

// What the dictionary has of a temporary table is not synced when it is made. The next start is to find whose files these are, and to drop them.
TEST_F(TableLoadTest, FilesOfATemporaryTableAreKnownAfterALossOfPower) {
  store::LogLines lines;
  std::unique_ptr<catalog::Catalog> dictionary;
  ASSERT_TRUE(catalog::Catalog::Open(store.get(), &dictionary, &lines).ok());
  catalog::TableDef def = access->def();
  def.temporary = true;
  std::shared_ptr<catalog::Table> table;
  ASSERT_TRUE(dictionary->Create(std::move(def), 0, &table).ok());
  ASSERT_TRUE(catalog::TableAccess::Make(std::move(table), layout, &access).ok());
  auto load = NewLoad();
  ASSERT_TRUE(AddAll(*load, Rows(kManyRows)).ok());
  ASSERT_TRUE(load->by_files());
  ASSERT_TRUE(Finish(*load).ok());
  load.reset();
  dictionary.reset();
  Crash();
  Open();
  ExpectEntriesOf(Rows(kManyRows));
  ASSERT_TRUE(catalog::Catalog::Open(store.get(), &dictionary, &lines).ok());
  EXPECT_EQ(lines.text(), "");  // no index is unknown
  std::vector<IndexId> dropped;
  ASSERT_TRUE(dictionary->DroppedIndexes(&dropped).ok());
  EXPECT_EQ(dropped.size(), access->indexes().size());
  for (const IndexId index : dropped) {
    const IndexBounds bounds(index);
    ASSERT_TRUE(store->DropRange(store::Family::kData, bounds.lower(), bounds.upper()).ok());
  }
  ExpectNothing();
}

TEST_F(TableLoadTest, ALoadThatIsGivenUpLeavesNothing) {
  auto load = NewLoad();
  ASSERT_TRUE(AddAll(*load, Rows(kManyRows)).ok());
  EXPECT_FALSE(env.Files("/db/temporary", ".").empty());
  load.reset();
  ExpectNothing();
}

TEST_F(TableLoadTest, ADuplicatePrimaryKeyIsFoundWhereverItComes) {
  for (const int count : {10, kManyRows}) {
    for (const int taken : {0, count / 2, count - 1}) {
      SCOPED_TRACE(std::to_string(taken) + " of " + std::to_string(count));
      auto load = NewLoad();
      ASSERT_TRUE(AddAll(*load, Rows(count)).ok());
      const Row second{taken, kNull, 25};
      Status status = Add(*load, second);
      const bool at_once = !status.ok();
      EXPECT_EQ(at_once, count == kManyRows && taken == count - 1);
      if (status.ok()) status = Finish(*load);
      EXPECT_EQ(status.code(), Code::kDuplicateKey);
      EXPECT_EQ(load->duplicate().index, 0u);
      EXPECT_EQ(load->duplicate().primary_key.empty(), at_once);
      if (!at_once) {
        EXPECT_TRUE(load->duplicate().row_value == RowBytesOf(second) ||
                    load->duplicate().row_value == RowBytesOf(Rows(count)[static_cast<size_t>(taken)]));
      }
      load.reset();
      if (count == kManyRows) ExpectNothing();
      NewTable();
    }
  }
}

TEST_F(TableLoadTest, ADuplicateOfASecondaryIndexTellsTheRow) {
  for (const int count : {10, kManyRows}) {
    SCOPED_TRACE(count);
    NewTable();
    auto load = NewLoad();
    ASSERT_TRUE(AddAll(*load, Rows(count)).ok());
    ASSERT_TRUE(Add(*load, {count, 1, 3}).ok());  // row count - 1 has it, or none
    const Row last = Rows(count).back();
    const bool is_taken = last.unique == 1;
    if (!is_taken) {
      ASSERT_TRUE(Add(*load, {count + 1, 1, 4}).ok());
    }
    EXPECT_EQ(Finish(*load).code(), Code::kDuplicateKey);
    const LoadDuplicate& duplicate = load->duplicate();
    EXPECT_EQ(duplicate.index, 1u);
    EXPECT_FALSE(duplicate.key.empty());
    EXPECT_FALSE(duplicate.primary_key.empty());
    const int id = static_cast<int>(LoadBe32(duplicate.primary_key.data() + 4) ^ 0x80000000u);
    Row row{id, 1, id == count ? 3 : 4};
    if (id == count - 1) row = last;
    EXPECT_TRUE(duplicate.row_value == RowBytesOf(row));
    load.reset();
    if (count == kManyRows) ExpectNothing();
  }
}

// In order, so that nothing has to be sorted before the end. It is asked after so many bytes, too.
TEST_F(TableLoadTest, CanBeInterruptedWhileItTakesRows) {
  constexpr int kRowsOfMebibyte = 1 + (1 << 20) / static_cast<int>(kTextBytes);
  auto load = NewLoad([] { return true; });
  EXPECT_EQ(AddAll(*load, Rows(kRowsOfMebibyte)).code(), Code::kInterrupted);
  load.reset();
  ExpectNothing();
}

// Files may have to wait before they come into the store; memory for sorting need not.
TEST_F(TableLoadTest, TellsOnceAllIsSorted) {
  int told = 0;
  const auto sorted = [&] {
    ++told;
    EXPECT_TRUE(catalog::testing::CommittedEntries(*store, access->def()).empty());
  };
  TableLoad load(*store, access, LoadOptions{.memory_bytes = uint64_t{6} << 20, .interrupted = {}, .sorted = sorted});
  ASSERT_TRUE(AddAll(load, Rows(kManyRows)).ok());
  EXPECT_EQ(told, 0);
  ASSERT_TRUE(Finish(load).ok());
  EXPECT_EQ(told, 1);
  ExpectEntriesOf(Rows(kManyRows));
}

TEST_F(TableLoadTest, CanBeInterruptedWhileItSorts) {
  bool stop = false;
  auto load = NewLoad([&stop] { return stop; });
  std::vector<Row> rows = Rows(kManyRows);
  std::reverse(rows.begin(), rows.end());
  ASSERT_TRUE(AddAll(*load, rows).ok());
  stop = true;
  EXPECT_EQ(Finish(*load).code(), Code::kInterrupted);
  load.reset();
  ExpectNothing();
}

// One late row, and all rows are written anew.
TEST_F(TableLoadTest, CanBeInterruptedWhileItPutsLateRowsInPlace) {
  bool stop = false;
  auto load = NewLoad([&stop] { return stop; });
  std::vector<Row> rows = Rows(kManyRows);
  std::rotate(rows.begin(), rows.begin() + 1, rows.end());
  ASSERT_TRUE(AddAll(*load, rows).ok());
  stop = true;
  EXPECT_EQ(Finish(*load).code(), Code::kInterrupted);
  load.reset();
  ExpectNothing();
}

// Of the few rows it asks at no other time.
TEST_F(TableLoadTest, CanBeInterruptedWhileItsFilesWaitForPlaces) {
  options.expert_family_options = "level0_slowdown_writes_trigger=5;level0_stop_writes_trigger=20";
  Reopen();
  ASSERT_EQ(store->FreeLevel0Places(), 0u);
  auto load = std::make_unique<TableLoad>(
      *store, access, LoadOptions{.memory_bytes = uint64_t{6} << 20, .interrupted = [] { return true; }, .by_files = true});
  ASSERT_TRUE(AddAll(*load, Rows(10)).ok());
  EXPECT_EQ(Finish(*load).code(), Code::kInterrupted);
  load.reset();
  ExpectNothing();
}

// As places in level 0 may be. Several tables at once would have much in memory.
TEST_F(TableLoadTest, FilesOfOneTableAreFew) {
  options.expert_family_options = "target_file_size_base=2500";
  Reopen();
  const auto count_files = [this](unsigned tables) {
    TableLoad load(*store, access, LoadOptions{.memory_bytes = uint64_t{6} << 20, .interrupted = {}, .tables_at_once = tables});
    EXPECT_TRUE(AddAll(load, Rows(kManyRows)).ok());
    EXPECT_TRUE(load.FinishFiles().ok());
    return load.files().file_count();
  };
  EXPECT_LT(count_files(1), count_files(2));
}

}  // namespace
}  // namespace cairn::bulk
