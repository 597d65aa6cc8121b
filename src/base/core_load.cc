// SPDX-License-Identifier: GPL-2.0-only
#include "base/core_load.h"

#include <time.h>

namespace cairn {

uint64_t ProcessCpuTimeUs() {
  timespec taken{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &taken);
  return static_cast<uint64_t>(taken.tv_sec) * 1'000'000 + static_cast<uint64_t>(taken.tv_nsec) / 1000;
}

}  // namespace cairn
