// SPDX-License-Identifier: GPL-2.0-only
// Everything one invocation found out, and its JSON text (fields: README.md).
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "loader.h"
#include "requester.h"
#include "system_metrics.h"
#include "validator.h"

namespace cairn::bench::linkbench {

struct PhaseMetrics {
  MetricsSnapshot before;
  MetricsSnapshot after;
  std::vector<SizeOnDisk> sizes;
};

struct ServerFacts {
  std::string version;
  std::string isolation;
  bool binlog = false;
  std::string engine_comment;
};

struct Report {
  std::string command, profile, engine, database, started_at;
  uint64_t ids = 0;
  uint64_t degree_max = 0;
  uint64_t seed = 0;
  unsigned loaders = 0;
  unsigned threads = 0;
  bool prepared = false;
  uint64_t sample = 1;
  int server_pid = 0;
  bool interrupted = false;
  std::string error;
  std::optional<DeviceFacts> device;
  std::optional<ServerFacts> server;
  std::unique_ptr<LoadReport> load;
  PhaseMetrics load_metrics;
  std::unique_ptr<RequestReport> run;
  PhaseMetrics run_metrics;
  std::unique_ptr<ValidateReport> validate;

  bool ok() const {
    return error.empty() && !interrupted && (!run || run->failed == 0) && (!validate || validate->consistent());
  }
};

std::string ToJson(const Report& report);

}  // namespace cairn::bench::linkbench
