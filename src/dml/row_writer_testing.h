// SPDX-License-Identifier: GPL-2.0-only
// For tests: a small table, and rows that are written to it.
#pragma once

#include <initializer_list>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "catalog/testing.h"
#include "dml/row_writer.h"
#include "txn/txn_testing.h"

namespace cairn::dml {

// id INT primary key, u INT NULL unique, k CHAR(3) descending.
class SmallTableTest : public ::testing::Test, public txn::TxnFixture {
 protected:
  using TestRecord = codec::testing::TestRecord;
  using Entries = catalog::testing::Entries;

  void SetUp() override {
    using catalog::IndexKind;
    using catalog::testing::MakeIndex;
    using codec::ColumnType;
    OpenAll();
    layout = codec::testing::LayoutBuilder()
                 .Add(ColumnType::kInteger, 4, false)
                 .Add(ColumnType::kInteger, 4, true)
                 .Add(ColumnType::kVarchar, 3, false, codec::testing::SmallCollation::Named("ci"))
                 .layout();
    access = catalog::testing::MakeAccess(
        catalog::testing::MakeDef("test/t", layout,
                                  {MakeIndex(IndexKind::kPrimary, "PRIMARY", {{.column = 0}}, 1),
                                   MakeIndex(IndexKind::kUnique, "u", {{.column = 1}}, 2),
                                   MakeIndex(IndexKind::kSecondary, "k", {{.column = 2, .descending = true}}, 3)}),
        layout);
  }

  TestRecord Row(int32_t id, int32_t unique, ByteView text) const {
    TestRecord record(layout);
    record.Set(0, AsBytes(&id, 4));
    unique < 0 ? record.SetNull(1) : record.Set(1, AsBytes(&unique, 4));
    record.Set(2, text);
    return record;
  }
  std::string PrimaryKey(const TestRecord& record) const {
    ByteBuffer key;
    access->primary().EncodePrimaryKey(record.data(), 0, &key);
    return key.ToString();
  }
  std::string UniqueKey(const TestRecord& record) const {
    const codec::IndexCodec& codec = access->indexes()[1];
    ByteBuffer key;
    codec.EncodeTupleFromRecord(record.data(), codec.own_part_count(), &key);
    return key.ToString();
  }
  void Bind(txn::Transaction& transaction) {
    transaction.StartStatement();
    writer.Bind(&transaction, access.get(), txn::kNoWait);
  }
  Status Insert(txn::Transaction& transaction, const TestRecord& record) {
    Bind(transaction);
    return writer.Insert({record.data()});
  }
  Status Update(txn::Transaction& transaction, const TestRecord& from, const TestRecord& to,
                std::initializer_list<size_t> columns) {
    Bind(transaction);
    codec::ColumnSet touched(3);
    for (const size_t column : columns) touched.Add(column);
    return writer.Update({from.data()}, {to.data()}, touched);
  }
  Entries EntriesOf(std::initializer_list<TestRecord> rows) const {
    Entries entries;
    for (const TestRecord& row : rows) catalog::testing::AddEntriesOf(*access, row.data(), 0, &entries);
    return entries;
  }
  Entries Committed() const { return catalog::testing::CommittedEntries(*store, access->def()); }
  void CommitRows(std::initializer_list<TestRecord> rows) {
    auto transaction = Begin();
    for (const TestRecord& row : rows) ASSERT_TRUE(Insert(*transaction, row).ok());
    ASSERT_TRUE(transaction->Commit(store::Durability::kOs).ok());
  }

  RowWriter writer;
  codec::RecordLayout layout;
  std::shared_ptr<catalog::TableAccess> access;
};

}  // namespace cairn::dml
