// SPDX-License-Identifier: GPL-2.0-only
// What is compressed is on the stack only, what comes out of it where the cache keeps it.
#include "store/block_read.h"

#include <cstring>
#include <memory>
#include <utility>

#include "cache/cache_key.h"
#include "file/random_access_file_reader.h"
#include "memory/memory_allocator_impl.h"
#include "monitoring/statistics_impl.h"
#include "table/block_based/block_cache.h"
#include "table/block_based/cachable_entry.h"
#include "table/block_based/reader_common.h"
#include "table/block_based/uncompression_dict_reader.h"
#include "util/compression.h"

#include "store/cached_block.h"

namespace cairn::store {
namespace {

constexpr size_t kBlockTrailerBytes = rocks::BlockBasedTable::kBlockTrailerSize;
// RocksDB ends a block before it is larger than the 8 KiB of our settings, unless it is one entry. It has 5,000 bytes there
// itself, and threads of the server have 290 KB.
constexpr size_t kStackBytes = 8192 + 512;

// Private members have no names outside; an explicit instantiation may name them all the same.
template <auto kIsLastLevel>
struct FileMember {
  friend bool IsOfLastLevel(const rocks::RandomAccessFileReader& file) { return file.*kIsLastLevel; }
};
template struct FileMember<&rocks::RandomAccessFileReader::is_last_level_>;
bool IsOfLastLevel(const rocks::RandomAccessFileReader& file);

bool IsOrdinary(const rocks::BlockBasedTable::Rep& file) {
  return file.decompressor != nullptr && !file.ioptions.allow_mmap_reads && !file.file->use_direct_io() &&
         file.persistent_cache_options.persistent_cache == nullptr && file.footer.GetBlockTrailerSize() == kBlockTrailerBytes;
}

bool IsOrdinary(const rocks::ReadOptions& read) {
  return read.fill_cache && read.read_tier == rocks::kReadAllTier && read.deadline.count() == 0 && read.io_timeout.count() == 0 &&
         read.rate_limiter_priority == rocks::Env::IO_TOTAL && read.read_scoped_block_buffer_provider == nullptr &&
         read.request_id == nullptr;
}

}  // namespace

void BlockReader::Open(const rocks::BlockBasedTable& table, const rocks::ReadOptions& read) {
  const rocks::BlockBasedTable::Rep& file = *table.get_rep();
  if (!IsOrdinary(file)) return;
  file_ = &file;
  cache_ = file.table_options.block_cache.get();
  is_of_last_level_ = IsOfLastLevel(*file.file);
  if (file.uncompression_dict_reader == nullptr) {
    decompressor_ = file.decompressor.get();
    return;
  }
  rocks::ReadOptions into_cache = read;
  into_cache.fill_cache = true;
  rocks::CachableEntry<rocks::DecompressorDict> dictionary;
  rocks::BlockCacheLookupContext lookup{rocks::TableReaderCaller::kUserGet};
  const rocks::Status status = file.uncompression_dict_reader->GetOrReadUncompressionDictionary(
      /*prefetch_buffer=*/nullptr, into_cache, /*get_context=*/nullptr, &lookup, &dictionary);
  // The table has it, or the cache, or nobody else: that is not what our settings make.
  if (!status.ok() || dictionary.GetValue() == nullptr || dictionary.GetOwnValue()) return;
  if (dictionary.IsCached()) {
    if (!cache_->Ref(dictionary.GetCacheHandle())) return;
    dictionary_ = dictionary.GetCacheHandle();
  }
  decompressor_ = dictionary.GetValue()->decompressor_.get();
}

// False: RocksDB is to find out. `buffer` has room for the block and its trailer.
bool BlockReader::ReadContents(const rocks::ReadOptions& read, const rocks::BlockHandle& handle, char* buffer,
                               rocks::BlockContents* contents) const {
  const size_t bytes = handle.size();
  rocks::RandomAccessFileReader& file = *file_->file;
  rocks::Slice text;
  const rocks::IOStatus status = file.file()->Read(handle.offset(), bytes + kBlockTrailerBytes, how_, &text, buffer, /*dbg=*/nullptr);
  if (!status.ok() || text.size() != bytes + kBlockTrailerBytes) return false;
  if (read.verify_checksums && !rocks::VerifyBlockChecksum(file_->footer, text.data(), bytes, file.file_name(), handle.offset(),
                                                           rocks::BlockType::kData).ok()) {
    return false;
  }
  rocks::MemoryAllocator* const allocator = cache_->memory_allocator();
  rocks::Decompressor::Args args;
  args.compression_type = rocks::BlockBasedTable::GetBlockCompressionType(text.data(), bytes);
  if (args.compression_type == rocks::kNoCompression) {
    // With its trailer, as RocksDB takes room for it, and the cache counts that.
    rocks::CacheAllocationPtr copy = rocks::AllocateBlock(text.size(), allocator);
    std::memcpy(copy.get(), text.data(), text.size());
    *contents = rocks::BlockContents(std::move(copy), bytes);
    return true;
  }
  args.compressed_data = rocks::Slice(text.data(), bytes);
  if (!decompressor_->ExtractUncompressedSize(args).ok()) return false;
  rocks::CacheAllocationPtr plain = rocks::AllocateBlock(args.uncompressed_size, allocator);
  if (!decompressor_->DecompressBlock(args, plain.get()).ok()) return false;
  *contents = rocks::BlockContents(std::move(plain), args.uncompressed_size);
  return true;
}

rocks::Cache::Handle* BlockReader::Insert(const rocks::BlockHandle& handle, rocks::BlockContents contents,
                                          BlockEntries* entries) const {
  rocks::BlockCreateContext context = file_->create_context;
  std::unique_ptr<rocks::Block_kData> block;
  context.Create(&block, std::move(contents));
  if (!ReadEntries(*block, entries)) return nullptr;
  const size_t charge = block->ApproximateMemoryUsage();
  const rocks::CacheKey key = file_->base_cache_key.WithOffsetForMinSizeRecord(handle.offset());
  rocks::Cache::Handle* inserted = nullptr;
  const rocks::Status status =
      cache_->Insert(key.AsSlice(), block.get(),
                     rocks::GetCacheItemHelper(rocks::BlockType::kData, file_->ioptions.lowest_used_cache_tier), charge, &inserted,
                     rocks::Cache::Priority::LOW);
  if (!status.ok()) return nullptr;
  static_cast<void>(block.release());
  TickMiss(*file_);
  rocks::Statistics* const statistics = file_->ioptions.stats;
  rocks::RecordTick(statistics, is_of_last_level_ ? rocks::LAST_LEVEL_READ_COUNT : rocks::NON_LAST_LEVEL_READ_COUNT);
  rocks::RecordTick(statistics, is_of_last_level_ ? rocks::LAST_LEVEL_READ_BYTES : rocks::NON_LAST_LEVEL_READ_BYTES,
                    handle.size() + kBlockTrailerBytes);
  rocks::BlockBasedTable::UpdateCacheInsertionMetrics(rocks::BlockType::kData, /*get_context=*/nullptr, charge,
                                                      status.IsOkOverwritten(), statistics);
  return inserted;
}

rocks::Cache::Handle* BlockReader::Read(const rocks::ReadOptions& read, const rocks::BlockHandle& handle,
                                        BlockEntries* entries) const {
  if (!is_open() || !IsOrdinary(read) || !LiesInside(*file_, handle)) return nullptr;
  const size_t bytes = handle.size() + kBlockTrailerBytes;
  char on_stack[kStackBytes];
  std::unique_ptr<char[]> on_heap;
  if (bytes > kStackBytes) on_heap = std::make_unique_for_overwrite<char[]>(bytes);
  rocks::BlockContents contents;
  if (!ReadContents(read, handle, on_heap == nullptr ? on_stack : on_heap.get(), &contents)) return nullptr;
  return Insert(handle, std::move(contents), entries);
}

}  // namespace cairn::store
