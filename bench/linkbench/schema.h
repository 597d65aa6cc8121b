// SPDX-License-Identifier: GPL-2.0-only
// The database and its three tables, as each engine likes them.
#pragma once

#include <string>
#include <string_view>

#include "connection.h"

namespace cairn::bench::linkbench {

enum class EngineKind { kCairn, kInnodb, kInnodbZlib, kMyrocks };

struct SchemaOptions {
  std::string database;
  EngineKind engine = EngineKind::kCairn;
  std::string table_options;  // appended to every CREATE TABLE
  unsigned partitions = 0;    // by key of the id; 0 means none
};

// Creates the database if it is missing, and the tables anew: existing ones are dropped, unless the server does not
// have the engine. Throws SqlError.
void CreateSchema(Connection& connection, const SchemaOptions& options);

// The engine's name in SQL.
std::string_view EngineSqlName(EngineKind engine);

}  // namespace cairn::bench::linkbench
