// SPDX-License-Identifier: GPL-2.0-only
// The threads of a step: writers, deleters and queriers.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "delete_queue.h"
#include "meter.h"
#include "phase.h"
#include "rate_limit.h"
#include "statements.h"

namespace cairn::bench::insert {

// What the threads of one table share. Thread rule: any thread.
struct SharedTable {
  std::string name;
  std::atomic<unsigned> writers{0};  // that have not ended
  std::atomic<uint64_t> first_id{0};  // nothing older is left, as far as is known
  DeleteQueue deletes;
};

// What the threads of one step share. Thread rule: any thread; the log guards itself.
struct SharedPhase {
  SharedPhase(const PhaseOptions& options, uint64_t rows_per_report, StopFlag* stop)
      : options(options), checkpoints(rows_per_report), stop(*stop) {}

  const PhaseOptions& options;
  std::atomic<uint64_t> inserted{0};
  CheckpointLog checkpoints;
  StopFlag& stop;
  Clock::time_point start{};
  Clock::time_point deadline = Clock::time_point::max();
};

std::unique_ptr<Statements> MakeStatements(const PhaseOptions& options, const std::string& table);

// Each worker connects when it is made and works in Run(), which may throw SqlError. Thread rule: Run() by
// one thread, during which only meter() may be used by others.
class Writer {
 public:
  Writer(SharedPhase* phase, SharedTable* table, const RandomText& text, uint64_t rows, uint64_t stream);

  void Run();

  Meter& meter() { return meter_; }
  const Retries& retries() const { return retries_; }
  const SharedTable& table() const { return table_; }

 private:
  void Round(uint64_t rows);

  SharedPhase& phase_;
  SharedTable& table_;
  std::unique_ptr<Statements> statements_;
  RowGenerator generator_;
  RateLimit limit_;
  const uint64_t rows_;
  uint64_t inserted_ = 0;
  std::vector<RowValues> batch_;
  Retries retries_;
  Meter meter_;
};

class Deleter {
 public:
  Deleter(SharedPhase* phase, SharedTable* table);

  void Run();

  Meter& meter() { return meter_; }
  const Retries& retries() const { return retries_; }
  const SharedTable& table() const { return table_; }
  const std::vector<double>& min_id_seconds() const { return min_id_seconds_; }

 private:
  void FindFirst();

  SharedPhase& phase_;
  SharedTable& table_;
  std::unique_ptr<Statements> statements_;
  uint64_t next_id_ = 0;
  std::vector<double> min_id_seconds_;
  Retries retries_;
  Meter meter_;
};

class Querier {
 public:
  Querier(SharedPhase* phase, SharedTable* table, uint64_t stream);

  void Run();

  Meter& meter() { return meter_; }
  const Retries& retries() const { return retries_; }
  uint64_t rows() const { return rows_; }

 private:
  uint64_t Range();
  uint64_t Points();

  SharedPhase& phase_;
  SharedTable& table_;
  std::unique_ptr<Statements> statements_;
  Random random_;
  uint64_t queries_ = 0;
  uint64_t last_id_ = 0;
  uint64_t rows_ = 0;
  Retries retries_;
  Meter meter_;
};

}  // namespace cairn::bench::insert
