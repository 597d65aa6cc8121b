// SPDX-License-Identifier: GPL-2.0-only
// Scatters ranks over ids, so that hot ranks are not neighbouring ids.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "random.h"

namespace cairn::bench::linkbench {

// A bijection of [0, n). Numbers that are equal modulo G = min(1024, n) form a ring, and each ring is
// rotated by its own random amount. Equal seeds give equal permutations, so the seed decides which
// distributions agree on what is hot.
//
// Precondition: n >= 1. Thread rule: constant after construction.
class Permutation {
 public:
  Permutation(uint64_t n, uint64_t seed) : n_(n), groups_(std::min<uint64_t>(1024, n)), rotation_(groups_) {
    Random random(seed);
    for (uint64_t& rotation : rotation_) rotation = random.Below(n / groups_);
  }

  uint64_t Permute(uint64_t rank) const {
    const uint64_t group = rank % groups_;
    return group + groups_ * ((rank / groups_ + rotation_[group]) % Members(group));
  }

  // The rank r with Permute(r) == value.
  uint64_t Invert(uint64_t value) const {
    const uint64_t group = value % groups_;
    const uint64_t members = Members(group);
    return group + groups_ * ((value / groups_ + members - rotation_[group]) % members);
  }

 private:
  uint64_t Members(uint64_t group) const { return (n_ - group + groups_ - 1) / groups_; }

  uint64_t n_;
  uint64_t groups_;
  std::vector<uint64_t> rotation_;
};

}  // namespace cairn::bench::linkbench
