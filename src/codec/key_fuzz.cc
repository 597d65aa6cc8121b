// SPDX-License-Identifier: GPL-2.0-only
// Fuzzes the reading of index entries. Whatever the bytes: no step outside, and what decodes to
// a row must, encoded again, be an entry that decodes to the same row.
//
// Input: a byte that picks the table, a byte with the key's length, the key behind its index id,
// then the entry's value.
#include <cstdint>
#include <cstdlib>

#include "codec/testing.h"

namespace {

using namespace cairn;
using namespace cairn::codec;

// The tables are the same in every run: the first byte of an input must keep its meaning.
struct Table {
  explicit Table(uint64_t seed)
      : random(seed),
        layout(random.Layout(1 + random.Below(8))),
        primary(IndexCodec::Primary(layout, IndexId(1), random.Parts(layout, 3, true))),
        index(IndexCodec::Secondary(layout, IndexId(2), random.Parts(layout, 4, false), random.OneIn(2), primary)),
        plan(index.Plan(ColumnSet::All(layout.columns.size()))) {}

  testing::Randomly random;
  RecordLayout layout;
  IndexCodec primary, index;
  EntryPlan plan;
};

void Require(bool holds) {
  if (!holds) std::abort();
}

void CheckRoundTrip(const Table& table, const testing::TestRecord& record, ByteView primary_key) {
  ByteBuffer key, value;
  table.index.EncodeEntry(record.data(), primary_key, &key, &value);
  testing::TestRecord back(table.layout);
  Require(table.index.DecodeColumns(table.plan, key.view(), value.view(), back.data()).ok());
  for (size_t column = 0; column < table.layout.columns.size(); ++column) {
    Require(!table.index.Covers(column) || back.SameAs(record, column));
  }
  ByteBuffer primary_again;
  Require(table.index.PrimaryKeyOf(key.view(), value.view(), &primary_again).ok());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) return 0;
  const Table table(data[0]);
  const size_t key_bytes = std::min<size_t>(data[1], size - 2);
  ByteBuffer key;
  table.index.EncodeIndexPrefix(&key);
  key.Append(data + 2, key_bytes);
  const ByteView value = AsBytes(data + 2 + key_bytes, size - 2 - key_bytes);
  for (unsigned part = 0; part <= table.index.entry_part_count(); ++part) {
    Require(table.index.PrefixBytes(key.view(), part) <= key.size());
  }
  ByteBuffer primary_key;
  testing::TestRecord record(table.layout);
  const bool has_primary_key = table.index.PrimaryKeyOf(key.view(), value, &primary_key).ok();
  const bool decodes = table.index.DecodeColumns(table.plan, key.view(), value, record.data()).ok();
  if (decodes && has_primary_key && table.plan.complete()) CheckRoundTrip(table, record, primary_key.view());
  return 0;
}
