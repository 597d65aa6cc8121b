// SPDX-License-Identifier: GPL-2.0-only
// The command line.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "command_line.h"
#include "connection.h"
#include "graph.h"
#include "requester.h"
#include "schema.h"
#include "system_metrics.h"
#include "workload_mix.h"

namespace cairn::bench::linkbench {

struct Options {
  std::string command;
  bool help = false;
  ConnectionOptions connection;  // with the database set
  SchemaOptions schema;
  std::string engine = "cairn";
  const Profile* profile = &kProfileFb2011;
  GraphSize size{.ids = 1'000'000};
  unsigned loaders = 2;
  bool plain_load = false;
  bool load_skip_binlog = false;
  unsigned threads = 2;
  bool prepared = false;
  RequestLimits limits;
  double warmup_seconds = 0;
  uint64_t seed = 1;
  uint64_t sample = 1;
  MetricsOptions metrics;
  unsigned interval_seconds = 5;
  std::string json_path;  // "" means stdout

  bool Runs(const char* phase) const { return command == phase || command == "all"; }
};

// `arguments` without the program's name. Throws UsageError.
Options ParseOptions(const std::vector<std::string>& arguments);

// The text of --help.
const char* UsageText();

}  // namespace cairn::bench::linkbench
