// SPDX-License-Identifier: GPL-2.0-only
// Cost of rows and index entries: a table of 10 columns and about 200 bytes a row, much like the
// one scans are measured with elsewhere, and LinkBench's linktable.
#include "codec/row_codec.h"

#include <benchmark/benchmark.h>

#include <memory>
#include <string>
#include <utility>

#include "codec/testing.h"

namespace cairn::codec {
namespace {

using testing::LayoutBuilder;
using testing::SmallCollation;
using testing::TestRecord;

void SetInteger(TestRecord* record, size_t column, uint64_t value, size_t bytes) {
  record->Set(column, AsBytes(&value, bytes));
}

// (id bigint primary key, 4 ints, 2 bigints of which one may be NULL, datetime, char(40), varchar(200)).
struct WideTable {
  WideTable()
      : layout(Layout()),
        primary(IndexCodec::Primary(layout, IndexId(1), {{.column = 0}})),
        codec(layout, primary, 1),
        record(layout) {
    for (size_t column = 0; column < 5; ++column) SetInteger(&record, column, 1000 + column, column == 0 ? 8 : 4);
    SetInteger(&record, 5, 77, 8);
    SetInteger(&record, 6, 78, 8);
    record.Set(7, "\x99\xb6\x21\x45\x67");
    record.Set(8, std::string(40, 'c'));
    record.Set(9, std::string(110, 'v'));
    primary.EncodePrimaryKey(record.data(), 0, &key);
    codec.Encode(record.data(), &row);
  }
  static RecordLayout Layout() {
    const Collation* ci = SmallCollation::Named("ci");
    LayoutBuilder builder(8);
    builder.Add(ColumnType::kInteger, 8, false);
    for (int column = 0; column < 4; ++column) builder.Add(ColumnType::kInteger, 4, false);
    builder.Add(ColumnType::kInteger, 8, false).Add(ColumnType::kInteger, 8, true);
    builder.Add(ColumnType::kFixedBytes, 5, false);
    builder.Add(ColumnType::kChar, 40, false, ci).Add(ColumnType::kVarchar, 200, true, ci);
    return builder.layout();
  }

  RecordLayout layout;
  IndexCodec primary;
  RowCodec codec;
  TestRecord record;
  ByteBuffer key, row;
};

void EncodeRow(benchmark::State& state) {
  WideTable table;
  ByteBuffer row;
  for (auto _ : state) {
    row.Clear();
    table.codec.Encode(table.record.data(), &row);
    benchmark::DoNotOptimize(row.data());
  }
  state.counters["row_bytes"] = static_cast<double>(row.size());
}
BENCHMARK(EncodeRow);

void Decode(benchmark::State& state, const WideTable& table, const RowCodec& codec, const DecodePlan& plan,
            TestRecord back) {
  for (auto _ : state) {
    if (!codec.Decode(plan, table.key.view(), table.row.view(), back.data()).ok()) state.SkipWithError("corrupt");
    benchmark::DoNotOptimize(back.data());
  }
}

void DecodeRow(benchmark::State& state, const ColumnSet& wanted) {
  const WideTable table;
  Decode(state, table, table.codec, table.codec.Plan(wanted), TestRecord(table.layout));
}

void DecodeAllColumns(benchmark::State& state) { DecodeRow(state, ColumnSet::All(10)); }
BENCHMARK(DecodeAllColumns);

// Rows from before an ALTER TABLE that dropped a column and added two.
void DecodeEarlierRow(benchmark::State& state) {
  WideTable table;
  RowHistory history{.versions = {{}}, .dropped = {}, .initial_values = {}};
  RecordLayout altered = table.layout;
  for (ColumnLayout& column : altered.columns) history.versions[0].push_back(column.column_id);
  const ColumnLayout dropped = altered.columns[3];
  history.dropped.push_back({.column_id = dropped.column_id, .type = dropped.type, .nullable = dropped.nullable,
                             .pack_length = dropped.pack_length});
  altered.columns.erase(altered.columns.begin() + 3);
  for (const uint32_t added_id : {100, 101}) {
    ColumnLayout added = table.layout.columns[4];
    added.column_id = added_id;
    added.offset = altered.record_bytes;
    altered.record_bytes += added.pack_length;
    history.initial_values.push_back(InitialValueIn(table.layout.columns[4], table.record.data()));
    history.initial_values.back().column_id = added_id;
    altered.columns.push_back(added);
  }
  const RowCodec codec(altered, table.primary, table.codec.schema_version() + 1,
                       std::make_shared<const RowHistory>(std::move(history)));
  Decode(state, table, codec, codec.Plan(ColumnSet::All(altered.columns.size())), TestRecord(altered));
}
BENCHMARK(DecodeEarlierRow);

void DecodeTwoIntegers(benchmark::State& state) {
  ColumnSet wanted(10);
  wanted.Add(2);
  wanted.Add(5);
  DecodeRow(state, wanted);
}
BENCHMARK(DecodeTwoIntegers);

void DecodeOneVarchar(benchmark::State& state) {
  ColumnSet wanted(10);
  wanted.Add(9);
  DecodeRow(state, wanted);
}
BENCHMARK(DecodeOneVarchar);

// linktable: key (id1, link_type, visibility, time, id2, version, data), primary (link_type, id1, id2).
struct LinkTable {
  LinkTable()
      : layout(Layout()),
        primary(IndexCodec::Primary(layout, IndexId(1), {{.column = 2}, {.column = 0}, {.column = 1}})),
        index(IndexCodec::Secondary(
            layout, IndexId(2),
            {{.column = 0}, {.column = 2}, {.column = 3}, {.column = 5}, {.column = 1}, {.column = 6}, {.column = 4}},
            false, primary)),
        record(layout) {
    for (const size_t column : {0, 1, 2, 5}) SetInteger(&record, column, 123456 + column, 8);
    SetInteger(&record, 3, 1, 1);
    SetInteger(&record, 6, 3, 4);
    record.Set(4, std::string(10, 'd'));
    primary.EncodePrimaryKey(record.data(), 0, &primary_key);
    index.EncodeEntry(record.data(), primary_key.view(), &key, &value);
  }
  static RecordLayout Layout() {
    LayoutBuilder builder(8);
    for (int column = 0; column < 3; ++column) builder.Add(ColumnType::kInteger, 8, false).Unsigned();
    builder.Add(ColumnType::kInteger, 1, false).Add(ColumnType::kVarchar, 255, false, SmallCollation::Named("bin"));
    builder.Add(ColumnType::kInteger, 8, false).Unsigned().Add(ColumnType::kInteger, 4, false).Unsigned();
    return builder.layout();
  }

  RecordLayout layout;
  IndexCodec primary, index;
  TestRecord record;
  ByteBuffer primary_key, key, value;
};

void EncodeLinkEntry(benchmark::State& state) {
  LinkTable table;
  ByteBuffer primary_key, key, value;
  for (auto _ : state) {
    primary_key.Clear();
    key.Clear();
    value.Clear();
    table.primary.EncodePrimaryKey(table.record.data(), 0, &primary_key);
    table.index.EncodeEntry(table.record.data(), primary_key.view(), &key, &value);
    benchmark::DoNotOptimize(key.data());
  }
  state.counters["key_bytes"] = static_cast<double>(key.size());
}
BENCHMARK(EncodeLinkEntry);

void DecodeLinkEntry(benchmark::State& state) {
  LinkTable table;
  const EntryPlan plan = table.index.Plan(ColumnSet::All(7));
  TestRecord back(table.layout);
  for (auto _ : state) {
    if (!table.index.DecodeColumns(plan, table.key.view(), table.value.view(), back.data()).ok()) {
      state.SkipWithError("corrupt");
    }
    benchmark::DoNotOptimize(back.data());
  }
}
BENCHMARK(DecodeLinkEntry);

void PrimaryKeyOfLinkEntry(benchmark::State& state) {
  LinkTable table;
  ByteBuffer primary_key;
  for (auto _ : state) {
    primary_key.Clear();
    if (!table.index.PrimaryKeyOf(table.key.view(), table.value.view(), &primary_key).ok()) {
      state.SkipWithError("corrupt");
    }
    benchmark::DoNotOptimize(primary_key.data());
  }
}
BENCHMARK(PrimaryKeyOfLinkEntry);

}  // namespace
}  // namespace cairn::codec
