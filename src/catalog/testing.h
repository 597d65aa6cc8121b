// SPDX-License-Identifier: GPL-2.0-only
// For tests of the catalog and of the layers that read and write rows: small tables without a server.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/index_bounds.h"
#include "catalog/table_access.h"
#include "codec/testing.h"
#include "store/store.h"

namespace cairn::catalog::testing {

// The dictionary's description of a record layout; columns are called c0, c1, ...
inline std::vector<ColumnDef> ColumnsOf(const codec::RecordLayout& layout) {
  std::vector<ColumnDef> columns;
  for (const codec::ColumnLayout& from : layout.columns) {
    ColumnDef column;
    column.column_id = from.column_id;
    column.name = "c" + std::to_string(columns.size());
    column.type = static_cast<uint8_t>(from.type);
    column.nullable = from.nullable;
    column.is_unsigned = from.is_unsigned;
    column.stored = from.stored;
    column.data_bytes_max = from.data_bytes_max;
    column.length_bytes = from.length_bytes;
    columns.push_back(column);
  }
  return columns;
}

inline IndexDef MakeIndex(IndexKind kind, std::string name, const std::vector<codec::KeyPart>& parts, uint32_t id = 0) {
  IndexDef index{.id = IndexId(id), .name = std::move(name), .kind = kind, .parts = {}};
  for (const codec::KeyPart& part : parts) {
    index.parts.push_back(
        {.column = part.column, .prefix_bytes = part.prefix_bytes, .descending = part.descending});
  }
  return index;
}

inline TableDef MakeDef(std::string name, const codec::RecordLayout& layout, std::vector<IndexDef> indexes) {
  TableDef def;
  def.id = TableId(1);
  def.name = std::move(name);
  def.columns = ColumnsOf(layout);
  def.indexes = std::move(indexes);
  return def;
}

// A table without a dictionary. Index ids must be in `def` already.
inline std::shared_ptr<TableAccess> MakeAccess(TableDef def, const codec::RecordLayout& layout) {
  auto table = std::make_shared<Table>(std::move(def), store::TableCounters(), 1, 0);
  std::shared_ptr<TableAccess> access;
  const Status status = TableAccess::Make(std::move(table), layout, &access);
  EXPECT_TRUE(status.ok()) << status.ToString();
  return access;
}

using Entries = std::map<std::string, std::string>;

// Adds what the store holds of a row: its own key and value and all its index entries.
inline void AddEntriesOf(const TableAccess& access, const uint8_t* record, uint64_t hidden_row_id, Entries* entries) {
  ByteBuffer primary_key, key, value;
  access.primary().EncodePrimaryKey(record, hidden_row_id, &primary_key);
  access.rows().Encode(record, &value);
  (*entries)[primary_key.ToString()] = value.ToString();
  for (size_t index = 1; index < access.indexes().size(); ++index) {
    key.Clear();
    value.Clear();
    access.indexes()[index].EncodeEntry(record, primary_key.view(), &key, &value);
    (*entries)[key.ToString()] = value.ToString();
  }
}

// Everything committed in the indexes of a table.
inline Entries CommittedEntries(const store::Store& store, const TableDef& def) {
  Entries entries;
  for (const IndexDef& index : def.indexes) {
    const IndexBounds bounds(index.id);
    store::Cursor cursor;
    const Status status =
        store.OpenCursor(store::Family::kData, {.lower_bound = bounds.lower(), .upper_bound = bounds.upper()}, &cursor);
    EXPECT_TRUE(status.ok()) << status.ToString();
    for (cursor.SeekToFirst(); cursor.Valid(); cursor.Next()) {
      entries[std::string(cursor.key())] = std::string(cursor.value());
    }
    EXPECT_TRUE(cursor.status().ok()) << cursor.status().ToString();
  }
  return entries;
}

}  // namespace cairn::catalog::testing
