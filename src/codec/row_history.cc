// SPDX-License-Identifier: GPL-2.0-only
// Looks for columns that a history forgot.
#include "codec/row_history.h"

#include <algorithm>
#include <unordered_map>

#include "codec/record_access.h"

namespace cairn::codec {
namespace {

// A column that rows can have.
struct Known {
  const ColumnLayout* present = nullptr;  // null: it was dropped
  bool has_initial = false;
  size_t listed_by = 0;  // the last version that lists it, counted from 1

  bool IsInAllRows() const { return present != nullptr && !has_initial; }
};

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
  std::unordered_map<uint32_t, Known> known;
  for (const ColumnLayout& column : layout.columns) {
    if (column.stored) known.try_emplace(column.column_id).first->second.present = &column;
  }
  for (const DroppedColumn& column : history.dropped) {
    if (column.type > ColumnType::kBlob) return false;
    const bool may_be_empty = column.type == ColumnType::kFixedBytes;  // BINARY(0), as CREATE ... SELECT NULL makes it
    if (!IsVariable(column.type) && column.pack_length == 0 && !may_be_empty) return false;
    if (!IsVariable(column.type) && column.pack_length > UINT16_MAX) return false;
    if (!known.try_emplace(column.column_id).second) return false;
  }
  for (const InitialValue& value : history.initial_values) {
    const auto found = known.find(value.column_id);
    if (found == known.end() || found->second.present == nullptr) return false;
    if (!Fits(value, *found->second.present)) return false;
    found->second.has_initial = true;
  }
  const auto in_all_rows = std::count_if(known.begin(), known.end(), [](const auto& column) { return column.second.IsInAllRows(); });
  size_t version = 0;
  for (const std::vector<uint32_t>& columns : history.versions) {
    ++version;
    ptrdiff_t found_of_them = 0;
    for (const uint32_t id : columns) {
      const auto found = known.find(id);
      if (found == known.end() || found->second.listed_by == version) return false;
      found->second.listed_by = version;
      found_of_them += found->second.IsInAllRows();
    }
    if (found_of_them != in_all_rows) return false;
  }
  return true;
}

}  // namespace cairn::codec
