// SPDX-License-Identifier: GPL-2.0-only
// Blocks are found by their place in the file, and are RocksDB's: checked when they came into the cache.
#include "store/cached_block.h"

#include "cache/cache_key.h"
#include "monitoring/statistics_impl.h"
#include "table/block_based/block_cache.h"

namespace cairn::store {
namespace {

// Private members have no names outside; an explicit instantiation may name them all the same.
template <auto kEnd, auto kProtectionBytes>
struct BlockMembers {
  friend uint32_t EndOf(const rocks::Block& block) { return block.*kEnd; }
  friend uint8_t ProtectionBytesOf(const rocks::Block& block) { return block.*kProtectionBytes; }
};
template struct BlockMembers<&rocks::Block::restart_offset_, &rocks::Block::protection_bytes_per_key_>;
uint32_t EndOf(const rocks::Block& block);
uint8_t ProtectionBytesOf(const rocks::Block& block);

}  // namespace

rocks::Cache::Handle* LookUpBlock(const rocks::BlockBasedTable::Rep& file, rocks::CacheEntryRole role, uint64_t offset) {
  rocks::Cache& cache = *file.table_options.block_cache;
  const rocks::CacheKey key = file.base_cache_key.WithOffsetForMinSizeRecord(offset);
  rocks::Cache::Handle* const handle = cache.Lookup(key.AsSlice());
  if (handle == nullptr) return nullptr;
  const rocks::Cache::CacheItemHelper* const kind = cache.GetCacheItemHelper(handle);
  if (kind != nullptr && kind->role == role && cache.Value(handle) != nullptr) return handle;
  cache.Release(handle);
  return nullptr;
}

// Blocks of both kinds are a rocks::Block and nothing else.
const rocks::Block& BlockOf(const rocks::BlockBasedTable::Rep& file, rocks::Cache::Handle* handle) {
  static_assert(sizeof(rocks::Block_kData) == sizeof(rocks::Block) && sizeof(rocks::Block_kIndex) == sizeof(rocks::Block));
  return *static_cast<const rocks::Block*>(file.table_options.block_cache->Value(handle));
}

void BlockHits::TickAll(const rocks::BlockBasedTable& file) {
  rocks::Statistics* const statistics = file.get_rep()->ioptions.stats;
  rocks::RecordTick(statistics, rocks::BLOCK_CACHE_HIT, count_);
  rocks::RecordTick(statistics, rocks::BLOCK_CACHE_DATA_HIT, count_);
  rocks::RecordTick(statistics, rocks::BLOCK_CACHE_BYTES_READ, bytes_);
  *this = BlockHits();
}

void TickMiss(const rocks::BlockBasedTable::Rep& file) {
  rocks::RecordTick(file.ioptions.stats, rocks::BLOCK_CACHE_MISS);
  rocks::RecordTick(file.ioptions.stats, rocks::BLOCK_CACHE_DATA_MISS);
}

bool ReadEntries(const rocks::Block& block, BlockEntries* entries) {
  if (block.size() == 0 || block.NumRestarts() == 0 || block.HasSeparatedKV() || ProtectionBytesOf(block) != 0) return false;
  entries->begin = reinterpret_cast<const uint8_t*>(block.data());
  entries->end = entries->begin + EndOf(block);
  entries->point_count = block.NumRestarts();
  return true;
}

rocks::Cache::Handle* LookUpDataBlock(const rocks::BlockBasedTable::Rep& file, uint64_t offset, BlockEntries* entries,
                                      BlockHits* hits) {
  rocks::Cache* const cache = file.table_options.block_cache.get();
  if (cache == nullptr) return nullptr;
  rocks::Cache::Handle* const found = LookUpBlock(file, rocks::CacheEntryRole::kDataBlock, offset);
  if (found == nullptr) return nullptr;
  if (!ReadEntries(BlockOf(file, found), entries)) {
    cache->Release(found);
    return nullptr;
  }
  hits->Add(*cache, found);
  return found;
}

bool ReadDataBlock(const rocks::BlockBasedTable& table, const rocks::ReadOptions& read, const rocks::BlockHandle& handle,
                   rocks::BlockCacheLookupContext* lookup, rocks::DataBlockIter* block, BlockEntries* entries) {
  if (table.get_rep()->table_options.block_cache != nullptr) TickMiss(*table.get_rep());
  rocks::Status status;
  table.NewDataBlockIterator<rocks::DataBlockIter>(read, handle, block, rocks::BlockType::kData, /*get_context=*/nullptr,
                                                   lookup, /*prefetch_buffer=*/nullptr, /*for_compaction=*/false,
                                                   /*async_read=*/false, status, /*use_block_cache_for_lookup=*/false);
  if (status.ok() && OpenBlockIter<rocks::Slice>::ReadEntries(*block, entries)) return true;
  block->Invalidate(rocks::Status::OK());
  return false;
}

rocks::Cache::Handle* ReadIntoCache(const rocks::BlockBasedTable& table, const rocks::ReadOptions& read,
                                    const rocks::BlockHandle& handle, BlockEntries* entries) {
  const rocks::BlockBasedTable::Rep& file = *table.get_rep();
  rocks::DataBlockIter block;
  rocks::BlockCacheLookupContext lookup{rocks::TableReaderCaller::kUserIterator};
  if (!LiesInside(file, handle) || !ReadDataBlock(table, read, handle, &lookup, &block, entries)) return nullptr;
  rocks::Cache::Handle* const cached = block.cache_handle();
  return cached != nullptr && file.table_options.block_cache->Ref(cached) ? cached : nullptr;
}

}  // namespace cairn::store
