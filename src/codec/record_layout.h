// SPDX-License-Identifier: GPL-2.0-only
// Plain data: where each column lies in the server's row buffer (the "record") and what it is.
#pragma once

#include <cstdint>
#include <vector>

#include "base/shared_bytes.h"

namespace cairn::codec {

class Collation;

// The numbers are in the dictionary (docs/formats/dictionary.md): they never change.
enum class ColumnType : uint8_t {
  // 1, 2, 3, 4 or 8 bytes little-endian, two's complement when signed. Also ENUM, SET, YEAR,
  // DATE, and the old TIME/DATETIME/TIMESTAMP forms that are integers.
  kInteger = 0,
  // IEEE 754, little-endian.
  kFloat = 1,
  kDouble = 2,
  // Bytes that memcmp orders as the server does: DECIMAL, BINARY(n), BIT kept as bytes,
  // big-endian TIME/DATETIME/TIMESTAMP, INET4, INET6, UUID.
  kFixedBytes = 3,
  // CHAR(n): pack_length bytes, padded with spaces. Has a collation.
  kChar = 4,
  // 1 or 2 length bytes (little-endian), then the data. Collation null: VARBINARY.
  kVarchar = 5,
  // 1 to 4 length bytes (little-endian), then an 8-byte pointer to the data. Collation null: BLOB.
  kBlob = 6,
};

struct ColumnLayout {
  ColumnType type = ColumnType::kInteger;
  bool nullable = false;
  bool is_unsigned = false;
  // False for a virtual generated column: never in rows, may be in indexes.
  bool stored = true;
  // Of the column's bytes in the record.
  uint32_t offset = 0;
  // Of the byte with the null bit in the record; used only when nullable.
  uint32_t null_offset = 0;
  uint8_t null_mask = 0;
  // Bytes the column takes in the record (kVarchar: length bytes and data; kBlob: length and pointer).
  uint32_t pack_length = 0;
  // Most bytes of data a value may have (kChar, kVarchar, kBlob); decoding refuses more.
  uint32_t data_bytes_max = 0;
  // kVarchar: 1 or 2; kBlob: 1 to 4; otherwise 0.
  uint8_t length_bytes = 0;
  // kChar: never null. kVarchar, kBlob: null means bytes without a collation. Not owned.
  const Collation* collation = nullptr;
  // The dictionary's number of the column; never reused within a table.
  uint32_t column_id = 0;
};

struct RecordLayout {
  std::vector<ColumnLayout> columns;
  // Size of the record.
  uint32_t record_bytes = 0;
  // The first bytes of the record, which hold the null bits.
  uint32_t null_bytes = 0;
  // A record with the bytes a NULL column is to hold, of a VARCHAR its length (the server compares records byte by byte, so they matter).
  // Empty: zeros. Otherwise record_bytes long. All that is made of the layout keeps it by reference.
  SharedBytes default_record;
};

}  // namespace cairn::codec
