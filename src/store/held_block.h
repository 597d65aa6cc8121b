// SPDX-License-Identifier: GPL-2.0-only
// One data block of a file, wherever it is.
#pragma once

#include <memory>

#include <rocksdb/advanced_cache.h>
#include <rocksdb/options.h>
#include "table/block_based/block.h"
#include "table/block_based/block_based_table_reader.h"

#include "store/block_read.h"
#include "store/cached_block.h"
#include "store/index_separators.h"
#include "store/rocksdb_fwd.h"

namespace cairn::store {

// Held where the block cache has it; else read, checksums and all, which mostly brings it into the cache.
//
// Lifetime: the table must outlive this, which holds the block until it is destroyed. Thread rule: one thread at a time.
class HeldBlock final {
 public:
  HeldBlock() = default;
  HeldBlock(const HeldBlock&) = delete;
  HeldBlock& operator=(const HeldBlock&) = delete;
  ~HeldBlock() {
    if (cached_ != nullptr) cache_->Release(cached_);
  }

  // False: it cannot be read, is of another form than our settings make, or has no entries. `reader` is that of the file, or null.
  // Precondition: not open.
  [[nodiscard]] bool Open(const rocks::BlockBasedTable& table, const rocks::ReadOptions& read, const BlockReader* reader,
                          const rocks::BlockHandle& handle, BlockHits* hits) {
    const rocks::BlockBasedTable::Rep& file = *table.get_rep();
    cache_ = file.table_options.block_cache.get();
    cached_ = LookUpDataBlock(file, handle.offset(), &entries_, hits);
    if (cached_ == nullptr && reader != nullptr) cached_ = reader->Read(read, handle, &entries_);
    return cached_ != nullptr || Read(table, read, handle);
  }
  bool is_open() const { return entries_.begin != nullptr; }

  // Where its entries lie. Precondition: open.
  const BlockEntries& entries() const { return entries_; }

 private:
  bool Read(const rocks::BlockBasedTable& table, const rocks::ReadOptions& read, const rocks::BlockHandle& handle);

  BlockEntries entries_;
  rocks::Cache* cache_ = nullptr;
  rocks::Cache::Handle* cached_ = nullptr;
  std::unique_ptr<rocks::DataBlockIter> read_;  // only holds it
};

}  // namespace cairn::store
