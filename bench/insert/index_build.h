// SPDX-License-Identifier: GPL-2.0-only
// The step that creates the secondary indexes.
#pragma once

#include <string>
#include <vector>

#include "phase.h"

namespace cairn::bench::insert {

struct IndexBuildReport {
  struct Statement {
    std::string text;
    double seconds;
  };

  double seconds = 0;  // of the ALTERs; tables are altered side by side
  uint64_t rows = 0;   // in all tables
  std::vector<Statement> statements;
  std::string error;
};

// Inserts 100 rows into each table, then adds the three indexes. Of the options the inserts' are used. Adds
// the rows to `*totals`. May throw SqlError while connecting.
IndexBuildReport BuildIndexes(const PhaseOptions& options, bool one_statement, TableTotals* totals, StopFlag* stop);

}  // namespace cairn::bench::insert
