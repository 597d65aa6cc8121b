// SPDX-License-Identifier: GPL-2.0-only
// How much memory this process may count on, and keeping to it.
#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "base/cgroup_memory.h"
#include "engine/options.h"

namespace cairn::engine {
namespace {

constexpr uint64_t kBytesMin = uint64_t{32} << 20;
// For the server, its connections, and what the operating system must cache of files at least.
constexpr uint64_t kBytesBeside = uint64_t{256} << 20;

}  // namespace

uint64_t DefaultMemoryBytes() {
  const uint64_t machine = static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<uint64_t>(sysconf(_SC_PAGE_SIZE));
  const uint64_t limit = std::min(machine, CgroupMemoryLimit());
  return std::max((limit - std::min(limit, kBytesBeside)) / 3, kBytesMin);
}

void LimitHeaps(unsigned cores) {
#ifdef __GLIBC__
  if (std::getenv("MALLOC_ARENA_MAX") != nullptr || std::getenv("GLIBC_TUNABLES") != nullptr) return;
  mallopt(M_ARENA_MAX, static_cast<int>(std::max(cores, 2u)));
#else
  static_cast<void>(cores);
#endif
}

}  // namespace cairn::engine
