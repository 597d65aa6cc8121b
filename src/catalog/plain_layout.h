// SPDX-License-Identifier: GPL-2.0-only
// Records of a table that the server has not opened: a layout made from the dictionary alone.
#pragma once

#include <functional>
#include <memory>

#include "base/status.h"
#include "catalog/table_access.h"
#include "catalog/table_def.h"
#include "codec/collation.h"
#include "codec/record_layout.h"

namespace cairn::catalog {

// The collation of a number in the dictionary (ColumnDef::collation_id, not 0); null for one that the server has not.
using CollationById = std::function<const codec::Collation*(uint32_t id)>;

// A layout whose records can be stored as rows of the table. It is not the server's: where values lie differs.
// kCorruption for a column of no known type or collation.
Status PlainLayoutOf(const TableDef& def, const CollationById& collation_by_id, codec::RecordLayout* layout);

// The table with that layout. All who have one at the same time share it, but for those who begin together.
// kCorruption as for the layout, and as of TableAccess::Make().
Status PlainAccessOf(const std::shared_ptr<Table>& table, const CollationById& collation_by_id,
                     std::shared_ptr<TableAccess>* access);

// One column of it, but for its place. False for a column of no known type or collation.
[[nodiscard]] bool PlainColumnOf(const ColumnDef& def, const CollationById& collation_by_id, codec::ColumnLayout* column);

}  // namespace cairn::catalog
