// SPDX-License-Identifier: GPL-2.0-only
// The pseudo-random stream of one thread.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace cairn::bench {

// xoshiro256++ (Blackman and Vigna, 2019), its state filled by splitmix64. Streams of different
// (seed, stream) pairs are independent for all practical purposes.
//
// Thread rule: one thread.
class Random {
 public:
  explicit Random(uint64_t seed, uint64_t stream = 0) {
    uint64_t state = seed * 0x9e3779b97f4a7c15u + stream * 0xd1342543de82ef95u;
    for (uint64_t& word : state_) word = SplitMix(&state);
  }

  uint64_t Next() {
    const uint64_t result = std::rotl(state_[0] + state_[3], 23) + state_[0];
    const uint64_t shifted = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= shifted;
    state_[3] = std::rotl(state_[3], 45);
    return result;
  }

  // Uniform in [0, 1).
  double Unit() { return static_cast<double>(Next() >> 11) * 0x1.0p-53; }

  // Uniform in [0, bound); bound > 0. The bias of bound / 2^64 is of no consequence here.
  uint64_t Below(uint64_t bound) {
    return static_cast<uint64_t>((static_cast<unsigned __int128>(Next()) * bound) >> 64);
  }

  // Standard normal (Box and Muller; the second value is dropped for simplicity).
  double Normal() {
    const double u = 1.0 - Unit();
    return std::sqrt(-2.0 * std::log(u)) * std::cos(2.0 * M_PI * Unit());
  }

 private:
  static uint64_t SplitMix(uint64_t* state) {
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }

  uint64_t state_[4];
};

}  // namespace cairn::bench
