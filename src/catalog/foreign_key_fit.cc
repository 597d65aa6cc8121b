// SPDX-License-Identifier: GPL-2.0-only
// Columns and indexes of foreign keys.
#include "catalog/foreign_key_fit.h"

#include <algorithm>

#include "codec/value_copy.h"

namespace cairn::catalog {
namespace {

// Of unknown collations nothing is known to be equal.
bool AreComparable(const ColumnDef& a, const ColumnDef& b, const CollationById& collation_by_id) {
  codec::ColumnLayout layout_a, layout_b;
  return PlainColumnOf(a, collation_by_id, &layout_a) && PlainColumnOf(b, collation_by_id, &layout_b) &&
         codec::AreComparable(layout_a, layout_b);
}

enum class Beginning : uint8_t { kNo, kPrefix, kYes };

// What entries of an index begin with: those of one that is not unique go on with the primary key.
std::vector<KeyPartDef> EntryPartsOf(const TableDef& def, const IndexDef& index) {
  std::vector<KeyPartDef> parts = index.parts;
  if (index.kind != IndexKind::kSecondary) return parts;
  for (const KeyPartDef& part : def.indexes.front().parts) {
    const bool is_there = std::any_of(index.parts.begin(), index.parts.end(), [&](const KeyPartDef& own) {
      return own.column == part.column && own.prefix_bytes == part.prefix_bytes;
    });
    if (!is_there) parts.push_back(part);
  }
  return parts;
}

Beginning BeginsWith(const std::vector<KeyPartDef>& parts, const std::vector<uint16_t>& columns) {
  if (parts.size() < columns.size()) return Beginning::kNo;
  Beginning beginning = Beginning::kYes;
  for (size_t i = 0; i < columns.size(); ++i) {
    if (parts[i].column != columns[i]) return Beginning::kNo;
    if (parts[i].prefix_bytes != 0) beginning = Beginning::kPrefix;
  }
  return beginning;
}

}  // namespace

ForeignKeyFault PlaceForeignKey(const TableDef& def, const std::vector<std::string>& columns, ForeignKeyPlace* place,
                                size_t* wrong) {
  place->columns.clear();
  for (const std::string& name : columns) {
    const auto found = std::find_if(def.columns.begin(), def.columns.end(),
                                    [&](const ColumnDef& column) { return IsSameName(column.name, name); });
    *wrong = place->columns.size();
    if (found == def.columns.end()) return ForeignKeyFault::kNoColumn;
    if (!found->stored) return ForeignKeyFault::kVirtualColumn;
    place->columns.push_back(static_cast<uint16_t>(found - def.columns.begin()));
  }
  *wrong = 0;
  const size_t none = def.indexes.size();
  place->index = none;
  bool prefix = false;
  for (size_t i = 0; i < def.indexes.size(); ++i) {
    const IndexDef& index = def.indexes[i];
    const Beginning beginning = BeginsWith(EntryPartsOf(def, index), place->columns);
    prefix |= beginning == Beginning::kPrefix;
    if (beginning != Beginning::kYes) continue;
    if (place->index == none) place->index = i;
    if (index.kind == IndexKind::kSecondary || index.parts.size() != columns.size()) continue;
    place->index = i;
    break;
  }
  if (place->index != none) return ForeignKeyFault::kNone;
  return prefix ? ForeignKeyFault::kOnlyPrefix : ForeignKeyFault::kNoIndex;
}

ForeignKeyFault FitToChild(const ForeignKeyDef& key, const TableDef& child, ForeignKeyPlace* place, size_t* wrong) {
  const ForeignKeyFault fault = PlaceForeignKey(child, key.child_columns, place, wrong);
  if (fault != ForeignKeyFault::kNone) return fault;
  if (key.on_delete != ForeignAction::kSetNull && key.on_update != ForeignAction::kSetNull) return fault;
  for (size_t i = 0; i < place->columns.size(); ++i) {
    *wrong = i;
    if (!child.columns[place->columns[i]].nullable) return ForeignKeyFault::kNotNullable;
  }
  return ForeignKeyFault::kNone;
}

ForeignKeyFault FitTogether(const TableDef& child, const ForeignKeyPlace& in_child, const TableDef& parent,
                            const ForeignKeyPlace& in_parent, const CollationById& collation_by_id,
                            size_t* wrong) {
  for (size_t i = 0; i < in_child.columns.size(); ++i) {
    *wrong = i;
    if (!AreComparable(child.columns[in_child.columns[i]], parent.columns[in_parent.columns[i]], collation_by_id)) {
      return ForeignKeyFault::kColumnsDiffer;
    }
  }
  return ForeignKeyFault::kNone;
}

}  // namespace cairn::catalog
