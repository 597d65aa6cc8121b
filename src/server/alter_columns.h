// SPDX-License-Identifier: GPL-2.0-only
// ALTER TABLE by the dictionary alone: what counts as such, and the definition it leads to.
#pragma once

#include "server/server_headers.h"

#include <vector>

#include "base/status.h"
#include "catalog/table_def.h"

namespace cairn::server {

// What ALTER TABLE may do to a table whose rows and index entries stay as they are. Not all of each is possible:
// AlteredDefinition() and catalog::Succeed() find out.
inline constexpr alter_table_operations kDictionaryOnly =
    ALTER_COLUMN_NAME | ALTER_RENAME_COLUMN | ALTER_CHANGE_COLUMN_DEFAULT | ALTER_COLUMN_DEFAULT |
    ALTER_COLUMN_OPTION | ALTER_DROP_CHECK_CONSTRAINT | ALTER_RENAME | ALTER_RENAME_INDEX | ALTER_INDEX_ORDER |
    ALTER_INDEX_IGNORABILITY | ALTER_CHANGE_INDEX_COMMENT | ALTER_ADD_STORED_BASE_COLUMN | ALTER_DROP_STORED_COLUMN |
    ALTER_STORED_COLUMN_ORDER | ALTER_ADD_VIRTUAL_COLUMN | ALTER_DROP_VIRTUAL_COLUMN | ALTER_VIRTUAL_COLUMN_ORDER |
    ALTER_VIRTUAL_GCOL_EXPR | ALTER_COLUMN_COLUMN_FORMAT | ALTER_PARTITIONED | ALTER_COLUMN_TYPE_CHANGE_BY_ENGINE |
    ALTER_COLUMN_INDEX_LENGTH;

// Whether the one change of a column's type that leaves its values as they are is made: a VARCHAR or VARBINARY may be longer afterwards.
bool OnlyGrows(const Field& before, const Column_definition& after);

// One table, or one partition of it, on its way through ALTER TABLE. The server deletes it.
class AlterContext final : public inplace_alter_handler_ctx {
 public:
  catalog::TableDef def;
};

// The contexts of all partitions, or that of the one table.
std::vector<AlterContext*> ContextsOf(const Alter_inplace_info& changes);

// The definition of the altered table as catalog::Succeed() wants it: kept columns have their ids, added ones what
// they are in the existing rows. Computes the defaults into the altered table's record. kInvalidArgument when no one
// value can stand for a new column in all rows.
Status AlteredDefinition(const catalog::TableDef& old, const TABLE& altered, const Alter_inplace_info& changes,
                         catalog::TableDef* def);

// Why the changes need a copy of the table, in the server's words for other engines. Null: nothing in particular.
const char* ReasonToCopy(THD* thd, const Alter_inplace_info& changes);

}  // namespace cairn::server
