// SPDX-License-Identifier: GPL-2.0-only
// How many rows a short range of an AUTO_INCREMENT key has, told by its width alone.
#pragma once

#include <cstdint>

namespace cairn::stats {

// Rows with numbers from `first` to `last`, in a table of `rows` rows whose numbers are handed out from 1 on and of which
// `next` comes next: the width, by the part of the numbers that still have a row. No more than the width, and half of it at
// least, so wrong where the missing ones lie together (all of a short range deleted), by kWidthMax rows at most.
//
// 0 where it cannot be told so, and has to be looked for: a range that is empty, long, or has numbers that were not handed out;
// a table that is small, where looking costs little, or of whose numbers fewer than half have a row. Thread rule: any thread.
inline uint64_t RowsOfDenseNumbers(int64_t first, int64_t last, uint64_t rows, uint64_t next) {
  constexpr uint64_t kWidthMax = 1000;
  constexpr uint64_t kRowsMin = 10 * kWidthMax;
  if (first < 1 || last < first || static_cast<uint64_t>(last) >= next) return 0;
  const uint64_t width = static_cast<uint64_t>(last - first) + 1;
  const uint64_t numbers = next - 1;
  if (width > kWidthMax || rows < kRowsMin || rows < numbers - numbers / 2) return 0;
  // More rows than numbers: changed to others since, or a counter that is behind.
  if (rows >= numbers) return width;
  const double part = static_cast<double>(rows) / static_cast<double>(numbers);
  return static_cast<uint64_t>(static_cast<double>(width) * part + 0.5);
}

}  // namespace cairn::stats
