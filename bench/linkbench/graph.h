// SPDX-License-Identifier: GPL-2.0-only
// The loaded graph as a function: which links an id has, without asking the database.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "out_degree.h"
#include "permutation.h"

namespace cairn::bench::linkbench {

inline constexpr uint64_t kFirstId = 1;
inline constexpr size_t kLinkTypes = 2;
inline constexpr std::array<uint64_t, kLinkTypes> kLinkTypeIds = {123'456'789, 123'456'790};
inline constexpr uint64_t kNodeType = 2048;

// Equal seeds mean equal permutations: what is written much also has many links, and what is updated
// much is read much. The values matter only by being equal or different.
inline constexpr uint64_t kSeedLinks = 1;
inline constexpr uint64_t kSeedUncorrelated = 2;
inline constexpr uint64_t kSeedNodes = 3;

// The number of nodes and the cap on links per id; 0 means not capped.
struct GraphSize {
  uint64_t ids;
  uint64_t degree_max = 0;

  // The cap used unless told otherwise. Rank 0 always has 961,963 links, so in a small graph one id would
  // hold most of them; from 5 million ids on it is harmless and nothing is capped.
  static uint64_t AutomaticDegreeMax(uint64_t ids) {
    return ids >= 5'000'000 ? 0 : std::max<uint64_t>(1000, ids / 10);
  }
};

// Ids are [kFirstId, kFirstId + ids). The links of an id and a type go to id, id + 1, id + 2, ...
//
// Thread rule: constant after construction.
class Graph {
 public:
  explicit Graph(const GraphSize& size) : size_(size), permutation_(size.ids, kSeedLinks) {}

  uint64_t ids() const { return size_.ids; }
  uint64_t end_id() const { return kFirstId + size_.ids; }

  // The links of `id` over all types as the distribution intends them.
  uint64_t Degree(uint64_t id) const {
    const uint64_t rank = permutation_.Invert(id - kFirstId);
    const uint64_t degree = OutDegree::Quantile(static_cast<double>(rank) / static_cast<double>(size_.ids));
    return size_.degree_max == 0 ? degree : std::min(degree, size_.degree_max);
  }

  // The loaded links of `id` with type number `type`.
  uint64_t Links(uint64_t id, size_t type) const { return LinksOfType(Degree(id), type); }

  // LinkBench's split of a degree over its two types. It gives slightly more links than intended, because
  // the original takes total - total / types for the remainder; every published result has that.
  static uint64_t LinksOfType(uint64_t degree, size_t type) {
    const uint64_t half = degree / kLinkTypes;
    const uint64_t leftover = degree - half;
    return half + (leftover > type ? 1 : 0);
  }

 private:
  GraphSize size_;
  Permutation permutation_;
};

}  // namespace cairn::bench::linkbench
