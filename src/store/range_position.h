// SPDX-License-Identifier: GPL-2.0-only
// How many entries a range has in one file, by where its ends lie.
#pragma once

#include <cstdint>

#include <rocksdb/options.h>
#include "table/block_based/block.h"
#include "table/block_based/block_based_table_reader.h"

#include "base/bytes.h"
#include "store/index_separators.h"
#include "store/key_lists.h"
#include "store/rocksdb_fwd.h"

namespace cairn::store {

// Finds both ends in the file's index and, unless many blocks lie between them, in their blocks. As the builder of a
// block stores each so many'th key whole, the number of that restart point tells how many entries come before it; only from
// there to the end of the range entries are read, and of these the lengths and what keys do not share.
//
// Only files as RocksDB makes them by our settings are read so, as by FileFinder, that have no deletions of ranges. Every
// length is checked; what is damaged is not known, and for whoever walks there to report.
//
// Thread rule: one thread at a time. `table` and `read` must outlive it.
class RangePosition final {
 public:
  struct Found {
    uint64_t entries = 0;        // counted: all versions, deletions too
    uint64_t bytes_between = 0;  // of blocks that were not looked into, with their share of the file's rest
    uint64_t roughly_between = 0;  // entries in these, by the mean of the file, which other indexes share
  };

  explicit RangePosition(const rocks::ReadOptions& read) : read_(read) {}
  RangePosition(const RangePosition&) = delete;
  RangePosition& operator=(const RangePosition&) = delete;

  // Adds what the file has of lower <= key < upper. False: it is not known, and nothing is added. To be called once.
  [[nodiscard]] bool Add(const rocks::BlockBasedTable& table, ByteView lower, ByteView upper, Found* found);

  // After Add(): how many entries the file has, and what of them are deletions.
  uint64_t file_entries() const { return properties().num_entries; }
  bool has_deletions() const { return properties().num_deletions != 0; }
  bool has_many_deletions() const { return properties().num_deletions > properties().num_entries / 8; }
  // After Add() of the same bounds, which found something: lists the keys of the range, or the first ones. False: they are not
  // known. `lists` has room for another list.
  [[nodiscard]] bool List(ByteView lower, ByteView upper, size_t keys_max, KeyLists* lists);

 private:
  // With so many blocks between the ends, what part of their own blocks is in the range is not worth looking.
  static constexpr uint32_t kBlocksBetweenMax = 8;
  static constexpr size_t kTrailerBytes = 8;

  // An open block.
  struct Block {
    rocks::DataBlockIter holder;  // only holds it
    BlockEntries entries;
  };
  enum class ListEnd : uint8_t { kBlockEnds, kEnds, kMalformed };

  const rocks::TableProperties& properties() const { return *table_->get_rep()->table_properties; }
  bool LoadIndex();
  bool FindBlocks(ByteView lower, ByteView upper);
  bool HandleOf(uint32_t i, rocks::BlockHandle* block) const;
  bool OpenBlock(const rocks::BlockHandle& handle, Block* block);
  bool CountBefore(const BlockEntries& entries, ByteView key, const uint8_t** point, uint64_t* count) const;
  bool ScanBefore(ByteView key, const uint8_t* at, const uint8_t* end, uint64_t* count) const;
  void AddBetween(uint64_t block_bytes, Found* found) const;
  bool CountAll(const BlockEntries& entries, uint64_t* count) const;
  static ListEnd ListBlock(const uint8_t* at, const uint8_t* end, ByteView lower, ByteView upper, KeyLists* lists);

  const rocks::BlockBasedTable* table_ = nullptr;
  const rocks::ReadOptions& read_;
  rocks::BlockCacheLookupContext lookup_{rocks::TableReaderCaller::kUserApproximateSize};
  rocks::IndexBlockIter index_;  // only holds its block
  IndexSeparators separators_;
  uint32_t first_ = 0;  // the block in which the range begins
  uint32_t last_ = 0;   // in which it ends, or how many the file has
  uint32_t interval_ = 0;  // entries from one restart point to the next
  Block first_block_;
  Block last_block_;  // open, if it is another one and the file has one
  const uint8_t* first_point_ = nullptr;  // in the first block, if that is open: at or before the begin of the range
};

}  // namespace cairn::store
