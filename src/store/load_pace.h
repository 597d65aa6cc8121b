// SPDX-License-Identifier: GPL-2.0-only
// Whether rows pour in, so that memtables should be larger, and level 0 gather more before it is merged down.
#pragma once

#include <algorithm>
#include <cstdint>

namespace cairn::store {

// Level 0, and the level below, may hold so many times as much in a load. What each file of level 0 keeps in memory, its filter
// and index, is a seventieth of a memtable: three tenths of the budget for 84 files, where memtables take half.
inline constexpr uint64_t kLoadTimes = 21;

// What is in force for the data family.
struct Pace {
  uint64_t times = 1;           // level 0, and the level below, may hold so many times as much; more than 1 in a load
  bool large_memtables = false;  // they take of the memory budget what is meant for loads
  bool compactions_held = false;  // RocksDB starts none

  friend bool operator==(const Pace&, const Pace&) = default;
};

// Of small memtables requests, too, fill one in each eight seconds: less than this in that time is no load, 2 MB/s compressed.
inline constexpr uint64_t kLoadBytesMin = uint64_t{16} << 20;

// A load begins as soon as half a memtable's worth, and kLoadBytesMin, was written to files within eight seconds, which are about
// two memtables compressed, and ends with eight seconds in which a quarter of that was not, or half of kLoadBytesMin, or a sixteenth of
// what its best eight seconds have written.
//
// Of a load it also tells whether keys are looked for in files often: once for so many flushed bytes as are compacted in
// the time that a look loses in the files of level 0 that a load may gather more. And whether reads have brought as much into the
// block cache, in eight seconds, as the load has brought into files: then they have more use for its memory than larger memtables.
//
// Thread rule: one thread at a time.
class LoadPace {
 public:
  static constexpr uint64_t kWindowUs = 8'000'000;
  static constexpr uint64_t kBytesPerLook = 128;

  struct Sample {
    uint64_t now_us = 0;  // of a steady clock
    // Since any fixed moment. Less than before counts as nothing.
    uint64_t flushed_bytes = 0;  // written to files of level 0, compressed
    uint64_t file_looks = 0;     // for a key that was not in memory
    uint64_t cached_bytes = 0;   // that came into the block cache with reads
  };

  // `memtable_bytes`: what a memtable holds when it is full. `load_bytes_min`: less is for tests.
  explicit LoadPace(uint64_t memtable_bytes, uint64_t load_bytes_min = kLoadBytesMin)
      : load_bytes_min_(load_bytes_min), begin_bytes_(std::max(memtable_bytes / 2, load_bytes_min)) {}

  // Whether a load goes on.
  bool Look(const Sample& sample);

  // So much lies in memtables at a load's end, or nothing any more: when it is flushed, within a window's time of the first that is, that is
  // no load. In files it is less, as it is compressed there.
  void SetLeftInMemory(uint64_t bytes) {
    left_in_memory_bytes_ = bytes;
    left_flushes_began_us_ = 0;
  }

  // What the last look has told.
  bool loading() const { return loading_; }

  // Keys are looked for in files often, in the load that goes on; of no meaning without one.
  bool looks_often() const { return looks_often_; }

  // Reads have filled the block cache as fast as files, at any time in the load that goes on; of no meaning without one.
  bool reads_much() const { return reads_much_; }

  // What the load that goes on, or else the last one, has flushed.
  uint64_t load_bytes() const { return load_bytes_; }

 private:
  uint64_t PassOver(const Sample& sample);
  bool LookAt(const Sample& sample);

  uint64_t load_bytes_min_;
  uint64_t begin_bytes_;  // so much in a window is a load
  uint64_t left_in_memory_bytes_ = 0;
  uint64_t left_flushes_began_us_ = 0;  // 0: not yet
  uint64_t passed_over_bytes_ = 0;  // of all that was flushed
  uint64_t last_flushed_bytes_ = 0;
  uint64_t window_began_us_ = 0;
  uint64_t flushed_before_bytes_ = 0;
  uint64_t looks_before_ = 0;
  uint64_t cached_before_bytes_ = 0;
  uint64_t load_began_bytes_ = 0;
  uint64_t best_window_bytes_ = 0;  // of the load that goes on
  uint64_t load_bytes_ = 0;
  bool loading_ = false;
  bool looks_often_ = false;
  bool reads_much_ = false;
};

}  // namespace cairn::store
