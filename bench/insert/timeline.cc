// SPDX-License-Identifier: GPL-2.0-only
// Rates over time, and what is said of them in a summary.
#include "timeline.h"

#include <algorithm>
#include <cmath>
#include <functional>

namespace cairn::bench::insert {
namespace {

double Rate(double rows, double seconds) { return seconds > 0 ? rows / seconds : 0; }

std::vector<double> RatesDescending(Kind kind, const std::vector<Second>& seconds) {
  std::vector<double> rates;
  for (const Second& second : seconds) {
    rates.push_back(Rate(static_cast<double>(second.done[static_cast<size_t>(kind)]), second.length_seconds));
  }
  std::ranges::sort(rates, std::greater<>());
  return rates;
}

}  // namespace

double RateOfLast(double share, const std::vector<Checkpoint>& checkpoints, const Checkpoint& end) {
  const double total = static_cast<double>(end.rows);
  const double wanted = total * (1 - share);
  Checkpoint below{0, 0};
  Checkpoint above = end;
  for (const Checkpoint& checkpoint : checkpoints) {
    if (static_cast<double>(checkpoint.rows) <= wanted) {
      below = checkpoint;
    } else {
      above = checkpoint;
      break;
    }
  }
  const double span = static_cast<double>(above.rows - below.rows);
  const double part = span > 0 ? (wanted - static_cast<double>(below.rows)) / span : 0;
  const double start = below.second + part * (above.second - below.second);
  return Rate(total - wanted, end.second - start);
}

double RateOfLastRows(uint64_t rows, const std::vector<Checkpoint>& checkpoints, const Checkpoint& end) {
  Checkpoint start{0, 0};
  for (const Checkpoint& checkpoint : checkpoints) {
    if (checkpoint.rows + rows <= end.rows) start = checkpoint;
  }
  return Rate(static_cast<double>(end.rows - start.rows), end.second - start.second);
}

double RateReachedBy(double percent, Kind kind, const std::vector<Second>& seconds) {
  const std::vector<double> rates = RatesDescending(kind, seconds);
  if (rates.empty()) return 0;
  const auto rank = static_cast<size_t>(std::ceil(percent / 100 * static_cast<double>(rates.size())));
  return rates[std::clamp<size_t>(rank, 1, rates.size()) - 1];
}

std::vector<double> RateSlices(size_t slices, Kind kind, const std::vector<Second>& seconds) {
  std::vector<double> done(slices, 0);
  if (seconds.empty() || seconds.back().end_second <= 0) return done;
  const double length = seconds.back().end_second / static_cast<double>(slices);
  for (const Second& second : seconds) {
    const double rate = Rate(static_cast<double>(second.done[static_cast<size_t>(kind)]), second.length_seconds);
    const double start = second.end_second - second.length_seconds;
    for (size_t i = 0; i < slices; ++i) {
      const double slice_start = length * static_cast<double>(i);
      const double overlap = std::min(second.end_second, slice_start + length) - std::max(start, slice_start);
      if (overlap > 0) done[i] += rate * overlap;
    }
  }
  for (double& each : done) each = Rate(each, length);
  return done;
}

std::vector<uint64_t> LargestNs(size_t count, Kind kind, const std::vector<Second>& seconds) {
  std::vector<uint64_t> largest;
  for (const Second& second : seconds) largest.push_back(second.max_ns[static_cast<size_t>(kind)]);
  std::ranges::sort(largest, std::greater<>());
  if (largest.size() > count) largest.resize(count);
  return largest;
}

}  // namespace cairn::bench::insert
