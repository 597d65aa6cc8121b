// SPDX-License-Identifier: GPL-2.0-only
// Ranges that are known to have no entries, so that most new keys are not looked for in files.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/bytes.h"
#include "base/status.h"
#include "store/point_reader.h"
#include "store/store.h"

namespace cairn::store {

// Looks for keys that are mostly new and often come near one another, as those of inserted rows do. A look that finds
// nothing may learn by a seek how far the next entry is. Keys up to there can then be only in the memtable
// that fills, until RocksDB has another set of memtables and files.
//
// Seeks are made as far as they pay: a range that has spared few looks doubles the number of looks until the next.
//
// Thread rule: one thread at a time. Holds nothing of the store, which may close; serves one store.
class EmptyRanges {
 public:
  // As Store::Get(Family::kData, key, nullptr, value); what has to be looked for in files is got by `points`, unless that is null.
  // The caller keeps others from writing `key` meanwhile.
  Status Get(const Store& store, PointReader* points, ByteView key, PinnedValue* value);

 private:
  // Keys first <= k < end.
  struct Range {
    ByteBuffer first;
    ByteBuffer end;
    uint64_t spared_count = 0;
    uint64_t used_at = 0;
    bool known = false;
  };

  // A load may write at several places by turns: LinkBench's writes each type of link at one.
  static constexpr size_t kRanges = 4;
  // About what a seek costs.
  static constexpr uint64_t kLooksPerSeek = 16;
  static constexpr uint64_t kLooksBetweenMin = 4;
  static constexpr uint64_t kLooksBetweenMax = 4096;

  Range* Find(ByteView key);
  Range* Least();
  void Forget(Range* range);
  void ForgetAll(uint64_t version);
  void Learn(const Store& store, ByteView key);

  std::array<Range, kRanges> ranges_;
  uint64_t version_ = 0;  // of memtables and files, for which the ranges are known
  uint64_t now_ = 0;
  uint64_t looks_between_ = kLooksBetweenMin;
  uint64_t looks_left_ = kLooksBetweenMin;
};

}  // namespace cairn::store
