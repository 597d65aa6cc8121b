// SPDX-License-Identifier: GPL-2.0-only
// The load phase: nodes, links and counts into empty tables.
#pragma once

#include <cstdint>
#include <string>

#include "connection.h"
#include "graph.h"
#include "histogram.h"
#include "retry.h"
#include "stop_flag.h"
#include "workload_mix.h"

namespace cairn::bench::linkbench {

struct LoadOptions {
  ConnectionOptions connection;
  unsigned loaders = 2;
  bool plain_inserts = false;  // INSERT alone, instead of the original's upserts
  uint64_t seed = 1;
  unsigned interval_seconds = 5;
};

// Latencies are nanoseconds of a batch with its commit.
struct LoadReport {
  double seconds = 0;
  uint64_t nodes = 0;
  uint64_t links = 0;
  uint64_t counts = 0;
  Retries retries;
  Histogram node_batches;
  Histogram link_batches;
  Histogram count_batches;
  std::string error;  // "" when all went well
};

// Loads with options.loaders threads for links and counts and one for nodes, until done, stopped or failed;
// progress goes to stderr. The report covers what was done, whatever the end.
LoadReport Load(const Graph& graph, const Profile& profile, const LoadOptions& options, StopFlag* stop);

}  // namespace cairn::bench::linkbench
