// SPDX-License-Identifier: GPL-2.0-only
// What is asked of the block cache, and told to statistics, for a block that it does not have.
#include "store/cached_block.h"

#include "store/file_blocks_testing.h"

namespace cairn::store {
namespace {

class CachedBlockTest : public ::testing::Test, public FileBlocksFixture {
 protected:
  void SetUp() override {
    counts_looks_ = true;
    options_.bottommost_compression = rocks::kNoCompression;
    ASSERT_NO_FATAL_FAILURE(Open());
    ASSERT_NO_FATAL_FAILURE(WriteFile(/*seed=*/0, /*value_bytes=*/100));
    ASSERT_NO_FATAL_FAILURE(OpenFile());
    ASSERT_GT(handles_.size(), 50u);
  }
};

TEST_F(CachedBlockTest, AMissIsOneLookAndOneTick) {
  BlockEntries entries;
  BlockHits hits;
  EmptyCache();
  const rocks::ReadOptions read;
  for (size_t i = 0; i < 10; ++i) {
    const int looks = counted_->looks;
    const uint64_t misses = Ticked(rocks::BLOCK_CACHE_MISS), data = Ticked(rocks::BLOCK_CACHE_DATA_MISS);
    const uint64_t added = Ticked(rocks::BLOCK_CACHE_DATA_ADD);
    ASSERT_EQ(LookUpDataBlock(rep(), handles_[i].offset(), &entries, &hits), nullptr);
    rocks::Cache::Handle* held = nullptr;
    if (i % 2 == 0) {
      held = ReadIntoCache(table(), read, handles_[i], &entries);
      ASSERT_NE(held, nullptr);
    } else {
      rocks::DataBlockIter block;
      rocks::BlockCacheLookupContext lookup{rocks::TableReaderCaller::kUserGet};
      ASSERT_TRUE(ReadDataBlock(table(), read, handles_[i], &lookup, &block, &entries));
    }
    EXPECT_EQ(counted_->looks, looks + 1);
    EXPECT_EQ(Ticked(rocks::BLOCK_CACHE_MISS), misses + 1);
    EXPECT_EQ(Ticked(rocks::BLOCK_CACHE_DATA_MISS), data + 1);
    EXPECT_EQ(Ticked(rocks::BLOCK_CACHE_DATA_ADD), added + 1);
    if (held != nullptr) cache_->Release(held);
    EXPECT_TRUE(IsCached(i));
  }
}

// Who leaves the cache as it is has missed there, too.
TEST_F(CachedBlockTest, AReadPastTheCacheIsAMiss) {
  BlockEntries entries;
  EmptyCache();
  rocks::ReadOptions read;
  read.fill_cache = false;
  const int looks = counted_->looks;
  const uint64_t misses = Ticked(rocks::BLOCK_CACHE_DATA_MISS);
  rocks::DataBlockIter block;
  rocks::BlockCacheLookupContext lookup{rocks::TableReaderCaller::kUserGet};
  ASSERT_TRUE(ReadDataBlock(table(), read, handles_[3], &lookup, &block, &entries));
  EXPECT_EQ(counted_->looks, looks);
  EXPECT_EQ(Ticked(rocks::BLOCK_CACHE_DATA_MISS), misses + 1);
  EXPECT_FALSE(IsCached(3));
}

}  // namespace
}  // namespace cairn::store
