// SPDX-License-Identifier: GPL-2.0-only
// cairn-insertbench: one step of the Insert Benchmark, reported in JSON.
#include <cstdio>

#include "program.h"
#include "report_json.h"

namespace cairn::bench::insert {
namespace {

// Runs the step, filling the report as it goes.
void RunStep(const Options& options, Report* report) {
  StopFlag& stop = ProgramStop();
  if (options.command == "validate") {
    report->validate = Validate(options.phase.connection, *options.phase.generation, ReadTotals(options.state_path),
                                &stop);
    report->error = report->validate->error;
    return;
  }
  TableTotals totals;
  if (options.command == "load") {
    ConnectionOptions creating = options.phase.connection;
    creating.database.clear();
    Connection connection(creating, Connection::Commit::kAutomatic);
    CreateTables(connection, options.phase.tables, *options.phase.generation, options.schema);
    for (const std::string& table : options.phase.tables) totals[table] = {};
  } else {
    totals = ReadTotals(options.state_path);
    for (const std::string& table : options.phase.tables) {
      if (!totals.contains(table)) throw std::runtime_error("table " + table + " was not loaded");
    }
  }
  if (options.command == "index") {
    report->index = BuildIndexes(options.phase, options.one_alter, &totals, &stop);
    report->error = report->index->error;
  } else {
    report->phase = RunPhase(options.phase, &totals, &stop);
    report->error = report->phase->error;
  }
  WriteTotals(totals, options.state_path);
}

void PrintSummary(const Report& report) {
  if (report.phase) {
    std::fprintf(stderr, "%llu rows inserted%s, %.0f/s, %.0f queries/s, %.1f s\n",
                 static_cast<unsigned long long>(report.phase->inserted()),
                 report.phase->complete() ? "" : " (not all that were wanted)", report.phase->Rate(Kind::kInsert),
                 report.phase->Rate(Kind::kQuery), report.phase->seconds);
  }
  if (report.index) std::fprintf(stderr, "indexes created in %.1f s\n", report.index->seconds);
  if (report.validate) {
    for (const std::string& problem : report.validate->problems) std::fprintf(stderr, "  %s\n", problem.c_str());
  }
}

struct Client {
  static constexpr const char* kName = "cairn-insertbench";
  static const char* Usage() { return UsageText(); }
  static Options Parse(const std::vector<std::string>& arguments) { return ParseOptions(arguments); }
  static Report Begin(const Options& options) {
    Report report(options);
    report.started_at = UtcNow();
    return report;
  }
  static void Run(const Options& options, Report* report) { RunStep(options, report); }
  static void PrintSummary(const Report& report) { insert::PrintSummary(report); }
};

}  // namespace
}  // namespace cairn::bench::insert

int main(int argc, char** argv) { return cairn::bench::RunProgram(cairn::bench::insert::Client(), argc, argv); }
