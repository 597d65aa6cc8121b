// SPDX-License-Identifier: GPL-2.0-only
// Holds a writer to a number of rounds per second.
#pragma once

#include <cstdint>
#include <optional>

#include "threads.h"

namespace cairn::bench::insert {

// After each second's rounds the writer rests until the second is over, unless more than 0.95 s of it has
// passed. What was missed is not made up for: then the step takes longer.
//
// Thread rule: one thread.
class RateLimit {
 public:
  // Rows per second in rounds of so many rows; 0: no limit.
  RateLimit(uint64_t rows_per_second, uint64_t rows_per_round)
      : rounds_per_second_((rows_per_second + rows_per_round - 1) / rows_per_round) {}

  void Start(Clock::time_point now) {
    second_start_ = now;
    rounds_ = 0;
  }

  // Called when a round has ended; until when to rest, if at all.
  std::optional<Clock::time_point> EndRound(Clock::time_point now) {
    if (rounds_per_second_ == 0 || ++rounds_ < rounds_per_second_) return std::nullopt;
    rounds_ = 0;
    const auto second_end = second_start_ + std::chrono::seconds(1);
    if (now - second_start_ > std::chrono::milliseconds(950)) {
      second_start_ = now;
      return std::nullopt;
    }
    second_start_ = second_end;
    return second_end;
  }

  uint64_t rounds_per_second() const { return rounds_per_second_; }

 private:
  uint64_t rounds_per_second_;
  uint64_t rounds_ = 0;
  Clock::time_point second_start_{};
};

}  // namespace cairn::bench::insert
