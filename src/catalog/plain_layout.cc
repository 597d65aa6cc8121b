// SPDX-License-Identifier: GPL-2.0-only
// Null bits first, then the columns one after the other.
#include "catalog/plain_layout.h"

#include <utility>

namespace cairn::catalog {

using codec::ColumnType;

namespace {

constexpr uint32_t kPointerBytes = 8;

uint32_t PackLengthOf(const ColumnDef& column, ColumnType type) {
  switch (type) {
    case ColumnType::kVarchar: return column.length_bytes + column.data_bytes_max;
    case ColumnType::kBlob: return column.length_bytes + kPointerBytes;
    default: return column.data_bytes_max;
  }
}

// As in layouts of the server, only columns of variable length have a limit beside their size.
uint32_t DataBytesMaxOf(const ColumnDef& column, ColumnType type) {
  return type == ColumnType::kChar || type == ColumnType::kVarchar || type == ColumnType::kBlob ? column.data_bytes_max
                                                                                                : 0;
}

}  // namespace

bool PlainColumnOf(const ColumnDef& def, const CollationById& collation_by_id, codec::ColumnLayout* column) {
  if (def.type > static_cast<uint8_t>(ColumnType::kBlob)) return false;
  column->type = static_cast<ColumnType>(def.type);
  column->column_id = def.column_id;
  column->nullable = def.nullable;
  column->is_unsigned = def.is_unsigned;
  column->stored = def.stored;
  column->length_bytes = def.length_bytes;
  column->pack_length = PackLengthOf(def, column->type);
  column->data_bytes_max = DataBytesMaxOf(def, column->type);
  if (def.collation_id == 0) return true;
  column->collation = collation_by_id(def.collation_id);
  return column->collation != nullptr;
}

Status PlainLayoutOf(const TableDef& def, const CollationById& collation_by_id, codec::RecordLayout* layout) {
  uint32_t nullable_count = 0;
  for (const ColumnDef& column : def.columns) nullable_count += column.nullable;
  layout->null_bytes = (nullable_count + 7) / 8;
  uint32_t offset = layout->null_bytes;
  uint32_t null_bit = 0;
  layout->columns.assign(def.columns.size(), {});
  for (size_t i = 0; i < def.columns.size(); ++i) {
    const ColumnDef& from = def.columns[i];
    codec::ColumnLayout& column = layout->columns[i];
    if (!PlainColumnOf(from, collation_by_id, &column)) {
      return Status::Corruption("column " + from.name + " of " + def.name + " is of an unknown type or collation");
    }
    column.offset = offset;
    offset += column.pack_length;
    if (column.nullable) {
      column.null_offset = null_bit / 8;
      column.null_mask = static_cast<uint8_t>(1U << (null_bit % 8));
      ++null_bit;
    }
  }
  layout->record_bytes = offset;
  layout->default_record = {};
  return Status::Ok();
}

Status PlainAccessOf(const std::shared_ptr<Table>& table, const CollationById& collation_by_id,
                     std::shared_ptr<TableAccess>* access) {
  *access = table->plain_access();
  if (*access != nullptr) return Status::Ok();
  codec::RecordLayout layout;
  CAIRN_RETURN_IF_ERROR(PlainLayoutOf(table->def(), collation_by_id, &layout));
  CAIRN_RETURN_IF_ERROR(TableAccess::Make(table, std::move(layout), access));
  table->SetPlainAccess(*access);
  return Status::Ok();
}

}  // namespace cairn::catalog
