// SPDX-License-Identifier: GPL-2.0-only
// By mallinfo2(3) and malloc_trim(3).
#include "engine/heap_trimmer.h"

#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

namespace cairn::engine {

#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 33)
namespace {

// Of the whole process, without files' pages; 0 where the system does not tell.
uint64_t ResidentBytes() {
  std::ifstream file("/proc/self/statm");
  uint64_t pages = 0, resident = 0, shared = 0;
  if (!(file >> pages >> resident >> shared)) return 0;
  return (resident - std::min(resident, shared)) * static_cast<uint64_t>(sysconf(_SC_PAGE_SIZE));
}

// Free within the heaps, as far as it is resident: the rest of the process may have more than they do not know of.
uint64_t UnusedBytes() {
  const struct mallinfo2 heaps = mallinfo2();
  const uint64_t used = heaps.uordblks + heaps.hblkhd;
  const uint64_t resident = ResidentBytes();
  return std::min<uint64_t>(resident - std::min(resident, used), heaps.fordblks);
}

}  // namespace

bool HeapTrimmer::Poll() {
  const uint64_t unused = UnusedBytes();
  kept_bytes_ = std::min(kept_bytes_, unused);
  if (unused - kept_bytes_ <= slack_bytes_) return false;
  malloc_trim(0);
  kept_bytes_ = UnusedBytes();
  return true;
}
#else
bool HeapTrimmer::Poll() { return false; }
#endif

}  // namespace cairn::engine
