// SPDX-License-Identifier: GPL-2.0-only
// Operations that read: scans, points, short ranges, estimates.
#include <cstdlib>

#include "base/index_bounds.h"
#include "database.h"
#include "operations.h"
#include "scan/index_scan.h"
#include "scan/row_reader.h"
#include "stats/range_estimate.h"

namespace cairn::instructions {
namespace {

using codec::ColumnSet;
using codec::testing::TestRecord;

constexpr uint64_t kRangeRows = 10;

// One statement of consistent reads of `unique_table`, with what a handler keeps for it.
class Reading {
 public:
  explicit Reading(Database* database)
      : table(database->unique_table()), record(database->layout()), key_record(database->layout()),
        database_(database) {
    database->Begin();
    reader.Bind(&database->store(), &database->transaction(), &table, scan::ReadMode::Consistent());
  }
  ~Reading() {
    scan.Close();
    reader.Reset();
    database_->Commit();
  }

  void PrimaryKeyOf(uint64_t id, ByteBuffer* key) {
    Database::SetId(&key_record, id);
    key->Clear();
    table.primary().EncodePrimaryKey(key_record.data(), 0, key);
  }

  const catalog::TableAccess& table;
  TestRecord record;
  TestRecord key_record;
  scan::RowReader reader;
  scan::IndexScan scan;
  scan::FoundRow row;
  ByteBuffer lower, upper;

 private:
  Database* const database_;
};

ColumnSet Columns(std::initializer_list<Column> columns) {
  ColumnSet set(kColumnCount);
  for (const Column column : columns) set.Add(column);
  return set;
}

// The first `count` rows of an index from one end, each handed to `take`.
template <typename Take>
void Walk(Reading* reading, size_t index, bool covering, bool forward, uint64_t count, const Take& take) {
  const IndexBounds bounds(reading->table.indexes()[index].id());
  reading->scan.Open(&reading->reader, {.index = index, .covering = covering});
  Require(forward ? reading->scan.First(bounds.lower(), bounds.upper(), &reading->row) : reading->scan.Last(bounds.lower(), bounds.upper(), &reading->row));
  take();
  for (uint64_t taken = 1; taken < count; ++taken) {
    Require(forward ? reading->scan.Next(&reading->row) : reading->scan.Previous(&reading->row));
    take();
  }
}

void ScanRows(Database* database, const ColumnSet& columns, bool forward, uint64_t count) {
  Reading reading(database);
  const codec::RowCodec& codec = reading.table.rows();
  const codec::DecodePlan plan = codec.Plan(columns);
  Walk(&reading, kPrimary, false, forward, count, [&] {
    Require(codec.Decode(plan, reading.row.row.primary_key, reading.row.row.value, reading.record.data()));
  });
}

void ScanEntries(Database* database, const ColumnSet& columns, uint64_t count) {
  Reading reading(database);
  const codec::IndexCodec& codec = reading.table.indexes()[kOnSecond];
  const codec::EntryPlan plan = codec.Plan(columns);
  Walk(&reading, kOnSecond, true, true, count, [&] {
    Require(codec.DecodeColumns(plan, reading.row.key, reading.row.value, reading.record.data()));
  });
}

void CountEntries(Database* database, uint64_t count) {
  Reading reading(database);
  Walk(&reading, kOnSecond, true, true, count, [] {});
}

// What ends a statement of autocommit, which begins the next.
void EndStatement(Database* database) {
  database->Commit();
  database->Begin();
}

void ReadByPrimaryKey(Database* database, bool statement_each, uint64_t first, uint64_t count) {
  Reading reading(database);
  const codec::DecodePlan plan = reading.table.rows().Plan(ColumnSet::All(kColumnCount));
  scan::StoredRow row;
  for (uint64_t i = first; i < first + count; ++i) {
    reading.PrimaryKeyOf(Database::Scattered(i), &reading.lower);
    Require(reading.reader.ByPrimaryKey(reading.lower.view(), &row));
    Require(reading.table.rows().Decode(plan, row.primary_key, row.value, reading.record.data()));
    if (!statement_each) continue;
    reading.reader.Reset();
    EndStatement(database);
  }
}

void ReadByUniqueKey(Database* database, uint64_t first, uint64_t count) {
  Reading reading(database);
  const codec::DecodePlan plan = reading.table.rows().Plan(ColumnSet::All(kColumnCount));
  const codec::IndexCodec& codec = reading.table.indexes()[kOnFirst];
  scan::StoredRow row;
  for (uint64_t i = first; i < first + count; ++i) {
    Database::SetInt(&reading.key_record, kFirst, static_cast<uint32_t>(2 * Database::Scattered(i)));
    reading.lower.Clear();
    codec.EncodeTupleFromRecord(reading.key_record.data(), codec.own_part_count(), &reading.lower);
    Require(reading.reader.ByUniqueKey(kOnFirst, reading.lower.view(), &row));
    Require(reading.table.rows().Decode(plan, row.primary_key, row.value, reading.record.data()));
  }
}

// SELECT ... WHERE id BETWEEN ..., `range_rows` from a scattered id on, through the scan that is open.
void ReadRange(Reading* reading, const codec::DecodePlan& plan, uint64_t number, uint64_t range_rows) {
  const uint64_t id = Database::Scattered(number) % (Database::kRows - range_rows);
  reading->PrimaryKeyOf(id, &reading->lower);
  reading->PrimaryKeyOf(id + range_rows, &reading->upper);
  uint64_t rows = 0;
  Status status = reading->scan.First(reading->lower.view(), reading->upper.view(), &reading->row);
  for (; status.ok(); status = reading->scan.Next(&reading->row), ++rows) {
    Require(reading->table.rows().Decode(plan, reading->row.row.primary_key, reading->row.row.value,
                                         reading->record.data()));
  }
  if (!status.Is(Status::Code::kNotFound)) Require(status);
  if (rows != range_rows) std::abort();
}

// In a scan that is opened once, as a join's inner side does it.
void ReadShortRanges(Database* database, uint64_t first, uint64_t count) {
  Reading reading(database);
  const codec::DecodePlan plan = reading.table.rows().Plan(ColumnSet::All(kColumnCount));
  reading.scan.Open(&reading.reader, {.index = kPrimary});
  for (uint64_t i = first; i < first + count; ++i) ReadRange(&reading, plan, i, kRangeRows);
}

// The same in a transaction and a statement for each range.
void ReadRangesOfStatements(Database* database, uint64_t range_rows, uint64_t first, uint64_t count) {
  Reading reading(database);
  const codec::DecodePlan plan = reading.table.rows().Plan(ColumnSet::All(kColumnCount));
  for (uint64_t i = first; i < first + count; ++i) {
    reading.scan.Open(&reading.reader, {.index = kPrimary});
    ReadRange(&reading, plan, i, range_rows);
    reading.scan.Close();
    EndStatement(database);
  }
}

void EstimateRanges(Database* database, uint64_t rows, uint64_t first, uint64_t count) {
  Reading reading(database);
  catalog::FileDensity density;
  for (uint64_t i = first; i < first + count; ++i) {
    const uint64_t id = Database::Scattered(i) % (Database::kRows - rows);
    reading.PrimaryKeyOf(id, &reading.lower);
    reading.PrimaryKeyOf(id + rows, &reading.upper);
    stats::RangeCount found;
    Require(stats::CountRange(database->store(), reading.table.primary().id(), reading.lower.view(),
                              reading.upper.view(), {.entries = Database::kRows, .density = &density}, &found));
    if (found.rows == 0) std::abort();
  }
}

std::vector<Operation> ReadsOfChanged(Database* database, const char* short_range, const char* long_range,
                                      const char* read_range) {
  return {
      {short_range, "range", 500, [=](uint64_t at, uint64_t n) { EstimateRanges(database, 10, at, n); }},
      {long_range, "range", 500, [=](uint64_t at, uint64_t n) { EstimateRanges(database, 3000, at, n); }},
      {read_range, "range", 200, [=](uint64_t at, uint64_t n) { ReadRangesOfStatements(database, 100, at, n); }},
  };
}

}  // namespace

std::vector<Operation> ReadsOfMemtable(Database* database) {
  return ReadsOfChanged(database, "estimate-short-range-changed", "estimate-long-range-changed",
                        "read-range-of-100-changed");
}

std::vector<Operation> ReadsOfLevel0(Database* database) {
  return ReadsOfChanged(database, "estimate-short-range-level0", "estimate-long-range-level0",
                        "read-range-of-100-level0");
}

std::vector<Operation> Reads(Database* database) {
  const ColumnSet all = ColumnSet::All(kColumnCount);
  const ColumnSet two_integers = Columns({kPlain, kBig});
  const ColumnSet of_entry = Columns({kId, kSecond});
  // A scan begins at an end of its index each time: its blocks are in the cache.
  return {
      {"scan-all-columns", "row", 3000, [=](uint64_t, uint64_t n) { ScanRows(database, all, true, n); }},
      {"scan-two-integers", "row", 3000, [=](uint64_t, uint64_t n) { ScanRows(database, two_integers, true, n); }},
      {"scan-reverse", "row", 3000, [=](uint64_t, uint64_t n) { ScanRows(database, two_integers, false, n); }},
      {"scan-covering-index", "entry", 3000, [=](uint64_t, uint64_t n) { ScanEntries(database, of_entry, n); }},
      {"count-without-decoding", "entry", 3000, [=](uint64_t, uint64_t n) { CountEntries(database, n); }},
      {"read-by-primary-key", "row", 1000, [=](uint64_t at, uint64_t n) { ReadByPrimaryKey(database, false, at, n); }},
      {"read-row-of-statement", "statement", 1000, [=](uint64_t at, uint64_t n) { ReadByPrimaryKey(database, true, at, n); }},
      {"read-by-unique-key", "row", 1000, [=](uint64_t at, uint64_t n) { ReadByUniqueKey(database, at, n); }},
      {"read-range-of-10", "range", 500, [=](uint64_t at, uint64_t n) { ReadShortRanges(database, at, n); }},
      {"read-range-of-100", "range", 200,
       [=](uint64_t at, uint64_t n) { ReadRangesOfStatements(database, 100, at, n); }},
      {"estimate-short-range", "range", 500, [=](uint64_t at, uint64_t n) { EstimateRanges(database, 10, at, n); }},
      {"estimate-long-range", "range", 500, [=](uint64_t at, uint64_t n) { EstimateRanges(database, 3000, at, n); }},
  };
}

}  // namespace cairn::instructions
