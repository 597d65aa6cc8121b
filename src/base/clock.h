// SPDX-License-Identifier: GPL-2.0-only
// The clock that only goes forward.
#pragma once

#include <time.h>

#include <chrono>
#include <cstdint>

namespace cairn {

// Microseconds since some moment; for differences only.
inline uint64_t SteadyTimeUs() {
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::microseconds>(
                                   std::chrono::steady_clock::now().time_since_epoch())
                                   .count());
}

// The same as of the kernel's last tick, which may be some milliseconds ago: never ahead of the other. For who asks often and does not mind:
// the processor's own counter is not read.
inline uint64_t CoarseSteadyTimeUs() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000 + static_cast<uint64_t>(now.tv_nsec) / 1000;
}

}  // namespace cairn
