// SPDX-License-Identifier: GPL-2.0-only
// A statement's rows are there with its commit, whether they came as files or, because of others, one by one.
#include "bulk/statement_load.h"

#include <algorithm>
#include <random>
#include <thread>

#include <gtest/gtest.h>

#include "catalog/testing.h"
#include "txn/txn_testing.h"

namespace cairn::bulk {
namespace {

using catalog::IndexKind;
using catalog::testing::MakeIndex;
using codec::ColumnType;
using codec::testing::TestRecord;
using Code = Status::Code;
using store::Durability;
using txn::Transaction;

// id INT primary key, u INT NULL unique, n INT.
struct Row {
  int id, unique, number;
};
constexpr int kNull = -1;

class StatementLoadTest : public ::testing::Test, public txn::TxnFixture {
 protected:
  void SetUp() override {
    OpenAll();
    layout = codec::testing::LayoutBuilder()
                 .Add(ColumnType::kInteger, 4, false)
                 .Add(ColumnType::kInteger, 4, true)
                 .Add(ColumnType::kInteger, 4, false)
                 .layout();
    access = catalog::testing::MakeAccess(
        catalog::testing::MakeDef("test/t", layout,
                                  {MakeIndex(IndexKind::kPrimary, "PRIMARY", {{.column = 0}}, 11),
                                   MakeIndex(IndexKind::kUnique, "u", {{.column = 1}}, 12),
                                   MakeIndex(IndexKind::kSecondary, "n", {{.column = 2}}, 13)}),
        layout);
  }

  TestRecord RecordOf(const Row& row) const {
    TestRecord record(layout);
    record.Set(0, AsBytes(&row.id, 4));
    row.unique == kNull ? record.SetNull(1) : record.Set(1, AsBytes(&row.unique, 4));
    record.Set(2, AsBytes(&row.number, 4));
    return record;
  }
  std::string KeyOf(const Row& row) const {
    ByteBuffer key;
    access->primary().EncodePrimaryKey(RecordOf(row).data(), 0, &key);
    return key.ToString();
  }
  Status Insert(Transaction& transaction, const Row& row) {
    dml::RowWriter writer;
    writer.Bind(&transaction, access.get(), txn::kNoWait);
    const TestRecord record = RecordOf(row);
    return writer.Insert({.record = record.data()});
  }
  void CommitRow(const Row& row) {
    auto other = Begin();
    other->StartStatement();
    ASSERT_TRUE(Insert(*other, row).ok());
    ASSERT_TRUE(other->Commit(Durability::kOs).ok());
  }

  // The first `early` rows one by one, the others past the transaction.
  Status Gather(const std::vector<Row>& rows, size_t early, std::function<bool()> interrupted = {}) {
    transaction = Begin();
    transaction->StartStatement();
    for (size_t i = 0; i < early; ++i) CAIRN_RETURN_IF_ERROR(Insert(*transaction, rows[i]));
    load = std::make_unique<StatementLoad>(
        *store, access, LoadOptions{.memory_bytes = uint64_t{6} << 20, .interrupted = std::move(interrupted)});
    bool begun;
    CAIRN_RETURN_IF_ERROR(load->Begin(transaction.get(), &begun));
    if (!begun) return Status::Of(Code::kBusy);
    for (size_t i = early; i < rows.size(); ++i) {
      const TestRecord record = RecordOf(rows[i]);
      CAIRN_RETURN_IF_ERROR(load->Add({.record = record.data()}));
    }
    return Status::Ok();
  }
  void RemoveRow(const Row& row) {
    auto remover = Begin();
    remover->StartStatement();
    dml::RowWriter writer;
    writer.Bind(remover.get(), access.get(), txn::kNoWait);
    const TestRecord record = RecordOf(row);
    ASSERT_TRUE(remover->Lock(KeyOf(row), txn::kNoWait, nullptr).ok());
    ASSERT_TRUE(writer.Delete({.record = record.data()}).ok());
    ASSERT_TRUE(remover->Commit(Durability::kOs).ok());
  }
  Status Finish() {
    dml::RowWriter writer;
    writer.Bind(transaction.get(), access.get(), txn::kNoWait);
    return load->Finish(transaction.get(), &writer);
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
    const int64_t count = static_cast<int64_t>(rows.size());
    EXPECT_EQ(Counters(access->def().id).row_count, count);
    EXPECT_EQ(live[access->def().id].row_count, count);
    EXPECT_TRUE(env.Files("/db/temporary", ".").empty());
    EXPECT_TRUE(env.Files("/db/loads", ".sst").empty());
  }

  codec::RecordLayout layout;
  std::shared_ptr<catalog::TableAccess> access;
  std::unique_ptr<Transaction> transaction;
  std::unique_ptr<StatementLoad> load;
};

TEST_F(StatementLoadTest, RowsComeWithTheCommitInAnyOrder) {
  std::vector<Row> rows = Rows(500), given = rows;
  std::mt19937 random(3);
  std::shuffle(given.begin(), given.end(), random);
  ASSERT_TRUE(Gather(given, 100).ok());
  EXPECT_FALSE(transaction->HasWrites());
  ASSERT_TRUE(Finish().ok());
  EXPECT_TRUE(load->by_files());
  load.reset();
  EXPECT_TRUE(catalog::testing::CommittedEntries(*store, access->def()).empty());
  EXPECT_EQ(store->load_count(), 0u);
  ASSERT_TRUE(transaction->Commit(Durability::kOs).ok());
  ExpectEntriesOf(rows);
  EXPECT_EQ(store->load_count(), 1u);
  CommitRow({1000, 1000, 1});
  auto other = Begin();
  EXPECT_TRUE(Insert(*other, {7, kNull, 0}).Is(Code::kDuplicateKey));
  EXPECT_TRUE(Insert(*other, {2000, 1, 0}).Is(Code::kDuplicateKey));
}

TEST_F(StatementLoadTest, RolledBackItLeavesNothing) {
  for (const bool finishes : {false, true}) {
    ASSERT_TRUE(Gather(Rows(500), 100).ok());
    if (finishes) {
      ASSERT_TRUE(Finish().ok());
    }
    load.reset();
    ASSERT_TRUE(transaction->RollbackStatement().ok());
    ASSERT_TRUE(transaction->Commit(Durability::kOs).ok());
    ExpectEntriesOf({});
  }
}

TEST_F(StatementLoadTest, ItIsNotBegunWhereItMustNot) {
  CommitRow({9000, kNull, 0});
  EXPECT_EQ(Gather(Rows(10), 5).code(), Code::kBusy);  // the table has a row
  // And goes on as if nothing had been.
  EXPECT_TRUE(Insert(*transaction, {5, kNull, 0}).ok());
  ASSERT_TRUE(transaction->Commit(Durability::kOs).ok());
  EXPECT_EQ(Counters(access->def().id).row_count, 7);

  auto other_table = Begin();
  other_table->StartStatement();
  ASSERT_TRUE(other_table->Insert(txn::K("x", 99), "v", txn::kNoWait).ok());
  StatementLoad of_this(*store, access, LoadOptions());
  bool begun = true;
  ASSERT_TRUE(of_this.Begin(other_table.get(), &begun).ok());
  EXPECT_FALSE(begun);
}

TEST_F(StatementLoadTest, WithOthersInTheTableRowsAreInsertedOneByOne) {
  const std::vector<Row> rows = Rows(500);
  ASSERT_TRUE(Gather(rows, 100).ok());
  CommitRow({9000, 9000, 5});
  ASSERT_TRUE(Finish().ok());
  EXPECT_FALSE(load->by_files());
  load.reset();
  EXPECT_TRUE(transaction->HasWrites());
  ASSERT_TRUE(transaction->Commit(Durability::kOs).ok());
  std::vector<Row> all = rows;
  all.push_back({9000, 9000, 5});
  ExpectEntriesOf(all);
}

// The indexes are claimed, and no file is made.
TEST_F(StatementLoadTest, WithoutPlacesForFilesRowsAreInsertedOneByOne) {
  manager.reset();
  store.reset();
  options.expert_family_options = "level0_slowdown_writes_trigger=5;level0_stop_writes_trigger=20";
  OpenAll();
  ASSERT_EQ(store->FreeLevel0Places(), 0u);
  const std::vector<Row> rows = Rows(500);
  ASSERT_TRUE(Gather(rows, 100).ok());
  ASSERT_TRUE(Finish().ok());
  EXPECT_FALSE(load->by_files());
  load.reset();
  auto other = Begin();
  EXPECT_TRUE(Insert(*other, {9000, 9000, 5}).ok()) << "nothing is claimed any more";
  ASSERT_TRUE(other->Rollback().ok());
  ASSERT_TRUE(transaction->Commit(Durability::kOs).ok());
  EXPECT_EQ(store->load_count(), 0u);
  ExpectEntriesOf(rows);
}

// Rows that were deleted are in the way until they are compacted.
TEST_F(StatementLoadTest, AnEmptiedTableIsFilledByFilesOnceNothingIsLeft) {
  const std::vector<Row> rows = Rows(500);
  for (int round = 0; round < 2; ++round) {
    ASSERT_TRUE(Gather(rows, 100).ok());
    ASSERT_TRUE(Finish().ok());
    EXPECT_TRUE(load->by_files());
    load.reset();
    ASSERT_TRUE(transaction->Commit(Durability::kOs).ok());
    EXPECT_EQ(Level0Files(), 0);
    catalog::testing::Entries all = catalog::testing::CommittedEntries(*store, access->def());
    EXPECT_EQ(all.size(), 1500u);
    store::Batch batch(*store);
    for (const auto& [key, value] : all) batch.SingleDelete(store::Family::kData, key);
    ASSERT_TRUE(store->Write(batch, Durability::kOs).ok());
    EXPECT_TRUE(Gather(rows, 100).Is(Code::kBusy)) << "not begun";
    EXPECT_TRUE(transaction->HasWrites()) << "as it was";
    load.reset();
    ASSERT_TRUE(transaction->Rollback().ok());
    ASSERT_TRUE(store->CompactRange(store::Family::kData, {}, {}).ok());
  }
}

// Those of others, that came and went meanwhile, as well.
TEST_F(StatementLoadTest, WhatCameAndWentMeanwhileIsInTheWay) {
  const std::vector<Row> rows = Rows(500);
  ASSERT_TRUE(Gather(rows, 100).ok());
  CommitRow({9000, 9000, 5});
  RemoveRow({9000, 9000, 5});
  ASSERT_TRUE(Finish().ok());
  EXPECT_FALSE(load->by_files());
  load.reset();
  ASSERT_TRUE(transaction->Commit(Durability::kOs).ok());
  ExpectEntriesOf(rows);
}

// A row that another has found missing stays so until that one ends.
TEST_F(StatementLoadTest, OthersLocksOnNothingAreHeeded) {
  ASSERT_TRUE(Gather(Rows(500), 100).ok());
  auto other = Begin();
  ASSERT_TRUE(other->Lock(KeyOf({499, 0, 0}), txn::kNoWait, nullptr).ok());
  EXPECT_TRUE(Finish().Is(Code::kLockBusy));
  load.reset();
  ASSERT_TRUE(transaction->Rollback().ok());
  ASSERT_TRUE(other->Rollback().ok());
  ExpectEntriesOf({});
}

TEST_F(StatementLoadTest, DuplicatesAreTold) {
  std::vector<Row> rows = Rows(500);
  rows.push_back({490, kNull, 5});
  ASSERT_TRUE(Gather(rows, 100).ok());
  EXPECT_TRUE(Finish().Is(Code::kDuplicateKey));
  EXPECT_EQ(load->duplicate().index, 0u);
  EXPECT_EQ(load->duplicate().primary_key, KeyOf(rows.back()));
  load.reset();
  ASSERT_TRUE(transaction->Rollback().ok());

  // Those of others.
  const auto meets = [&](const Row& theirs, size_t index, const Row& ours) {
    ASSERT_TRUE(Gather(Rows(500), 100).ok());
    CommitRow(theirs);
    EXPECT_TRUE(Finish().Is(Code::kDuplicateKey));
    EXPECT_EQ(load->duplicate().index, index);
    EXPECT_EQ(load->duplicate().primary_key, KeyOf(ours));
    ByteBuffer value;
    access->rows().Encode(RecordOf(ours).data(), &value);
    EXPECT_EQ(load->duplicate().row_value, value.view());
    load.reset();
    ASSERT_TRUE(transaction->Rollback().ok());
    RemoveRow(theirs);
    ASSERT_TRUE(store->CompactRange(store::Family::kData, {}, {}).ok());
  };
  meets({450, 8000, 1}, 0, {450, kNull, 450 % 7});
  meets({9000, 50 + 1, 1}, 1, {449, 51, 449 % 7});
  ExpectEntriesOf({});
}

TEST_F(StatementLoadTest, CanBeInterruptedWhileItTakesRowsBack) {
  EXPECT_TRUE(Gather(Rows(500), 500, [] { return true; }).Is(Code::kInterrupted));
  load.reset();
  ASSERT_TRUE(transaction->Rollback().ok());
  ExpectEntriesOf({});
}

TEST_F(StatementLoadTest, CanBeInterruptedWhileItInserts) {
  bool stop = false;
  ASSERT_TRUE(Gather(Rows(3000), 100, [&stop] { return stop; }).ok());
  CommitRow({9000, 9000, 5});
  stop = true;
  EXPECT_TRUE(Finish().Is(Code::kInterrupted));
  load.reset();
  ASSERT_TRUE(transaction->Rollback().ok());
  ExpectEntriesOf({{9000, 9000, 5}});
}

// Loads and single rows at once, as they come: in the end each row is there once, with all its entries.
TEST_F(StatementLoadTest, BesideOthersWhoInsert) {
  for (int round = 0; round < 10; ++round) {
    const int base = round * 10'000;
    std::atomic<bool> stop{false};
    std::vector<Row> theirs;
    std::thread inserter([&] {
      for (int id = base + 5000; !stop && id < base + 9999; ++id) {
        auto other = manager->NewTransaction();
        other->Begin(txn::Isolation::kReadCommitted);
        other->StartStatement();
        if (Insert(*other, {id, id, id % 7}).ok() && other->Commit(Durability::kOs).ok()) {
          theirs.push_back({id, id, id % 7});
        } else {
          (void)other->Rollback();
        }
      }
    });
    std::vector<Row> ours = Rows(300);
    for (Row& row : ours) {
      row.id += base;
      if (row.unique != kNull) row.unique += base;
    }
    Status status = Gather(ours, 50);
    if (status.ok()) status = Finish();
    load.reset();
    const bool is_here = status.ok() && transaction->Commit(Durability::kOs).ok();
    if (!is_here && transaction->is_active()) {
      EXPECT_TRUE(transaction->Rollback().ok());
    }
    EXPECT_TRUE(status.ok() || status.Is(Code::kBusy) || status.Is(Code::kLockBusy)) << status.ToString();
    stop = true;
    inserter.join();
    catalog::testing::Entries expected;
    for (const Row& row : theirs) catalog::testing::AddEntriesOf(*access, RecordOf(row).data(), 0, &expected);
    if (is_here) {
      for (const Row& row : ours) catalog::testing::AddEntriesOf(*access, RecordOf(row).data(), 0, &expected);
    }
    ASSERT_TRUE(catalog::testing::CommittedEntries(*store, access->def()) == expected);
    store::Batch batch(*store);
    for (const auto& [key, value] : expected) batch.Delete(store::Family::kData, key);
    ASSERT_TRUE(store->Write(batch, Durability::kOs).ok());
  }
}

}  // namespace
}  // namespace cairn::bulk
