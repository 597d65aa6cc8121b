// SPDX-License-Identifier: GPL-2.0-only
// Fuzzes the reading of rows. Whatever the bytes: no step outside, and what decodes to a record
// must, encoded again, be a row that decodes to the same record.
//
// Input: a byte that picks the table, a byte with the key's length, the key behind its index id,
// then the row behind its schema version.
#include <cstdint>
#include <cstdlib>

#include "codec/row_codec.h"
#include "codec/testing.h"

namespace {

using namespace cairn;
using namespace cairn::codec;

// The tables are the same in every run: the first byte of an input must keep its meaning.
struct Table {
  explicit Table(uint64_t seed)
      : random(seed),
        layout(random.Layout(1 + random.Below(12))),
        primary(IndexCodec::Primary(layout, IndexId(1), random.Parts(layout, 3, true))),
        codec(layout, primary, 1),
        all(codec.Plan(ColumnSet::All(layout.columns.size()))) {}

  testing::Randomly random;
  RecordLayout layout;
  IndexCodec primary;
  RowCodec codec;
  DecodePlan all;
};

void Require(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) return 0;
  Table table(data[0]);
  const size_t key_bytes = std::min<size_t>(data[1], size - 2);
  ByteBuffer key, row;
  table.primary.EncodeIndexPrefix(&key);
  key.Append(data + 2, key_bytes);
  row.AppendVarint(table.codec.schema_version());
  row.Append(data + 2 + key_bytes, size - 2 - key_bytes);

  testing::TestRecord record(table.layout), back(table.layout);
  ColumnSet some(table.layout.columns.size());
  for (size_t column = 0; column < some.column_count(); ++column) {
    if (table.random.OneIn(2)) some.Add(column);
  }
  const bool some_decode = table.codec.Decode(table.codec.Plan(some), key.view(), row.view(), back.data()).ok();
  if (!table.codec.Decode(table.all, key.view(), row.view(), record.data()).ok()) return 0;
  Require(some_decode);

  ByteBuffer key_again, row_again;
  table.primary.EncodePrimaryKey(record.data(), 0, &key_again);
  table.codec.Encode(record.data(), &row_again);
  Require(table.codec.Decode(table.all, key_again.view(), row_again.view(), back.data()).ok());
  for (size_t column = 0; column < table.layout.columns.size(); ++column) {
    Require(!table.layout.columns[column].stored || back.SameAs(record, column));
  }
  return 0;
}
