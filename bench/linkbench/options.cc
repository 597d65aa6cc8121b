// SPDX-License-Identifier: GPL-2.0-only
// The command line.
#include "options.h"

#include <map>
#include <optional>

namespace cairn::bench::linkbench {
namespace {

// Values whose default depends on other options.
struct Deferred {
  std::string degree_max = "auto";
  std::optional<double> seconds;
};

// Names are in the order of the README.
std::map<std::string, OptionSetter> ValueOptions(Options* options, Deferred* deferred) {
  constexpr uint64_t kIdsMax = 1'000'000'000'000;
  constexpr double kSecondsMax = 1e8;
  return {
      {"--socket", StoreText(&options->connection.socket)},
      {"--host", StoreText(&options->connection.host)},
      {"--port", StoreNumber(&options->connection.port, 1, 65535)},
      {"--user", StoreText(&options->connection.user)},
      {"--password", StoreText(&options->connection.password)},
      {"--database", StoreText(&options->schema.database)},
      {"--engine",
       [=](const std::string& o, const std::string& v) {
         options->schema.engine = Choose<EngineKind>(o, v,
                                                     {{"cairn", EngineKind::kCairn},
                                                      {"innodb", EngineKind::kInnodb},
                                                      {"innodb-zlib", EngineKind::kInnodbZlib},
                                                      {"myrocks", EngineKind::kMyrocks}});
         options->engine = v;
       }},
      {"--table-options", StoreText(&options->schema.table_options)},
      {"--partitions", StoreNumber(&options->schema.partitions, 0, 8192)},
      {"--profile",
       [=](const std::string& o, const std::string& v) {
         options->profile = Choose<const Profile*>(o, v, {{"fb2011", &kProfileFb2011}, {"fb2017", &kProfileFb2017}});
       }},
      {"--ids", StoreNumber(&options->size.ids, 1, kIdsMax)},
      {"--max-degree", StoreText(&deferred->degree_max)},
      {"--loaders", StoreNumber(&options->loaders, 1, 1000)},
      {"--threads", StoreNumber(&options->threads, 1, 1000)},
      {"--seconds",
       [=](const std::string& o, const std::string& v) {
         deferred->seconds = ParseOption<double>(o, v, 0.001, kSecondsMax);
       }},
      {"--requests", StoreNumber(&options->limits.requests, 1, UINT64_MAX)},
      {"--warmup", StoreNumber(&options->warmup_seconds, 0, kSecondsMax)},
      {"--isolation",
       [=](const std::string& o, const std::string& v) {
         options->connection.isolation = Choose<std::string>(
             o, v, {{"read-committed", "READ COMMITTED"}, {"repeatable-read", "REPEATABLE READ"}});
       }},
      {"--seed", StoreNumber(&options->seed, 0, UINT64_MAX)},
      {"--sample", StoreNumber(&options->sample, 1, 1'000'000)},
      {"--server-pid", StoreNumber(&options->metrics.server_pid, 1, INT32_MAX)},
      {"--data-dir", StoreText(&options->metrics.data_dir)},
      {"--data-device", StoreText(&options->metrics.data_device)},
      {"--size-path",
       [=](const std::string&, const std::string& v) { options->metrics.size_paths.push_back(v); }},
      {"--interval", StoreNumber(&options->interval_seconds, 1, 86400)},
      {"--json", StoreText(&options->json_path)},
  };
}

void Finish(const Deferred& deferred, Options* options) {
  if (options->connection.socket.empty() == options->connection.host.empty()) {
    throw UsageError("give either --socket or --host");
  }
  if (options->schema.database.empty() || options->schema.database.find('`') != std::string::npos) {
    throw UsageError("--database: '" + options->schema.database + "' is not a usable name");
  }
  options->connection.database = options->schema.database;
  if (deferred.degree_max == "auto") {
    options->size.degree_max = GraphSize::AutomaticDegreeMax(options->size.ids);
  } else if (deferred.degree_max != "none") {
    options->size.degree_max = ParseOption<uint64_t>("--max-degree", deferred.degree_max, 1, UINT64_MAX);
  }
  constexpr double kSecondsDefault = 60;
  options->limits.seconds = deferred.seconds.value_or(options->limits.requests != 0 ? 0 : kSecondsDefault);
}

}  // namespace

Options ParseOptions(const std::vector<std::string>& arguments) {
  Options options;
  options.schema.database = "linkdb";
  Deferred deferred;
  options.command = ParseCommandLine(arguments, {.values = ValueOptions(&options, &deferred),
                                                 .flags = {{"--plain-load", &options.plain_load},
                                                           {"--load-skip-binlog", &options.load_skip_binlog},
                                                           {"--prepared", &options.prepared}},
                                                 .commands = {"load", "run", "validate", "all"}});
  options.help = options.command.empty();
  if (options.help) return options;
  Finish(deferred, &options);
  return options;
}

const char* UsageText() {
  return R"(usage: cairn-linkbench load|run|validate|all --socket PATH [options]

  load      create the database and tables anew and load the graph
  run       the request phase on a loaded graph
  validate  compare counts with links, and the indexes with each other
  all       the three in this order

server:   --socket PATH | --host H --port P, --user root, --password P, --isolation read-committed|repeatable-read
tables:   --database linkdb, --engine cairn|innodb|innodb-zlib|myrocks, --table-options TEXT, --partitions 0
graph:    --ids 1000000, --max-degree auto|none|N, --profile fb2011|fb2017, --seed 1
load:     --loaders 2, --plain-load, --load-skip-binlog
run:      --threads 2, --seconds 60, --requests N, --warmup 0, --prepared
validate: --sample 1
measure:  --server-pid PID, --data-dir DIR, --data-device auto|none|NAME, --size-path PATH (repeatable)
output:   --interval 5 (seconds between progress lines on stderr), --json FILE (else stdout)

exit status: 0 well, 1 error or inconsistent, 2 bad usage, 130 interrupted
)";
}

}  // namespace cairn::bench::linkbench
