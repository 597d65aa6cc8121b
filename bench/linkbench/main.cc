// SPDX-License-Identifier: GPL-2.0-only
// cairn-linkbench: loads a social graph, runs the ten operations on it, checks it, reports in JSON.
#include <cstdio>
#include <optional>

#include "options.h"
#include "program.h"
#include "report_json.h"

namespace cairn::bench::linkbench {
namespace {

// Runs the phases the command asks for, filling the report as it goes.
class Session {
 public:
  Session(const Options& options, const SystemMetrics& metrics, Report* report)
      : options_(options), report_(*report), metrics_(metrics), graph_(options.size) {
    report_.device = metrics_.device();
  }

  void Run() {
    DescribeServer();
    if (options_.Runs("load")) RunLoad();
    if (options_.Runs("run") && CanGoOn()) RunRequests();
    if (options_.Runs("validate") && CanGoOn()) RunValidate();
  }

 private:
  bool CanGoOn() const { return report_.error.empty() && !ProgramStop().stopped(); }

  Connection Connect(bool with_database) {
    ConnectionOptions connection = options_.connection;
    if (!with_database) connection.database.clear();
    return Connection(connection, Connection::Commit::kAutomatic);
  }

  void DescribeServer() {
    Connection connection = Connect(/*with_database=*/false);
    const std::string engine(EngineSqlName(options_.schema.engine));
    report_.server = {
        .version = connection.QueryValue("SELECT VERSION()"),
        .isolation = connection.QueryValue("SELECT @@session.tx_isolation"),
        .binlog = connection.QueryValue("SELECT @@global.log_bin") == "1",
        .engine_comment = connection.QueryValue("SELECT COMMENT FROM information_schema.ENGINES WHERE ENGINE = '" +
                                                engine + "'"),
    };
  }

  void RunLoad() {
    ConnectionOptions loading = options_.connection;
    loading.skip_binlog = options_.load_skip_binlog;
    {
      ConnectionOptions creating = loading;
      creating.database.clear();
      Connection connection(creating, Connection::Commit::kAutomatic);
      CreateSchema(connection, options_.schema);
    }
    report_.load_metrics.before = metrics_.Take();
    report_.load = std::make_unique<LoadReport>(Load(graph_, *options_.profile,
                                                     {.connection = loading,
                                                      .loaders = options_.loaders,
                                                      .plain_inserts = options_.plain_load,
                                                      .seed = options_.seed,
                                                      .interval_seconds = options_.interval_seconds},
                                                     &ProgramStop()));
    FinishPhase(report_.load->error, &report_.load_metrics);
  }

  // The window of links to ask for comes from the graph's size, so a wrong one would measure something else.
  void CheckLoadedSize() {
    Connection connection = Connect(/*with_database=*/true);
    const std::string last = std::to_string(graph_.end_id() - 1);
    const std::string top = connection.QueryValue("SELECT MAX(id) FROM counttable");
    const std::string nodes = connection.QueryValue("SELECT MAX(id) FROM nodetable");
    const bool fits = !top.empty() && !nodes.empty() && std::stoull(top) < graph_.end_id() &&
                      std::stoull(nodes) + 1 >= graph_.end_id();
    if (!fits) throw std::runtime_error("the database does not hold a graph of ids 1 to " + last + ": load it first");
  }

  void RunRequests() {
    CheckLoadedSize();
    const RequestOptions requests = {.connection = options_.connection,
                                     .threads = options_.threads,
                                     .prepared = options_.prepared,
                                     .seed = options_.seed,
                                     .interval_seconds = options_.interval_seconds};
    RequestPhase phase(graph_, *options_.profile, requests, &ProgramStop());
    if (options_.warmup_seconds > 0) {
      report_.error = phase.Run({.seconds = options_.warmup_seconds}, "warm")->error;
      if (!CanGoOn()) return;
    }
    report_.run_metrics.before = metrics_.Take();
    report_.run = phase.Run(options_.limits, "run");
    FinishPhase(report_.run->error, &report_.run_metrics);
  }

  void RunValidate() {
    report_.validate = std::make_unique<ValidateReport>(Validate(graph_,
                                                                 {.connection = options_.connection,
                                                                  .sample = options_.sample,
                                                                  .interval_seconds = options_.interval_seconds},
                                                                 &ProgramStop()));
    report_.error = report_.validate->error;
  }

  void FinishPhase(const std::string& error, PhaseMetrics* metrics) {
    report_.error = error;
    metrics->after = metrics_.Take();
    metrics->sizes = metrics_.Sizes();
  }

  const Options& options_;
  Report& report_;
  const SystemMetrics& metrics_;
  Graph graph_;
};

Report StartReport(const Options& options) {
  Report report;
  report.command = options.command;
  report.profile = options.profile->name;
  report.engine = options.engine;
  report.database = options.schema.database;
  report.started_at = UtcNow();
  report.ids = options.size.ids;
  report.degree_max = options.size.degree_max;
  report.seed = options.seed;
  report.loaders = options.loaders;
  report.threads = options.threads;
  report.prepared = options.prepared;
  report.sample = options.sample;
  report.server_pid = options.metrics.server_pid;
  return report;
}

void PrintSummary(const Report& report) {
  if (report.run) {
    std::fprintf(stderr, "run: %llu transactions, %.0f/s, %llu failed\n",
                 static_cast<unsigned long long>(report.run->transactions),
                 static_cast<double>(report.run->transactions) / report.run->seconds,
                 static_cast<unsigned long long>(report.run->failed));
  }
  if (report.validate) {
    const ValidateReport& validate = *report.validate;
    std::fprintf(stderr, "validate: %llu counts differ, %llu index ranges differ, %llu links in %llu ids\n",
                 static_cast<unsigned long long>(validate.count_mismatches),
                 static_cast<unsigned long long>(validate.index_mismatches),
                 static_cast<unsigned long long>(validate.links_checked),
                 static_cast<unsigned long long>(validate.ids_checked));
    for (const std::string& example : validate.examples) std::fprintf(stderr, "  %s\n", example.c_str());
  }
}

class Client {
 public:
  static constexpr const char* kName = "cairn-linkbench";
  static const char* Usage() { return UsageText(); }
  // A device that cannot be measured is a wrong command line.
  Options Parse(const std::vector<std::string>& arguments) {
    Options options = ParseOptions(arguments);
    if (!options.help) metrics_.emplace(options.metrics);
    return options;
  }
  static Report Begin(const Options& options) { return StartReport(options); }
  void Run(const Options& options, Report* report) { Session(options, *metrics_, report).Run(); }
  static void PrintSummary(const Report& report) { linkbench::PrintSummary(report); }

 private:
  std::optional<SystemMetrics> metrics_;
};

}  // namespace
}  // namespace cairn::bench::linkbench

int main(int argc, char** argv) { return cairn::bench::RunProgram(cairn::bench::linkbench::Client(), argc, argv); }
