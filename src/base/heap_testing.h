// SPDX-License-Identifier: GPL-2.0-only
// For tests of the C library's heaps.
#pragma once

#include <malloc.h>

#include <cstdint>

namespace cairn {

// A sanitizer's allocator stands in for the heaps.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

// In use by the process. Unless kSanitized, as this sees the C library's heaps alone.
inline int64_t HeapBytes() {
  const struct mallinfo2 heaps = mallinfo2();
  return static_cast<int64_t>(heaps.uordblks + heaps.hblkhd);
}

}  // namespace cairn
