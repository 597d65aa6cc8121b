// SPDX-License-Identifier: GPL-2.0-only
// TABLE and Field, read once, become RecordLayout and TableDef.
#include "server/server_headers.h"

#include "server/table_map.h"

#include <algorithm>

#include "server/collation.h"

namespace cairn::server {
namespace {

using codec::ColumnLayout;
using codec::ColumnType;

bool IsOldBigEndianTemporal(const Field& field) {
  // The forms with fractions that precede TIME2, DATETIME2 and TIMESTAMP2 are big-endian; those
  // without are little-endian integers of 3, 8 and 4 bytes.
  switch (field.real_type()) {
    case MYSQL_TYPE_TIME: return field.decimals() != 0;
    case MYSQL_TYPE_DATETIME: return field.decimals() != 0;
    case MYSQL_TYPE_TIMESTAMP: return field.decimals() != 0;
    default: return false;
  }
}

void MapVarchar(const Field& field, ColumnLayout* column) {
  column->type = ColumnType::kVarchar;
  column->length_bytes = static_cast<const Field_varstring&>(field).length_bytes;
  column->data_bytes_max = column->pack_length - column->length_bytes;
}

void MapBlob(const Field& field, ColumnLayout* column) {
  column->type = ColumnType::kBlob;
  column->length_bytes = static_cast<uint8_t>(static_cast<const Field_blob&>(field).pack_length_no_ptr());
  column->data_bytes_max =
      column->length_bytes == 4 ? UINT32_MAX : (uint32_t{1} << (8 * column->length_bytes)) - 1;
}

// The type of a column from what the server stores in the record. False for a type the engine
// does not know.
bool MapType(const Field& field, ColumnLayout* column) {
  column->is_unsigned = field.flags & UNSIGNED_FLAG;
  switch (field.real_type()) {
    case MYSQL_TYPE_TINY:
    case MYSQL_TYPE_SHORT:
    case MYSQL_TYPE_INT24:
    case MYSQL_TYPE_LONG:
    case MYSQL_TYPE_LONGLONG:
      column->type = ColumnType::kInteger;
      return true;
    case MYSQL_TYPE_YEAR:
    case MYSQL_TYPE_ENUM:
    case MYSQL_TYPE_SET:
    case MYSQL_TYPE_NEWDATE:
    case MYSQL_TYPE_DATE:
      column->type = ColumnType::kInteger;
      column->is_unsigned = true;
      return true;
    case MYSQL_TYPE_TIME:
    case MYSQL_TYPE_DATETIME:
    case MYSQL_TYPE_TIMESTAMP:
      column->type = IsOldBigEndianTemporal(field) ? ColumnType::kFixedBytes : ColumnType::kInteger;
      column->is_unsigned = field.real_type() != MYSQL_TYPE_TIME;
      return true;
    case MYSQL_TYPE_FLOAT:
      column->type = ColumnType::kFloat;
      return true;
    case MYSQL_TYPE_DOUBLE:
      column->type = ColumnType::kDouble;
      return true;
    case MYSQL_TYPE_NEWDECIMAL:
    case MYSQL_TYPE_BIT:
    case MYSQL_TYPE_TIME2:
    case MYSQL_TYPE_DATETIME2:
    case MYSQL_TYPE_TIMESTAMP2:
      column->type = ColumnType::kFixedBytes;
      return true;
    case MYSQL_TYPE_STRING:
      column->type = field.sort_charset() == &my_charset_bin ? ColumnType::kFixedBytes : ColumnType::kChar;
      return true;
    case MYSQL_TYPE_VARCHAR:
    case MYSQL_TYPE_VARCHAR_COMPRESSED:
      MapVarchar(field, column);
      return true;
    case MYSQL_TYPE_TINY_BLOB:
    case MYSQL_TYPE_MEDIUM_BLOB:
    case MYSQL_TYPE_BLOB:
    case MYSQL_TYPE_LONG_BLOB:
    case MYSQL_TYPE_BLOB_COMPRESSED:
    case MYSQL_TYPE_GEOMETRY:
      MapBlob(field, column);
      return true;
    default:
      return false;
  }
}

// Compressed columns hold bytes of the server's own making; they cannot be indexed.
bool HasCollation(const Field& field, ColumnType type) {
  if (type != ColumnType::kChar && type != ColumnType::kVarchar && type != ColumnType::kBlob) return false;
  if (field.compression_method() != nullptr || field.real_type() == MYSQL_TYPE_GEOMETRY) return false;
  return field.charset() != &my_charset_bin;
}

Status MapColumn(const TABLE& table, Field& field, ColumnLayout* column) {
  column->nullable = field.real_maybe_null();
  column->stored = field.stored_in_db();
  column->offset = field.offset(table.record[0]);
  column->pack_length = field.pack_length();
  if (column->nullable) {
    column->null_offset = static_cast<uint32_t>(field.null_ptr - table.record[0]);
    column->null_mask = field.null_bit;
  }
  if (!MapType(field, column)) {
    return Status::NotSupported("the type of column '" + std::string(field.field_name.str) + "'");
  }
  if (column->type == ColumnType::kChar) column->data_bytes_max = column->pack_length;
  if (HasCollation(field, column->type)) {
    column->collation = CollationOf(field.charset());
    if (column->collation == nullptr) {
      return Status::NotSupported("collation " + std::string(field.charset()->coll_name.str));
    }
  }
  return Status::Ok();
}

catalog::IndexDef MapKey(const TABLE& table, const KEY& key, bool primary) {
  catalog::IndexDef index;
  index.name = key.name.str;
  index.kind = primary                      ? catalog::IndexKind::kPrimary
               : (key.flags & HA_NOSAME)    ? catalog::IndexKind::kUnique
                                            : catalog::IndexKind::kSecondary;
  for (uint i = 0; i < key.user_defined_key_parts; ++i) {
    const KEY_PART_INFO& part = key.key_part[i];
    catalog::KeyPartDef def;
    def.column = static_cast<uint16_t>(part.fieldnr - 1);
    // For a prefix, part.field is a field of the prefix alone; the column itself is in the table.
    const Field& column = *table.field[def.column];
    const bool whole = part.length == column.key_length() && !(column.flags & BLOB_FLAG);
    def.prefix_bytes = whole ? 0 : part.length;
    def.descending = part.key_part_flag & HA_REVERSE_SORT;
    index.parts.push_back(def);
  }
  return index;
}

// The bytes that the server gives a column which it sets to NULL. They are not those of its default value, by which each UPDATE ... = NULL of
// what is NULL would look like a change.
std::string RecordOfNulls(const TABLE& table) {
  std::string record(AsBytes(table.s->default_values, table.s->reclength));
  const my_ptrdiff_t distance = reinterpret_cast<uchar*>(record.data()) - table.record[0];
  for (uint i = 0; i < table.s->fields; ++i) {
    Field& field = *table.field[i];
    if (!field.real_maybe_null()) continue;
    field.move_field_offset(distance);
    field.reset();
    field.move_field_offset(-distance);
  }
  return record;
}

}  // namespace

Status LayoutOf(const TABLE& table, codec::RecordLayout* layout) {
  const TABLE_SHARE& share = *table.s;
  layout->record_bytes = share.reclength;
  layout->null_bytes = share.null_bytes;
  layout->default_record = SharedBytes(RecordOfNulls(table));
  layout->columns.assign(share.fields, ColumnLayout());
  for (uint i = 0; i < share.fields; ++i) {
    layout->columns[i].column_id = i + 1;
    CAIRN_RETURN_IF_ERROR(MapColumn(table, *table.field[i], &layout->columns[i]));
  }
  return Status::Ok();
}

catalog::TableDef DefinitionOf(const TABLE& table, const codec::RecordLayout& layout, std::string name) {
  const TABLE_SHARE& share = *table.s;
  catalog::TableDef def;
  def.name = std::move(name);
  def.sequence = share.table_type == TABLE_TYPE_SEQUENCE;
  if (share.tabledef_version.length != 0) {
    def.server_version.assign(reinterpret_cast<const char*>(share.tabledef_version.str),
                              share.tabledef_version.length);
  }
  for (uint i = 0; i < share.fields; ++i) {
    const ColumnLayout& layout_column = layout.columns[i];
    catalog::ColumnDef column;
    column.column_id = layout_column.column_id;
    column.name = table.field[i]->field_name.str;
    column.type = static_cast<uint8_t>(layout_column.type);
    column.nullable = layout_column.nullable;
    column.is_unsigned = layout_column.is_unsigned;
    column.stored = layout_column.stored;
    column.data_bytes_max = layout_column.data_bytes_max != 0 ? layout_column.data_bytes_max : layout_column.pack_length;
    column.length_bytes = layout_column.length_bytes;
    column.collation_id = layout_column.collation != nullptr ? layout_column.collation->shape().id : 0;
    def.columns.push_back(std::move(column));
  }
  if (share.primary_key == MAX_KEY) {
    catalog::IndexDef hidden;
    hidden.kind = catalog::IndexKind::kHiddenPrimary;
    def.indexes.push_back(std::move(hidden));
  } else {
    def.indexes.push_back(MapKey(table, table.key_info[share.primary_key], true));
  }
  for (uint key = 0; key < share.keys; ++key) {
    if (key != share.primary_key) def.indexes.push_back(MapKey(table, table.key_info[key], false));
  }
  return def;
}

Status CheckSameNames(const catalog::TableDef& def, const TABLE& table) {
  for (size_t i = 0; i < std::min<size_t>(def.columns.size(), table.s->fields); ++i) {
    const Field& field = *table.field[i];
    const std::string& name = def.columns[i].name;
    if (field.invisible >= INVISIBLE_SYSTEM || field.vers_sys_field()) continue;
    if (my_strcasecmp(system_charset_info, field.field_name.str, name.c_str()) == 0) continue;
    return Status::Corruption("column " + std::string(field.field_name.str) + " of " + def.name + " has the place of " + name +
                              " of the dictionary");
  }
  return Status::Ok();
}

unsigned IndexOfKey(const TABLE& table, unsigned key) {
  const uint primary = table.s->primary_key;
  if (primary == MAX_KEY) return key + 1;
  if (key == primary) return 0;
  return key < primary ? key + 1 : key;
}

std::string TableNameOfPath(const char* path) {
  std::string_view text(path);
  const size_t table_at = text.rfind('/');
  if (table_at == std::string_view::npos || table_at == 0) return std::string(text);
  const size_t database_at = text.rfind('/', table_at - 1);
  return std::string(database_at == std::string_view::npos ? text : text.substr(database_at + 1));
}

MY_BITMAP* ColumnsReadBy(TABLE& table, const Virtual_column_info& expression) {
  bitmap_clear_all(&table.tmp_set);
  expression.expr->walk(&Item::register_field_in_bitmap, true, &table.tmp_set);
  return &table.tmp_set;
}

bool ReadsAny(TABLE& table, const Virtual_column_info& expression, const ColumnFlags& columns) {
  const MY_BITMAP* const read = ColumnsReadBy(table, expression);
  for (uint i = 0; i < columns.size(); ++i) {
    if (columns[i] && bitmap_is_set(read, i)) return true;
  }
  return false;
}

void AddComputed(TABLE& table, ColumnFlags* columns) {
  if (table.vfield == nullptr) return;
  for (bool is_complete = false; !is_complete;) {
    is_complete = true;
    for (Field** at = table.vfield; *at != nullptr; ++at) {
      const Field& field = **at;
      if ((*columns)[field.field_index] || !ReadsAny(table, *field.vcol_info, *columns)) continue;
      (*columns)[field.field_index] = true;
      is_complete = false;
    }
  }
}

}  // namespace cairn::server
