// SPDX-License-Identifier: GPL-2.0-only
// The step that creates the secondary indexes.
#include "index_build.h"

#include <mutex>

#include "schema.h"
#include "threads.h"

namespace cairn::bench::insert {

IndexBuildReport BuildIndexes(const PhaseOptions& options, bool one_statement, TableTotals* totals, StopFlag* stop) {
  constexpr uint64_t kFirstRows = 100;
  IndexBuildReport report;
  PhaseOptions inserts = options;
  inserts.clients = static_cast<unsigned>(options.tables.size());
  inserts.rows_per_commit = kFirstRows;
  inserts.rows = kFirstRows * inserts.clients;
  report.error = RunPhase(inserts, totals, stop).error;
  if (!report.error.empty() || stop->stopped()) return report;
  for (const auto& [table, each] : *totals) report.rows += each.inserted - each.deleted;

  std::mutex mutex;
  std::vector<std::function<void()>> tasks;
  for (const std::string& table : options.tables) {
    tasks.emplace_back([&, table] {
      Connection connection(options.connection, Connection::Commit::kAutomatic);
      for (const std::string& text : CreateIndexTexts(table, *options.generation, one_statement)) {
        if (stop->stopped()) return;
        const auto start = Clock::now();
        connection.Execute(text);
        const std::lock_guard lock(mutex);
        report.statements.push_back({text, SecondsSince(start)});
      }
    });
  }
  const auto start = Clock::now();
  report.error = RunThreads(tasks, stop);
  report.seconds = SecondsSince(start);
  return report;
}

}  // namespace cairn::bench::insert
