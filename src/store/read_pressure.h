// SPDX-License-Identifier: GPL-2.0-only
// When reads have paid for moving data to where reading is cheap.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <span>

#include "base/ids.h"
#include "base/thread_shard.h"

namespace cairn::store {

// What walks have stepped over, since the store was opened: entries in the active memtable and in files of level 0
// (which all seeks pass through), hidden versions and deletions too, but older versions in a leaf of a memtable only where the walk
// looks at them (backward, or for an older view). A seek counts as kEntriesPerSeek entries for each file of level 0. Of the entries that
// one walk meets in the memtable the first kFreeInMemtable do not count: in a file of their own they
// would cost a seek more instead, so short walks gain nothing by a flush.
struct WalkedEntries {
  static constexpr uint64_t kEntriesPerSeek = 4;
  static constexpr uint64_t kFreeInMemtable = 16;

  uint64_t in_memtable = 0;
  uint64_t in_level0 = 0;

  friend bool operator==(const WalkedEntries&, const WalkedEntries&) = default;
};

// The sum of what all walks report. A walk counts for itself and reports at its end.
// Thread rule: any thread.
class WalkAccount {
 public:
  void Add(const WalkedEntries& walked);
  WalkedEntries Sum() const;

  // Entries of files that came with a transaction have sequence numbers like those of the memtable, and are not there. These indexes had
  // none before; their entries' numbers are above `before`, up to `last`.
  void NoteLoad(std::span<const IndexId> indexes, uint64_t before, uint64_t last);
  // No load has greater numbers.
  uint64_t last_load() const { return last_load_.load(std::memory_order_acquire); }
  struct Loaded {
    IndexId index;
    uint64_t before = 0;
    uint64_t last = 0;  // 0: none of late
  };
  // Of the index.
  Loaded FindLoad(IndexId index) const;

 private:
  // Older ones are counted as before, until a newer memtable.
  static constexpr size_t kLoadsKnown = 64;

  // Reports of many threads at once do not meet on one cache line.
  struct alignas(64) Shard {
    std::atomic<uint64_t> in_memtable{0};
    std::atomic<uint64_t> in_level0{0};
  };
  std::array<Shard, kThreadShards> shards_;
  std::atomic<uint64_t> last_load_{0};
  mutable std::mutex mutex_;
  std::deque<Loaded> loads_;  // guarded by mutex_, the newest last
};

// What the policy looks at; all of it at one moment, of one family.
struct ReadPressureSample {
  WalkedEntries walked;
  uint64_t now_us = 0;
  uint64_t user_bytes = 0;  // written by users since the store was opened
  bool cores_are_busy = false;

  uint64_t memtable_id = 0;  // another for each memtable
  uint64_t memtable_bytes = 0;
  uint64_t memtable_bytes_min = 0;  // less is not worth a file
  uint64_t memtable_bytes_max = 0;  // so large, it is flushed without us
  uint64_t memtables_waiting = 0;   // that are not flushed yet

  uint64_t oldest_level0_id = 0;  // another once level 0 was compacted; 0 when it is empty
  uint64_t level0_files = 0;
  uint64_t level0_files_max = 0;  // so many are compacted without us
  uint64_t level0_bytes = 0;
  uint64_t base_bytes = 0;  // of the level that level 0 is merged into
  bool base_is_last = true;  // nothing lies below it
};

enum class Relief : uint8_t { kNone, kFlush, kCompactLevel0 };

// Buys or rents: where data lies unfavourably each read loses a little time, and rewriting it costs a lot
// once. It is rewritten as soon as the reads since have lost what that costs, so that whatever is
// read later, no more than twice the time is spent that one who knows the future would spend.
//
// A memtable is flushed sooner or later and level 0 compacted, whoever reads: what counts is only what doing
// it early adds. Where all cores are busy, who reads and writes waits for a flush that is made now, and perhaps for none that is made
// later: there all of it counts, 5 ns for each byte. (Not so for level 0: each seek goes through its files until then.)
// A memtable that is full to f fills a place in level 0 that could have held one that is full, so 1 - f
// of such a place's share of the next compaction is paid for nothing; likewise, of the level below, when
// level 0 is compacted with fewer files than it may have. And some entries would have been overwritten
// before they were written further; that an eighth would is a guess, on the side of patience.
//
//   reads lose   100 ns for each entry walked in the memtable, 150 ns in level 0. So a flush by itself saves nothing, but
//                is the first half of the way to where an entry costs no more than any other
//   a flush      10 ms, and 1 - f times  what its place's share of the level below level 0 and an eighth of the
//                memtable cost to compact, the latter also to flush
//   compaction   10 ms, and the share of its files that level 0 lacks  times  10 ns for each byte of the
//                level below it and an eighth of its own
//
// Where level 0 is merged into a level that is not the last, as in databases of many memtables, an entry costs no less there: it has still to be
// merged with what lies below. So a flush leads nowhere; and of what reads lose in level 0 that counts by which it has more files than one.
//
// Nobody waits for the time that this takes while nobody writes and nothing is walked: after half a second of it, a
// sixteenth of the price is enough.
//
// Beside time, rewriting wears flash and takes bandwidth from writers. So all bytes that are written for reads and would
// not have been written without them, by the same reckoning, stay below  64 MiB + what users have written + 1 MiB for
// each second, where no more than 2 GiB of it are saved up.
//
// Where a memtable is on its way to level 0 nothing is done until it is there: a compaction would come too early.
//
// Pure: neither clock nor store; the caller does what it says. Thread rule: one thread at a time.
class ReadPressurePolicy {
 public:
  static constexpr uint64_t kNsPerMemtableEntry = 100;
  static constexpr uint64_t kNsPerLevel0Entry = 150;
  static constexpr uint64_t kNsPerFlushedByte = 5;
  static constexpr uint64_t kNsPerCompactedByte = 10;
  static constexpr uint64_t kNsPerRewrite = 10'000'000;
  static constexpr uint64_t kOverwrittenShare = 8;  // one in so many bytes
  static constexpr uint64_t kIdleUs = 500'000;
  static constexpr uint64_t kIdleShare = 16;  // one part in so many of the price is enough then
  static constexpr uint64_t kCreditBytesAtStart = uint64_t{64} << 20;
  static constexpr uint64_t kCreditBytesMax = uint64_t{2} << 30;
  static constexpr uint64_t kCreditBytesPerSecond = uint64_t{1} << 20;

  // What is to be done now. Taken as done: the next answer counts from here.
  Relief Decide(const ReadPressureSample& sample);

  // What it costs to do each now rather than when it is due: time, and bytes written.
  static uint64_t FlushPriceNs(const ReadPressureSample& sample);
  static uint64_t CompactionPriceNs(const ReadPressureSample& sample);
  static uint64_t FlushAddsBytes(const ReadPressureSample& sample);
  static uint64_t CompactionAddsBytes(const ReadPressureSample& sample);

  // Bytes that may still be added.
  uint64_t credit_bytes() const { return credit_bytes_; }

 private:
  void Earn(const ReadPressureSample& sample);
  uint64_t LostInLevel0Ns(const ReadPressureSample& sample) const;
  bool IsIdle(const ReadPressureSample& sample);
  bool Spend(uint64_t bytes);

  uint64_t credit_bytes_ = kCreditBytesAtStart;
  uint64_t earned_at_us_ = 0;
  uint64_t earned_for_user_bytes_ = 0;
  uint64_t memtable_id_ = 0;
  uint64_t oldest_level0_id_ = 0;
  WalkedEntries counted_from_;
  WalkedEntries last_walked_;
  uint64_t last_user_bytes_ = 0;
  uint64_t busy_at_us_ = 0;  // somebody wrote or walked, the last time
};

}  // namespace cairn::store
