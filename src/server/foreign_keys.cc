// SPDX-License-Identifier: GPL-2.0-only
// Names, texts and locks of foreign keys.
#include "server/foreign_keys.h"

#include <algorithm>
#include <set>

#include "foreign/relations.h"
#include "server/collation.h"
#include "server/commands.h"
#include "server/killed.h"
#include "server/session.h"

namespace cairn::server {

using catalog::ForeignAction;
using catalog::ForeignKeyDef;
using catalog::ForeignKeyPtr;

namespace {

std::string Encoded(const char* name) {
  char encoded[FN_REFLEN];
  const uint length = tablename_to_filename(name, encoded, sizeof encoded);
  return std::string(encoded, length);
}

std::string Decoded(const std::string& name) {
  if (name.starts_with("#sql")) return name;
  char decoded[FN_REFLEN];
  const uint length = filename_to_tablename(name.c_str(), decoded, sizeof decoded, true);
  return std::string(decoded, length);
}

void AppendIdentifier(THD* thd, const std::string& name, String* text) {
  append_identifier(thd, text, name.data(), name.size());
}

void AppendColumns(THD* thd, const std::vector<std::string>& columns, String* text) {
  text->append(STRING_WITH_LEN("("));
  for (size_t i = 0; i < columns.size(); ++i) {
    if (i != 0) text->append(STRING_WITH_LEN(", "));
    AppendIdentifier(thd, columns[i], text);
  }
  text->append(STRING_WITH_LEN(")"));
}

void AppendAction(const char* when, ForeignAction action, String* text) {
  if (action == ForeignAction::kRestrict) return;
  text->append(when, strlen(when));
  switch (action) {
    case ForeignAction::kNoAction: text->append(STRING_WITH_LEN("NO ACTION")); break;
    case ForeignAction::kCascade: text->append(STRING_WITH_LEN("CASCADE")); break;
    default: text->append(STRING_WITH_LEN("SET NULL")); break;
  }
}

// The server's own ways to metadata locks mark a victim's transaction to be rolled back themselves: here it is for who gets kDeadlock.
Status LockDefinition(THD* thd, const SqlName& name, enum_mdl_type type) {
  MDL_request request;
  MDL_REQUEST_INIT(&request, MDL_key::TABLE, name.database.c_str(), name.table.c_str(), type, MDL_TRANSACTION);
  if (!thd->mdl_context.acquire_lock(&request, static_cast<double>(thd->variables.lock_wait_timeout))) return Status::Ok();
  const bool is_victim = thd->is_error() && thd->get_stmt_da()->sql_errno() == ER_LOCK_DEADLOCK;
  if (is_victim) return Status::Of(Status::Code::kDeadlock);
  return Status::Of(IsKilled(thd) ? Status::Code::kInterrupted : Status::Code::kLockTimeout);
}

}  // namespace

const codec::Collation* CollationOfId(uint32_t id) {
  const CHARSET_INFO* const charset = get_charset(id, MYF(0));
  return charset == nullptr ? nullptr : CollationOf(charset);
}

bool OnlyInserts(THD* thd) { return AddsRows(thd_sql_command(thd)) && thd->lex->duplicates == DUP_ERROR; }

bool ChecksForeignKeys(THD* thd) { return thd_test_options(thd, OPTION_NO_FOREIGN_KEY_CHECKS) == 0; }

std::string TableNameOf(const char* database, const char* table) { return Encoded(database) + "/" + Encoded(table); }

SqlName SqlNameOf(const std::string& name) {
  const size_t slash = name.find('/');
  return {Decoded(name.substr(0, slash)), Decoded(name.substr(slash + 1))};
}

std::string AlteredTable(THD* thd) {
  if (!MayCopyTable(thd_sql_command(thd))) return {};
  const TABLE_LIST* const table = thd->lex->query_tables;
  return table == nullptr ? std::string() : TableNameOf(table->db.str, table->table_name.str);
}

std::string TextOf(THD* thd, const ForeignKeyDef& key) {
  String text;
  const SqlName child = SqlNameOf(key.child), parent = SqlNameOf(key.parent);
  text.append(STRING_WITH_LEN("CONSTRAINT "));
  AppendIdentifier(thd, key.name, &text);
  text.append(STRING_WITH_LEN(" FOREIGN KEY "));
  AppendColumns(thd, key.child_columns, &text);
  text.append(STRING_WITH_LEN(" REFERENCES "));
  if (parent.database != child.database) {
    AppendIdentifier(thd, parent.database, &text);
    text.append(STRING_WITH_LEN("."));
  }
  AppendIdentifier(thd, parent.table, &text);
  text.append(STRING_WITH_LEN(" "));
  AppendColumns(thd, key.parent_columns, &text);
  AppendAction(" ON DELETE ", key.on_delete, &text);
  AppendAction(" ON UPDATE ", key.on_update, &text);
  return std::string(text.ptr(), text.length());
}

std::string TextInErrors(THD* thd, const ForeignKeyDef& key) {
  String text;
  const SqlName child = SqlNameOf(key.child);
  AppendIdentifier(thd, child.database, &text);
  text.append(STRING_WITH_LEN("."));
  AppendIdentifier(thd, child.table, &text);
  text.append(STRING_WITH_LEN(", "));
  return std::string(text.ptr(), text.length()) + TextOf(thd, key);
}

Status AffectedDefinitions::Lock(THD* thd, const std::shared_ptr<const catalog::ForeignKeySet>& keys, const std::string& table) {
  const bool only_inserts = OnlyInserts(thd);
  if (keys_ != keys || only_inserts_ != only_inserts) {
    keys_ = keys;
    only_inserts_ = only_inserts;
    Find(*keys, table);
  }
  for (const SqlName& name : read_) CAIRN_RETURN_IF_ERROR(LockDefinition(thd, name, MDL_SHARED_READ));
  for (const SqlName& name : written_) CAIRN_RETURN_IF_ERROR(LockDefinition(thd, name, MDL_SHARED_WRITE));
  return Status::Ok();
}

void AffectedDefinitions::Find(const catalog::ForeignKeySet& keys, const std::string& table) {
  const foreign::AffectedTables affected = foreign::TablesAffectedBy(keys, table, only_inserts_);
  const auto take = [&table](const std::set<std::string>& names, std::vector<SqlName>* taken) {
    taken->clear();
    for (const std::string& name : names) {
      if (name != table) taken->push_back(SqlNameOf(name));
    }
  };
  take(affected.read, &read_);
  take(affected.written, &written_);
}

bool IsReferenced(THD* thd, const std::string& table) {
  const auto set = GlobalEngine()->catalog().foreign_keys();
  const std::vector<ForeignKeyPtr>& keys = set->OfParent(table);
  const std::string database = table.substr(0, table.find('/') + 1);
  const bool drops_database = thd_sql_command(thd) == SQLCOM_DROP_DB;
  return std::any_of(keys.begin(), keys.end(), [&](const ForeignKeyPtr& key) {
    return drops_database ? !key->child.starts_with(database) : key->child != table;
  });
}

}  // namespace cairn::server
