// SPDX-License-Identifier: GPL-2.0-only
// Checks the tables: their rows against what was inserted and deleted, their indexes against each other.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "connection.h"
#include "generation.h"
#include "stop_flag.h"
#include "table_totals.h"

namespace cairn::bench::insert {

struct ValidateReport {
  double seconds = 0;
  uint64_t rows = 0;     // in all tables
  uint64_t indexes = 0;  // secondary indexes compared with their table's primary key
  std::vector<std::string> problems;
  std::string error;

  bool consistent() const { return problems.empty() && error.empty(); }
};

// Reads every index of every table in `totals` whole. Secondary indexes that do not exist are left out.
ValidateReport Validate(const ConnectionOptions& options, const Generation& generation, const TableTotals& totals,
                        StopFlag* stop);

}  // namespace cairn::bench::insert
