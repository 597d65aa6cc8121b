// SPDX-License-Identifier: GPL-2.0-only
// How many entries a range has in one file, by where its ends lie.
#pragma once

#include <cstdint>

#include <rocksdb/options.h>
#include "table/block_based/block.h"
#include "table/block_based/block_based_table_reader.h"

#include "base/bytes.h"
#include "store/index_separators.h"
#include "store/rocksdb_fwd.h"

namespace cairn::store {

// Finds both ends in the file's index and, unless many blocks lie between them, in their blocks. As the builder of a
// block stores each so many'th key whole, the number of that restart point tells how many entries come before it; only from
// there to the end of the range entries are read, and of these the lengths and what keys do not share.
//
// Only files as RocksDB makes them by our settings are read so, as by FileFinder, that have neither deletions nor deletions of
// ranges. Every length is checked; what is damaged is not known, and for whoever walks there to report.
//
// Thread rule: one thread at a time. `table` and `read` must outlive it.
class RangePosition final {
 public:
  struct Found {
    uint64_t entries = 0;        // counted: all versions
    uint64_t bytes_between = 0;  // of blocks that were not looked into, with their share of the file's rest
  };

  RangePosition(const rocks::BlockBasedTable& table, const rocks::ReadOptions& read) : table_(table), read_(read) {}
  RangePosition(const RangePosition&) = delete;
  RangePosition& operator=(const RangePosition&) = delete;

  // Adds what the file has of lower <= key < upper. False: it is not known, and nothing is added.
  [[nodiscard]] bool Add(ByteView lower, ByteView upper, Found* found);

 private:
  // With so many blocks between the ends, what part of their own blocks is in the range is not worth looking.
  static constexpr uint32_t kBlocksBetweenMax = 8;
  static constexpr size_t kTrailerBytes = 8;

  bool LoadIndex();
  bool FindBlocks(ByteView lower, ByteView upper);
  bool HandleOf(uint32_t i, rocks::BlockHandle* block) const;
  bool OpenBlock(const rocks::BlockHandle& block);
  bool CountBefore(ByteView key, uint64_t* count) const;
  bool ScanBefore(ByteView key, const uint8_t* at, const uint8_t* end, uint64_t* count) const;
  uint64_t ShareOf(uint64_t block_bytes) const;
  bool CountAll(uint64_t* count) const;

  const rocks::BlockBasedTable& table_;
  const rocks::ReadOptions& read_;
  rocks::BlockCacheLookupContext lookup_{rocks::TableReaderCaller::kUserApproximateSize};
  rocks::IndexBlockIter index_;  // both only hold their block
  rocks::DataBlockIter block_;
  IndexSeparators separators_;
  uint32_t first_ = 0;  // the block in which the range begins
  uint32_t last_ = 0;   // in which it ends, or how many the file has
  uint32_t interval_ = 0;  // entries from one restart point to the next
  BlockEntries entries_;
};

}  // namespace cairn::store
