// SPDX-License-Identifier: GPL-2.0-only
// Looks for columns that a history forgot.
#include "codec/row_history.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "codec/record_access.h"

namespace cairn::codec {
namespace {

bool Fits(const InitialValue& initial, const ColumnLayout& column) {
  if (initial.is_null) return column.nullable;
  switch (column.type) {
    case ColumnType::kChar: return initial.value.size() <= column.pack_length;
    case ColumnType::kVarchar:
    case ColumnType::kBlob: return initial.value.size() <= column.data_bytes_max;
    default: return initial.value.size() == column.pack_length;
  }
}

}  // namespace

InitialValue InitialValueIn(const ColumnLayout& column, const uint8_t* record) {
  InitialValue initial{.column_id = column.column_id, .is_null = IsNullIn(column, record), .value = {}};
  if (!initial.is_null) initial.value.assign(StoredValueIn(column, record));
  return initial;
}

bool IsSound(const RowHistory& history, const RecordLayout& layout) {
  std::unordered_map<uint32_t, const ColumnLayout*> present;
  std::unordered_set<uint32_t> dropped, initial;
  for (const ColumnLayout& column : layout.columns) {
    if (column.stored) present.emplace(column.column_id, &column);
  }
  for (const DroppedColumn& column : history.dropped) {
    if (column.type > ColumnType::kBlob || present.contains(column.column_id)) return false;
    const bool may_be_empty = column.type == ColumnType::kFixedBytes;  // BINARY(0), as CREATE ... SELECT NULL makes it
    if (!IsVariable(column.type) && column.pack_length == 0 && !may_be_empty) return false;
    if (!IsVariable(column.type) && column.pack_length > UINT16_MAX) return false;
    if (!dropped.insert(column.column_id).second) return false;
  }
  for (const InitialValue& value : history.initial_values) {
    const auto found = present.find(value.column_id);
    if (found == present.end() || !Fits(value, *found->second)) return false;
    initial.insert(value.column_id);
  }
  for (const std::vector<uint32_t>& columns : history.versions) {
    const std::unordered_set<uint32_t> then(columns.begin(), columns.end());
    if (then.size() != columns.size()) return false;
    for (const uint32_t id : columns) {
      if (!present.contains(id) && !dropped.contains(id)) return false;
    }
    for (const auto& [id, column] : present) {
      if (!then.contains(id) && !initial.contains(id)) return false;
    }
  }
  return true;
}

}  // namespace cairn::codec
