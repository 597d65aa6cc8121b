// SPDX-License-Identifier: GPL-2.0-only
// For tests of the scan layer: one small table, its rows written straight through the codecs.
#pragma once

#include <initializer_list>
#include <memory>
#include <string>
#include <utility>

#include "base/index_bounds.h"
#include "catalog/testing.h"
#include "scan/index_scan.h"
#include "scan/row_reader.h"
#include "txn/txn_testing.h"

namespace cairn::scan {

// id INT primary key (index 1), u INT NULL unique (2), n INT descending (3), v VARCHAR(20).
class ScanFixture : public txn::TxnFixture {
 public:
  static constexpr size_t kPrimary = 0, kUnique = 1, kNumbers = 2;
  static constexpr int kNull = -1;

  struct Row {
    int id, unique, number;
    std::string text = "";
  };

  ScanFixture() {
    using codec::ColumnType;
    layout = codec::testing::LayoutBuilder()
                 .Add(ColumnType::kInteger, 4, false)
                 .Add(ColumnType::kInteger, 4, true)
                 .Add(ColumnType::kInteger, 4, false)
                 .Add(ColumnType::kVarchar, 20, false)
                 .layout();
    using catalog::IndexKind;
    using catalog::testing::MakeIndex;
    access = catalog::testing::MakeAccess(
        catalog::testing::MakeDef("test/t", layout,
                                  {MakeIndex(IndexKind::kPrimary, "PRIMARY", {{.column = 0}}, 1),
                                   MakeIndex(IndexKind::kUnique, "u", {{.column = 1}}, 2),
                                   MakeIndex(IndexKind::kSecondary, "n", {{.column = 2, .descending = true}}, 3)}),
        layout);
  }

  codec::testing::TestRecord RecordOf(const Row& row) const {
    codec::testing::TestRecord record(layout);
    record.Set(0, AsBytes(&row.id, 4));
    row.unique == kNull ? record.SetNull(1) : record.Set(1, AsBytes(&row.unique, 4));
    record.Set(2, AsBytes(&row.number, 4));
    record.Set(3, row.text);
    return record;
  }
  catalog::testing::Entries EntriesOf(const Row& row) const {
    catalog::testing::Entries entries;
    catalog::testing::AddEntriesOf(*access, RecordOf(row).data(), 0, &entries);
    return entries;
  }

  std::string PrimaryKey(int id) const { return KeyOf(kPrimary, {id, 0, 0}); }
  std::string UniqueKey(int unique) const { return KeyOf(kUnique, {0, unique, 0}); }
  std::string NumberKey(int number) const { return KeyOf(kNumbers, {0, 0, number}); }
  // Both ends of an index.
  std::pair<std::string, std::string> Whole(size_t index) const {
    const IndexBounds bounds(access->indexes()[index].id());
    return {std::string(bounds.lower()), std::string(bounds.upper())};
  }

  // Changes within a statement of a transaction that holds the row's lock afterwards.
  Status PutRow(txn::Transaction& transaction, const Row& row) const { return Change(transaction, row, true); }
  Status RemoveRow(txn::Transaction& transaction, const Row& row) const { return Change(transaction, row, false); }
  void CommitRows(std::initializer_list<Row> rows) {
    auto transaction = Begin();
    transaction->StartStatement();
    for (const Row& row : rows) ASSERT_TRUE(PutRow(*transaction, row).ok());
    ASSERT_TRUE(transaction->Commit(store::Durability::kOs).ok());
  }
  void CommitRemoval(std::initializer_list<Row> rows) {
    auto transaction = Begin();
    transaction->StartStatement();
    for (const Row& row : rows) ASSERT_TRUE(RemoveRow(*transaction, row).ok());
    ASSERT_TRUE(transaction->Commit(store::Durability::kOs).ok());
  }

  // "7" or "7:text" of a row's bytes.
  std::string TextOf(const StoredRow& row) const {
    codec::testing::TestRecord record(layout);
    const auto plan = access->rows().Plan(codec::ColumnSet::All(4));
    const Status status = access->rows().Decode(plan, row.primary_key, row.value, record.data());
    if (!status.ok()) return status.ToString();
    const std::string text = record.Get(3);
    return std::to_string(NumberIn(record, 0)) + (text.empty() ? "" : ":" + text);
  }
  static int NumberIn(const codec::testing::TestRecord& record, size_t column) {
    return static_cast<int>(LoadLe32(record.Get(column).data()));
  }

  static ReadMode Locking(txn::LockWait wait = txn::LockWait::kNoWait, bool skip_locked = false) {
    return {.locking = true, .skip_locked = skip_locked, .lock = {.mode = txn::LockMode::kExclusive, .wait = wait}};
  }

  codec::RecordLayout layout;
  std::shared_ptr<catalog::TableAccess> access;

 private:
  std::string KeyOf(size_t index, const Row& row) const {
    const codec::IndexCodec& codec = access->indexes()[index];
    ByteBuffer key;
    codec.EncodeTupleFromRecord(RecordOf(row).data(), codec.own_part_count(), &key);
    return key.ToString();
  }
  Status Change(txn::Transaction& transaction, const Row& row, bool put) const {
    CAIRN_RETURN_IF_ERROR(transaction.Lock(PrimaryKey(row.id), txn::kNoWait, nullptr));
    for (const auto& [key, value] : EntriesOf(row)) {
      CAIRN_RETURN_IF_ERROR(put ? transaction.Put(store::Family::kData, key, value)
                                : transaction.Delete(store::Family::kData, key));
    }
    return Status::Ok();
  }
};

}  // namespace cairn::scan
