// SPDX-License-Identifier: GPL-2.0-only
// Blocks that are read past RocksDB's ways are those that it reads, in the cache as it has them there; what is wrong is left to it.
#include "store/block_read.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <latch>
#include <thread>

#include "store/file_blocks_testing.h"

namespace cairn::store {
namespace {

struct Form {
  const char* name;
  rocks::CompressionType compression;
  bool has_dictionary;
  int keys;
  size_t value_bytes;
};

constexpr Form kForms[] = {
    {"Lz4", rocks::kLZ4Compression, false, 8000, 120},
    {"Zstandard", rocks::kZSTD, false, 8000, 120},
    {"ZstandardWithDictionary", rocks::kZSTD, true, 8000, 120},
    {"LargeLz4", rocks::kLZ4Compression, false, 60, 60'000},
    {"LargeZstandard", rocks::kZSTD, false, 60, 60'000},
    {"SmallZstandardWithDictionary", rocks::kZSTD, true, 20'000, 20},
};

// What is kept of RocksDB's statistics.
constexpr rocks::Tickers kKept[] = {
    rocks::BLOCK_CACHE_HIT,
    rocks::BLOCK_CACHE_DATA_HIT,
    rocks::BLOCK_CACHE_MISS,
    rocks::BLOCK_CACHE_DATA_MISS,
    rocks::BLOCK_CACHE_ADD,
    rocks::BLOCK_CACHE_DATA_ADD,
    rocks::BLOCK_CACHE_BYTES_WRITE,
    rocks::BLOCK_CACHE_DATA_BYTES_INSERT,
    rocks::BLOCK_CACHE_ADD_REDUNDANT,
    rocks::BLOCK_CACHE_ADD_FAILURES,
    rocks::LAST_LEVEL_READ_COUNT,
    rocks::LAST_LEVEL_READ_BYTES,
    rocks::NON_LAST_LEVEL_READ_COUNT,
    rocks::NON_LAST_LEVEL_READ_BYTES,
};
using Ticks = std::array<uint64_t, std::size(kKept)>;

class BlockReadTest : public ::testing::TestWithParam<Form>, public FileBlocksFixture {
 protected:
  void SetUp() override {
    keys_ = GetParam().keys;
    options_.bottommost_compression = GetParam().compression;
    options_.bottommost_compression_opts.max_dict_buffer_bytes = GetParam().has_dictionary ? 4 << 20 : 0;
    table_options_.block_size = 8192;
    ASSERT_NO_FATAL_FAILURE(Open());
    ASSERT_NO_FATAL_FAILURE(WriteFile(/*seed=*/0, GetParam().value_bytes));
    ASSERT_NO_FATAL_FAILURE(OpenFile());
    ASSERT_GT(handles_.size(), 20u);
    ASSERT_EQ(rep().uncompression_dict_reader != nullptr, GetParam().has_dictionary);
    ASSERT_TRUE(index_->blocks().is_open());
    ASSERT_EQ(index_->blocks().held_bytes() != 0, GetParam().has_dictionary);
  }

  Ticks Count() const {
    Ticks ticks;
    for (size_t i = 0; i < ticks.size(); ++i) ticks[i] = Ticked(kKept[i]);
    return ticks;
  }
  Ticks CountSince(const Ticks& before) const {
    Ticks ticks = Count();
    for (size_t i = 0; i < ticks.size(); ++i) ticks[i] -= before[i];
    return ticks;
  }

  // What one way made of a block.
  struct Made {
    std::string text;
    size_t charge = 0;
    const rocks::Cache::CacheItemHelper* kind = nullptr;
    size_t entry_bytes = 0;
    uint32_t points = 0;
    Ticks ticks{};
  };
  void Make(size_t i, bool by_reader, Made* made) {
    EmptyCache();
    BlockEntries entries;
    const Ticks before = Count();
    const rocks::ReadOptions read;
    rocks::Cache::Handle* const handle =
        by_reader ? index_->blocks().Read(read, handles_[i], &entries) : ReadIntoCache(table(), read, handles_[i], &entries);
    ASSERT_NE(handle, nullptr);
    made->ticks = CountSince(before);
    made->text = TextOf(handle);
    made->charge = cache_->GetCharge(handle);
    made->kind = cache_->GetCacheItemHelper(handle);
    made->entry_bytes = static_cast<size_t>(entries.end - entries.begin);
    made->points = entries.point_count;
    cache_->Release(handle);
    EXPECT_TRUE(IsCached(i));
  }
  // By RocksDB alone, and nothing is told of it.
  void ExpectLeft(const rocks::ReadOptions& read, const rocks::BlockHandle& handle) {
    BlockEntries entries;
    const Ticks before = Count();
    EXPECT_EQ(index_->blocks().Read(read, handle, &entries), nullptr);
    EXPECT_EQ(Count(), before);
  }
};

TEST_P(BlockReadTest, BothWaysMakeTheSame) {
  size_t compressed = 0;
  for (size_t i = 0; i < handles_.size(); ++i) {
    SCOPED_TRACE(i);
    if (CompressionOf(i) != rocks::kNoCompression) ++compressed;
    Made rocksdb, ours;
    ASSERT_NO_FATAL_FAILURE(Make(i, /*by_reader=*/false, &rocksdb));
    ASSERT_NO_FATAL_FAILURE(Make(i, /*by_reader=*/true, &ours));
    ASSERT_EQ(ours.text, rocksdb.text);
    EXPECT_EQ(ours.charge, rocksdb.charge);
    EXPECT_EQ(ours.kind, rocksdb.kind);
    EXPECT_EQ(ours.entry_bytes, rocksdb.entry_bytes);
    EXPECT_EQ(ours.points, rocksdb.points);
    // RocksDB looks for the dictionary, and finds it as it is held.
    if (GetParam().has_dictionary) --rocksdb.ticks[0];
    EXPECT_EQ(ours.ticks, rocksdb.ticks);
  }
  EXPECT_GT(compressed, handles_.size() / 4);
}

TEST_P(BlockReadTest, WhatIsOutOfTheOrdinaryIsLeft) {
  EmptyCache();
  const rocks::BlockHandle& last = handles_.back();
  const rocks::ReadOptions usual;
  // Short, for want of a trailer; and outside.
  ExpectLeft(usual, rocks::BlockHandle(last.offset(), rep().file_size - last.offset()));
  ExpectLeft(usual, rocks::BlockHandle(rep().file_size + 1, 100));
  ExpectLeft(usual, rocks::BlockHandle(last.offset(), UINT64_MAX));
  // Another place than that of a block.
  ExpectLeft(usual, rocks::BlockHandle(last.offset() - 1, last.size()));
  rocks::ReadOptions read;
  read.fill_cache = false;
  ExpectLeft(read, last);
  read = usual;
  read.read_tier = rocks::kBlockCacheTier;
  ExpectLeft(read, last);
  read = usual;
  read.deadline = std::chrono::microseconds(1);
  ExpectLeft(read, last);
  read = usual;
  read.io_timeout = std::chrono::microseconds(1);
  ExpectLeft(read, last);
  read = usual;
  read.rate_limiter_priority = rocks::Env::IO_USER;
  ExpectLeft(read, last);
  EXPECT_FALSE(IsCached(handles_.size() - 1));
}

// Blocks that are compressed, and in some files others.
TEST_P(BlockReadTest, AFlippedBitIsMetByRocksDb) {
  for (const size_t i : {size_t{1}, handles_.size() / 2, handles_.size() - 2}) {
    SCOPED_TRACE(i);
    const uint64_t damaged_at = handles_[i].offset() + handles_[i].size() / 2;
    Close();
    ASSERT_EQ(env_.Files("/file", ".sst").size(), 1u);
    ASSERT_TRUE(env_.FlipBit("/file", ".sst", damaged_at));
    ASSERT_NO_FATAL_FAILURE(Open());
    ASSERT_NO_FATAL_FAILURE(OpenFile());
    const bool is_compressed = CompressionOf(i) != rocks::kNoCompression;
    ExpectLeft(rocks::ReadOptions(), handles_[i]);
    EXPECT_FALSE(IsCached(i));
    // Who asks for no checksums gets what is there, if it can be had.
    rocks::ReadOptions unchecked;
    unchecked.verify_checksums = false;
    BlockEntries entries;
    rocks::Cache::Handle* const handle = index_->blocks().Read(unchecked, handles_[i], &entries);
    EXPECT_TRUE(is_compressed || handle != nullptr);
    if (handle != nullptr) cache_->Release(handle);
    EmptyCache();
    EXPECT_EQ(ReadIntoCache(table(), rocks::ReadOptions(), handles_[i], &entries), nullptr);
    version_.reset();  // of which a thread has one at once, and Get() takes its own
    int damaged = 0;
    for (int key = 0; key < keys_; ++key) {
      std::string value;
      const rocks::Status status = db_->Get(rocks::ReadOptions(), Key(key), &value);
      if (status.ok()) continue;
      ++damaged;
      EXPECT_TRUE(status.IsCorruption());
      EXPECT_NE(status.ToString().find("block checksum mismatch"), std::string::npos) << status.ToString();
    }
    EXPECT_GT(damaged, 0);
    Close();
    ASSERT_TRUE(env_.FlipBit("/file", ".sst", damaged_at));
    ASSERT_NO_FATAL_FAILURE(Open());
    ASSERT_NO_FATAL_FAILURE(OpenFile());
  }
}

// Who has the version reads on; then the dictionary is given back with the index.
TEST_P(BlockReadTest, AFileIsReplacedWhileItIsHeld) {
  Made before, after;
  ASSERT_NO_FATAL_FAILURE(Make(3, /*by_reader=*/true, &before));
  ASSERT_NO_FATAL_FAILURE(WriteFile(/*seed=*/5, GetParam().value_bytes));
  ASSERT_NO_FATAL_FAILURE(Make(3, /*by_reader=*/true, &after));
  EXPECT_EQ(after.text, before.text);
  EXPECT_EQ(held_->held_count(), 1u);
  const size_t pinned = cache_->GetPinnedUsage(), dictionary = index_->blocks().held_bytes();
  index_ = nullptr;
  version_.reset();
  // Files that nobody has any more are deleted after the next flush.
  ASSERT_TRUE(db_->Put(rocks::WriteOptions(), Key(keys_), "new").ok());
  ASSERT_TRUE(db_->Flush(rocks::FlushOptions()).ok());
  while (held_->held_count() != 0) std::this_thread::yield();
  EXPECT_LT(cache_->GetPinnedUsage() + dictionary, pinned);
}

TEST_P(BlockReadTest, SomeMissTheSameBlock) {
  constexpr int kThreads = 3;
  Made alone;
  ASSERT_NO_FATAL_FAILURE(Make(2, /*by_reader=*/true, &alone));
  for (int round = 0; round < 50; ++round) {
    EmptyCache();
    std::latch missed(kThreads);
    std::array<std::string, kThreads> texts;
    const uint64_t misses = Ticked(rocks::BLOCK_CACHE_DATA_MISS), added = Ticked(rocks::BLOCK_CACHE_DATA_ADD);
    std::vector<std::thread> threads;
    for (int thread = 0; thread < kThreads; ++thread) {
      threads.emplace_back([&, thread] {
        BlockEntries entries;
        BlockHits hits;
        rocks::Cache::Handle* handle = LookUpDataBlock(rep(), handles_[2].offset(), &entries, &hits);
        missed.arrive_and_wait();
        if (handle == nullptr) handle = index_->blocks().Read(rocks::ReadOptions(), handles_[2], &entries);
        if (handle == nullptr) return;
        texts[static_cast<size_t>(thread)] = TextOf(handle);
        cache_->Release(handle);
      });
    }
    for (std::thread& thread : threads) thread.join();
    for (const std::string& text : texts) ASSERT_EQ(text, alone.text);
    EXPECT_EQ(Ticked(rocks::BLOCK_CACHE_DATA_MISS), misses + kThreads);
    EXPECT_EQ(Ticked(rocks::BLOCK_CACHE_DATA_ADD), added + kThreads);
    EXPECT_TRUE(IsCached(2));
  }
}

INSTANTIATE_TEST_SUITE_P(Forms, BlockReadTest, ::testing::ValuesIn(kForms),
                         [](const ::testing::TestParamInfo<Form>& form) { return std::string(form.param.name); });

// Of a file without compression RocksDB reads blocks to where they stay.
class UncompressedBlockReadTest : public ::testing::Test, public FileBlocksFixture {};

TEST_F(UncompressedBlockReadTest, AreRocksDbs) {
  options_.bottommost_compression = rocks::kNoCompression;
  ASSERT_NO_FATAL_FAILURE(Open());
  ASSERT_NO_FATAL_FAILURE(WriteFile(/*seed=*/0, /*value_bytes=*/100));
  ASSERT_NO_FATAL_FAILURE(OpenFile());
  EXPECT_FALSE(index_->blocks().is_open());
  EXPECT_EQ(index_->blocks().held_bytes(), 0u);
  BlockEntries entries;
  EXPECT_EQ(index_->blocks().Read(rocks::ReadOptions(), handles_[0], &entries), nullptr);
}

// When its index is held.
TEST(BlockReadDictionaryTest, IsLookedForOnce) {
  FileBlocksFixture file;
  file.options_.bottommost_compression = rocks::kZSTD;
  file.options_.bottommost_compression_opts.max_dict_buffer_bytes = 4 << 20;
  ASSERT_NO_FATAL_FAILURE(file.Open());
  ASSERT_NO_FATAL_FAILURE(file.WriteFile(/*seed=*/0, /*value_bytes=*/120));
  ASSERT_NO_FATAL_FAILURE(file.OpenFile());
  const auto looks = [&] {
    return file.Ticked(rocks::BLOCK_CACHE_COMPRESSION_DICT_HIT) + file.Ticked(rocks::BLOCK_CACHE_COMPRESSION_DICT_MISS);
  };
  const uint64_t before = looks();
  EXPECT_GT(before, 0u);
  file.EmptyCache();
  for (const rocks::BlockHandle& handle : file.handles_) {
    BlockEntries entries;
    rocks::Cache::Handle* const found = file.index_->blocks().Read(rocks::ReadOptions(), handle, &entries);
    ASSERT_NE(found, nullptr);
    file.cache_->Release(found);
  }
  EXPECT_EQ(looks(), before);
}

}  // namespace
}  // namespace cairn::store
