// SPDX-License-Identifier: GPL-2.0-only
// How many entries a range has in one file, by where its ends lie.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

#include <rocksdb/options.h>
#include "table/block_based/block_based_table_reader.h"
#include "table/format.h"

#include "store/block_place.h"
#include "store/cached_block.h"
#include "store/file_index.h"
#include "store/held_block.h"
#include "store/key_lists.h"
#include "store/range_bounds.h"
#include "store/rocksdb_fwd.h"

namespace cairn::store {

// Finds both ends in the file's index and, unless many blocks lie between them, in their blocks, by store/block_place.h.
//
// Only files as RocksDB makes them by our settings are read so, as by FileFinder, that have no deletions of ranges. Every
// length is checked; what is damaged is not known, and for whoever walks there to report.
//
// Thread rule: one thread at a time. `index`, `bounds` and `read` must outlive it.
class RangePosition final {
 public:
  struct Found {
    uint64_t entries = 0;        // counted: all versions, deletions too
    uint64_t bytes_between = 0;  // of blocks that were not looked into, with their share of the file's rest
    uint64_t roughly_between = 0;  // entries in these, by the mean of the file, which other indexes share
  };

  // Precondition: `index` is open.
  RangePosition(const FileIndex& index, const RangeBounds& bounds, const rocks::ReadOptions& read)
      : table_(index.table()), search_(index.search()), reader_(index.reader()), bounds_(bounds), read_(read),
        interval_(index.table().get_rep()->data_block_restart_interval) {}
  RangePosition(const RangePosition&) = delete;
  RangePosition& operator=(const RangePosition&) = delete;
  ~RangePosition() { hits_.Tick(table_); }

  // Adds what the file has of the range. False: it is not known, and nothing is added. To be called once.
  [[nodiscard]] bool Add(Found* found);

  // How many entries the file has, and what of them are deletions.
  uint64_t file_entries() const { return properties().num_entries; }
  bool has_deletions() const { return properties().num_deletions != 0; }
  bool has_many_deletions() const { return properties().num_deletions > properties().num_entries / 8; }
  // After Add(), which found something: lists the keys of the range, or the first ones. False: they are not
  // known. `lists` has room for another list. `has_versions`: see KeyLists.
  [[nodiscard]] bool List(size_t keys_max, bool has_versions, KeyLists* lists);

 private:
  // With so many blocks between the ends, what part of their own blocks is in the range is not worth looking.
  static constexpr uint32_t kBlocksBetweenMax = 8;
  // An upper end further away is looked for in the whole index.
  static constexpr uint32_t kStepMax = 8;
  static constexpr uint64_t kAll = std::numeric_limits<uint64_t>::max();

  const rocks::TableProperties& properties() const { return *table_.get_rep()->table_properties; }
  bool FindBlocks();
  bool HandleOf(uint32_t i, rocks::BlockHandle* block) const;
  bool OpenFirst(const rocks::BlockHandle& handle);
  bool CountInBlocks(const rocks::BlockHandle& first, const rocks::BlockHandle* last);
  void AddBetween(uint64_t block_bytes, Found* found) const;

  const rocks::BlockBasedTable& table_;
  const IndexSearch& search_;
  const BlockReader* const reader_;
  const RangeBounds& bounds_;
  const rocks::ReadOptions& read_;
  BlockHits hits_;
  const uint32_t interval_;  // entries from one restart point to the next
  uint32_t first_ = 0;       // the block in which the range begins
  uint32_t last_ = 0;        // in which it ends, or how many the file has
  HeldBlock first_block_;
  HeldBlock last_block_;  // open, if it is another one and the file has one
  BlockPlace begin_;           // of the range, in the first block if that is open
  uint64_t in_first_ = kAll;  // so many entries of the first block from there on, at most
  uint64_t in_last_ = 0;      // entries of the last block, if that is open
};

}  // namespace cairn::store
