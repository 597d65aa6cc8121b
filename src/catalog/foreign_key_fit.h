// SPDX-License-Identifier: GPL-2.0-only
// Whether a foreign key can be kept with the tables as they are defined.
#pragma once

#include <string>
#include <vector>

#include "catalog/foreign_key.h"
#include "catalog/plain_layout.h"
#include "catalog/table_def.h"

namespace cairn::catalog {

enum class ForeignKeyFault : uint8_t {
  kNone,
  kNoColumn,        // the table has no such column
  kVirtualColumn,   // the column is not stored
  kNoIndex,         // no index begins with the columns, in their order
  kOnlyPrefix,      // one does, but has only the beginning of a column
  kNotNullable,     // SET NULL, and the column cannot be
  kColumnsDiffer,   // values of the child's column do not mean the same in the parent's
};

// Where a key lies in one of its tables.
struct ForeignKeyPlace {
  size_t index = 0;                // in TableDef::indexes
  std::vector<uint16_t> columns;  // in TableDef::columns
};

// The columns of a key in its table, and the index that begins with them. `wrong` is the number of the column at fault.
// Of several indexes the first that is unique in just these columns is taken, else the first.
ForeignKeyFault PlaceForeignKey(const TableDef& def, const std::vector<std::string>& columns, ForeignKeyPlace* place,
                                size_t* wrong);

// The parts of the above that concern the child alone: also its actions.
ForeignKeyFault FitToChild(const ForeignKeyDef& key, const TableDef& child, ForeignKeyPlace* place, size_t* wrong);

// Whether the columns are comparable, in the places that the above have found.
ForeignKeyFault FitTogether(const TableDef& child, const ForeignKeyPlace& in_child, const TableDef& parent,
                            const ForeignKeyPlace& in_parent, const CollationById& collation_by_id,
                            size_t* wrong);

}  // namespace cairn::catalog
