// SPDX-License-Identifier: GPL-2.0-only
// The bytes of a table definition, versions 1 and 2 of docs/formats/dictionary.md.
#include "catalog/table_def.h"

#include <algorithm>

#include "base/record_envelope.h"

namespace cairn::catalog {
namespace {

// Version 2 adds what was there before; a table that has nothing of that is written in version 1.
constexpr uint8_t kPlainVersion = 1;
constexpr uint8_t kHistoryVersion = 2;

constexpr uint64_t kTableTemporary = 1;
constexpr uint64_t kTableSequence = 2;
constexpr uint64_t kTableHiddenPrimary = 4;
constexpr uint64_t kColumnNullable = 1;
constexpr uint64_t kColumnUnsigned = 2;
constexpr uint64_t kColumnStored = 4;
constexpr uint64_t kPlainColumnFlags = kColumnNullable | kColumnUnsigned | kColumnStored;
constexpr uint64_t kColumnHasInitial = 8;
constexpr uint64_t kColumnInitialNull = 16;
constexpr uint64_t kAllColumnFlags = kPlainColumnFlags | kColumnHasInitial | kColumnInitialNull;
constexpr uint64_t kPartDescending = 1;

uint64_t FlagsOf(const ColumnDef& column) {
  const uint64_t initial = column.initial == InitialKind::kNone   ? 0
                           : column.initial == InitialKind::kNull ? kColumnHasInitial | kColumnInitialNull
                                                                  : kColumnHasInitial;
  return (column.nullable ? kColumnNullable : 0) | (column.is_unsigned ? kColumnUnsigned : 0) |
         (column.stored ? kColumnStored : 0) | initial;
}

bool HasHistory(const TableDef& def) {
  for (const ColumnDef& column : def.columns) {
    if (column.initial != InitialKind::kNone) return true;
  }
  return def.greatest_dropped_column_id != 0 || !def.dropped_columns.empty() || !def.earlier_versions.empty();
}

void EncodeColumn(const ColumnDef& column, ByteBuffer* out) {
  out->AppendVarint(column.column_id);
  out->AppendLengthPrefixed(column.name);
  out->AppendVarint(column.type);
  out->AppendVarint(FlagsOf(column));
  out->AppendVarint(column.data_bytes_max);
  out->AppendVarint(column.length_bytes);
  out->AppendVarint(column.collation_id);
  if (column.initial == InitialKind::kValue) out->AppendLengthPrefixed(column.initial_value);
}

void EncodeHistory(const TableDef& def, ByteBuffer* out) {
  out->AppendVarint(def.greatest_dropped_column_id);
  out->AppendVarint(def.dropped_columns.size());
  for (const ColumnDef& column : def.dropped_columns) EncodeColumn(column, out);
  out->AppendVarint(def.earlier_versions.size());
  for (const std::vector<uint32_t>& ids : def.earlier_versions) {
    out->AppendVarint(ids.size());
    for (const uint32_t id : ids) out->AppendVarint(id);
  }
}

void EncodeIndex(const IndexDef& index, ByteBuffer* out) {
  out->AppendVarint(index.id.value);
  out->AppendLengthPrefixed(index.name);
  out->AppendVarint(static_cast<uint64_t>(index.kind));
  out->AppendVarint(index.parts.size());
  for (const KeyPartDef& part : index.parts) {
    out->AppendVarint(part.column);
    out->AppendVarint(part.prefix_bytes);
    out->AppendVarint(part.descending ? kPartDescending : 0);
  }
}

// Reads one varint that must fit `max`.
bool ReadUpTo(ByteReader* in, uint64_t max, uint64_t* value) { return in->ReadVarint(value) && *value <= max; }

bool ReadText(ByteReader* in, std::string* text) {
  ByteView bytes;
  if (!in->ReadLengthPrefixed(&bytes)) return false;
  text->assign(bytes);
  return true;
}

bool DecodeColumn(ByteReader* in, uint64_t allowed_flags, ColumnDef* column) {
  uint64_t type, flags, length_bytes;
  if (!in->ReadVarint32(&column->column_id) || !ReadText(in, &column->name) || !ReadUpTo(in, UINT8_MAX, &type) ||
      !ReadUpTo(in, allowed_flags, &flags) ||
      !in->ReadVarint32(&column->data_bytes_max) || !ReadUpTo(in, 4, &length_bytes) ||
      !in->ReadVarint32(&column->collation_id)) {
    return false;
  }
  column->type = static_cast<uint8_t>(type);
  column->nullable = flags & kColumnNullable;
  column->is_unsigned = flags & kColumnUnsigned;
  column->stored = flags & kColumnStored;
  column->length_bytes = static_cast<uint8_t>(length_bytes);
  if ((flags & kColumnHasInitial) == 0) return (flags & kColumnInitialNull) == 0;
  column->initial = flags & kColumnInitialNull ? InitialKind::kNull : InitialKind::kValue;
  return column->initial == InitialKind::kNull || ReadText(in, &column->initial_value);
}

bool DecodeHistory(ByteReader* in, TableDef* def) {
  uint64_t count;
  if (!in->ReadVarint32(&def->greatest_dropped_column_id) || !ReadUpTo(in, in->remaining(), &count)) return false;
  def->dropped_columns.assign(count, ColumnDef());
  for (ColumnDef& column : def->dropped_columns) {
    if (!DecodeColumn(in, kPlainColumnFlags, &column) || !column.stored) return false;
    if (column.column_id > def->greatest_dropped_column_id) return false;
  }
  if (!ReadUpTo(in, std::min<uint64_t>(in->remaining(), kEarlierVersionsMax), &count)) return false;
  if (count >= def->schema_version) return false;
  def->earlier_versions.assign(count, {});
  for (std::vector<uint32_t>& ids : def->earlier_versions) {
    if (!ReadUpTo(in, in->remaining(), &count)) return false;
    ids.assign(count, 0);
    for (uint32_t& id : ids) {
      if (!in->ReadVarint32(&id)) return false;
    }
  }
  return HasHistory(*def);
}

bool DecodeIndex(ByteReader* in, size_t column_count, IndexDef* index) {
  uint64_t kind, part_count;
  if (!in->ReadVarint32(&index->id.value) || index->id.value == 0 || !ReadText(in, &index->name) ||
      !ReadUpTo(in, static_cast<uint64_t>(IndexKind::kHiddenPrimary), &kind) ||
      !ReadUpTo(in, in->remaining(), &part_count)) {
    return false;
  }
  index->kind = static_cast<IndexKind>(kind);
  if ((part_count == 0) != (index->kind == IndexKind::kHiddenPrimary)) return false;
  index->parts.resize(part_count);
  for (KeyPartDef& part : index->parts) {
    uint64_t column, flags;
    if (!ReadUpTo(in, UINT16_MAX, &column) || column >= column_count || !in->ReadVarint32(&part.prefix_bytes) ||
        !ReadUpTo(in, kPartDescending, &flags)) {
      return false;
    }
    part.column = static_cast<uint16_t>(column);
    part.descending = flags & kPartDescending;
  }
  return true;
}

bool IsPrimary(IndexKind kind) { return kind == IndexKind::kPrimary || kind == IndexKind::kHiddenPrimary; }

// The primary index comes first and is the only one.
bool PrimaryIsFirst(const std::vector<IndexDef>& indexes) {
  for (size_t i = 0; i < indexes.size(); ++i) {
    if (IsPrimary(indexes[i].kind) != (i == 0)) return false;
  }
  return !indexes.empty();
}

bool DecodeBody(ByteReader* in, bool history, TableDef* def) {
  uint64_t flags, column_count, index_count;
  if (!in->ReadVarint(&def->id.value) || !ReadText(in, &def->name) || !in->ReadVarint32(&def->schema_version) ||
      !ReadUpTo(in, kTableTemporary | kTableSequence | kTableHiddenPrimary, &flags) ||
      !ReadText(in, &def->server_version) || !ReadUpTo(in, in->remaining(), &column_count)) {
    return false;
  }
  def->temporary = flags & kTableTemporary;
  def->sequence = flags & kTableSequence;
  def->columns.assign(column_count, ColumnDef());
  for (ColumnDef& column : def->columns) {
    if (!DecodeColumn(in, history ? kAllColumnFlags : kPlainColumnFlags, &column)) return false;
  }
  if (!ReadUpTo(in, in->remaining(), &index_count)) return false;
  def->indexes.assign(index_count, IndexDef());
  for (IndexDef& index : def->indexes) {
    if (!DecodeIndex(in, column_count, &index)) return false;
  }
  if (history && !DecodeHistory(in, def)) return false;
  return in->empty() && PrimaryIsFirst(def->indexes) &&
         def->HasHiddenPrimaryKey() == static_cast<bool>(flags & kTableHiddenPrimary);
}

}  // namespace

void EncodeTableDef(const TableDef& def, ByteBuffer* out) {
  const size_t start = out->size();
  const bool history = HasHistory(def);
  out->AppendU8(history ? kHistoryVersion : kPlainVersion);
  out->AppendVarint(def.id.value);
  out->AppendLengthPrefixed(def.name);
  out->AppendVarint(def.schema_version);
  out->AppendVarint((def.temporary ? kTableTemporary : 0) | (def.sequence ? kTableSequence : 0) |
                    (def.HasHiddenPrimaryKey() ? kTableHiddenPrimary : 0));
  out->AppendLengthPrefixed(def.server_version);
  out->AppendVarint(def.columns.size());
  for (const ColumnDef& column : def.columns) EncodeColumn(column, out);
  out->AppendVarint(def.indexes.size());
  for (const IndexDef& index : def.indexes) EncodeIndex(index, out);
  if (history) EncodeHistory(def, out);
  SealRecord(start, out);
}

Status DecodeTableDef(ByteView bytes, TableDef* def) {
  uint8_t version;
  ByteView body;
  CAIRN_RETURN_IF_ERROR(OpenRecord(bytes, "a table definition", kHistoryVersion, &version, &body));
  ByteReader in(body);
  def->greatest_dropped_column_id = 0;
  def->dropped_columns.clear();
  def->earlier_versions.clear();
  if (!DecodeBody(&in, version == kHistoryVersion, def)) {
    return Status::Corruption("a table definition of the dictionary is malformed");
  }
  return Status::Ok();
}

}  // namespace cairn::catalog
