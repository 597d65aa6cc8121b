// SPDX-License-Identifier: GPL-2.0-only
// Copying values between records.
#include "codec/value_copy.h"

#include <cstring>

#include "codec/collation.h"
#include "codec/record_access.h"

namespace cairn::codec {
namespace {

bool IsText(const ColumnLayout& column) { return column.type == ColumnType::kChar || column.type == ColumnType::kVarchar; }

// CHAR compares as if padded whatever its collation, VARCHAR as its collation says.
bool SameTextOrder(const ColumnLayout& a, const ColumnLayout& b) {
  if (a.collation == nullptr || b.collation == nullptr) return a.collation == b.collation && a.type == b.type;
  if (a.collation != b.collation) return false;
  return a.type == b.type || a.collation->shape().pad_rule != PadRule::kNoPad;
}

bool IsPadded(const ColumnLayout& column) {
  if (!IsText(column) || column.collation == nullptr) return false;
  return column.type == ColumnType::kChar || column.collation->shape().pad_rule != PadRule::kNoPad;
}

// A text is as long as its characters are many. Other values are stored alike.
bool Fits(const ColumnLayout& column, ByteView value) {
  if (!IsText(column)) return true;
  if (column.collation == nullptr) return value.size() <= column.data_bytes_max;
  const size_t characters_max = column.data_bytes_max / column.collation->shape().char_bytes_max;
  return column.collation->PrefixBytes(value, characters_max) == value.size();
}

}  // namespace

bool AreComparable(const ColumnLayout& a, const ColumnLayout& b) {
  if (a.type == ColumnType::kBlob || b.type == ColumnType::kBlob) return false;
  if (IsText(a) && IsText(b)) return SameTextOrder(a, b);
  return a.type == b.type && a.is_unsigned == b.is_unsigned && a.pack_length == b.pack_length;
}

bool CopyValue(const ColumnLayout& from, const uint8_t* from_record, const ColumnLayout& to, uint8_t* to_record) {
  if (IsNullIn(from, from_record)) {
    SetNullBit(to, true, to_record);
    return to.nullable;
  }
  SetNullBit(to, false, to_record);
  ByteView value = StoredValueIn(from, from_record);
  // Spaces at the end, which a CHAR has not, do not count where texts are padded.
  if (!Fits(to, value) && IsPadded(to)) value = to.collation->TrimSpaces(value);
  return Fits(to, value) && StoreValue(to, value, to_record);
}

bool SameBytes(const ColumnLayout& column, const uint8_t* a, const uint8_t* b) {
  if (IsNullIn(column, a) != IsNullIn(column, b)) return false;
  return IsNullIn(column, a) || ValueIn(column, a) == ValueIn(column, b);
}

void CopyColumn(const ColumnLayout& column, const uint8_t* from, uint8_t* to) {
  SetNullBit(column, IsNullIn(column, from), to);
  std::memcpy(to + column.offset, from + column.offset, column.pack_length);
}

bool IsNull(const ColumnLayout& column, const uint8_t* record) { return IsNullIn(column, record); }

void MakeNull(const RecordLayout& layout, size_t column, uint8_t* record) {
  StoreNull(layout.columns[column], layout.default_record.view(), record);
}

void RebaseChange(const RecordLayout& layout, const uint8_t* current, uint8_t* old_record, uint8_t* new_record) {
  for (const ColumnLayout& column : layout.columns) {
    if (!column.stored) continue;
    if (new_record != nullptr && SameBytes(column, old_record, new_record)) CopyColumn(column, current, new_record);
    CopyColumn(column, current, old_record);
  }
}

}  // namespace cairn::codec
