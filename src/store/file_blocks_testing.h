// SPDX-License-Identifier: GPL-2.0-only
// For tests: the data blocks of one file, and a block cache that counts what is looked up in it.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <rocksdb/advanced_cache.h>
#include <rocksdb/cache.h>
#include <rocksdb/db.h>
#include <rocksdb/file_system.h>
#include <rocksdb/table.h>
#include "file/random_access_file_reader.h"

#include "store/block_allocator.h"
#include "store/block_compression.h"
#include "store/cached_block.h"
#include "store/current_version.h"
#include "store/fault_environment.h"
#include "store/held_indexes.h"
#include "store/tickers.h"
#include "store/words_testing.h"

namespace cairn::store {

class CountedLooks final : public rocks::CacheWrapper {
 public:
  explicit CountedLooks(std::shared_ptr<rocks::Cache> cache) : CacheWrapper(std::move(cache)) {}
  const char* Name() const override { return "CountedLooks"; }
  Handle* Lookup(const rocks::Slice& key, const CacheItemHelper* helper, CreateContext* context, Priority priority,
                 rocks::Statistics* statistics) override {
    ++looks;
    return CacheWrapper::Lookup(key, helper, context, priority, statistics);
  }

  std::atomic<int> looks{0};
};

// A database of RocksDB's with one file of the last level, compressed as a store does it. Blocks are told by their number in the file.
class FileBlocksFixture {
 public:
  ~FileBlocksFixture() { Close(); }

  void Open() {
    rocks::HyperClockCacheOptions cache(size_t{64} << 20, 0);
    if (!counts_looks_) cache.memory_allocator = NewBlockAllocator(cache.capacity);
    cache_ = cache.MakeSharedCache();
    if (counts_looks_) cache_ = counted_ = std::make_shared<CountedLooks>(cache_);
    table_options_.block_cache = cache_;
    table_options_.cache_index_and_filter_blocks = true;
    statistics_ = std::make_shared<Tickers>();
    held_ = std::make_shared<HeldIndexes>(/*bytes_max=*/uint64_t{8} << 20);
    options_.env = env_.rocks_env();
    options_.create_if_missing = true;
    options_.disable_auto_compactions = true;
    options_.statistics = statistics_;
    options_.listeners = {held_};
    options_.compression_manager = NewBlockCompression();
    options_.bottommost_compression_opts.enabled = true;
    options_.table_factory.reset(rocks::NewBlockBasedTableFactory(table_options_));
    ASSERT_TRUE(rocks::DB::Open(options_, "/file", &db_).ok());
  }
  // One file, of these rows and all there were before.
  void WriteFile(int seed, size_t value_bytes) {
    for (int i = 0; i < keys_; ++i) ASSERT_TRUE(db_->Put(rocks::WriteOptions(), Key(i), Value(seed + i, value_bytes)).ok());
    rocks::CompactRangeOptions compact;
    compact.bottommost_level_compaction = rocks::BottommostLevelCompaction::kForce;
    ASSERT_TRUE(db_->Flush(rocks::FlushOptions()).ok());
    ASSERT_TRUE(db_->CompactRange(compact, nullptr, nullptr).ok());
  }
  // Reads its index.
  void OpenFile() {
    version_.emplace(db_.get(), db_->DefaultColumnFamily());
    const rocks::VersionStorageInfo& levels = *(*version_)->current->storage_info();
    const std::vector<rocks::FileMetaData*>& files = levels.LevelFiles(levels.num_levels() - 1);
    ASSERT_EQ(files.size(), 1u);
    file_ = files.front();
    index_ = held_->Of(*file_, rocks::ReadOptions());
    ASSERT_NE(index_, nullptr);
    const IndexSeparators& separators = index_->search().separators;
    handles_.assign(separators.point_count, rocks::BlockHandle());
    for (uint32_t i = 0; i < separators.point_count; ++i) ASSERT_NE(separators.ReadHandle(i, &handles_[i]), nullptr);
  }
  void Close() {
    version_.reset();
    if (held_ != nullptr) held_->ReleaseAll();
    db_.reset();
  }

  static std::string Key(int i) { return "key " + std::to_string(100'000 + i); }
  // Of words that are in many rows, but hardly twice in a block. Of each second thousand half of the row is one letter.
  static std::string Value(int i, size_t bytes) {
    std::minstd_rand random(static_cast<unsigned>(i) + 1);
    std::string row;
    while (row.size() < bytes) row += DrawWord(&random);
    if (i / 1000 % 2 != 0) row.replace(0, bytes / 2, bytes / 2, 'x');
    return row;
  }

  const rocks::BlockBasedTable& table() const { return index_->table(); }
  const rocks::BlockBasedTable::Rep& rep() const { return *table().get_rep(); }

  // Of all blocks that nobody holds.
  void EmptyCache() { cache_->EraseUnRefEntries(); }
  bool IsCached(size_t i) {
    rocks::Cache::Handle* const found = LookUpBlock(rep(), rocks::CacheEntryRole::kDataBlock, handles_[i].offset());
    if (found != nullptr) cache_->Release(found);
    return found != nullptr;
  }
  std::string TextOf(rocks::Cache::Handle* handle) const {
    const rocks::Block& block = BlockOf(rep(), handle);
    return std::string(block.data(), block.size());
  }
  // As the file tells.
  rocks::CompressionType CompressionOf(size_t i) const {
    char type = 0;
    rocks::Slice text;
    const uint64_t offset = handles_[i].offset() + handles_[i].size();
    EXPECT_TRUE(rep().file->file()->Read(offset, 1, rocks::IOOptions(), &text, &type, /*dbg=*/nullptr).ok());
    return static_cast<rocks::CompressionType>(text[0]);
  }
  uint64_t Ticked(rocks::Tickers ticker) const { return statistics_->getTickerCount(ticker); }

  int keys_ = 8000;
  bool counts_looks_ = false;  // else the cache is as a store has it
  FaultEnvironment env_;
  std::shared_ptr<rocks::Cache> cache_;
  std::shared_ptr<CountedLooks> counted_;
  std::shared_ptr<Tickers> statistics_;
  std::shared_ptr<HeldIndexes> held_;
  rocks::BlockBasedTableOptions table_options_;
  rocks::Options options_;
  std::unique_ptr<rocks::DB> db_;
  std::optional<CurrentVersion> version_;
  const rocks::FileMetaData* file_ = nullptr;
  const HeldIndex* index_ = nullptr;
  std::vector<rocks::BlockHandle> handles_;
};

}  // namespace cairn::store
