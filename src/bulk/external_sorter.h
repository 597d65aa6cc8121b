// SPDX-License-Identifier: GPL-2.0-only
// Sorts any number of entries in bounded memory.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/status.h"
#include "bulk/interrupt_poll.h"
#include "bulk/sort_run.h"
#include "store/store.h"

namespace cairn::bulk {

struct SorterOptions {
  // For entries and what sorting them takes, and then for the buffers of merging. At least kMemoryBytesMin are used; more where entries
  // do not fit: one is held and two runs are merged, however large they are.
  uint64_t memory_bytes = uint64_t{32} << 20;
  // Asked now and then while merging; true ends it with kInterrupted. Optional.
  std::function<bool()> interrupted;
};

// Takes entries in any order and gives them back in the order of their keys' bytes. What does not fit
// into memory goes into sorted runs in temporary files, which are merged by a loser tree. Entries that
// arrive sorted are not sorted again, and their runs are read one after the other.
//
// Keys must differ: two equal ones end Finish() with kDuplicateKey.
//
// Lifetime: not longer than the store. Thread rule: one thread at a time.
// Errors: those of SortRun. After an error only destruction may follow.
class ExternalSorter {
 public:
  // Less is taken for so much.
  static constexpr uint64_t kMemoryBytesMin = uint64_t{2} << 20;

  using Visit = std::function<Status(ByteView key, ByteView value)>;
  struct Duplicate {
    std::string key;
    std::string first_value;
    std::string second_value;
  };

  ExternalSorter(store::Store& store, SorterOptions options);

  Status Add(ByteView key, ByteView value);

  // Visits all entries, once. An error of `visit` ends it and is returned.
  Status Finish(const Visit& visit);

  // After kDuplicateKey.
  const Duplicate& duplicate() const { return duplicate_; }

  uint64_t entry_count() const { return entry_count_; }
  size_t spilled_run_count() const { return spilled_run_count_; }
  bool arrived_sorted() const { return arrived_sorted_; }

 private:
  // The first bytes of the key decide most comparisons without touching the entry.
  struct Ref {
    uint64_t prefix;
    const char* entry;  // le32 key bytes, le32 value bytes, key, value
  };
  static ByteView KeyOf(const Ref& ref) { return ByteView(ref.entry + 8, LoadLe32(ref.entry)); }
  static ByteView ValueOf(const Ref& ref) {
    return ByteView(ref.entry + 8 + LoadLe32(ref.entry), LoadLe32(ref.entry + 4));
  }
  static bool Before(const Ref& a, const Ref& b);

  char* Allocate(size_t bytes);
  uint64_t MemoryBytes() const;
  uint64_t UsedBytes() const;
  void SortMemory();
  void ClearMemory();
  Status SpillMemory();
  size_t CountMergeable() const;
  Status ReduceRuns();
  Status MergeRuns(size_t run_count, const Visit& visit);
  Status Emit(ByteView key, ByteView value, const Visit& visit);

  store::Store& store_;
  const SorterOptions options_;
  std::vector<std::unique_ptr<char[]>> chunks_;
  uint64_t chunk_bytes_ = 0;  // of all chunks
  char* chunk_at_ = nullptr;
  size_t chunk_left_ = 0;
  std::vector<Ref> refs_;
  ByteBuffer newest_key_;
  bool arrived_sorted_ = true;
  uint64_t entry_count_ = 0;
  InterruptPoll emit_poll_{options_.interrupted};
  bool has_emitted_ = false;
  size_t spilled_run_count_ = 0;
  std::vector<std::unique_ptr<SortRun>> runs_;
  ByteBuffer last_key_;
  ByteBuffer last_value_;
  Duplicate duplicate_;
};

}  // namespace cairn::bulk
