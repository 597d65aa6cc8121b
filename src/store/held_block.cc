// SPDX-License-Identifier: GPL-2.0-only
// Two ways to a block.
#include "store/held_block.h"

namespace cairn::store {

bool HeldBlock::OpenCached(const rocks::BlockBasedTable::Rep& file, const rocks::BlockHandle& handle, BlockHits* hits) {
  cache_ = file.table_options.block_cache.get();
  if (cache_ == nullptr) return false;
  rocks::Cache::Handle* const found = LookUpBlock(file, rocks::CacheEntryRole::kDataBlock, handle.offset());
  if (found == nullptr) return false;
  if (!ReadEntries(BlockOf(file, found), &entries_)) {
    cache_->Release(found);
    return false;
  }
  cached_ = found;
  hits->Add(*cache_, found);
  return true;
}

bool HeldBlock::Read(const rocks::BlockBasedTable& table, const rocks::ReadOptions& read, const rocks::BlockHandle& handle) {
  auto block = std::make_unique<rocks::DataBlockIter>();
  rocks::BlockCacheLookupContext lookup{rocks::TableReaderCaller::kUserApproximateSize};
  rocks::Status status;
  table.NewDataBlockIterator<rocks::DataBlockIter>(read, handle, block.get(), rocks::BlockType::kData,
                                                   /*get_context=*/nullptr, &lookup, /*prefetch_buffer=*/nullptr,
                                                   /*for_compaction=*/false, /*async_read=*/false, status,
                                                   /*use_block_cache_for_lookup=*/true);
  using Data = OpenBlockIter<rocks::Slice>;
  if (!status.ok() || !Data::IsPlain(*block) || Data::PointCount(*block) == 0) return false;
  entries_.begin = reinterpret_cast<const uint8_t*>(Data::Data(*block));
  entries_.end = entries_.begin + Data::End(*block);
  entries_.point_count = Data::PointCount(*block);
  read_ = std::move(block);
  return true;
}

}  // namespace cairn::store
