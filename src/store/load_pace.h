// SPDX-License-Identifier: GPL-2.0-only
// Whether rows pour in, so that level 0 should gather more before it is merged down.
#pragma once

#include <cstdint>

namespace cairn::store {

// A load begins as soon as half a memtable's worth was written to files within eight seconds, which are about
// two memtables compressed, and ends with eight seconds in which a quarter of that was not.
//
// Thread rule: one thread at a time.
class LoadPace {
 public:
  static constexpr uint64_t kWindowUs = 8'000'000;

  // What a memtable holds when it is full.
  explicit LoadPace(uint64_t memtable_bytes) : memtable_bytes_(memtable_bytes) {}

  // Whether a load goes on. `now_us` is of a steady clock; `flushed_bytes`: written to files of level 0
  // since any fixed moment, compressed. Less than before counts as nothing.
  bool Look(uint64_t now_us, uint64_t flushed_bytes);

  // What the load that goes on, or else the last one, has flushed.
  uint64_t load_bytes() const { return load_bytes_; }

 private:
  uint64_t memtable_bytes_;
  uint64_t window_began_us_ = 0;
  uint64_t flushed_before_bytes_ = 0;
  uint64_t load_began_bytes_ = 0;
  uint64_t load_bytes_ = 0;
  bool loading_ = false;
};

}  // namespace cairn::store
