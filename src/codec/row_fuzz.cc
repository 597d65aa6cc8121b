// SPDX-License-Identifier: GPL-2.0-only
// Fuzzes the reading of rows. Whatever the bytes: no step outside, and what decodes to a record
// must, encoded again, be a row that decodes to the same record.
//
// Input: a byte that picks the table, a byte with the key's length, the key behind its index id,
// then the row behind its schema version. It is read as a row of the present version and as one of an earlier version,
// which lacks the last column, has a dropped one, and the others in reverse.
#include <cstdint>
#include <cstdlib>
#include <memory>

#include "codec/row_codec.h"
#include "codec/testing.h"

namespace {

using namespace cairn;
using namespace cairn::codec;

// The tables are the same in every run. Some have more columns than lengths of a row are kept.
struct Table {
  explicit Table(uint64_t seed)
      : random(seed),
        layout(random.Layout(seed % 8 == 7 ? 40 : 1 + random.Below(12), seed % 2 == 0 ? nullptr : testing::SmallCollation::Named("wide"))),
        primary(IndexCodec::Primary(layout, IndexId(1), random.Parts(layout, 3, true))),
        codec(layout, primary, 1),
        altered(layout, primary, 2, std::make_shared<const RowHistory>(HistoryOf(layout, primary))) {}

  static RowHistory HistoryOf(const RecordLayout& layout, const IndexCodec& primary) {
    RowHistory history{.versions = {{100}},
                       .dropped = {{.column_id = 100, .type = ColumnType::kInteger, .nullable = true, .pack_length = 2}},
                       .initial_values = {}};
    const testing::TestRecord zeros(layout);
    for (size_t column = layout.columns.size(); column-- != 0;) {
      if (!layout.columns[column].stored) continue;
      if (column + 1 == layout.columns.size() && !primary.Covers(column)) {
        history.initial_values.push_back(InitialValueIn(layout.columns[column], zeros.data()));
      } else {
        history.versions[0].push_back(layout.columns[column].column_id);
      }
    }
    return history;
  }

  testing::Randomly random;
  RecordLayout layout;
  IndexCodec primary;
  RowCodec codec;
  RowCodec altered;
};

void Require(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

static void CheckRow(Table& table, const RowCodec& codec, ByteView key, ByteView row) {
  const DecodePlan all = codec.Plan(ColumnSet::All(table.layout.columns.size()));
  testing::TestRecord record(table.layout), back(table.layout);
  ColumnSet some(table.layout.columns.size());
  for (size_t column = 0; column < some.column_count(); ++column) {
    if (table.random.OneIn(2)) some.Add(column);
  }
  const bool some_decode = codec.Decode(codec.Plan(some), key, row, back.data()).ok();
  if (!codec.Decode(all, key, row, record.data()).ok()) return;
  Require(some_decode);

  ByteBuffer key_again, row_again;
  table.primary.EncodePrimaryKey(record.data(), 0, &key_again);
  codec.Encode(record.data(), &row_again);
  Require(codec.Decode(all, key_again.view(), row_again.view(), back.data()).ok());
  for (size_t column = 0; column < table.layout.columns.size(); ++column) {
    Require(!table.layout.columns[column].stored || back.SameAs(record, column));
  }
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) return 0;
  Table table(data[0]);
  const size_t key_bytes = std::min<size_t>(data[1], size - 2);
  ByteBuffer key, row;
  table.primary.EncodeIndexPrefix(&key);
  key.Append(data + 2, key_bytes);
  row.AppendVarint(1);
  row.Append(data + 2 + key_bytes, size - 2 - key_bytes);
  CheckRow(table, table.codec, key.view(), row.view());
  CheckRow(table, table.altered, key.view(), row.view());
  return 0;
}
