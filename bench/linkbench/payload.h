// SPDX-License-Identifier: GPL-2.0-only
// The data of links and nodes: log-normal lengths, contents of a chosen compressibility.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>

#include "random.h"

namespace cairn::bench::linkbench {

// What a payload looks like. Bytes are uniform in [first_byte, last_byte].
struct PayloadShape {
  double median_bytes;
  uint64_t max_bytes;  // lengths are in [0, max_bytes - 1]
  uint8_t first_byte;
  uint8_t last_byte;
  double uniqueness;  // share of the chunks that are fresh random bytes
};

// LinkBench's "motif" generator: a payload is filled in chunks of 128 bytes, each either fresh random
// bytes or a copy of a random window of a motif that the generator drew once. The motif has 512 bytes:
// the shipped configuration says 128, but the original ignores that setting.
//
// Thread rule: one thread; each thread has a generator for each purpose.
class PayloadGenerator {
 public:
  PayloadGenerator(const PayloadShape& shape, Random* random) : shape_(shape), random_(*random) {
    AppendFresh(kMotifBytes, &motif_);
  }

  uint64_t Length() {
    const double length = std::round(shape_.median_bytes * std::exp(random_.Normal()));
    return static_cast<uint64_t>(std::min(length, static_cast<double>(shape_.max_bytes - 1)));
  }

  // A payload of a new random length. Valid until the next call.
  const std::string& Generate() {
    const uint64_t length = Length();
    payload_.clear();
    while (payload_.size() < length) {
      const uint64_t chunk = std::min(kChunkBytes, length - payload_.size());
      if (random_.Unit() < shape_.uniqueness) {
        AppendFresh(chunk, &payload_);
      } else {
        payload_.append(motif_, random_.Below(kMotifBytes - chunk + 1), chunk);
      }
    }
    return payload_;
  }

 private:
  static constexpr uint64_t kChunkBytes = 128;
  static constexpr uint64_t kMotifBytes = 512;

  void AppendFresh(uint64_t bytes, std::string* to) {
    const uint64_t symbols = shape_.last_byte - shape_.first_byte + 1u;
    for (uint64_t i = 0; i < bytes; ++i) {
      to->push_back(static_cast<char>(shape_.first_byte + random_.Below(symbols)));
    }
  }

  PayloadShape shape_;
  Random& random_;
  std::string motif_;
  std::string payload_;
};

}  // namespace cairn::bench::linkbench
