// SPDX-License-Identifier: GPL-2.0-only
// What the clients' main programs have in common.
#pragma once

#include <cstdio>
#include <exception>
#include <stdexcept>
#include <string>
#include <vector>

#include "stop_flag.h"

namespace cairn::bench {

enum ExitStatus { kExitOk = 0, kExitFailed = 1, kExitUsage = 2, kExitInterrupted = 130 };

// The program's stop flag, which SIGINT and SIGTERM set once HandleSignals() was called.
StopFlag& ProgramStop();
void HandleSignals();

// The time in UTC, ISO 8601.
std::string UtcNow();

// Throws UsageError unless `path` can be written; "" is stdout. Results must not be lost to a mistyped path.
void CheckJsonPath(const std::string& path);

// Writes to a file, or to stdout when `path` is empty; false when that fails.
[[nodiscard]] bool WriteJson(const std::string& text, const std::string& path);

// A client's whole main program; returns its exit status. `Client` has
//   kName                          the program's name, for messages
//   Usage()                        what --help prints
//   Options Parse(arguments)       throws std::runtime_error, which says what is wrong with them
//   Report Begin(options)
//   void Run(options, Report*)     fills the report; throws std::exception for what ends the run early
//   void PrintSummary(report)
// Options have `help` and `json_path`; a report has `error`, `interrupted` and ok(). ToJson(report)
// is found beside it.
template <typename Client>
int RunProgram(Client client, int argc, char** argv) {
  decltype(client.Parse({})) options;
  try {
    options = client.Parse(std::vector<std::string>(argv + 1, argv + argc));
    if (options.help) {
      std::fputs(Client::Usage(), stdout);
      return kExitOk;
    }
    CheckJsonPath(options.json_path);
  } catch (const std::runtime_error& error) {
    std::fprintf(stderr, "%s: %s\nTry --help.\n", Client::kName, error.what());
    return kExitUsage;
  }
  HandleSignals();
  auto report = client.Begin(options);
  try {
    client.Run(options, &report);
  } catch (const std::exception& error) {
    report.error = error.what();
  }
  report.interrupted = ProgramStop().interrupted();
  client.PrintSummary(report);
  if (!report.error.empty()) std::fprintf(stderr, "%s: %s\n", Client::kName, report.error.c_str());
  if (report.interrupted) std::fprintf(stderr, "%s: interrupted, results are partial\n", Client::kName);
  if (!WriteJson(ToJson(report), options.json_path)) {
    std::fprintf(stderr, "%s: cannot write the JSON object\n", Client::kName);
    return kExitFailed;
  }
  if (report.interrupted) return kExitInterrupted;
  return report.ok() ? kExitOk : kExitFailed;
}

}  // namespace cairn::bench
