// SPDX-License-Identifier: GPL-2.0-only
// Decides from samples how hard blocks are to be compressed.
#pragma once

#include <algorithm>
#include <cstdint>

namespace cairn::store {

// Data that has few repetitions, as numbers written out in digits, is only coded by how often each byte comes. A search for short
// repetitions finds accidental ones there: that takes three times as long, and these cost more bits than they replace.
// Whether data is of this kind is tried: now and then a block is compressed both ways. No compression at all may be the light effort.
//
// Thread rule: one thread at a time.
class CompressionEffort {
 public:
  // The first trials of steady data are this near to each other, later ones further and further apart, up to the maximum.
  static constexpr uint32_t kBlocksBetweenTrialsMin = 4;
  static constexpr uint32_t kBlocksBetweenTrialsMax = 128;
  // The light effort may make so small a part more: what differs by less is an accident of the sample.
  static constexpr uint64_t kTolerance = 256;

  explicit CompressionEffort(uint32_t blocks_between_trials_max = kBlocksBetweenTrialsMax)
      : blocks_between_trials_max_(blocks_between_trials_max) {}

  // Asked once for each block, before it is compressed. After true, NoteTrial() comes before the next question.
  bool TrialIsDue() {
    if (blocks_left_ == 0) return true;
    --blocks_left_;
    return false;
  }

  // What a block takes by either effort.
  void NoteTrial(uint64_t light_bytes, uint64_t full_bytes) {
    // The past counts ever less, as a file may have blocks of several kinds.
    light_bytes_ = light_bytes_ / 4 * 3 + light_bytes;
    full_bytes_ = full_bytes_ / 4 * 3 + full_bytes;
    const bool light = light_bytes_ <= full_bytes_ + full_bytes_ / kTolerance;
    interval_ = light == light_ ? std::min(2 * interval_, blocks_between_trials_max_) : kBlocksBetweenTrialsMin;
    light_ = light;
    blocks_left_ = interval_;
  }

  bool light() const { return light_; }

 private:
  const uint32_t blocks_between_trials_max_;
  uint64_t light_bytes_ = 0;
  uint64_t full_bytes_ = 0;
  uint32_t interval_ = kBlocksBetweenTrialsMin;
  uint32_t blocks_left_ = 0;
  bool light_ = false;
};

}  // namespace cairn::store
