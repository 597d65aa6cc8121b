// SPDX-License-Identifier: GPL-2.0-only
// Prepares a connection for making tables of one engine in one database.
#include "database.h"

namespace cairn::bench {

void OpenDatabase(Connection& connection, const std::string& database, const std::string& engine) {
  std::string literal;
  connection.AppendLiteral(engine, &literal);
  const std::string support =
      connection.QueryValue("SELECT SUPPORT FROM information_schema.ENGINES WHERE ENGINE = " + literal);
  if (support != "YES" && support != "DEFAULT") throw SqlError(0, "the server has no storage engine " + engine);
  connection.Execute("CREATE DATABASE IF NOT EXISTS `" + database + "`");
  connection.Execute("USE `" + database + "`");
  // A missing engine must be an error, not a table of another engine.
  connection.Execute("SET SESSION sql_mode = CONCAT(@@sql_mode, ',NO_ENGINE_SUBSTITUTION')");
}

}  // namespace cairn::bench
