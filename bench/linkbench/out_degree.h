// SPDX-License-Identifier: GPL-2.0-only
// How many links the id of each rank has.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

namespace cairn::bench::linkbench {

// The distribution of links per id of Facebook's 2011 graph, approximated: the published points of its
// survival function S(v) = share of ids with more than v links, and straight lines between them on
// log-log paper. The point at 1500 is not published; it is solved for so that the mean is the published
// 4.10. Up to 5 links, and at every published quantile, the approximation is exact.
//
// Thread rule: stateless.
class OutDegree {
 public:
  // The most links any id has: those of rank 0, whatever the number of ids.
  static constexpr uint64_t kMax = 961'963;

  // The smallest value v with S(v) <= share: the links of rank r among n ids are Quantile(r / n).
  static uint64_t Quantile(double share) {
    if (share >= kPoints.front().survival) return kPoints.front().links;
    for (size_t i = 1; i < kPoints.size(); ++i) {
      if (share >= kPoints[i].survival) return Interpolate(kPoints[i - 1], kPoints[i], share);
    }
    return kMax;
  }

  // The mean of the distribution.
  static double Mean() {
    double mean = 0;
    for (size_t i = 0; i + 1 < kPoints.size(); ++i) {
      const Point& low = kPoints[i];
      const Point& high = kPoints[i + 1];
      mean += low.survival;
      const double slope = high.links == low.links + 1 ? 0 : Slope(low, high);
      for (uint64_t v = low.links + 1; v < high.links; ++v) {
        mean += low.survival * std::pow(static_cast<double>(v) / static_cast<double>(low.links), -slope);
      }
    }
    return mean;
  }

 private:
  struct Point {
    uint64_t links;
    double survival;
  };

  static constexpr std::array<Point, 16> kPoints = {{
      {0, 0.5467},
      {1, 0.2254},
      {2, 0.1304},
      {3, 0.0801},
      {4, 0.0555},
      {5, 0.0417},
      {10, 0.0167},
      {20, 0.0067},
      {49, 0.00286},
      {60, 0.0024},
      {264, 1e-3},
      {1500, 4.2702e-4},
      {6051, 1e-4},
      {24'000, 1e-5},
      {64'914, 1e-6},
      {kMax, 1e-8},
  }};

  static double Slope(const Point& low, const Point& high) {
    return std::log(low.survival / high.survival) /
           std::log(static_cast<double>(high.links) / static_cast<double>(low.links));
  }

  static uint64_t Interpolate(const Point& low, const Point& high, double share) {
    if (high.links == low.links + 1) return high.links;
    const double ratio = std::pow(low.survival / share, 1.0 / Slope(low, high));
    // The small subtraction keeps rounding errors from lifting a published point to the next integer.
    const double links = std::ceil(static_cast<double>(low.links) * ratio - 1e-6);
    return std::clamp(static_cast<uint64_t>(links), low.links + 1, high.links);
  }
};

}  // namespace cairn::bench::linkbench
