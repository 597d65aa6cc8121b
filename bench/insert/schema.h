// SPDX-License-Identifier: GPL-2.0-only
// The benchmark's tables and their secondary indexes.
#pragma once

#include <string>
#include <vector>

#include "connection.h"
#include "generation.h"

namespace cairn::bench::insert {

struct SchemaOptions {
  std::string database = "insertbench";
  std::string engine = "CAIRN";     // as in ENGINE=
  std::string table_options = "";   // appended to every CREATE TABLE
  bool secondary_indexes = false;   // from the start
  unsigned partitions = 0;          // by range of the id; 0: none
  uint64_t rows_per_partition = 0;  // the last partition takes all that is above
};

// pi1, pi2, …
std::vector<std::string> TableNames(unsigned count);

std::string IndexName(const std::string& table, const IndexFacts& index);

// One statement.
std::string CreateTableText(const std::string& table, const Generation& generation, const SchemaOptions& options);

// Statements that add the three indexes: one, or three that are run in turn.
std::vector<std::string> CreateIndexTexts(const std::string& table, const Generation& generation,
                                          bool one_statement);

// Creates the database if it is missing and the tables anew; drops the other tables of earlier runs.
// Throws SqlError.
void CreateTables(Connection& connection, const std::vector<std::string>& tables, const Generation& generation,
                  const SchemaOptions& options);

}  // namespace cairn::bench::insert
