// SPDX-License-Identifier: GPL-2.0-only
// Whether this process leaves any of its cores' time.
#pragma once

#include <cstdint>

namespace cairn {

// The CPU time that all threads of this process have taken, in µs. Thread rule: any thread.
uint64_t ProcessCpuTimeUs();

// Looks now and then at how much of its cores' time the process takes. What runs beside it on the same cores is not seen, so a process
// that takes two thirds is thought to have none left: clients that it serves take the rest.
//
// Thread rule: one thread at a time.
class CoreLoad final {
 public:
  static constexpr uint64_t kBusyNumerator = 2;
  static constexpr uint64_t kBusyDenominator = 3;

  // Precondition: at least one core.
  explicit CoreLoad(unsigned cores) : cores_(cores) {}

  // Of the time since the last look; false at the first. `now_us` is a clock's, `cpu_us` the process's CPU time; neither goes back.
  bool IsBusy(uint64_t now_us, uint64_t cpu_us) {
    const uint64_t span_us = now_us - now_us_, taken_us = cpu_us - cpu_us_;
    const bool is_first = now_us_ == 0;
    now_us_ = now_us;
    cpu_us_ = cpu_us;
    return !is_first && span_us != 0 && taken_us * kBusyDenominator >= span_us * cores_ * kBusyNumerator;
  }

 private:
  const uint64_t cores_;
  uint64_t now_us_ = 0;
  uint64_t cpu_us_ = 0;
};

}  // namespace cairn
