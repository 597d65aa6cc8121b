// SPDX-License-Identifier: GPL-2.0-only
// Zipf-distributed ranks: rank 0 is the hottest.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "random.h"

namespace cairn::bench::linkbench {

// Ranks in [0, n) with a probability proportional to 1 / (rank + 1)^shape, by the quantile method of
// Gray et al., "Quickly generating billion-record synthetic databases" (1994). As LinkBench does, the
// zeta sum is approximated from n = 100,000 on.
//
// Preconditions: n >= 1, 0 < shape < 1. Thread rule: constant after construction.
class Zipf {
 public:
  Zipf(uint64_t n, double shape)
      : n_(n), alpha_(1.0 / (1.0 - shape)), zeta_(Zeta(n, shape)), second_(1.0 + std::pow(0.5, shape)) {
    eta_ = n < 2 ? 0.0
                 : (1.0 - std::pow(2.0 / static_cast<double>(n), 1.0 - shape)) / (1.0 - second_ / zeta_);
  }

  uint64_t Rank(Random& random) const { return Quantile(random.Unit()); }

  // The rank at u in [0, 1).
  uint64_t Quantile(double u) const {
    if (n_ < 2 || u * zeta_ < 1.0) return 0;
    if (n_ == 2 || u * zeta_ < second_) return 1;
    const double rank = static_cast<double>(n_) * std::pow(eta_ * u - eta_ + 1.0, alpha_);
    return std::min(static_cast<uint64_t>(rank), n_ - 1);
  }

 private:
  static double Zeta(uint64_t n, double shape) {
    if (n >= 100'000) {
      const double power = 1.0 - shape;
      return std::pow(static_cast<double>(n), power) / power + 0.58 - 1.0 / power;
    }
    double sum = 0;
    for (uint64_t i = 1; i <= n; ++i) sum += std::pow(static_cast<double>(i), -shape);
    return sum;
  }

  uint64_t n_;
  double alpha_;
  double zeta_;
  double second_;
  double eta_ = 0;
};

}  // namespace cairn::bench::linkbench
