// SPDX-License-Identifier: GPL-2.0-only
// Operations that write or lock: rows of a table with two secondary indexes, in transactions of 100.
#include <algorithm>

#include "database.h"
#include "dml/row_writer.h"
#include "operations.h"
#include "scan/row_reader.h"

namespace cairn::instructions {
namespace {

using codec::ColumnSet;
using codec::testing::TestRecord;

constexpr uint64_t kTransactionRows = 100;
constexpr txn::LockOptions kExclusive{.mode = txn::LockMode::kExclusive, .wait = txn::LockWait::kNoWait};
constexpr scan::ReadMode kForUpdate{.locking = true, .lock = kExclusive};

// What a handler keeps for changes of `plain_table`.
struct Writing {
  explicit Writing(Database* of)
      : database(of), table(of->plain_table()), plan(table.rows().Plan(ColumnSet::All(kColumnCount))),
        key_record(of->layout()), old_record(of->layout()), new_record(of->layout()) {}

  void Begin() {
    database->Begin();
    reader.Bind(&database->store(), &database->transaction(), &table, kForUpdate);
    writer.Bind(&database->transaction(), &table, kExclusive);
  }
  void Commit() {
    reader.Reset();
    writer.Reset();
    database->Commit();
  }
  void EncodeKey(uint64_t id) {
    Database::SetId(&key_record, id);
    key.Clear();
    table.primary().EncodePrimaryKey(key_record.data(), 0, &key);
  }
  // Locks and reads a row, as UPDATE and DELETE by primary key do.
  void Read(uint64_t id) {
    EncodeKey(id);
    scan::StoredRow row;
    Require(reader.ByPrimaryKey(key.view(), &row));
    Require(table.rows().Decode(plan, row.primary_key, row.value, old_record.data()));
  }
  void Update(uint64_t id, Column column, const ColumnSet& touched) {
    Read(id);
    std::copy_n(old_record.data(), database->layout().record_bytes, new_record.data());
    uint32_t value = LoadLe32(new_record.data() + database->layout().columns[column].offset);
    Database::SetInt(&new_record, column, value + 1);
    Require(writer.Update({old_record.data()}, {new_record.data()}, touched));
  }

  Database* const database;
  const catalog::TableAccess& table;
  const codec::DecodePlan plan;
  TestRecord key_record, old_record, new_record;
  ByteBuffer key;
  scan::RowReader reader;
  dml::RowWriter writer;
};

// `change(place)` for each place, so many to a transaction.
template <typename Change>
void InTransactions(Writing* writing, uint64_t rows, uint64_t first, uint64_t count, const Change& change) {
  for (uint64_t at = first; at < first + count; at += rows) {
    writing->Begin();
    for (uint64_t i = at; i < std::min(first + count, at + rows); ++i) change(i);
    writing->Commit();
  }
}

// The ids ascend beyond those there are, as AUTO_INCREMENT has it.
void Insert(Database* database, uint64_t first, uint64_t count) {
  Writing writing(database);
  TestRecord record = database->RecordOf(0);
  InTransactions(&writing, kTransactionRows, first, count, [&](uint64_t i) {
    const uint64_t id = Database::kRows + i;
    Database::SetId(&record, id);
    Database::SetInt(&record, kFirst, static_cast<uint32_t>(2 * Database::Scattered(i)));
    Database::SetInt(&record, kSecond, static_cast<uint32_t>(id * 7919 % 65'536));
    Require(writing.writer.Insert({record.data()}));
  });
}

void Update(Database* database, Column column, uint64_t rows, uint64_t first, uint64_t count) {
  Writing writing(database);
  ColumnSet touched(kColumnCount);
  touched.Add(column);
  InTransactions(&writing, rows, first, count,
                 [&](uint64_t i) { writing.Update(Database::Scattered(i), column, touched); });
}

void Delete(Database* database, uint64_t first, uint64_t count) {
  Writing writing(database);
  InTransactions(&writing, kTransactionRows, first, count, [&](uint64_t i) {
    writing.Read(Database::Scattered(i));
    Require(writing.writer.Delete({writing.old_record.data()}));
  });
}

void LockRows(Database* database, uint64_t first, uint64_t count) {
  Writing writing(database);
  InTransactions(&writing, kTransactionRows, first, count, [&](uint64_t i) {
    writing.EncodeKey(Database::Scattered(i));
    Require(writing.reader.LockRow(writing.key.view()));
  });
}

}  // namespace

std::vector<Operation> Writes(Database* database) {
  const auto update = [=](Column column, uint64_t rows, uint64_t place) {
    return [=](uint64_t at, uint64_t n) { Update(database, column, rows, place + at, n); };
  };
  // Rows that the other update of a plain column does not reach: both find them in files.
  constexpr uint64_t kUntouched = 7000;
  return {
      {"lock-row", "row", 1000, [=](uint64_t at, uint64_t n) { LockRows(database, at, n); }},
      {"insert", "row", 1000, [=](uint64_t at, uint64_t n) { Insert(database, at, n); }},
      {"update-unindexed-column", "row", 1000, update(kPlain, kTransactionRows, 0)},
      {"update-indexed-column", "row", 1000, update(kSecond, kTransactionRows, 0)},
      {"transaction-of-one-update", "transaction", 300, update(kPlain, 1, kUntouched)},
      {"delete", "row", 1000, [=](uint64_t at, uint64_t n) { Delete(database, at, n); }},
  };
}

}  // namespace cairn::instructions
