// SPDX-License-Identifier: GPL-2.0-only
// Options of other engines.
#include "server/table_options.h"

#include <create_options.h>

#include <cstring>

#include "server/commands.h"
#include "server/session.h"

namespace cairn::server {
namespace {

bool IsSame(const LEX_CSTRING& text, const char* word) {
  return system_charset_info->strnncoll(text.str, text.length, word, strlen(word)) == 0;
}

// An option without a value is taken back.
bool AsksForEncryption(const engine_option_value* options) {
  for (const engine_option_value* option = options; option != nullptr; option = option->next) {
    const LEX_CSTRING& value = option->value;
    if (value.str == nullptr || !IsSame(option->name, "ENCRYPTED")) continue;
    if (!IsSame(value, "NO") && !IsSame(value, "OFF") && !IsSame(value, "0") && !IsSame(value, "DEFAULT")) return true;
  }
  return false;
}

bool AlterAsksForEncryption(THD* thd) {
  return thd_sql_command(thd) == SQLCOM_ALTER_TABLE && AsksForEncryption(thd->lex->create_info.option_list);
}

// A table of this engine that has come with the wish before that was refused: its rows are in clear already, and it may be altered.
bool HasAskedBefore(THD* thd) {
  if (!DefinesTables(thd_sql_command(thd)) || thd->lex->query_tables == nullptr) return false;
  const TABLE* const altered = thd->lex->query_tables->table;
  return altered != nullptr && altered->file != nullptr && altered->file->partition_ht() == GlobalHandlerton() &&
         AsksForEncryption(altered->s->option_list);
}

Status Refused() { return Status::NotSupported("ENCRYPTED in ENGINE=CAIRN"); }

// Each partition of a table has its options anew, and of those that the statement names the server may have warned.
void Warn(THD* thd, const engine_option_value* options) {
  for (const engine_option_value* option = options; option != nullptr; option = option->next) {
    if (option->value.str == nullptr) continue;
    char text[MYSQL_ERRMSG_SIZE];
    const size_t size = my_snprintf(text, sizeof text, ER_THD(thd, ER_UNKNOWN_OPTION), option->name.str);
    if (thd->get_stmt_da()->has_sql_condition(text, size)) continue;
    push_warning(thd, Sql_condition::WARN_LEVEL_WARN, ER_UNKNOWN_OPTION, text);
  }
}

}  // namespace

// A partition's own are in its share, which may be the altered table's: those are of a partition that is made now.
Status CheckOptions(THD* thd, const TABLE& form, const HA_CREATE_INFO& create_info) {
  if (AlterAsksForEncryption(thd)) return Refused();
  if (AsksForEncryption(create_info.option_list)) return HasAskedBefore(thd) ? Status::Ok() : Refused();
  return AsksForEncryption(form.s->option_list) ? Refused() : Status::Ok();
}

Status CheckAlteredOptions(THD* thd) { return AlterAsksForEncryption(thd) ? Refused() : Status::Ok(); }

void WarnOfOptions(THD* thd, const TABLE& form, const HA_CREATE_INFO& create_info) {
  Warn(thd, create_info.option_list);
  if (form.s->option_list != create_info.option_list) Warn(thd, form.s->option_list);
}

}  // namespace cairn::server
