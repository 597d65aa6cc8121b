// SPDX-License-Identifier: GPL-2.0-only
// The counters of a table, kept as records that changes are merged into without reading.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/bytes.h"
#include "base/status.h"

namespace cairn::store {

// How many rows a table has and which auto-increment value comes next. A value is both a record
// and a change to one: row counts add up (wrapping), the next value is the largest seen.
//
// Bytes, of records and of merge operands alike:
//   u8      format, 1
//   varint  row_count, zig-zag (0 -> 0, -1 -> 1, 1 -> 2, ...), LEB128 as in base/bytes.h
//   varint  auto_increment_next, LEB128; 0 when the table never handed one out
// Nothing may follow. Examples: {0, 0} = 01 00 00; {-1, 0} = 01 01 00; {300, 5} = 01 d8 04 05.
//
// Only the dictionary family merges, and only keys that hold this record may be merged into.
struct TableCounters {
  int64_t row_count = 0;
  uint64_t auto_increment_next = 0;

  bool IsZero() const { return row_count == 0 && auto_increment_next == 0; }

  void Add(const TableCounters& change) {
    row_count = static_cast<int64_t>(static_cast<uint64_t>(row_count) +
                                     static_cast<uint64_t>(change.row_count));
    auto_increment_next = std::max(auto_increment_next, change.auto_increment_next);
  }

  friend bool operator==(const TableCounters&, const TableCounters&) = default;
};

// Appends the bytes above.
void EncodeTableCounters(const TableCounters& counters, ByteBuffer* to);

// kFormatTooNew for another format byte, kCorruption for anything else; `*counters` is then
// unspecified.
Status DecodeTableCounters(ByteView bytes, TableCounters* counters);

}  // namespace cairn::store
