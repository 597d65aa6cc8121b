// SPDX-License-Identifier: GPL-2.0-only
// The command line.
#include "options.h"

#include <charconv>
#include <functional>
#include <map>
#include <optional>

namespace cairn::linkbench {
namespace {

template <typename T>
T ParseNumber(const std::string& option, const std::string& text, T min, T max) {
  T number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || !(number >= min && number <= max)) {
    throw UsageError(option + ": '" + text + "' is not a number from " + std::to_string(min) + " to " +
                     std::to_string(max));
  }
  return number;
}

template <typename T>
T Choose(const std::string& option, const std::string& text, const std::map<std::string, T>& choices) {
  if (const auto choice = choices.find(text); choice != choices.end()) return choice->second;
  std::string names;
  for (const auto& [name, value] : choices) names += (names.empty() ? "" : ", ") + name;
  throw UsageError(option + ": '" + text + "' is none of " + names);
}

// Values whose default depends on other options.
struct Deferred {
  std::string degree_max = "auto";
  std::optional<double> seconds;
};

using Setter = std::function<void(const std::string& option, const std::string& value)>;

// Names are in the order of the README.
std::map<std::string, Setter> ValueOptions(Options* options, Deferred* deferred) {
  const auto text = [](std::string* to) { return [to](const std::string&, const std::string& v) { *to = v; }; };
  const auto number = [](auto* to, auto min, auto max) {
    return [=](const std::string& o, const std::string& v) {
      using T = std::remove_pointer_t<decltype(to)>;
      *to = ParseNumber<T>(o, v, static_cast<T>(min), static_cast<T>(max));
    };
  };
  constexpr uint64_t kIdsMax = 1'000'000'000'000;
  constexpr double kSecondsMax = 1e8;
  return {
      {"--socket", text(&options->connection.socket)},
      {"--host", text(&options->connection.host)},
      {"--port", number(&options->connection.port, 1, 65535)},
      {"--user", text(&options->connection.user)},
      {"--password", text(&options->connection.password)},
      {"--database", text(&options->schema.database)},
      {"--engine",
       [=](const std::string& o, const std::string& v) {
         options->schema.engine = Choose<EngineKind>(o, v,
                                                     {{"cairn", EngineKind::kCairn},
                                                      {"innodb", EngineKind::kInnodb},
                                                      {"innodb-zlib", EngineKind::kInnodbZlib},
                                                      {"myrocks", EngineKind::kMyrocks}});
         options->engine = v;
       }},
      {"--table-options", text(&options->schema.table_options)},
      {"--partitions", number(&options->schema.partitions, 0, 8192)},
      {"--profile",
       [=](const std::string& o, const std::string& v) {
         options->profile = Choose<const Profile*>(o, v, {{"fb2011", &kProfileFb2011}, {"fb2017", &kProfileFb2017}});
       }},
      {"--ids", number(&options->size.ids, 1, kIdsMax)},
      {"--max-degree", text(&deferred->degree_max)},
      {"--loaders", number(&options->loaders, 1, 1000)},
      {"--threads", number(&options->threads, 1, 1000)},
      {"--seconds",
       [=](const std::string& o, const std::string& v) {
         deferred->seconds = ParseNumber<double>(o, v, 0.001, kSecondsMax);
       }},
      {"--requests", number(&options->limits.requests, 1, UINT64_MAX)},
      {"--warmup", number(&options->warmup_seconds, 0, kSecondsMax)},
      {"--isolation",
       [=](const std::string& o, const std::string& v) {
         options->connection.isolation = Choose<std::string>(
             o, v, {{"read-committed", "READ COMMITTED"}, {"repeatable-read", "REPEATABLE READ"}});
       }},
      {"--seed", number(&options->seed, 0, UINT64_MAX)},
      {"--sample", number(&options->sample, 1, 1'000'000)},
      {"--server-pid", number(&options->metrics.server_pid, 1, INT32_MAX)},
      {"--data-dir", text(&options->metrics.data_dir)},
      {"--data-device", text(&options->metrics.data_device)},
      {"--size-path",
       [=](const std::string&, const std::string& v) { options->metrics.size_paths.push_back(v); }},
      {"--interval", number(&options->interval_seconds, 1, 86400)},
      {"--json", text(&options->json_path)},
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
    options->size.degree_max = ParseNumber<uint64_t>("--max-degree", deferred.degree_max, 1, UINT64_MAX);
  }
  constexpr double kSecondsDefault = 60;
  options->limits.seconds = deferred.seconds.value_or(options->limits.requests != 0 ? 0 : kSecondsDefault);
}

}  // namespace

Options ParseOptions(const std::vector<std::string>& arguments) {
  Options options;
  options.schema.database = "linkdb";
  Deferred deferred;
  const std::map<std::string, Setter> setters = ValueOptions(&options, &deferred);
  const std::map<std::string, bool*> flags = {{"--plain-load", &options.plain_load},
                                              {"--load-skip-binlog", &options.load_skip_binlog},
                                              {"--prepared", &options.prepared}};
  for (size_t i = 0; i < arguments.size(); ++i) {
    const size_t equals = arguments[i].starts_with("--") ? arguments[i].find('=') : std::string::npos;
    const std::string name = arguments[i].substr(0, equals);
    if (name == "--help" || name == "-h") {
      options.help = true;
      return options;
    }
    if (const auto flag = flags.find(name); flag != flags.end() && equals == std::string::npos) {
      *flag->second = true;
    } else if (const auto setter = setters.find(name); setter != setters.end()) {
      if (equals == std::string::npos && i + 1 == arguments.size()) throw UsageError(name + " needs a value");
      setter->second(name, equals == std::string::npos ? arguments[++i] : arguments[i].substr(equals + 1));
    } else if (!name.starts_with("-") && options.command.empty()) {
      options.command = Choose<std::string>("command", name,
                                            {{"load", name}, {"run", name}, {"validate", name}, {"all", name}});
    } else {
      throw UsageError("unknown argument '" + arguments[i] + "'");
    }
  }
  if (options.command.empty()) throw UsageError("give a command: load, run, validate or all");
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

}  // namespace cairn::linkbench
