// SPDX-License-Identifier: GPL-2.0-only
// How the columns of a table change without touching its rows (docs/formats/row.md, section 5).
#pragma once

#include "base/status.h"
#include "catalog/table_def.h"

namespace cairn::catalog {

// Makes `to` the successor of `from`, the definition of an existing table, whose rows stay as they are.
//
// In `to`, a column that `from` has too carries its column_id, and may have another name and place, and a VARCHAR be longer; a new one has
// column_id 0, and if it is stored, what it is in the existing rows (`initial`). Indexes may have other names and places. Given here: ids of
// table, indexes and new columns, the schema version and all that is known of earlier ones.
//
// When the rows cannot stay: kInvalidArgument, saying which part of `to` needs others; kNotSupported when it is only
// that the table has too many versions already, or has had as many columns or versions as there are numbers.
Status Succeed(const TableDef& from, TableDef* to);

// For a table that has lost all its rows: they were the only ones of earlier versions.
void ForgetEarlierVersions(TableDef* def);

}  // namespace cairn::catalog
