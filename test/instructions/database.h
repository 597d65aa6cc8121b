// SPDX-License-Identifier: GPL-2.0-only
// Tables in memory whose operations are counted in instructions, without a server.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "catalog/testing.h"
#include "store/environment.h"
#include "store/store.h"
#include "txn/transaction_manager.h"

namespace cairn::instructions {

// Ends the program: what cannot be done cannot be counted.
void Require(const Status& status);

// Columns, as in codec/row_codec_bench.cc: id BIGINT primary key, four INT, two BIGINT, DATETIME, CHAR(40),
// VARCHAR(200); about 200 bytes a row. Column kFirst has a unique or plain index, kSecond a plain one.
enum Column : uint16_t { kId = 0, kFirst = 1, kSecond = 2, kPlain = 3, kBig = 5, kNullable = 6, kDate = 7, kChar = 8,
                         kText = 9, kColumnCount = 10 };

// Positions in TableDef::indexes.
enum Index : size_t { kPrimary = 0, kOnFirst = 1, kOnSecond = 2 };

// Two tables of kRows rows each, with ids from 0, compacted: `unique_table` with a unique index on kFirst,
// `plain_table` with a plain one; both with a plain one on kSecond.
//
// All that is in them follows from the ids. Thread rule: one thread.
class Database {
 public:
  static constexpr uint64_t kRows = 10'000;

  Database();
  ~Database();

  // The i-th id of a walk that meets each of kRows ids once, in no order.
  static uint64_t Scattered(uint64_t i) { return i * 7919 % kRows; }

  codec::testing::TestRecord RecordOf(uint64_t id) const;
  static void SetInt(codec::testing::TestRecord* record, Column column, uint32_t value) {
    record->Set(column, AsBytes(&value, sizeof value));
  }
  static void SetId(codec::testing::TestRecord* record, uint64_t id) { record->Set(kId, AsBytes(&id, sizeof id)); }

  store::Store& store() { return *store_; }
  txn::Transaction& transaction() { return *transaction_; }
  const codec::RecordLayout& layout() const { return layout_; }
  const catalog::TableAccess& unique_table() const { return *unique_table_; }
  const catalog::TableAccess& plain_table() const { return *plain_table_; }

  // Each kChangedEvery-th row of `unique_table` anew, in the memtable. What is there can then be flushed to a file of level 0,
  // or compacted with all else into the last level, as it is at first.
  static constexpr uint64_t kChangedEvery = 10;
  void ChangeRows();
  void Flush();
  void Compact();

  // A transaction and its only statement.
  void Begin();
  void Commit();

 private:
  std::shared_ptr<catalog::TableAccess> MakeTable(uint32_t id, catalog::IndexKind first_kind) const;
  void Fill(const catalog::TableAccess& table);

  std::unique_ptr<store::Environment> environment_;
  std::unique_ptr<store::Store> store_;
  std::unique_ptr<txn::TransactionManager> manager_;
  std::unique_ptr<txn::Transaction> transaction_;
  codec::RecordLayout layout_;
  std::shared_ptr<catalog::TableAccess> unique_table_;
  std::shared_ptr<catalog::TableAccess> plain_table_;
};

}  // namespace cairn::instructions
