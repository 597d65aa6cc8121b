// SPDX-License-Identifier: GPL-2.0-only
// Gives the system back what the C library keeps of freed memory.
#pragma once

#include <cstdint>

namespace cairn::engine {

// What is freed in one heap serves no thread of another, nor what is larger than the pieces it was freed in: the process grows
// beyond its budget with no more memory in use. The free pages within the heaps are then given back, which the C
// library does by itself at their ends only (docs/decisions/0039-heap-trimming.md).
//
// Thread rule: one thread at a time.
class HeapTrimmer {
 public:
  // `slack_bytes`: what may be kept before it is given back.
  explicit HeapTrimmer(uint64_t slack_bytes) : slack_bytes_(slack_bytes) {}

  // To be called now and then. Looks how much of the heaps is free and resident; where that has grown by more than the
  // slack since the last time, trims all heaps of the process: some 20 ms for each of 300 MB, in which the others wait for them.
  // Whether it did. Never, with another C library than glibc 2.33 and up.
  bool Poll();

 private:
  const uint64_t slack_bytes_;
  uint64_t kept_bytes_ = 0;  // free after the last trim: what cannot be given back
};

}  // namespace cairn::engine
