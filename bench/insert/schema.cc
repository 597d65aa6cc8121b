// SPDX-License-Identifier: GPL-2.0-only
// The benchmark's tables and their secondary indexes.
#include "schema.h"

#include "database.h"

namespace cairn::bench::insert {
namespace {

std::string IndexText(const std::string& table, const IndexFacts& index) {
  return "INDEX " + IndexName(table, index) + " (" + std::string(index.columns) + ")";
}

std::string PartitionText(const SchemaOptions& options) {
  std::string text = " PARTITION BY RANGE (transactionid) (";
  for (unsigned i = 1; i < options.partitions; ++i) {
    text += "PARTITION p" + std::to_string(i) + " VALUES LESS THAN (" +
            std::to_string(i * options.rows_per_partition + 1) + "), ";
  }
  return text + "PARTITION p" + std::to_string(options.partitions) + " VALUES LESS THAN MAXVALUE)";
}

}  // namespace

std::vector<std::string> TableNames(unsigned count) {
  std::vector<std::string> names;
  for (unsigned i = 1; i <= count; ++i) names.push_back("pi" + std::to_string(i));
  return names;
}

std::string IndexName(const std::string& table, const IndexFacts& index) {
  return table + "_" + std::string(index.name);
}

std::string CreateTableText(const std::string& table, const Generation& generation, const SchemaOptions& options) {
  std::string text = "CREATE TABLE " + table + " (transactionid " + std::string(generation.id_type) +
                     " NOT NULL AUTO_INCREMENT, dateandtime DATETIME, cashregisterid INT NOT NULL,"
                     " customerid INT NOT NULL, productid INT NOT NULL, price " +
                     std::string(generation.price_type) + " NOT NULL, data VARCHAR(4000), PRIMARY KEY (transactionid)";
  if (options.secondary_indexes) {
    for (const IndexFacts& index : generation.indexes) text += ", " + IndexText(table, index);
  }
  text += ") ENGINE=" + options.engine + " DEFAULT CHARSET=latin1";
  if (!options.table_options.empty()) text += " " + options.table_options;
  if (options.partitions != 0) text += PartitionText(options);
  return text;
}

std::vector<std::string> CreateIndexTexts(const std::string& table, const Generation& generation,
                                          bool one_statement) {
  std::vector<std::string> texts;
  for (const IndexFacts& index : generation.indexes) {
    const std::string add = "ADD " + IndexText(table, index);
    if (one_statement && !texts.empty()) {
      texts.back() += ", " + add;
    } else {
      texts.push_back("ALTER TABLE " + table + " " + add);
    }
  }
  return texts;
}

void CreateTables(Connection& connection, const std::vector<std::string>& tables, const Generation& generation,
                  const SchemaOptions& options) {
  OpenDatabase(connection, options.database, options.engine);
  std::vector<std::string> old_tables;
  connection.Query("SHOW TABLES LIKE 'pi%'", [&](Connection::Row row) { old_tables.emplace_back(row[0]); });
  for (const std::string& table : old_tables) connection.Execute("DROP TABLE `" + table + "`");
  for (const std::string& table : tables) connection.Execute(CreateTableText(table, generation, options));
}

}  // namespace cairn::bench::insert
