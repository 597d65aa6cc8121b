// SPDX-License-Identifier: GPL-2.0-only
// Binding a dictionary table to the server's record layout.
#include "catalog/table_access.h"

#include <algorithm>
#include <utility>

namespace cairn::catalog {
namespace {

std::vector<codec::KeyPart> PartsOf(const IndexDef& index) {
  std::vector<codec::KeyPart> parts;
  for (const KeyPartDef& part : index.parts) {
    parts.push_back({.column = part.column, .prefix_bytes = part.prefix_bytes, .descending = part.descending});
  }
  return parts;
}

std::vector<codec::IndexCodec> CodecsOf(const TableDef& def, const codec::RecordLayout& layout) {
  std::vector<codec::IndexCodec> codecs;
  codecs.reserve(def.indexes.size());
  codecs.push_back(codec::IndexCodec::Primary(layout, def.indexes.front().id, PartsOf(def.indexes.front())));
  for (size_t i = 1; i < def.indexes.size(); ++i) {
    const IndexDef& index = def.indexes[i];
    codecs.push_back(codec::IndexCodec::Secondary(layout, index.id, PartsOf(index), index.kind == IndexKind::kUnique,
                                                  codecs.front()));
  }
  return codecs;
}

// Whether the dictionary's column and the server's are stored the same way.
bool SameStorage(const ColumnDef& def, const codec::ColumnLayout& layout) {
  const uint32_t data_bytes_max = layout.data_bytes_max != 0 ? layout.data_bytes_max : layout.pack_length;
  const uint32_t collation_id = layout.collation != nullptr ? layout.collation->shape().id : 0;
  return def.type == static_cast<uint8_t>(layout.type) && def.nullable == layout.nullable &&
         def.is_unsigned == layout.is_unsigned && def.stored == layout.stored &&
         def.data_bytes_max == data_bytes_max && def.length_bytes == layout.length_bytes &&
         def.collation_id == collation_id;
}

// What rows of earlier versions hold, null when there are none. The dictionary's column ids, not their places, tell which
// is which.
std::shared_ptr<const codec::RowHistory> HistoryOf(const TableDef& def) {
  if (def.earlier_versions.empty()) return nullptr;
  codec::RowHistory history;
  history.versions = def.earlier_versions;
  for (const ColumnDef& column : def.dropped_columns) {
    history.dropped.push_back({.column_id = column.column_id,
                               .type = static_cast<codec::ColumnType>(column.type),
                               .nullable = column.nullable,
                               .pack_length = column.data_bytes_max});
  }
  for (const ColumnDef& column : def.columns) {
    if (column.initial == InitialKind::kNone) continue;
    history.initial_values.push_back({.column_id = column.column_id,
                                      .is_null = column.initial == InitialKind::kNull,
                                      .value = column.initial_value});
  }
  return std::make_shared<const codec::RowHistory>(std::move(history));
}

// Whether keys always give the column back, so that entries with it carry nothing beside the key.
bool KeyGivesBack(const codec::ColumnLayout& column) {
  switch (column.type) {
    case codec::ColumnType::kInteger:
    case codec::ColumnType::kFixedBytes:
      return true;
    case codec::ColumnType::kVarchar:
    case codec::ColumnType::kBlob:
      return column.collation == nullptr;
    default:
      return false;
  }
}

bool ValueAlwaysEmpty(const TableDef& def, const IndexDef& index, const codec::RecordLayout& layout) {
  const auto all_given_back = [&](const std::vector<KeyPartDef>& parts) {
    for (const KeyPartDef& part : parts) {
      if (!KeyGivesBack(layout.columns[part.column])) return false;
    }
    return true;
  };
  return all_given_back(index.parts) && all_given_back(def.indexes.front().parts);
}

}  // namespace

Status TableAccess::Make(std::shared_ptr<Table> table, codec::RecordLayout layout,
                         std::shared_ptr<TableAccess>* access) {
  const TableDef& def = table->def();
  CAIRN_RETURN_IF_ERROR(CheckSameColumns(def, layout));
  for (size_t i = 0; i < def.columns.size(); ++i) layout.columns[i].column_id = def.columns[i].column_id;
  std::shared_ptr<const codec::RowHistory> history = HistoryOf(def);
  if (history != nullptr && !IsSound(*history, layout)) {
    return Status::Corruption("the dictionary's earlier schema versions of " + def.name + " do not fit its columns");
  }
  std::vector<codec::IndexCodec> codecs = CodecsOf(def, layout);
  access->reset(new TableAccess(std::move(table), std::move(layout), std::move(codecs), std::move(history)));
  return Status::Ok();
}

Status CheckSameColumns(const TableDef& def, const codec::RecordLayout& of_server) {
  const bool same = std::equal(def.columns.begin(), def.columns.end(), of_server.columns.begin(), of_server.columns.end(), SameStorage);
  if (same) return Status::Ok();
  return Status::Corruption("the dictionary's columns of " + def.name + " are not those of the server's definition");
}

Status CheckSameIndexes(const TableDef& def, const std::vector<IndexDef>& of_server) {
  const auto differs = [&def](const IndexDef& index, const std::string& how) {
    const std::string name = index.kind == IndexKind::kHiddenPrimary ? "(hidden primary key)" : index.name;
    return Status::Corruption("index " + name + " of " + def.name + " " + how);
  };
  for (size_t i = 0; i < std::max(def.indexes.size(), of_server.size()); ++i) {
    if (i >= of_server.size()) return differs(def.indexes[i], "is in the dictionary, not in the server's definition");
    const IndexDef& theirs = of_server[i];
    if (i >= def.indexes.size()) return differs(theirs, "is in the server's definition, not in the dictionary");
    const IndexDef& ours = def.indexes[i];
    if (ours.kind != theirs.kind) return differs(theirs, "is of another kind in the dictionary");
    if (ours.name != theirs.name) return differs(theirs, "has the place of " + ours.name + " of the dictionary");
    if (ours.parts != theirs.parts) return differs(theirs, "has other parts in the dictionary");
  }
  return Status::Ok();
}

codec::IndexCodec TableAccess::CodecOf(const IndexDef& index) const {
  return codec::IndexCodec::Secondary(layout_, index.id, PartsOf(index), index.kind == IndexKind::kUnique, primary());
}

bool TableAccess::WouldRemoveSingly(const IndexDef& index) const {
  return index.kind == IndexKind::kSecondary && ValueAlwaysEmpty(def(), index, layout_);
}

TableAccess::TableAccess(std::shared_ptr<Table> table, codec::RecordLayout layout,
                         std::vector<codec::IndexCodec> indexes, std::shared_ptr<const codec::RowHistory> history)
    : table_(std::move(table)),
      layout_(std::move(layout)),
      indexes_(std::move(indexes)),
      rows_(layout_, indexes_.front(), table_->def().schema_version, std::move(history)) {
  for (size_t i = 0; i < indexes_.size(); ++i) {
    const IndexDef& index = def().indexes[i];
    codec::ColumnSet columns(layout_.columns.size());
    bool has_virtual = false;
    bool has_prefix = false;
    for (const KeyPartDef& part : index.parts) {
      columns.Add(part.column);
      has_virtual |= !layout_.columns[part.column].stored;
      has_prefix |= part.prefix_bytes != 0;
    }
    columns_of_.push_back(std::move(columns));
    has_virtual_.push_back(has_virtual);
    has_prefix_.push_back(has_prefix);
    removes_singly_.push_back(index.kind == IndexKind::kSecondary && ValueAlwaysEmpty(def(), index, layout_));
  }
}

}  // namespace cairn::catalog
