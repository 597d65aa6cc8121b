// SPDX-License-Identifier: GPL-2.0-only
// The ten operations and how often each is drawn.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include "payload.h"
#include "random.h"

namespace cairn::bench::linkbench {

enum class Operation : uint8_t {
  kAddLink,
  kDeleteLink,
  kUpdateLink,
  kCountLink,
  kMultigetLink,
  kGetLinksList,
  kAddNode,
  kUpdateNode,
  kDeleteNode,
  kGetNode,
};
inline constexpr size_t kOperations = 10;

inline constexpr std::array<std::string_view, kOperations> kOperationNames = {
    "ADD_LINK",       "DELETE_LINK", "UPDATE_LINK", "COUNT_LINK",  "MULTIGET_LINK",
    "GET_LINKS_LIST", "ADD_NODE",    "UPDATE_NODE", "DELETE_NODE", "GET_NODE"};

// A published workload: percentages in the order of Operation, and the payloads.
struct Profile {
  std::string_view name;
  std::array<double, kOperations> percent;
  PayloadShape link_data;
  PayloadShape node_data;
};

inline constexpr uint64_t kLinkDataBytesMax = 255;
inline constexpr uint64_t kNodeDataBytesMax = 1 << 20;

// FBWorkload.properties of facebookarchive/linkbench: what the results of 2014 to 2017 were made with.
inline constexpr Profile kProfileFb2011 = {
    .name = "fb2011",
    .percent = {8.9886601, 2.9907664, 8.0122125, 4.8863567, 0.5261142, 50.7119145, 2.5732789, 7.366437, 1.0115914,
                12.9326683},
    .link_data = {8, kLinkDataBytesMax, 32, 100, 0.225},
    .node_data = {128, kNodeDataBytesMax, 50, 220, 0.63},
};

// The mix and sizes of mdcallag/linkbench since July 2017; keys and statements stay those of fb2011.
inline constexpr Profile kProfileFb2017 = {
    .name = "fb2017",
    .percent = {5.35038, 0.98401, 4.75589, 4.27898, 12.14725, 22.57039, 2.61198, 3.06256, 0.25166, 43.9869},
    .link_data = {23, kLinkDataBytesMax, 32, 100, 0.225},
    .node_data = {168, kNodeDataBytesMax, 50, 220, 0.63},
};

// Draws operations. Thread rule: constant after construction.
class WorkloadMix {
 public:
  explicit WorkloadMix(const Profile& profile) {
    double sum = 0;
    for (size_t i = 0; i < kOperations; ++i) cumulative_[i] = sum += profile.percent[i];
  }

  Operation Draw(Random& random) const {
    // Scaled to the sum, because the published percentages add up to 100 only nearly.
    const double drawn = random.Unit() * cumulative_.back();
    size_t i = 0;
    while (i + 1 < kOperations && drawn >= cumulative_[i]) ++i;
    return static_cast<Operation>(i);
  }

 private:
  std::array<double, kOperations> cumulative_;
};

}  // namespace cairn::bench::linkbench
