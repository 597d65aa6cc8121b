// SPDX-License-Identifier: GPL-2.0-only
// Checks that counts agree with links, and the indexes of the link table with each other.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "connection.h"
#include "graph.h"
#include "stop_flag.h"

namespace cairn::bench::linkbench {

struct ValidateOptions {
  ConnectionOptions connection;
  uint64_t sample = 1;  // looks at one of this many ranges of ids
  unsigned interval_seconds = 5;
};

struct ValidateReport {
  double seconds = 0;
  uint64_t ids_checked = 0;
  uint64_t links_checked = 0;
  uint64_t visible_links = 0;
  uint64_t counts_checked = 0;
  uint64_t count_mismatches = 0;  // (id, type) whose count differs from the number of visible links
  uint64_t index_mismatches = 0;  // (range of ids, type) whose aggregates differ between the two indexes
  std::vector<std::string> examples;  // at most 20
  std::string error;                  // why it ended early, or ""

  bool consistent() const { return count_mismatches == 0 && index_mismatches == 0 && error.empty(); }
};

// Reads every range of ids (or a sample) with a few statements each, so that it can be stopped between them.
// Nothing else may write meanwhile. A missing count row counts as 0.
ValidateReport Validate(const Graph& graph, const ValidateOptions& options, StopFlag* stop);

}  // namespace cairn::bench::linkbench
