// SPDX-License-Identifier: GPL-2.0-only
// ALTER TABLE that adds and drops indexes, in place and while others use the table.
#pragma once

#include "server/server_headers.h"

#include <memory>
#include <string>

#include "catalog/table_access.h"
#include "ddl/index_builder.h"

namespace cairn::server {

// The clauses that are done here; they may come with clauses that change only metadata.
inline constexpr alter_table_operations kIndexChanges =
    ALTER_ADD_NON_UNIQUE_NON_PRIM_INDEX | ALTER_DROP_NON_UNIQUE_NON_PRIM_INDEX | ALTER_ADD_UNIQUE_INDEX |
    ALTER_DROP_UNIQUE_INDEX;

inline bool ChangesIndexes(const Alter_inplace_info& changes) { return (changes.handler_flags & kIndexChanges) != 0; }

// Whether the changes `wanted`, index changes among them, can be made in place. If not, `changes` gets the reason.
enum_alter_inplace_result CheckIndexChanges(const TABLE& table, const TABLE& altered, alter_table_operations wanted,
                                            Alter_inplace_info* changes);

// Why a change of the primary key is not made in place; null when `changes` has none.
const char* PrimaryKeyReason(const Alter_inplace_info& changes);

// What lies between the phases of one statement and one table (or partition).
class IndexAlterContext final : public inplace_alter_handler_ctx {
 public:
  explicit IndexAlterContext(std::shared_ptr<const catalog::TableAccess> table) : access(std::move(table)) {}

  const std::shared_ptr<const catalog::TableAccess> access;
  catalog::TableDef def;  // the new one; the ids of added indexes come from the builder
  std::unique_ptr<ddl::IndexBuilder> builder;  // null when no index is added
  std::vector<size_t> added;  // which of def.indexes the builder's are, in its order
};

// The phases. Each returns true after raising an error, as the server wants it.
//
// Prepare: nobody uses the table; the context is put into `changes`.
bool PrepareIndexChanges(THD* thd, const TABLE& table, const TABLE& altered, Alter_inplace_info* changes,
                         std::shared_ptr<const catalog::TableAccess> access);
// Others use the table.
bool BuildIndexes(THD* thd, TABLE* altered, Alter_inplace_info* changes);
// Nobody uses the table. Commits all partitions at once.
bool CommitIndexChanges(THD* thd, TABLE* altered, Alter_inplace_info* changes);
void RollBackIndexChanges(Alter_inplace_info* changes);

}  // namespace cairn::server
