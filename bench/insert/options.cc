// SPDX-License-Identifier: GPL-2.0-only
// The command line.
#include "options.h"

#include <cmath>

namespace cairn::bench::insert {
namespace {

// Stores one of the named values.
template <typename T>
OptionSetter StoreChoice(T* to, std::map<std::string, T> choices) {
  return [=](const std::string& option, const std::string& value) { *to = Choose<T>(option, value, choices); };
}

std::map<std::string, OptionSetter> ValueOptions(Options* options) {
  constexpr uint64_t kRowsMax = 1'000'000'000'000;
  constexpr double kSecondsMax = 1e8;
  PhaseOptions& phase = options->phase;
  SchemaOptions& schema = options->schema;
  return {
      {"--socket", StoreText(&phase.connection.socket)},
      {"--host", StoreText(&phase.connection.host)},
      {"--port", StoreNumber(&phase.connection.port, 1, 65535)},
      {"--user", StoreText(&phase.connection.user)},
      {"--password", StoreText(&phase.connection.password)},
      {"--isolation", StoreChoice(&phase.connection.isolation, {{"read-committed", "READ COMMITTED"},
                                                                {"repeatable-read", "REPEATABLE READ"}})},
      {"--database", StoreText(&schema.database)},
      {"--engine", StoreText(&schema.engine)},
      {"--table-options", StoreText(&schema.table_options)},
      {"--partitions", StoreNumber(&schema.partitions, 0, 8192)},
      {"--generation", StoreChoice(&phase.generation, {{"ib2016", &kIb2016}, {"ib2024", &kIb2024}})},
      {"--clients", StoreNumber(&phase.clients, 1, 1000)},
      {"--rows", StoreNumber(&phase.rows, 1, kRowsMax)},
      {"--rows-per-commit", StoreNumber(&phase.rows_per_commit, 1, 10'000)},
      {"--rate", StoreNumber(&phase.rows_per_second, 1, kRowsMax)},
      {"--seconds", StoreNumber(&options->seconds, 0.001, kSecondsMax)},
      {"--max-seconds", StoreNumber(&phase.max_seconds, 0.001, kSecondsMax)},
      {"--query", StoreChoice(&phase.query, {{"none", QueryKind::kNone},
                                             {"range", QueryKind::kRange},
                                             {"point", QueryKind::kPoint}})},
      {"--rows-per-report", StoreNumber(&phase.rows_per_report, 1, kRowsMax)},
      {"--writer-sql", StoreText(&phase.writer_sql)},
      {"--seed", StoreNumber(&phase.seed, 0, UINT64_MAX)},
      {"--interval", StoreNumber(&phase.interval_seconds, 1, 86400)},
      {"--state", StoreText(&options->state_path)},
      {"--json", StoreText(&options->json_path)},
  };
}

void Finish(Options* options) {
  PhaseOptions& phase = options->phase;
  if (phase.connection.socket.empty() == phase.connection.host.empty()) {
    throw UsageError("give either --socket or --host");
  }
  const std::string& database = options->schema.database;
  if (database.empty() || database.find('`') != std::string::npos) {
    throw UsageError("--database: '" + database + "' is not a usable name");
  }
  phase.connection.database = database;
  if (options->state_path.empty()) throw UsageError("give --state");
  phase.tables = TableNames(options->one_table ? 1 : phase.clients);
  if (options->command != "load" && options->command != "run") return;
  const bool by_time = options->seconds > 0;
  if (by_time && phase.rows_per_second == 0) throw UsageError("--seconds needs --rate");
  if (by_time == (phase.rows != 0)) throw UsageError("give either --rows or --rate and --seconds");
  if (by_time) {
    const double rows = static_cast<double>(phase.rows_per_second) * options->seconds * phase.clients;
    phase.rows = static_cast<uint64_t>(std::ceil(rows));
  }
  options->schema.rows_per_partition =
      phase.rows / phase.tables.size() / std::max(1u, options->schema.partitions);
}

}  // namespace

Options ParseOptions(const std::vector<std::string>& arguments) {
  Options options;
  options.command = ParseCommandLine(arguments, {.values = ValueOptions(&options),
                                                 .flags = {{"--one-table", &options.one_table},
                                                           {"--secondary-indexes", &options.schema.secondary_indexes},
                                                           {"--one-alter", &options.one_alter},
                                                           {"--deletes", &options.phase.deletes},
                                                           {"--prepared", &options.phase.prepared}},
                                                 .commands = {"load", "index", "run", "validate"}});
  options.help = options.command.empty();
  if (!options.help) Finish(&options);
  return options;
}

const char* UsageText() {
  return R"(usage: cairn-insertbench load|index|run|validate --socket PATH --state FILE [options]

  load      create the tables anew, then insert as `run` does
  index     insert 100 rows into each table, then create the three secondary indexes
  run       insert, with or without deletes at the same rate and queries
  validate  compare the rows with what was inserted and deleted, and the indexes with each other

server:   --socket PATH | --host H --port P, --user root, --password P, --isolation read-committed|repeatable-read
tables:   --database insertbench, --engine CAIRN, --table-options TEXT, --partitions 0, --secondary-indexes (load),
          --one-table (for all clients), --one-alter (index), --generation ib2016|ib2024
inserts:  --clients 1, --rows N (of all clients) | --rate N (rows per second and client) --seconds N,
          --rows-per-commit 100, --deletes, --max-seconds N, --writer-sql TEXT, --prepared, --seed 1
queries:  --query none|range|point (one thread for each client)
output:   --state FILE (rows inserted and deleted so far, from step to step), --interval 5, --rows-per-report N,
          --json FILE (else stdout)

exit status: 0 well, 1 error or inconsistent, 2 bad usage, 130 interrupted
)";
}

}  // namespace cairn::bench::insert
