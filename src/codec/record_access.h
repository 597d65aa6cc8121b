// SPDX-License-Identifier: GPL-2.0-only
// Reads and writes of one column's bytes in a record. Internal to the codec layer.
#pragma once

#include <cassert>
#include <cstdint>
#include <cstring>

#include "base/bytes.h"
#include "base/endian.h"
#include "codec/collation.h"
#include "codec/record_layout.h"

namespace cairn::codec {

inline uint32_t LoadLength(const uint8_t* at, unsigned length_bytes) {
  switch (length_bytes) {
    case 1: return at[0];
    case 2: return LoadLe16(at);
    case 3: return LoadLe16(at) | uint32_t{at[2]} << 16;
    default: return LoadLe32(at);
  }
}

inline void StoreLength(uint8_t* at, unsigned length_bytes, uint32_t length) {
  switch (length_bytes) {
    case 1: at[0] = static_cast<uint8_t>(length); return;
    case 2: StoreLe16(at, static_cast<uint16_t>(length)); return;
    case 3:
      StoreLe16(at, static_cast<uint16_t>(length));
      at[2] = static_cast<uint8_t>(length >> 16);
      return;
    default: StoreLe32(at, length); return;
  }
}

inline bool IsVariable(ColumnType type) {
  return type == ColumnType::kChar || type == ColumnType::kVarchar || type == ColumnType::kBlob;
}

inline bool IsNullIn(const ColumnLayout& column, const uint8_t* record) {
  return column.nullable && (record[column.null_offset] & column.null_mask) != 0;
}

inline void SetNullBit(const ColumnLayout& column, bool is_null, uint8_t* record) {
  if (!column.nullable) return;
  uint8_t& bits = record[column.null_offset];
  bits = static_cast<uint8_t>(is_null ? bits | column.null_mask : bits & ~column.null_mask);
}

// The data of the column in `record`: all bytes of a fixed-size one (kChar with its padding),
// without length bytes of the others. Valid as long as the record (kBlob: the data) is.
inline ByteView ValueIn(const ColumnLayout& column, const uint8_t* record) {
  const uint8_t* at = record + column.offset;
  if (column.type == ColumnType::kVarchar) {
    return AsBytes(at + column.length_bytes, LoadLength(at, column.length_bytes));
  }
  if (column.type == ColumnType::kBlob) {
    const uint8_t* data;
    std::memcpy(&data, at + column.length_bytes, sizeof data);
    const uint32_t length = LoadLength(at, column.length_bytes);
    return length == 0 ? ByteView() : AsBytes(data, length);
  }
  return AsBytes(at, column.pack_length);
}

// The value as it is kept outside keys: CHAR(n) without its padding.
inline ByteView StoredValueIn(const ColumnLayout& column, const uint8_t* record) {
  const ByteView value = ValueIn(column, record);
  return column.type == ColumnType::kChar ? column.collation->TrimSpaces(value) : value;
}

// Writes a kept value back. False when no value of the column is that long. A kBlob column gets
// a pointer to `value`'s bytes.
[[nodiscard]] inline bool StoreValue(const ColumnLayout& column, ByteView value, uint8_t* record) {
  uint8_t* at = record + column.offset;
  switch (column.type) {
    case ColumnType::kChar:
      if (value.size() > column.pack_length) return false;
      std::memcpy(at, value.data(), value.size());
      if (value.size() < column.pack_length) {
        column.collation->FillSpaces(at + value.size(), column.pack_length - value.size());
      }
      return true;
    case ColumnType::kVarchar:
      if (value.size() > column.data_bytes_max) return false;
      StoreLength(at, column.length_bytes, static_cast<uint32_t>(value.size()));
      std::memcpy(at + column.length_bytes, value.data(), value.size());
      return true;
    case ColumnType::kBlob: {
      if (value.size() > column.data_bytes_max) return false;
      StoreLength(at, column.length_bytes, static_cast<uint32_t>(value.size()));
      const char* data = value.data();
      std::memcpy(at + column.length_bytes, &data, sizeof data);
      return true;
    }
    default:
      if (value.size() != column.pack_length) return false;
      std::memcpy(at, value.data(), value.size());
      return true;
  }
}

// Marks the column NULL and gives it the bytes a NULL column has. `default_record` may be empty. Nobody looks behind the length of a VARCHAR,
// whose width may be a hundred times the rest of the row.
inline void StoreNull(const ColumnLayout& column, ByteView default_record, uint8_t* record) {
  SetNullBit(column, true, record);
  const size_t bytes = column.type == ColumnType::kVarchar ? column.length_bytes : column.pack_length;
  if (default_record.empty()) {
    std::memset(record + column.offset, 0, bytes);
  } else {
    std::memcpy(record + column.offset, default_record.data() + column.offset, bytes);
  }
}

// Aborts on a layout that would make the functions above leave the record. Our bug, not data's.
inline void CheckLayout([[maybe_unused]] const ColumnLayout& column) {
  assert(column.type != ColumnType::kChar || column.collation != nullptr);
  assert(column.type != ColumnType::kChar || column.data_bytes_max <= column.pack_length);
  assert(column.type != ColumnType::kVarchar || column.length_bytes == 1 || column.length_bytes == 2);
  assert(column.type != ColumnType::kVarchar || column.length_bytes + column.data_bytes_max <= column.pack_length);
  assert(column.type != ColumnType::kBlob || (column.length_bytes >= 1 && column.length_bytes <= 4));
  assert(column.type != ColumnType::kBlob || column.pack_length == column.length_bytes + sizeof(void*));
}

}  // namespace cairn::codec
