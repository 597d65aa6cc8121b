// SPDX-License-Identifier: GPL-2.0-only
// Rates over time, and what is said of them in a summary.
#pragma once

#include <array>
#include <cstdint>
#include <mutex>
#include <vector>

namespace cairn::bench::insert {

enum class Kind { kInsert, kDelete, kQuery };
inline constexpr size_t kKinds = 3;
inline constexpr const char* kKindNames[kKinds] = {"insert", "delete", "query"};

// What happened from the second before to this one.
struct Second {
  double end_second = 0;
  double length_seconds = 0;
  std::array<uint64_t, kKinds> done{};      // rows, rows, queries
  std::array<uint64_t, kKinds> max_ns{};    // the longest statement that ended
  std::array<uint64_t, kKinds> stall_ns{};  // also counting those under way at its end
};

// The moment at which so many rows had been inserted.
struct Checkpoint {
  uint64_t rows;
  double second;
};

// Notes when the number of rows passes each multiple of `step`.
//
// Thread rule: Pass() from any thread; checkpoints() after they have ended.
class CheckpointLog {
 public:
  explicit CheckpointLog(uint64_t step) : step_(step) {}

  // The rows went from `before` to `after`.
  void Pass(uint64_t before, uint64_t after, double second) {
    if (before / step_ == after / step_) return;
    const std::lock_guard lock(mutex_);
    // Threads may arrive in another order than they counted.
    if (checkpoints_.empty() || checkpoints_.back().rows < after) checkpoints_.push_back({after, second});
  }

  const std::vector<Checkpoint>& checkpoints() const { return checkpoints_; }

 private:
  const uint64_t step_;
  std::mutex mutex_;
  std::vector<Checkpoint> checkpoints_;
};

// Rows per second of the last `share` of the rows, by straight lines between checkpoints. `end` is the
// end of the step. 0 when there are no rows.
double RateOfLast(double share, const std::vector<Checkpoint>& checkpoints, const Checkpoint& end);

// Rows per second since the last checkpoint that lies at least `rows` before the end.
double RateOfLastRows(uint64_t rows, const std::vector<Checkpoint>& checkpoints, const Checkpoint& end);

// The rate that `percent` of the seconds reach or surpass: samples are sorted descending.
double RateReachedBy(double percent, Kind kind, const std::vector<Second>& seconds);

// The average rates of `slices` parts of equal length in time.
std::vector<double> RateSlices(size_t slices, Kind kind, const std::vector<Second>& seconds);

// The largest of the seconds' longest statements, descending, at most `count`.
std::vector<uint64_t> LargestNs(size_t count, Kind kind, const std::vector<Second>& seconds);

}  // namespace cairn::bench::insert
