// SPDX-License-Identifier: GPL-2.0-only
// Whatever writers do while an index is built, in the end it holds exactly the entries of the rows.
#include "ddl/index_builder.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <random>

#include <gtest/gtest.h>

#include "catalog/plain_layout.h"
#include "catalog/testing.h"
#include "dml/row_writer.h"
#include "scan/table_check.h"
#include "txn/txn_testing.h"

namespace cairn::ddl {
namespace {

using catalog::IndexKind;
using catalog::testing::MakeIndex;
using codec::ColumnSet;
using codec::ColumnType;
using codec::testing::TestRecord;
using Code = Status::Code;
using store::Durability;

constexpr char kName[] = "test/t";
constexpr uint64_t kSortBytes = uint64_t{8} << 20;

// id INT primary key, u INT NULL, n INT.
struct Row {
  int id, unique, number;
};
constexpr int kNull = -1;

class IndexBuilderTest : public ::testing::Test, public txn::TxnFixture {
 protected:
  void SetUp() override {
    layout = codec::testing::LayoutBuilder()
                 .Add(ColumnType::kInteger, 4, false)
                 .Add(ColumnType::kInteger, 4, true)
                 .Add(ColumnType::kInteger, 4, false)
                 .layout();
    layout.columns[1].null_mask = 2;  // the first bit is the server's, in records of its own
    OpenAll();
    OpenCatalog();
    std::shared_ptr<catalog::Table> table;
    ASSERT_TRUE(catalog->Create(catalog::testing::MakeDef(
                                    kName, layout, {MakeIndex(IndexKind::kPrimary, "PRIMARY", {{.column = 0}})}),
                                0, &table).ok());
    Bind(std::move(table));
  }

  void OpenCatalog() { ASSERT_TRUE(catalog::Catalog::Open(store.get(), &catalog).ok()); }

  void Bind(std::shared_ptr<catalog::Table> table) {
    ASSERT_TRUE(catalog::PlainAccessOf(table, nullptr, &plain_access).ok());
    ASSERT_TRUE(catalog::TableAccess::Make(std::move(table), layout, &access).ok());
  }
  void FindAndBind() {
    std::shared_ptr<catalog::Table> table;
    ASSERT_TRUE(catalog->Find(kName, &table).ok());
    Bind(std::move(table));
  }
  // Power is lost while the builder is at work.
  void CrashAndOpen(std::unique_ptr<IndexBuilder> builder) {
    env.Freeze();
    builder.reset();
    catalog.reset();
    CrashAll();
    OpenAll();
    OpenCatalog();
    FindAndBind();
  }

  static TestRecord RecordOf(const Row& row, const catalog::TableAccess& access) {
    TestRecord record(access.layout());
    record.Set(0, AsBytes(&row.id, 4));
    row.unique == kNull ? record.SetNull(1) : record.Set(1, AsBytes(&row.unique, 4));
    record.Set(2, AsBytes(&row.number, 4));
    return record;
  }

  // One connection with an open transaction. Records of those who follow foreign keys are not laid out as the server's.
  struct Writer {
    std::unique_ptr<txn::Transaction> transaction;
    std::map<int, std::optional<Row>> changes;  // of this transaction
    bool has_plain_records = false;
  };
  Writer NewWriter(bool has_plain_records = false) { return {Begin(), {}, has_plain_records}; }

  // Makes `id` the row, or nothing; kLockBusy when somebody else changes it.
  Status Set(Writer& writer, int id, std::optional<Row> row) {
    const catalog::TableAccess& table = writer.has_plain_records ? *plain_access : *access;
    const Row old_key{id, kNull, 0};
    ByteBuffer key;
    table.primary().EncodePrimaryKey(RecordOf(old_key, table).data(), 0, &key);
    writer.transaction->StartStatement();
    CAIRN_RETURN_IF_ERROR(writer.transaction->Lock(key.view(), txn::kNoWait, nullptr));
    const auto mine = writer.changes.find(id);
    const auto theirs = committed.find(id);
    std::optional<Row> old;
    if (mine != writer.changes.end()) {
      old = mine->second;
    } else if (theirs != committed.end()) {
      old = theirs->second;
    }
    dml::RowWriter rows;
    rows.Bind(writer.transaction.get(), &table, txn::kNoWait);
    Status status;
    if (old && row) {
      const TestRecord before = RecordOf(*old, table), after = RecordOf(*row, table);
      status = rows.Update({.record = before.data()}, {.record = after.data()}, ColumnSet::All(3));
    } else if (old) {
      status = rows.Delete({.record = RecordOf(*old, table).data()});
    } else if (row) {
      status = rows.Insert({.record = RecordOf(*row, table).data()});
    }
    writer.changes[id] = row;
    writer.transaction->EndStatement();
    return status;
  }
  void Commit(Writer& writer) {
    ASSERT_TRUE(writer.transaction->Commit(Durability::kBuffered).ok());
    for (const auto& [id, row] : writer.changes) {
      if (row) {
        committed[id] = *row;
      } else {
        committed.erase(id);
      }
    }
    writer = NewWriter(writer.has_plain_records);
  }
  void RollBack(Writer& writer) {
    ASSERT_TRUE(writer.transaction->Rollback().ok());
    writer = NewWriter(writer.has_plain_records);
  }
  // One transaction for each.
  void CommitOne(int id, std::optional<Row> row) {
    Writer writer = NewWriter();
    const Status status = Set(writer, id, row);
    ASSERT_TRUE(status.ok()) << status.ToString();
    Commit(writer);
  }

  // More of them than a cursor passes over without asking.
  static constexpr int kMany = 2 * store::CursorOptions::kHiddenPerPoll;
  void CommitMany(bool present) {
    Writer writer = NewWriter();
    for (int id = 0; id < kMany; ++id) {
      const Status status = Set(writer, id, present ? std::optional<Row>({id, id, 0}) : std::nullopt);
      ASSERT_TRUE(status.ok()) << status.ToString();
    }
    Commit(writer);
  }

  static std::vector<catalog::IndexDef> BothIndexes() {
    return {MakeIndex(IndexKind::kUnique, "u", {{.column = 1}}), MakeIndex(IndexKind::kSecondary, "n", {{.column = 2}})};
  }
  std::unique_ptr<IndexBuilder> NewBuilder(std::function<bool()> interrupted = {},
                                           const std::atomic<bool>* interrupt_flag = nullptr) {
    return std::make_unique<IndexBuilder>(*store, *catalog, *manager, access, BothIndexes(), std::move(interrupted),
                                          interrupt_flag);
  }
  Status CommitBuild(IndexBuilder& builder) {
    catalog::TableDef def = access->def();
    def.indexes.insert(def.indexes.end(), builder.indexes().begin(), builder.indexes().end());
    CAIRN_RETURN_IF_ERROR(catalog->ReplaceIndexes({{kName, def}}));
    builder.Complete();
    FindAndBind();
    return Status::Ok();
  }
  // Rows, entries and what the model says agree.
  void ExpectWhole() {
    scan::CheckResult result;
    ASSERT_TRUE(scan::CheckTable(*store, *access, {}, &result).ok());
    EXPECT_EQ(result.rows, committed.size());
    for (const std::string& problem : result.problems) ADD_FAILURE() << problem;
    catalog::testing::Entries expected;
    for (const auto& [id, row] : committed) {
      catalog::testing::AddEntriesOf(*access, RecordOf(row, *access).data(), 0, &expected);
    }
    EXPECT_EQ(catalog::testing::CommittedEntries(*store, access->def()), expected);
  }
  std::vector<IndexId> Dropped() {
    std::vector<IndexId> dropped;
    EXPECT_TRUE(catalog->DroppedIndexes(&dropped).ok());
    return dropped;
  }

  codec::RecordLayout layout;
  std::unique_ptr<catalog::Catalog> catalog;
  std::shared_ptr<catalog::TableAccess> access;
  std::shared_ptr<catalog::TableAccess> plain_access;
  std::map<int, Row> committed;
};

TEST_F(IndexBuilderTest, FillsFromARestingTable) {
  for (int id = 0; id < 1000; ++id) CommitOne(id, Row{id, id % 3 == 0 ? kNull : 1000 - id, id % 7});
  auto builder = NewBuilder();
  ASSERT_TRUE(builder->Begin().ok());
  EXPECT_EQ(Dropped(), std::vector<IndexId>{});  // four are, but they are being built
  int told = 0;
  ASSERT_TRUE(builder->Fill(kSortBytes, [&told] { ++told; }).ok());
  EXPECT_EQ(told, 1);
  ASSERT_TRUE(builder->CatchUp().ok());
  ASSERT_TRUE(builder->Finish().ok());
  ASSERT_TRUE(CommitBuild(*builder).ok());
  EXPECT_EQ(access->table().build(), nullptr);
  EXPECT_GT(access->table().visible_since(1), access->table().visible_since(0));
  ExpectWhole();
  catalog->ReleaseEndedBuilds(manager->oldest_transaction_id());
  EXPECT_EQ(Dropped().size(), 2u);  // the deltas
}

// Three connections, one by plain records, change a few rows at random, at random moments of the build.
TEST_F(IndexBuilderTest, WhateverWritersDoTheEntriesAreThoseOfTheRows) {
  std::mt19937_64 random(11);
  const auto below = [&random](int n) { return static_cast<int>(random() % static_cast<uint64_t>(n)); };
  for (int round = 0; round < 60; ++round) {
    std::vector<Writer> writers;
    for (int i = 0; i < 3; ++i) writers.push_back(NewWriter(i == 2));
    // While no unique index stands, values are kept apart by their rows.
    const auto change_some = [&](int count) {
      for (int i = 0; i < count; ++i) {
        Writer& writer = writers[static_cast<size_t>(below(3))];
        const int id = below(12);
        const auto row = below(3) == 0 ? std::nullopt
                                       : std::optional<Row>({id, below(3) == 0 ? kNull : id * 10 + below(3), below(4)});
        const Status status = Set(writer, id, row);
        if (status.Is(Code::kLockBusy)) writer.transaction->EndStatement();
        if (below(4) == 0) below(3) == 0 ? RollBack(writer) : Commit(writer);
      }
    };
    const auto end_all = [&] {
      for (Writer& writer : writers) below(4) == 0 ? RollBack(writer) : Commit(writer);
    };
    change_some(20);
    end_all();
    auto builder = NewBuilder();
    ASSERT_TRUE(builder->Begin().ok());
    change_some(below(40));
    ASSERT_TRUE(builder->Fill(kSortBytes).ok());
    for (int pass = below(4); pass > 0; --pass) {
      change_some(below(20));
      ASSERT_TRUE(builder->CatchUp().ok());
    }
    change_some(below(20));
    end_all();
    ASSERT_TRUE(builder->Finish().ok());
    ASSERT_TRUE(CommitBuild(*builder).ok());
    ExpectWhole();
    // The entries must bear removal by the rules of their index.
    change_some(20);
    end_all();
    ExpectWhole();
    if (round % 10 == 0) {
      ASSERT_TRUE(store->CompactRange(store::Family::kData, {}, {}).ok());
    }
    ExpectWhole();
    catalog::TableDef def = access->def();
    def.indexes.resize(1);
    ASSERT_TRUE(catalog->ReplaceIndexes({{kName, def}}).ok());
    FindAndBind();
  }
}

TEST_F(IndexBuilderTest, WhereColumnsLieInARecordIsEachWritersOwn) {
  for (int id = 1; id <= 3; ++id) CommitOne(id, Row{id, 10 * id, 100 * id});
  auto builder = NewBuilder();
  ASSERT_TRUE(builder->Begin().ok());
  ASSERT_TRUE(builder->Fill(kSortBytes).ok());
  Writer plain = NewWriter(/*has_plain_records=*/true);
  ASSERT_TRUE(Set(plain, 1, std::nullopt).ok());
  ASSERT_TRUE(Set(plain, 2, Row{2, kNull, 201}).ok());
  ASSERT_TRUE(Set(plain, 4, Row{4, 40, 400}).ok());
  Commit(plain);
  CommitOne(3, Row{3, kNull, 301});
  ASSERT_TRUE(builder->Finish().ok());
  ASSERT_TRUE(CommitBuild(*builder).ok());
  ExpectWhole();
}

TEST_F(IndexBuilderTest, RowsMayTakeUniqueValuesFromEachOther) {
  CommitOne(1, Row{1, 10, 0});
  CommitOne(2, Row{2, 20, 0});
  auto builder = NewBuilder();
  ASSERT_TRUE(builder->Begin().ok());
  ASSERT_TRUE(builder->Fill(kSortBytes).ok());
  Writer writer = NewWriter();
  ASSERT_TRUE(Set(writer, 1, Row{1, 20, 0}).ok());  // for a moment both have 20
  ASSERT_TRUE(Set(writer, 2, Row{2, 10, 0}).ok());
  Commit(writer);
  CommitOne(3, Row{3, 10, 0});  // a duplicate that does not last
  ASSERT_TRUE(builder->CatchUp().ok());
  CommitOne(2, std::nullopt);
  ASSERT_TRUE(builder->Finish().ok());
  ASSERT_TRUE(CommitBuild(*builder).ok());
  ExpectWhole();
}

TEST_F(IndexBuilderTest, DuplicatesAmongTheRowsEndTheBuild) {
  CommitOne(1, Row{1, 10, 0});
  CommitOne(2, Row{2, 10, 0});
  {
    auto builder = NewBuilder();
    ASSERT_TRUE(builder->Begin().ok());
    EXPECT_EQ(builder->Fill(kSortBytes).code(), Code::kDuplicateKey);
    EXPECT_EQ(builder->duplicate().index, 0u);
    EXPECT_FALSE(builder->duplicate().value.empty());
  }
  EXPECT_EQ(access->table().build(), nullptr);
  ExpectWhole();
  catalog->ReleaseEndedBuilds(manager->oldest_transaction_id());
  EXPECT_EQ(Dropped().size(), 4u);
}

TEST_F(IndexBuilderTest, DuplicatesAmongTheChangesEndTheBuild) {
  for (const bool old_row_has_it : {true, false}) {
    CommitOne(1, Row{1, old_row_has_it ? 10 : 11, 0});
    CommitOne(2, Row{2, 20, 0});
    CommitOne(3, std::nullopt);
    auto builder = NewBuilder();
    ASSERT_TRUE(builder->Begin().ok());
    ASSERT_TRUE(builder->Fill(kSortBytes).ok());
    if (!old_row_has_it) CommitOne(3, Row{3, 10, 0});
    CommitOne(2, Row{2, 10, 0});
    ASSERT_TRUE(builder->CatchUp().ok());
    EXPECT_EQ(builder->Finish().code(), Code::kDuplicateKey);
    EXPECT_EQ(builder->duplicate().index, 0u);
    EXPECT_FALSE(builder->duplicate().value.empty());
    builder.reset();
    ExpectWhole();
  }
}

TEST_F(IndexBuilderTest, ChangesOfOpenTransactionsAreLeftForTheLastPass) {
  auto builder = NewBuilder();
  ASSERT_TRUE(builder->Begin().ok());
  Writer writer = NewWriter();
  ASSERT_TRUE(Set(writer, 1, Row{1, 10, 1}).ok());
  ASSERT_TRUE(builder->Fill(kSortBytes).ok());
  ASSERT_TRUE(builder->CatchUp().ok());
  EXPECT_EQ(builder->applied_delta_count(), 0u);
  CommitOne(2, Row{2, 20, 2});
  ASSERT_TRUE(builder->CatchUp().ok());
  EXPECT_EQ(builder->applied_delta_count(), 2u);
  Commit(writer);
  ASSERT_TRUE(builder->Finish().ok());
  ASSERT_TRUE(CommitBuild(*builder).ok());
  ExpectWhole();
}

TEST_F(IndexBuilderTest, IdsOfABuildThatWasGivenUpAreKeptWhileWritersMayUseThem) {
  auto builder = NewBuilder();
  ASSERT_TRUE(builder->Begin().ok());
  Writer writer = NewWriter();
  ASSERT_TRUE(Set(writer, 1, Row{1, 10, 1}).ok());
  builder.reset();
  catalog->ReleaseEndedBuilds(manager->oldest_transaction_id());
  EXPECT_EQ(Dropped().size(), 2u);  // the indexes, but not yet what writers note changes under
  Commit(writer);
  CommitOne(2, Row{2, 10, 1});
  writer.transaction.reset();
  catalog->ReleaseEndedBuilds(manager->oldest_transaction_id());
  EXPECT_EQ(Dropped().size(), 4u);
  ExpectWhole();
}

TEST_F(IndexBuilderTest, ACrashLeavesTheTableAsItWas) {
  CommitOne(1, Row{1, 10, 1});
  auto builder = NewBuilder();
  ASSERT_TRUE(builder->Begin().ok());
  ASSERT_TRUE(builder->Fill(kSortBytes).ok());
  CommitOne(2, Row{2, 20, 2});
  ASSERT_TRUE(store->SyncWal().ok());
  CrashAndOpen(std::move(builder));
  EXPECT_EQ(access->indexes().size(), 1u);
  EXPECT_EQ(Dropped().size(), 4u);
  ExpectWhole();
}

// Files are there without the log, which nobody has synced here.
TEST_F(IndexBuilderTest, FilesDoNotOutliveTheNumbersOfTheirIndexes) {
  CommitOne(1, Row{1, 10, 1});
  auto builder = NewBuilder();
  ASSERT_TRUE(builder->Begin().ok());
  ASSERT_TRUE(builder->Fill(kSortBytes).ok());
  const std::vector<catalog::IndexDef> built = builder->indexes();
  CrashAndOpen(std::move(builder));
  const std::vector<IndexId> dropped = Dropped();
  EXPECT_EQ(dropped.size(), 4u);
  for (const catalog::IndexDef& index : built) EXPECT_EQ(std::ranges::count(dropped, index.id), 1);
  auto next = NewBuilder();
  ASSERT_TRUE(next->Begin().ok());
  ASSERT_TRUE(next->Fill(kSortBytes).ok());
  ASSERT_TRUE(next->Finish().ok());
  ASSERT_TRUE(CommitBuild(*next).ok());
  ExpectWhole();
}

TEST_F(IndexBuilderTest, APreparedTransactionIsInTheWay) {
  Writer writer = NewWriter();
  ASSERT_TRUE(Set(writer, 1, Row{1, 10, 1}).ok());
  ASSERT_TRUE(writer.transaction->Prepare("x", Durability::kSync).ok());
  manager->Detach(std::move(writer.transaction));
  auto builder = NewBuilder();
  EXPECT_EQ(builder->Begin().code(), Code::kLockTimeout);
  ASSERT_TRUE(manager->RollbackPrepared("x").ok());
  EXPECT_TRUE(NewBuilder()->Begin().ok());
}

// It changed the table during the build and was left alone then.
TEST_F(IndexBuilderTest, APreparedTransactionIsInTheWayAtTheEndToo) {
  auto builder = NewBuilder();
  ASSERT_TRUE(builder->Begin().ok());
  Writer writer = NewWriter();
  ASSERT_TRUE(Set(writer, 1, Row{1, 10, 1}).ok());
  ASSERT_TRUE(writer.transaction->Prepare("x", Durability::kSync).ok());
  manager->Detach(std::move(writer.transaction));
  ASSERT_TRUE(builder->Fill(kSortBytes).ok());
  ASSERT_TRUE(builder->CatchUp().ok());
  EXPECT_EQ(builder->Finish().code(), Code::kLockTimeout);
  ASSERT_TRUE(manager->RollbackPrepared("x").ok());
}

TEST_F(IndexBuilderTest, CanBeInterrupted) {
  for (int id = 0; id < 600; ++id) CommitOne(id, Row{id, id, 0});
  auto builder = NewBuilder([] { return true; });
  ASSERT_TRUE(builder->Begin().ok());
  EXPECT_EQ(builder->Fill(kSortBytes).code(), Code::kInterrupted);
  builder.reset();
  ExpectWhole();
}

// Whoever is asked between rows is not: there are none.
TEST_F(IndexBuilderTest, CanBeInterruptedAmongRowsThatWereRemoved) {
  CommitMany(true);
  CommitMany(false);
  const std::atomic<bool> flag{true};
  auto builder = NewBuilder({}, &flag);
  ASSERT_TRUE(builder->Begin().ok());
  EXPECT_EQ(builder->Fill(kSortBytes).code(), Code::kInterrupted);
  builder.reset();
  ExpectWhole();
}

TEST_F(IndexBuilderTest, CanBeInterruptedAmongChangesThatWereApplied) {
  std::atomic<bool> flag{false};
  auto builder = NewBuilder({}, &flag);
  ASSERT_TRUE(builder->Begin().ok());
  ASSERT_TRUE(builder->Fill(kSortBytes).ok());
  CommitMany(true);
  ASSERT_TRUE(builder->CatchUp().ok());
  EXPECT_EQ(builder->applied_delta_count(), 2u * kMany);
  flag = true;
  EXPECT_EQ(builder->Finish().code(), Code::kInterrupted);
  builder.reset();
  ExpectWhole();
}

// Of the few rows it asks at no other time.
TEST_F(IndexBuilderTest, CanBeInterruptedWhileItsFilesWaitForPlaces) {
  options.expert_family_options = "level0_slowdown_writes_trigger=5;level0_stop_writes_trigger=20";
  CrashAll();
  OpenAll();
  OpenCatalog();
  FindAndBind();
  ASSERT_EQ(store->FreeLevel0Places(), 0u);
  for (int id = 0; id < 10; ++id) CommitOne(id, Row{id, id, 0});
  auto builder = NewBuilder([] { return true; });
  ASSERT_TRUE(builder->Begin().ok());
  EXPECT_EQ(builder->Fill(kSortBytes).code(), Code::kInterrupted);
  builder.reset();
  ExpectWhole();
}

}  // namespace
}  // namespace cairn::ddl
