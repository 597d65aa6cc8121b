// SPDX-License-Identifier: GPL-2.0-only
// The database and its three tables, as each engine likes them.
#include "schema.h"

#include "database.h"

namespace cairn::bench::linkbench {
namespace {

// One table. The column family names matter for MyRocks alone.
struct TableText {
  std::string_view name;
  std::string_view columns;
  std::string_view primary_key;
  std::string_view primary_family;
  std::string_view secondary_key;
  std::string_view secondary_family;
  std::string_view partition_column;
  bool compressible;  // the published "InnoDB zlib" leaves the node table plain
};

constexpr TableText kTables[] = {
    {
        .name = "linktable",
        .columns = "id1 BIGINT UNSIGNED NOT NULL DEFAULT 0, id2 BIGINT UNSIGNED NOT NULL DEFAULT 0,"
                   " link_type BIGINT UNSIGNED NOT NULL DEFAULT 0, visibility TINYINT NOT NULL DEFAULT 0,"
                   " data VARCHAR(255) NOT NULL DEFAULT '', time BIGINT UNSIGNED NOT NULL DEFAULT 0,"
                   " version INT UNSIGNED NOT NULL DEFAULT 0",
        .primary_key = "link_type, id1, id2",
        .primary_family = "cf_link_pk",
        .secondary_key = "id1_type (id1, link_type, visibility, time, id2, version, data)",
        .secondary_family = "rev:cf_link_id1_type",
        .partition_column = "id1",
        .compressible = true,
    },
    {
        .name = "counttable",
        .columns = "id BIGINT UNSIGNED NOT NULL DEFAULT 0, link_type BIGINT UNSIGNED NOT NULL DEFAULT 0,"
                   " count BIGINT UNSIGNED NOT NULL DEFAULT 0, time BIGINT UNSIGNED NOT NULL DEFAULT 0,"
                   " version BIGINT UNSIGNED NOT NULL DEFAULT 0",
        .primary_key = "id, link_type",
        .primary_family = "cf_count_pk",
        .secondary_key = "",
        .secondary_family = "",
        .partition_column = "id",
        .compressible = true,
    },
    {
        .name = "nodetable",
        .columns = "id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT, type INT UNSIGNED NOT NULL,"
                   " version BIGINT UNSIGNED NOT NULL, time INT UNSIGNED NOT NULL, data MEDIUMTEXT NOT NULL",
        .primary_key = "id",
        .primary_family = "cf_node_pk",
        .secondary_key = "",
        .secondary_family = "",
        .partition_column = "id",
        .compressible = false,
    },
};

std::string KeyComment(std::string_view family, EngineKind engine) {
  return engine == EngineKind::kMyrocks ? " COMMENT 'cfname=" + std::string(family) + "'" : "";
}

std::string CreateTableText(const TableText& table, const SchemaOptions& options) {
  std::string sql = "CREATE TABLE ";
  sql.append(table.name).append(" (").append(table.columns);
  sql.append(", PRIMARY KEY (").append(table.primary_key).append(")");
  sql += KeyComment(table.primary_family, options.engine);
  if (!table.secondary_key.empty()) {
    sql.append(", KEY ").append(table.secondary_key);
    sql += KeyComment(table.secondary_family, options.engine);
  }
  sql.append(") ENGINE=").append(EngineSqlName(options.engine)).append(" DEFAULT CHARSET=latin1 COLLATE=latin1_bin");
  if (options.engine == EngineKind::kInnodbZlib && table.compressible) sql += " ROW_FORMAT=COMPRESSED KEY_BLOCK_SIZE=8";
  if (!options.table_options.empty()) sql += " " + options.table_options;
  if (options.partitions != 0) {
    sql.append(" PARTITION BY KEY (").append(table.partition_column);
    sql += ") PARTITIONS " + std::to_string(options.partitions);
  }
  return sql;
}

}  // namespace

std::string_view EngineSqlName(EngineKind engine) {
  switch (engine) {
    case EngineKind::kCairn: return "CAIRN";
    case EngineKind::kInnodb: return "INNODB";
    case EngineKind::kInnodbZlib: return "INNODB";
    case EngineKind::kMyrocks: return "ROCKSDB";
  }
  return "";
}

void CreateSchema(Connection& connection, const SchemaOptions& options) {
  OpenDatabase(connection, options.database, std::string(EngineSqlName(options.engine)));
  for (const TableText& table : kTables) {
    connection.Execute("DROP TABLE IF EXISTS " + std::string(table.name));
    connection.Execute(CreateTableText(table, options));
  }
}

}  // namespace cairn::bench::linkbench
