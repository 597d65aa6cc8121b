// SPDX-License-Identifier: GPL-2.0-only
// A dictionary is made ready once; what is damaged is told; blocks of others are read as ever.
#include "store/zstd_decompressor.h"

#include <random>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <rocksdb/advanced_cache.h>
#include <rocksdb/cache.h>

#include "store/block_compression.h"
#include "store/block_dictionary.h"
#include "store/words_testing.h"

namespace cairn::store {
namespace {

constexpr size_t kBlockBytes = 8 << 10;

class ZstdDecompressorTest : public ::testing::Test {
 public:
  ZstdDecompressorTest() {
    std::string samples;
    std::vector<size_t> sizes;
    while (samples.size() < kDictionarySampleBytesMax) {
      const std::string rows = Rows();
      samples += rows;
      sizes.push_back(rows.size());
    }
    const auto made = MakeBlockDictionary(samples, sizes, 3, nullptr);
    if (made != nullptr) dictionary_ = made->bytes;
  }

  std::string Rows() {
    std::string block;
    FillWithWords(kBlockBytes, &random_, &block);
    return block;
  }

  // By RocksDB's own compressor, with the dictionary.
  std::string Compress(const std::string& block, rocks::CompressionType type) {
    const auto plain = rocks::GetBuiltinV2CompressionManager()->GetCompressor({}, type);
    const auto with = plain->MaybeCloneSpecialized(rocks::CacheEntryRole::kDataBlock,
                                                   rocks::Compressor::DictPreDefined{std::string(dictionary_)});
    std::string output(block.size(), '\0');
    size_t bytes = output.size();
    rocks::CompressionType made;
    EXPECT_TRUE(with->CompressBlock(block, output.data(), &bytes, &made, nullptr).ok());
    EXPECT_EQ(made, type);
    output.resize(bytes);
    return output;
  }

  std::unique_ptr<rocks::Decompressor> Reader(rocks::Slice dictionary) {
    std::unique_ptr<rocks::Decompressor> reader;
    EXPECT_TRUE(ours_->GetDecompressor()->MaybeCloneForDict(dictionary, &reader).ok());
    return reader;
  }

  static rocks::Status Read(rocks::Decompressor* reader, const std::string& compressed, rocks::CompressionType type,
                            std::string* block, int64_t more_bytes = 0) {
    rocks::Decompressor::Args args;
    args.compression_type = type;
    args.compressed_data = compressed;
    const rocks::Status status = reader->ExtractUncompressedSize(args);
    if (!status.ok()) return status;
    args.uncompressed_size += static_cast<uint64_t>(more_bytes);
    block->assign(args.uncompressed_size, '\0');
    return reader->DecompressBlock(args, block->data());
  }

  const std::shared_ptr<rocks::CompressionManager> ours_ = NewBlockCompression();
  std::mt19937 random_{1};
  std::string dictionary_;
};

// The tables that Zstandard makes of one.
TEST_F(ZstdDecompressorTest, ADictionaryIsMadeReadyAndCounted) {
  ASSERT_FALSE(dictionary_.empty());
  std::unique_ptr<rocks::Decompressor> rocksdbs;
  ASSERT_TRUE(rocks::GetBuiltinV2CompressionManager()->GetDecompressor()->MaybeCloneForDict(dictionary_, &rocksdbs).ok());
  EXPECT_GT(Reader(dictionary_)->ApproximateOwnedMemoryUsage(), rocksdbs->ApproximateOwnedMemoryUsage() + (20 << 10));
}

// The cache has those of a file each as entries; what they share it is charged for by itself.
TEST_F(ZstdDecompressorTest, EqualDictionariesAreReadyAndChargedOnce) {
  const auto cache = rocks::HyperClockCacheOptions(32 << 20, 0).MakeSharedCache();
  const auto manager = NewBlockCompression(cache);
  const auto reader = [&] {
    std::unique_ptr<rocks::Decompressor> made;
    EXPECT_TRUE(manager->GetDecompressor()->MaybeCloneForDict(dictionary_, &made).ok());
    return made;
  };
  const size_t usage = cache->GetUsage();
  auto first = reader();
  const size_t ready_bytes = cache->GetUsage() - usage;
  EXPECT_GT(ready_bytes, dictionary_.size() + (20 << 10));
  EXPECT_LT(first->ApproximateOwnedMemoryUsage(), 1000U);
  const auto second = reader();
  EXPECT_LT(second->ApproximateOwnedMemoryUsage(), 1000U);
  EXPECT_EQ(cache->GetUsage(), usage + ready_bytes);
  first.reset();
  EXPECT_EQ(cache->GetUsage(), usage + ready_bytes);
  const std::string block = Rows();
  std::string read;
  EXPECT_TRUE(Read(second.get(), Compress(block, rocks::kZSTD), rocks::kZSTD, &read).ok());
  EXPECT_EQ(read, block);
}

TEST_F(ZstdDecompressorTest, EachWayToAReaderLeadsToIt) {
  const rocks::CompressionType both[] = {rocks::kLZ4Compression, rocks::kZSTD};
  const auto any = ours_->GetDecompressor();
  EXPECT_EQ(ours_->GetDecompressorOptimizeFor(rocks::kZSTD), any);
  EXPECT_EQ(ours_->GetDecompressorForTypes(both, both + 2), any);
  EXPECT_NE(ours_->GetDecompressorForTypes(both, both + 1), any);
  EXPECT_NE(ours_->GetDecompressorForTypes(both, both + 1), nullptr);
  EXPECT_EQ(ours_->GetDecompressorForTypes(both, both), nullptr);
}

TEST_F(ZstdDecompressorTest, BlocksOfAllKindsComeBack) {
  const auto reader = Reader(dictionary_);
  EXPECT_EQ(reader->GetSerializedDict(), rocks::Slice(dictionary_));
  for (const rocks::CompressionType type : {rocks::kZSTD, rocks::kLZ4Compression, rocks::kZSTD}) {
    const std::string block = Rows();
    std::string read;
    EXPECT_TRUE(Read(reader.get(), Compress(block, type), type, &read).ok());
    EXPECT_EQ(read, block);
  }
}

TEST_F(ZstdDecompressorTest, ManyThreadsReadWithOne) {
  const auto reader = Reader(dictionary_);
  std::vector<std::string> blocks, compressed;
  for (int i = 0; i < 8; ++i) {
    blocks.push_back(Rows());
    compressed.push_back(Compress(blocks.back(), rocks::kZSTD));
  }
  std::vector<std::thread> threads;
  for (size_t thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&, thread] {
      std::string read;
      for (size_t i = thread; i < 400; ++i) {
        EXPECT_TRUE(Read(reader.get(), compressed[i % 8], rocks::kZSTD, &read).ok());
        EXPECT_EQ(read, blocks[i % 8]);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_F(ZstdDecompressorTest, DamagedBlocksAreTold) {
  const auto reader = Reader(dictionary_);
  const std::string compressed = Compress(Rows(), rocks::kZSTD);
  std::string read;
  EXPECT_TRUE(Read(reader.get(), compressed, rocks::kZSTD, &read, 1).IsCorruption());
  EXPECT_TRUE(Read(reader.get(), compressed, rocks::kZSTD, &read, -1).IsCorruption());
  EXPECT_TRUE(Read(reader.get(), compressed.substr(0, compressed.size() - 1), rocks::kZSTD, &read).IsCorruption());
  for (size_t at = 0; at < compressed.size(); at += 13) {
    std::string damaged = compressed;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x21);
    static_cast<void>(Read(reader.get(), damaged, rocks::kZSTD, &read));  // whatever comes of it, within its bounds
  }
}

// Zstandard makes nothing ready of it.
TEST_F(ZstdDecompressorTest, ADamagedDictionaryIsToldOfEachBlock) {
  std::string damaged = dictionary_;
  damaged[8] = '\xff';
  damaged[9] = '\xff';
  const auto reader = Reader(damaged);
  ASSERT_NE(reader, nullptr);
  std::string read;
  EXPECT_TRUE(Read(reader.get(), Compress(Rows(), rocks::kZSTD), rocks::kZSTD, &read).IsCorruption());
}

}  // namespace
}  // namespace cairn::store
