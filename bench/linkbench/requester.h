// SPDX-License-Identifier: GPL-2.0-only
// The request phase: the ten operations in their mix, from several threads.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "connection.h"
#include "graph.h"
#include "histogram.h"
#include "retry.h"
#include "stop_flag.h"
#include "workload_mix.h"

namespace cairn::bench::linkbench {

struct RequestOptions {
  ConnectionOptions connection;
  unsigned threads = 2;
  bool prepared = false;  // prepared statements instead of SQL text
  uint64_t seed = 1;
  unsigned interval_seconds = 5;
};

// When a request phase ends: whichever comes first. 0 means no limit of that kind.
struct RequestLimits {
  double seconds = 0;
  uint64_t requests = 0;
};

struct OperationReport {
  Histogram latency_ns;
  uint64_t found = 0;      // requests (MULTIGET_LINK: links) that met an existing row
  uint64_t requested = 0;  // MULTIGET_LINK: links asked for
};

// Facts about GET_LINKS_LIST.
struct RangeReport {
  Histogram rows;
  uint64_t empty = 0;
  uint64_t limit_hits = 0;  // requests that returned as many rows as the limit allows
  uint64_t limit_rows = 0;  // the rows of those
  uint64_t all_rows = 0;
  uint64_t history = 0;  // requests that went on from a remembered tail
  uint64_t history_rows = 0;
};

struct Interval {
  double end_second;
  uint64_t transactions;
  double tps;
  uint64_t latency_ns_max;
};

struct RequestReport {
  double seconds = 0;
  uint64_t transactions = 0;
  uint64_t failed = 0;
  std::string last_error;  // of a request that failed
  std::array<OperationReport, kOperations> operations;
  RangeReport range;
  Retries retries;
  std::vector<Interval> intervals;
  std::string error;  // why the phase ended early, or ""

  void Merge(const RequestReport& part);
};

// Requester threads with their connections, which stay open from the warm-up to the measured phase.
class RequestPhase {
 public:
  // Opens the connections; may throw SqlError. All arguments must outlive the object.
  RequestPhase(const Graph& graph, const Profile& profile, const RequestOptions& options, StopFlag* stop);
  ~RequestPhase();

  // Runs until a limit is met, stopped, or failed: a lost connection, or 100 failed requests in one thread.
  // Progress goes to stderr under `title`. The report covers what was done, whatever the end.
  std::unique_ptr<RequestReport> Run(const RequestLimits& limits, const char* title);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace cairn::bench::linkbench
