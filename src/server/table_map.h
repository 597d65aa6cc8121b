// SPDX-License-Identifier: GPL-2.0-only
// The server's table structures as plain data. The only code that asks a Field what it is.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "catalog/table_def.h"
#include "codec/record_layout.h"

struct TABLE;
typedef struct st_bitmap MY_BITMAP;
class Virtual_column_info;

namespace cairn::server {

// Where the columns of `table` lie in its record and what they are. kNotSupported for a column
// type or collation the engine refuses; the message names the column.
Status LayoutOf(const TABLE& table, codec::RecordLayout* layout);

// The dictionary's definition of `table`, without ids. `name` is "database/table".
// Precondition: `layout` is LayoutOf(table).
catalog::TableDef DefinitionOf(const TABLE& table, const codec::RecordLayout& layout, std::string name);

// Whether the columns of `table` have the names that the dictionary's at the same places have: others that are stored the same way would be read
// as what they are not. Case makes no difference, nor what hidden columns and those of system versioning are called: EXCHANGE PARTITION
// looks at neither. kCorruption, naming table and column, when one has another.
Status CheckSameNames(const catalog::TableDef& def, const TABLE& table);

// Which of TableDef::indexes the server's key number `key` is. The primary key comes first there.
unsigned IndexOfKey(const TABLE& table, unsigned key);

// "database/table" from the path the server gives ("./database/table", or a temporary table's path).
std::string TableNameOfPath(const char* path);

// The columns of `table` that a generated column or a CHECK of it reads, by their numbers there: table.tmp_set, until it is used again.
MY_BITMAP* ColumnsReadBy(TABLE& table, const Virtual_column_info& expression);

// Columns of a table, by their numbers there.
using ColumnFlags = std::vector<bool>;

// Whether it reads any of the columns. Uses table.tmp_set.
bool ReadsAny(TABLE& table, const Virtual_column_info& expression, const ColumnFlags& columns);

// Adds to the columns those which are computed from them, directly or through others. Uses table.tmp_set.
void AddComputed(TABLE& table, ColumnFlags* columns);

}  // namespace cairn::server
