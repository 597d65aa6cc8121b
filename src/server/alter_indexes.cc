// SPDX-License-Identifier: GPL-2.0-only
// ALTER TABLE that adds and drops indexes.
#include "server/alter_indexes.h"

#include <algorithm>

#include "bulk/external_sorter.h"
#include "server/errors.h"
#include "server/session.h"
#include "server/table_map.h"

namespace cairn::server {
namespace {

constexpr char kColumnsToo[] = "Columns and indexes cannot be changed together without a copy";
constexpr char kOtherPrimaryKey[] = "Another primary key needs a copy of the table";

bool SameName(const LEX_CSTRING& a, const LEX_CSTRING& b) {
  return my_strcasecmp(system_charset_info, a.str, b.str) == 0;
}

bool IsAdded(const Alter_inplace_info& changes, const KEY& key) {
  for (uint i = 0; i < changes.index_add_count; ++i) {
    if (SameName(changes.key_info_buffer[changes.index_add_buffer[i]].name, key.name)) return true;
  }
  return false;
}

// The key of the old table that `key` of the new one is; null when it is added.
const KEY* KeptKey(const TABLE& table, const Alter_inplace_info& changes, const KEY& key) {
  if (IsAdded(changes, key)) return nullptr;
  LEX_CSTRING old_name = key.name;
  for (const auto& renamed : changes.rename_keys) {
    if (SameName(renamed.new_key->name, key.name)) old_name = renamed.old_key->name;
  }
  for (uint i = 0; i < table.s->keys; ++i) {
    if (SameName(table.key_info[i].name, old_name)) return &table.key_info[i];
  }
  return nullptr;
}

// Why a new index cannot be filled from stored rows alone; null when it can.
const char* ReasonAgainst(const TABLE& altered, const KEY& key) {
  if (key.algorithm == HA_KEY_ALG_LONG_HASH) return "a unique index over a hash needs a copy of the table";
  if (key.without_overlaps) return "WITHOUT OVERLAPS needs a copy of the table";
  if (key.flags & (HA_FULLTEXT | HA_SPATIAL)) return "FULLTEXT and SPATIAL indexes are not supported";
  for (uint part = 0; part < key.user_defined_key_parts; ++part) {
    if (!altered.field[key.key_part[part].fieldnr - 1]->stored_in_db()) {
      return "an index on a virtual column needs a copy of the table";
    }
  }
  return nullptr;
}

bool SameStorage(catalog::ColumnDef a, const catalog::ColumnDef& b) {
  a.name = b.name;
  return a == b;
}

// What may come with index changes: names, and expressions that no stored byte depends on.
constexpr alter_table_operations kAlongWithIndexes =
    ALTER_COLUMN_NAME | ALTER_RENAME_COLUMN | ALTER_CHANGE_COLUMN_DEFAULT | ALTER_COLUMN_DEFAULT |
    ALTER_COLUMN_OPTION | ALTER_DROP_CHECK_CONSTRAINT | ALTER_RENAME | ALTER_RENAME_INDEX | ALTER_INDEX_ORDER |
    ALTER_INDEX_IGNORABILITY | ALTER_CHANGE_INDEX_COMMENT | ALTER_PARTITIONED;

// The old definition with the names and indexes of the new one, whose ids are the caller's to give.
catalog::TableDef NewDefinition(const catalog::TableDef& old, catalog::TableDef altered) {
  catalog::TableDef def = old;
  def.server_version = std::move(altered.server_version);
  for (size_t i = 0; i < def.columns.size(); ++i) def.columns[i].name = std::move(altered.columns[i].name);
  def.indexes = std::move(altered.indexes);
  def.indexes.front().id = old.indexes.front().id;
  return def;
}

// Why rows, and with them all kept indexes, do not stay as they are; null when they do.
const char* ReasonAgainstKeptRows(const TABLE& table, const TABLE& altered) {
  codec::RecordLayout old_layout, new_layout;
  if (!LayoutOf(table, &old_layout).ok() || !LayoutOf(altered, &new_layout).ok()) return "a column's type";
  const catalog::TableDef old_def = DefinitionOf(table, old_layout, "");
  const catalog::TableDef new_def = DefinitionOf(altered, new_layout, "");
  bool same = old_layout.record_bytes == new_layout.record_bytes && old_def.columns.size() == new_def.columns.size();
  for (size_t i = 0; same && i < old_def.columns.size(); ++i) {
    same = SameStorage(new_def.columns[i], old_def.columns[i]) &&
           old_layout.columns[i].offset == new_layout.columns[i].offset;
  }
  if (!same) return kColumnsToo;
  const catalog::IndexDef& primary = old_def.indexes.front();
  same = new_def.indexes.front().kind == primary.kind && new_def.indexes.front().parts == primary.parts;
  return same ? nullptr : kOtherPrimaryKey;
}

// The key the server reports a duplicate for, with its values in the record.
void RaiseDuplicate(TABLE* altered, const IndexAlterContext& context) {
  const ddl::DuplicateRow& duplicate = context.builder->duplicate();
  const codec::RowCodec& rows = context.access->rows();
  const auto plan = rows.Plan(codec::ColumnSet::All(context.access->layout().columns.size()));
  (void)rows.Decode(plan, duplicate.primary_key, duplicate.value, altered->record[0]);
  const std::string& name = context.builder->indexes()[duplicate.index].name;
  for (uint key = 0; key < altered->s->keys; ++key) {
    if (name == altered->key_info[key].name.str) print_keydup_error(altered, &altered->key_info[key], MYF(0));
  }
}

bool Raise(THD* thd, const Status& status, TABLE* altered, const IndexAlterContext* context) {
  using Code = Status::Code;
  switch (status.code()) {
    case Code::kOk: return false;
    case Code::kDuplicateKey: RaiseDuplicate(altered, *context); return true;
    case Code::kInterrupted: my_error(ER_QUERY_INTERRUPTED, MYF(0)); return true;
    case Code::kLockTimeout: my_error(ER_LOCK_WAIT_TIMEOUT, MYF(0)); return true;
    default: return RaiseError(thd, status) != 0;
  }
}

IndexAlterContext* ContextOf(const Alter_inplace_info& changes) {
  return static_cast<IndexAlterContext*>(changes.handler_ctx);
}

// Those of all partitions, in their order; of a table without partitions its one.
std::vector<IndexAlterContext*> AllContexts(const Alter_inplace_info& changes) {
  if (changes.group_commit_ctx == nullptr) return {ContextOf(changes)};
  std::vector<IndexAlterContext*> contexts;
  for (inplace_alter_handler_ctx** one = changes.group_commit_ctx; *one != nullptr; ++one) {
    contexts.push_back(static_cast<IndexAlterContext*>(*one));
  }
  return contexts;
}

// There is no other way to fill an index: where others have the memory, it takes the least that sorting can do with. What is sorted needs none
// while its files wait.
Status Fill(IndexAlterContext* context) {
  const uint64_t bytes_min = context->added.size() * bulk::ExternalSorter::kMemoryBytesMin;
  bulk::SortMemory::Share memory = GlobalEngine()->sort_memory().Take(bytes_min);
  const uint64_t bytes = std::max(memory.bytes(), bytes_min);
  return context->builder->Fill(bytes, [&memory] { memory = bulk::SortMemory::Share(); });
}

}  // namespace

const char* PrimaryKeyReason(const Alter_inplace_info& changes) {
  const alter_table_operations both = ALTER_ADD_PK_INDEX | ALTER_DROP_PK_INDEX;
  if ((changes.handler_flags & both) == ALTER_DROP_PK_INDEX) {
    return my_get_err_msg(ER_ALTER_OPERATION_NOT_SUPPORTED_REASON_NOPK);
  }
  return (changes.handler_flags & both) != 0 ? kOtherPrimaryKey : nullptr;
}

enum_alter_inplace_result CheckIndexChanges(const TABLE& table, const TABLE& altered, alter_table_operations wanted,
                                            Alter_inplace_info* changes) {
  if ((wanted & ~(kIndexChanges | kAlongWithIndexes)) != 0) return HA_ALTER_INPLACE_NOT_SUPPORTED;
  if (changes->ignore && (changes->handler_flags & ALTER_ADD_UNIQUE_INDEX) != 0) {
    changes->unsupported_reason = my_get_err_msg(ER_ALTER_OPERATION_NOT_SUPPORTED_REASON_IGNORE);
    return HA_ALTER_INPLACE_NOT_SUPPORTED;
  }
  for (uint key = 0; key < altered.s->keys; ++key) {
    if (KeptKey(table, *changes, altered.key_info[key]) != nullptr) continue;
    if (const char* reason = ReasonAgainst(altered, altered.key_info[key]); reason != nullptr) {
      changes->unsupported_reason = reason;
      return HA_ALTER_INPLACE_NOT_SUPPORTED;
    }
  }
  const char* const reason = ReasonAgainstKeptRows(table, altered);
  if (reason != nullptr) changes->unsupported_reason = reason;
  return reason != nullptr ? HA_ALTER_INPLACE_NOT_SUPPORTED : HA_ALTER_INPLACE_NOCOPY_NO_LOCK;
}

bool PrepareIndexChanges(THD* thd, const TABLE& table, const TABLE& altered, Alter_inplace_info* changes,
                         std::shared_ptr<const catalog::TableAccess> access) {
  codec::RecordLayout layout;
  Status status = LayoutOf(altered, &layout);
  if (!status.ok()) return RaiseError(thd, status) != 0;
  auto* const context = new (thd->mem_root) IndexAlterContext(std::move(access));
  changes->handler_ctx = context;
  const catalog::TableDef& old = context->access->def();
  context->def = NewDefinition(old, DefinitionOf(altered, layout, old.name));
  std::vector<catalog::IndexDef> added;
  for (uint key = 0; key < altered.s->keys; ++key) {
    const size_t index = IndexOfKey(altered, key);
    if (index == 0) continue;
    const KEY* kept = KeptKey(table, *changes, altered.key_info[key]);
    if (kept != nullptr) {
      context->def.indexes[index].id = old.indexes[IndexOfKey(table, static_cast<uint>(kept - table.key_info))].id;
    } else {
      context->added.push_back(index);
      added.push_back(context->def.indexes[index]);
    }
  }
  if (added.empty()) return false;
  engine::Engine& engine = *GlobalEngine();
  // The statement has begun as the table was locked, and has forgotten there what was killed before.
  context->builder = std::make_unique<ddl::IndexBuilder>(
      engine.store(), engine.catalog(), engine.transactions(), context->access, std::move(added),
      [thd] { return thd_kill_level(thd) != THD_IS_NOT_KILLED; }, &Session::Of(thd)->transaction().interrupt_flag());
  return Raise(thd, context->builder->Begin(), const_cast<TABLE*>(&altered), context);
}

// The partitions of a table are filled one after the other: the last one catches up for all.
bool BuildIndexes(THD* thd, TABLE* altered, Alter_inplace_info* changes) {
  IndexAlterContext* const context = ContextOf(*changes);
  if (context == nullptr || context->builder == nullptr) return false;
  if (Raise(thd, Fill(context), altered, context)) return true;
  const std::vector<IndexAlterContext*> contexts = AllContexts(*changes);
  if (context != contexts.back()) return false;
  return std::any_of(contexts.begin(), contexts.end(), [&](IndexAlterContext* one) {
    return Raise(thd, one->builder->CatchUp(), altered, one);
  });
}

bool CommitIndexChanges(THD* thd, TABLE* altered, Alter_inplace_info* changes) {
  const std::vector<IndexAlterContext*> contexts = AllContexts(*changes);
  std::vector<catalog::Catalog::Replacement> replacements;
  for (IndexAlterContext* context : contexts) {
    if (context->builder != nullptr) {
      if (Raise(thd, context->builder->Finish(), altered, context)) return true;
      for (size_t i = 0; i < context->added.size(); ++i) {
        context->def.indexes[context->added[i]].id = context->builder->indexes()[i].id;
      }
    }
    replacements.push_back({context->def.name, context->def});
  }
  if (Raise(thd, GlobalEngine()->catalog().ReplaceIndexes(replacements), altered, contexts.front())) return true;
  for (IndexAlterContext* context : contexts) {
    if (context->builder != nullptr) context->builder->Complete();
  }
  GlobalEngine()->WakeReclaimer();
  changes->group_commit_ctx = nullptr;
  return false;
}

void RollBackIndexChanges(Alter_inplace_info* changes) {
  IndexAlterContext* const context = ContextOf(*changes);
  if (context == nullptr || context->builder == nullptr) return;
  context->builder.reset();
  GlobalEngine()->WakeReclaimer();
}

}  // namespace cairn::server
