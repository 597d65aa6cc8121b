// SPDX-License-Identifier: GPL-2.0-only
// What the clients' main programs have in common.
#include "program.h"

#include <signal.h>

#include <cstdio>
#include <ctime>
#include <fstream>

#include "command_line.h"

namespace cairn::bench {
namespace {

StopFlag program_stop;

}  // namespace

StopFlag& ProgramStop() { return program_stop; }

void HandleSignals() {
  struct sigaction action {};
  action.sa_handler = [](int) { program_stop.Interrupt(); };
  action.sa_flags = SA_RESTART;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  signal(SIGPIPE, SIG_IGN);
}

std::string UtcNow() {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  gmtime_r(&now, &utc);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc);
  return text;
}

void CheckJsonPath(const std::string& path) {
  if (!path.empty() && !std::ofstream(path, std::ios::app)) throw UsageError("--json: cannot write " + path);
}

bool WriteJson(const std::string& text, const std::string& path) {
  if (path.empty()) return std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0;
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << text;
  file.close();
  return file.good();
}

}  // namespace cairn::bench
