// SPDX-License-Identifier: GPL-2.0-only
// A definition's successor: names, places and versions of columns.
#include "catalog/column_history.h"

#include <algorithm>
#include <utility>

#include "codec/record_layout.h"

namespace cairn::catalog {
namespace {

// A table may have thousands of columns, and a statement as many partitions, while everybody waits for the dictionary: nobody looks for each
// column through all. Lifetime: that of the columns, whose numbers stay.
class ColumnsById {
 public:
  explicit ColumnsById(const std::vector<ColumnDef>& columns) : columns_(columns) {
    places_.reserve(columns.size());
    for (size_t place = 0; place < columns.size(); ++place) places_.emplace_back(columns[place].column_id, place);
    std::ranges::sort(places_);
  }

  // The first one of this number; null: there is none.
  const ColumnDef* Find(uint32_t id) const {
    const auto found = std::ranges::lower_bound(places_, std::pair(id, size_t{0}));
    return found != places_.end() && found->first == id ? &columns_[found->second] : nullptr;
  }

 private:
  const std::vector<ColumnDef>& columns_;
  std::vector<std::pair<uint32_t, size_t>> places_;  // sorted
};

// Whether values of the one column are values of the other in the same bytes, in rows and in keys. How long a VARCHAR may be is in none of them.
bool KeepsValues(const ColumnDef& from, const ColumnDef& to) {
  if (from.type != to.type || from.nullable != to.nullable || from.is_unsigned != to.is_unsigned || from.stored != to.stored ||
      from.collation_id != to.collation_id) {
    return false;
  }
  if (from.type == static_cast<uint8_t>(codec::ColumnType::kVarchar)) return from.data_bytes_max <= to.data_bytes_max;
  return from.data_bytes_max == to.data_bytes_max && from.length_bytes == to.length_bytes;
}

std::vector<uint32_t> StoredIds(const TableDef& def) {
  std::vector<uint32_t> ids;
  for (const ColumnDef& column : def.columns) {
    if (column.stored) ids.push_back(column.column_id);
  }
  return ids;
}

bool SameEntries(const TableDef& from, const IndexDef& old_index, const TableDef& to, const IndexDef& new_index) {
  if (old_index.kind != new_index.kind || old_index.parts.size() != new_index.parts.size()) return false;
  for (size_t part = 0; part < old_index.parts.size(); ++part) {
    const KeyPartDef& old_part = old_index.parts[part];
    const KeyPartDef& new_part = new_index.parts[part];
    if (old_part.prefix_bytes != new_part.prefix_bytes || old_part.descending != new_part.descending) return false;
    if (from.columns[old_part.column].column_id != to.columns[new_part.column].column_id) return false;
  }
  return true;
}

// An index is known by its entries, as its name and place may be others. Which one of several with the same entries it is makes no difference.
Status KeepIndexes(const TableDef& from, TableDef* to) {
  std::vector<const IndexDef*> left;
  for (const IndexDef& index : from.indexes) left.push_back(&index);
  for (IndexDef& index : to->indexes) {
    const auto same = std::ranges::find_if(left, [&](const IndexDef* old) { return SameEntries(from, *old, *to, index); });
    if (same == left.end()) return Status::InvalidArgument("another index");
    index.id = (*same)->id;
    left.erase(same);
  }
  return left.empty() ? Status::Ok() : Status::InvalidArgument("another index");
}

uint32_t GreatestId(const TableDef& def) {
  uint32_t greatest = def.greatest_dropped_column_id;
  for (const ColumnDef& column : def.columns) greatest = std::max(greatest, column.column_id);
  return greatest;
}

Status KeepColumns(const TableDef& from, TableDef* to) {
  uint32_t next_id = GreatestId(from) + 1;
  const ColumnsById before(from.columns);
  for (ColumnDef& column : to->columns) {
    if (column.column_id == 0) {
      if (!TakeNumbers(1u, UINT32_MAX, &next_id, &column.column_id)) return Status::NotSupported("no number is left for a column");
      if (!column.stored) column.initial = InitialKind::kNone;
      if (column.stored && column.initial == InitialKind::kNone) {
        return Status::InvalidArgument("a column that differs in each existing row");
      }
      continue;
    }
    const ColumnDef* old = before.Find(column.column_id);
    if (old == nullptr || !KeepsValues(*old, column)) return Status::InvalidArgument("another form of a column");
    column.initial = old->initial;
    column.initial_value = old->initial_value;
  }
  to->greatest_dropped_column_id = from.greatest_dropped_column_id;
  to->dropped_columns = from.dropped_columns;
  const ColumnsById now(to->columns);
  for (const ColumnDef& column : from.columns) {
    if (now.Find(column.column_id) != nullptr) continue;
    to->greatest_dropped_column_id = std::max(to->greatest_dropped_column_id, column.column_id);
    if (!column.stored) continue;
    ColumnDef dropped = column;
    dropped.initial = InitialKind::kNone;
    dropped.initial_value.clear();
    to->dropped_columns.push_back(std::move(dropped));
  }
  return Status::Ok();
}

}  // namespace

Status Succeed(const TableDef& from, TableDef* to) {
  to->id = from.id;
  CAIRN_RETURN_IF_ERROR(KeepColumns(from, to));
  CAIRN_RETURN_IF_ERROR(KeepIndexes(from, to));
  if (to->temporary != from.temporary || to->sequence != from.sequence) {
    return Status::InvalidArgument("another kind of table");
  }
  to->schema_version = from.schema_version;
  to->earlier_versions = from.earlier_versions;
  std::vector<uint32_t> ids = StoredIds(from);
  if (ids == StoredIds(*to)) return Status::Ok();
  if (to->earlier_versions.size() == kEarlierVersionsMax || to->schema_version == UINT32_MAX) {
    return Status::NotSupported("more than " + std::to_string(kEarlierVersionsMax) +
                                " changes of columns since the table was last copied");
  }
  to->earlier_versions.push_back(std::move(ids));
  ++to->schema_version;
  return Status::Ok();
}

void ForgetEarlierVersions(TableDef* def) {
  def->earlier_versions.clear();
  def->dropped_columns.clear();
  for (ColumnDef& column : def->columns) {
    column.initial = InitialKind::kNone;
    column.initial_value.clear();
  }
}

}  // namespace cairn::catalog
