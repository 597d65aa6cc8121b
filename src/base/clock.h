// SPDX-License-Identifier: GPL-2.0-only
// The clock that only goes forward.
#pragma once

#include <chrono>
#include <cstdint>

namespace cairn {

// Microseconds since some moment; for differences only.
inline uint64_t SteadyTimeUs() {
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::microseconds>(
                                   std::chrono::steady_clock::now().time_since_epoch())
                                   .count());
}

}  // namespace cairn
