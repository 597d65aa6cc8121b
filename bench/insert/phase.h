// SPDX-License-Identifier: GPL-2.0-only
// One step of inserts, with or without deletes and queries beside them.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "connection.h"
#include "generation.h"
#include "meter.h"
#include "retry.h"
#include "stop_flag.h"
#include "table_totals.h"
#include "timeline.h"

namespace cairn::bench::insert {

enum class QueryKind { kNone, kRange, kPoint };

struct PhaseOptions {
  ConnectionOptions connection;
  const Generation* generation = &kIb2024;
  std::vector<std::string> tables;  // client i uses table i modulo their number
  unsigned clients = 1;
  uint64_t rows = 0;             // to insert, by all clients together
  uint64_t rows_per_commit = 100;
  uint64_t rows_per_second = 0;  // of each client; 0: as fast as possible
  uint64_t rows_per_report = 0;  // 0: the generation's, or a tenth of the rows if that is less
  bool deletes = false;          // as many rows from the old end as are inserted
  QueryKind query = QueryKind::kNone;  // one thread for each client, until the inserts are done
  bool prepared = false;
  double max_seconds = 0;  // inserts end then, wherever they are; 0: no limit
  std::string writer_sql;  // run first by each inserting connection
  uint64_t seed = 1;
  unsigned interval_seconds = 5;  // between progress lines on stderr
};

struct PhaseReport {
  double seconds = 0;
  double client_cpu_seconds = 0;
  uint64_t rows_wanted = 0;
  std::array<uint64_t, kKinds> done{};  // rows, rows, queries
  std::array<ResponseTimes, kKinds> times;
  uint64_t query_rows = 0;  // returned by all queries
  Retries retries;
  std::vector<Second> timeline;
  std::vector<Checkpoint> checkpoints;
  std::vector<double> min_id_seconds;  // each SELECT MIN(transactionid), the first of each table before the clock
  double rows_per_second_wanted = 0;   // of all clients together, as the rounds give it; 0: no limit
  std::string error;                   // why the step ended early, or ""

  uint64_t inserted() const { return done[static_cast<size_t>(Kind::kInsert)]; }
  bool complete() const { return error.empty() && inserted() >= rows_wanted; }
  double Rate(Kind kind) const {
    return seconds > 0 ? static_cast<double>(done[static_cast<size_t>(kind)]) / seconds : 0;
  }

  // Whether the inserts kept to their rate; the limit is 95 %, as the rate says what the engine can take.
  bool KeptRate() const { return complete() && Rate(Kind::kInsert) >= 0.95 * rows_per_second_wanted; }
};

// Runs until the rows are inserted, the time is up, stopped, or failed. Adds what was committed to `*totals`,
// whatever the end. May throw SqlError while connecting.
PhaseReport RunPhase(const PhaseOptions& options, TableTotals* totals, StopFlag* stop);

}  // namespace cairn::bench::insert
