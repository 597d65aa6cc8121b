// SPDX-License-Identifier: GPL-2.0-only
// For tests of the C library's heaps.
#pragma once

namespace cairn::engine {

// A sanitizer's allocator stands in for the heaps.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

}  // namespace cairn::engine
