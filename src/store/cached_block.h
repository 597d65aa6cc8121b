// SPDX-License-Identifier: GPL-2.0-only
// One block of a file: where the block cache has it, found without RocksDB's calls for blocks that it may have to read; else
// read by these.
#pragma once

#include <cstdint>

#include <rocksdb/advanced_cache.h>
#include <rocksdb/options.h>
#include "table/block_based/block.h"
#include "table/block_based/block_based_table_reader.h"

#include "store/index_separators.h"
#include "store/rocksdb_fwd.h"

namespace cairn::store {

// Whether it lies in the file. A damaged index may have any handle, and RocksDB allocates as much as that tells.
inline bool LiesInside(const rocks::BlockBasedTable::Rep& file, const rocks::BlockHandle& handle) {
  return handle.size() <= file.file_size && handle.offset() <= file.file_size - handle.size();
}

// The block of `file` that begins at `offset`, if the cache has it and it is of that kind; else null. It is held until it is
// released to the cache. Only data and index blocks are asked for. Nothing is ticked. Precondition: the file has a block cache.
// Thread rule: any thread.
rocks::Cache::Handle* LookUpBlock(const rocks::BlockBasedTable::Rep& file, rocks::CacheEntryRole role, uint64_t offset);

// What LookUpBlock found. Valid while it is held.
const rocks::Block& BlockOf(const rocks::BlockBasedTable::Rep& file, rocks::Cache::Handle* handle);

// Data blocks that LookUpBlock found in one file, to be told to RocksDB's statistics at once.
class BlockHits final {
 public:
  void Add(const rocks::Cache& cache, rocks::Cache::Handle* found) {
    ++count_;
    bytes_ += cache.GetUsage(found);
  }
  // Begins anew.
  void Tick(const rocks::BlockBasedTable& file) {
    if (count_ != 0) TickAll(file);
  }

 private:
  void TickAll(const rocks::BlockBasedTable& file);

  uint64_t count_ = 0;
  uint64_t bytes_ = 0;
};

// Tells RocksDB's statistics of a data block that its file's block cache does not have.
void TickMiss(const rocks::BlockBasedTable::Rep& file);

// Where its entries lie. False: it is of another form than our settings make.
bool ReadEntries(const rocks::Block& block, BlockEntries* entries);

// The data block of `file` that begins at `offset`, as LookUpBlock finds it, and where its entries lie. Null: the cache does
// not have it, the file has no cache, or the block is of another form than our settings make. Thread rule: as LookUpBlock.
rocks::Cache::Handle* LookUpDataBlock(const rocks::BlockBasedTable::Rep& file, uint64_t offset, BlockEntries* entries,
                                      BlockHits* hits);

// The same out of the file, checksums and all, which mostly brings the block into the cache. `block` holds it. False: it cannot
// be read, or is of another form than our settings make, and nothing is held. `lookup` says who reads. Preconditions: `block` is
// new or invalidated; LookUpDataBlock() has just found nothing. That is the miss that is ticked here, and the cache is not asked
// again: who was quicker meanwhile has the block in the cache, and this one is held beside it until it is released.
bool ReadDataBlock(const rocks::BlockBasedTable& table, const rocks::ReadOptions& read, const rocks::BlockHandle& handle,
                   rocks::BlockCacheLookupContext* lookup, rocks::DataBlockIter* block, BlockEntries* entries);

// The same for a walk, which holds blocks in the cache: until it is released, as what LookUpDataBlock finds. Null: the handle
// leads out of the file, the block cannot be read or is of another form, or the cache has not taken it. Preconditions: the file has
// a block cache, where LookUpDataBlock() has just found nothing. Thread rule: as LookUpBlock.
rocks::Cache::Handle* ReadIntoCache(const rocks::BlockBasedTable& table, const rocks::ReadOptions& read,
                                    const rocks::BlockHandle& handle, BlockEntries* entries);

}  // namespace cairn::store
