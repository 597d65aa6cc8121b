// SPDX-License-Identifier: GPL-2.0-only
// What a table is, as plain data, and its bytes in the dictionary (docs/formats/dictionary.md).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/ids.h"
#include "base/status.h"

namespace cairn::catalog {

// What a column that was added to an existing table is in rows of earlier schema versions.
enum class InitialKind : uint8_t { kNone = 0, kNull = 1, kValue = 2 };

// A column as it is stored. `type` is the number of a codec::ColumnType.
struct ColumnDef {
  uint32_t column_id = 0;
  std::string name;
  uint8_t type = 0;
  bool nullable = false;
  bool is_unsigned = false;
  bool stored = true;
  uint32_t data_bytes_max = 0;
  uint8_t length_bytes = 0;
  uint32_t collation_id = 0;
  InitialKind initial = InitialKind::kNone;
  std::string initial_value = {};  // as in a row (codec::InitialValue)

  bool operator==(const ColumnDef&) const = default;
};

// With more, an ALTER copies the table, which then has rows of one version only.
inline constexpr size_t kEarlierVersionsMax = 255;

struct KeyPartDef {
  uint16_t column = 0;        // ordinal in TableDef::columns
  uint32_t prefix_bytes = 0;  // 0: the whole column
  bool descending = false;

  bool operator==(const KeyPartDef&) const = default;
};

enum class IndexKind : uint8_t { kPrimary = 0, kUnique = 1, kSecondary = 2, kHiddenPrimary = 3 };

struct IndexDef {
  IndexId id;
  std::string name;
  IndexKind kind = IndexKind::kSecondary;
  std::vector<KeyPartDef> parts;  // empty for a hidden primary key

  bool operator==(const IndexDef&) const = default;
};

// The primary index, hidden or not, is always the first of `indexes`.
struct TableDef {
  TableId id;
  std::string name;  // "database/table" in the server's file-name encoding
  uint32_t schema_version = 1;
  bool temporary = false;
  bool sequence = false;
  std::string server_version;  // opaque; the server's version of the definition
  std::vector<ColumnDef> columns;
  std::vector<IndexDef> indexes;

  // The greatest column_id of a column that was dropped; 0 when none was.
  uint32_t greatest_dropped_column_id = 0;
  // Columns that are gone, but are in rows of an earlier version. Stored ones only.
  std::vector<ColumnDef> dropped_columns;
  // For each earlier schema version that rows may have, those up to schema_version - 1: the ids of its stored
  // columns, in the order of the table then.
  std::vector<std::vector<uint32_t>> earlier_versions;

  bool HasHiddenPrimaryKey() const { return indexes.front().kind == IndexKind::kHiddenPrimary; }
  bool operator==(const TableDef&) const = default;
};

// Appends the bytes of `def`.
void EncodeTableDef(const TableDef& def, ByteBuffer* out);

// Reads them back. kCorruption for bytes no version allows (bad checksum, truncation, an index
// that names no column), kFormatTooNew for a later version under a right checksum. `*def` is unspecified on failure.
Status DecodeTableDef(ByteView bytes, TableDef* def);

}  // namespace cairn::catalog
