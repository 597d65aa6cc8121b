// SPDX-License-Identifier: GPL-2.0-only
// What rows that were written at earlier schema versions of a table hold, as plain data.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "codec/record_layout.h"

namespace cairn::codec {

// A column that no record has any more, as far as needed to step over its bytes in a row.
struct DroppedColumn {
  uint32_t column_id = 0;
  ColumnType type = ColumnType::kInteger;
  bool nullable = false;
  uint32_t pack_length = 0;  // fixed-size columns only
};

// What an added column is in rows that were written before it came.
struct InitialValue {
  uint32_t column_id = 0;
  bool is_null = true;
  std::string value;  // as in a row: the record's bytes of a fixed-size column, otherwise the text
};

// Thread rule: as for a value type.
struct RowHistory {
  // For each earlier schema version, those that end one below the present: the ids of its stored columns, in
  // the order of the table then.
  std::vector<std::vector<uint32_t>> versions;
  std::vector<DroppedColumn> dropped;
  std::vector<InitialValue> initial_values;
};

// The value of the column in a record.
InitialValue InitialValueIn(const ColumnLayout& column, const uint8_t* record);

// Whether every column that rows of any version can have or lack is known, and each initial value is
// one of its column, whose present form is in `layout`. RowCodec needs that.
bool IsSound(const RowHistory& history, const RecordLayout& layout);

}  // namespace cairn::codec
