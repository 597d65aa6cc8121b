// SPDX-License-Identifier: GPL-2.0-only
// Compressed blocks come back as they were, and none is made larger than pays.
#include "store/block_compression.h"

#include <random>
#include <string>
#include <variant>

#include <gtest/gtest.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/table.h>

#include "store/compression_effort.h"
#include "store/zstd_blocks.h"

namespace cairn::store {
namespace {

constexpr size_t kBlockBytes = 8 << 10;

rocks::CompressionOptions AtLevel(int level) {
  rocks::CompressionOptions options;
  options.level = level;
  return options;
}

class BlockCompressionTest : public ::testing::Test {
 public:
  using Area = rocks::Compressor::ManagedWorkingArea;

  // What a compressor makes of a block; without compression the block itself.
  static std::string Compress(rocks::Compressor* compressor, const std::string& block, Area* area,
                              rocks::CompressionType* type, size_t capacity = 0) {
    std::string output(capacity != 0 ? capacity : block.size() * 7 / 8, '\0');
    size_t bytes = output.size();
    EXPECT_TRUE(compressor->CompressBlock(block, output.data(), &bytes, type, area).ok());
    if (*type == rocks::kNoCompression) return block;
    output.resize(bytes);
    return output;
  }

  static std::string Decompress(rocks::CompressionManager& manager, const std::string& compressed,
                                rocks::CompressionType type = rocks::kZSTD) {
    rocks::Decompressor::Args args;
    args.compression_type = type;
    args.compressed_data = compressed;
    const auto decompressor = manager.GetDecompressor();
    if (!decompressor->ExtractUncompressedSize(args).ok()) return "no size";
    std::string block(args.uncompressed_size, '\0');
    return decompressor->DecompressBlock(args, block.data()).ok() ? block : "damaged";
  }

  // The bytes that some blocks take, each of which must come back, from RocksDB's own decompressor too.
  size_t Take(rocks::Compressor* compressor, std::string (BlockCompressionTest::*make)(), int blocks) {
    Area area = compressor->ObtainWorkingArea();
    size_t bytes = 0;
    for (int i = 0; i < blocks; ++i) {
      const std::string block = (this->*make)();
      rocks::CompressionType type;
      const std::string compressed = Compress(compressor, block, &area, &type);
      bytes += compressed.size();
      if (type == rocks::kNoCompression) continue;
      EXPECT_EQ(Decompress(*ours_, compressed), block);
      EXPECT_EQ(Decompress(*rocks::GetBuiltinV2CompressionManager(), compressed), block);
    }
    return bytes;
  }

  // For a file.
  std::unique_ptr<rocks::Compressor> ForFile(const rocks::CompressionOptions& options, rocks::CompressionType type,
                                             bool is_bottommost) {
    const rocks::BlockBasedTableOptions table;
    rocks::FilterBuildingContext context(table);
    context.is_bottommost = is_bottommost;
    return ours_->GetCompressorForSST(context, options, type);
  }
  std::unique_ptr<rocks::Compressor> Lz4(const rocks::CompressionOptions& options, bool is_bottommost) {
    return ForFile(options, rocks::kLZ4Compression, is_bottommost);
  }
  bool Learns(const rocks::CompressionOptions& options, bool is_bottommost) {
    const auto guidance =
        ForFile(options, rocks::kZSTD, is_bottommost)->GetDictGuidance(rocks::CacheEntryRole::kDataBlock);
    return !std::holds_alternative<rocks::Compressor::DictDisabled>(guidance);
  }

  // Whether LZ4 was tried: RocksDB's sign of a block that it did not even look at is no bytes.
  bool IsTriedByLz4(const std::string& block, Area* area, rocks::CompressionType* type) {
    std::string output(block.size() * 7 / 8, '\0');
    size_t bytes = output.size();
    EXPECT_TRUE(lz4_->CompressBlock(block, output.data(), &bytes, type, area).ok());
    return bytes != 0;
  }

  std::string Digits() {
    std::string block;
    while (block.size() < kBlockBytes) block += std::to_string(random_()) + '-';
    return block;
  }
  // LZ4 finds repetitions in it, and saves but a hundredth.
  std::string Hexadecimal() {
    std::string block;
    while (block.size() < kBlockBytes) block += "0123456789abcdef"[random_() % 16];
    return block;
  }
  // Of some hundred words, so that most of it repeats.
  std::string Text() {
    std::string block;
    while (block.size() < kBlockBytes) {
      std::minstd_rand word(1 + random_() % 300);
      for (int i = 0; i < 4; ++i) block += static_cast<char>('a' + word() % 26);
      block += ' ';
    }
    return block;
  }
  std::string Noise() {
    std::string block;
    while (block.size() < kBlockBytes) block += static_cast<char>(random_());
    return block;
  }

  const std::shared_ptr<rocks::CompressionManager> ours_ = NewBlockCompression();
  const std::unique_ptr<rocks::Compressor> builtin_ =
      rocks::GetBuiltinV2CompressionManager()->GetCompressor(AtLevel(kZstdLevel), rocks::kZSTD);
  const std::unique_ptr<rocks::Compressor> compressor_ = ours_->GetCompressor(AtLevel(kZstdLevel), rocks::kZSTD);
  const std::unique_ptr<rocks::Compressor> builtin_lz4_ =
      rocks::GetBuiltinV2CompressionManager()->GetCompressor({}, rocks::kLZ4Compression);
  const std::unique_ptr<rocks::Compressor> lz4_ = Lz4({}, /*is_bottommost=*/false);
  std::mt19937 random_{1};
};

TEST_F(BlockCompressionTest, NoKindOfDataTakesMoreThanByTheFullEffortAlone) {
  for (const auto make : {&BlockCompressionTest::Digits, &BlockCompressionTest::Text, &BlockCompressionTest::Noise}) {
    random_.seed(2);
    const size_t full = Take(builtin_.get(), make, 300);
    random_.seed(2);
    EXPECT_LE(Take(compressor_.get(), make, 300), full + full / CompressionEffort::kTolerance);
  }
}

// They are made by the light effort, or they would be RocksDB's to the byte.
TEST_F(BlockCompressionTest, DigitsTakeLessByTheLightEffort) {
  random_.seed(3);
  const size_t full = Take(builtin_.get(), &BlockCompressionTest::Digits, 50);
  random_.seed(3);
  EXPECT_LT(Take(compressor_.get(), &BlockCompressionTest::Digits, 50), full - full / 50);
}

TEST_F(BlockCompressionTest, TextAfterDigitsIsCompressedInFullAgain) {
  Area area = compressor_->ObtainWorkingArea();
  Area builtin_area = builtin_->ObtainWorkingArea();
  rocks::CompressionType type;
  for (int i = 0; i < 1000; ++i) (void)Compress(compressor_.get(), Digits(), &area, &type);
  for (int i = 0; i < 1000; ++i) (void)Compress(compressor_.get(), Text(), &area, &type);
  const std::string block = Text();
  EXPECT_EQ(Compress(compressor_.get(), block, &area, &type), Compress(builtin_.get(), block, &builtin_area, &type));
}

TEST_F(BlockCompressionTest, Lz4IsHardlyTriedWhereItSavesNothing) {
  Area area = lz4_->ObtainWorkingArea();
  int tried = 0;
  for (int i = 0; i < 2000; ++i) {
    rocks::CompressionType type;
    tried += IsTriedByLz4(Hexadecimal(), &area, &type);
    EXPECT_EQ(type, rocks::kNoCompression);
  }
  EXPECT_GT(tried, 2000 / 20);
  EXPECT_LT(tried, 2000 / 16);
}

TEST_F(BlockCompressionTest, Lz4IsHardlyTriedSoonAfterText) {
  Area area = lz4_->ObtainWorkingArea();
  rocks::CompressionType type;
  for (int i = 0; i < 2000; ++i) EXPECT_TRUE(IsTriedByLz4(Text(), &area, &type));
  int tried = 0;
  for (int i = 0; i < 2000; ++i) tried += IsTriedByLz4(Hexadecimal(), &area, &type);
  EXPECT_LT(tried, 800);
}

TEST_F(BlockCompressionTest, Lz4CompressesAllTextAsRocksDbDoes) {
  Area area = lz4_->ObtainWorkingArea();
  for (int i = 0; i < 300; ++i) {
    const std::string block = Text();
    rocks::CompressionType type;
    const std::string compressed = Compress(lz4_.get(), block, &area, &type);
    ASSERT_EQ(type, rocks::kLZ4Compression);
    EXPECT_EQ(compressed, Compress(builtin_lz4_.get(), block, nullptr, &type));
    EXPECT_EQ(Decompress(*rocks::GetBuiltinV2CompressionManager(), compressed, type), block);
  }
}

TEST_F(BlockCompressionTest, Lz4CompressesTextSoonAfterwards) {
  for (const size_t times : {1, 500}) {  // a row of 4 MiB weighs no more than others
    Area area = lz4_->ObtainWorkingArea();
    rocks::CompressionType type;
    for (int i = 0; i < 1000; ++i) (void)IsTriedByLz4(Hexadecimal(), &area, &type);
    std::string large;
    for (size_t i = 0; i < times; ++i) large += Hexadecimal();
    while (!IsTriedByLz4(large, &area, &type)) continue;
    int waited = 0;
    for (; !IsTriedByLz4(Text(), &area, &type); ++waited) EXPECT_EQ(type, rocks::kNoCompression);
    EXPECT_EQ(waited, 16);
    for (int i = 0; i < 100; ++i) EXPECT_TRUE(IsTriedByLz4(Text(), &area, &type));
  }
}

TEST_F(BlockCompressionTest, Lz4CompressesTextAmongOthers) {
  Area area = lz4_->ObtainWorkingArea();
  int texts = 0, compressed = 0;
  for (int i = 0; i < 2000; ++i) {
    const bool is_text = random_() % 5 == 0;
    rocks::CompressionType type;
    (void)IsTriedByLz4(is_text ? Text() : Hexadecimal(), &area, &type);
    texts += is_text;
    compressed += type == rocks::kLZ4Compression;
  }
  EXPECT_GT(compressed, texts * 3 / 4);
}

TEST_F(BlockCompressionTest, Lz4WithoutAWorkingAreaOfItsOwnTriesEachBlock) {
  Area foreign = compressor_->ObtainWorkingArea();
  for (Area* area : {static_cast<Area*>(nullptr), &foreign}) {
    rocks::CompressionType type;
    for (int i = 0; i < 20; ++i) EXPECT_TRUE(IsTriedByLz4(Hexadecimal(), area, &type));
  }
}

TEST_F(BlockCompressionTest, AnySizeComesBackWithAndWithoutAWorkingArea) {
  Area area = compressor_->ObtainWorkingArea();
  for (size_t size = 1; size <= size_t{2} << 20; size = size * 3 + 1) {
    const std::string block = std::string(size, 'x') + std::to_string(size);
    for (Area* with : {static_cast<Area*>(nullptr), &area}) {
      rocks::CompressionType type;
      const std::string compressed = Compress(compressor_.get(), block, with, &type, block.size() + 100);
      ASSERT_EQ(type, rocks::kZSTD) << size;
      EXPECT_EQ(Decompress(*ours_, compressed), block) << size;
    }
  }
}

TEST_F(BlockCompressionTest, WhatDoesNotFitIsLeftAsItIs) {
  Area area = compressor_->ObtainWorkingArea();
  for (const size_t capacity : {1, 5, 6, 100}) {
    rocks::CompressionType type;
    const std::string block = Digits();
    EXPECT_EQ(Compress(compressor_.get(), block, &area, &type, capacity), block) << capacity;
    EXPECT_EQ(type, rocks::kNoCompression);
  }
}

TEST_F(BlockCompressionTest, OtherSettingsAreRocksDbs) {
  const auto name = [&](const rocks::CompressionOptions& options, rocks::CompressionType type) {
    return std::string(ours_->GetCompressor(options, type)->Name());
  };
  EXPECT_EQ(name(AtLevel(kZstdLevel), rocks::kZSTD), compressor_->Name());
  EXPECT_EQ(name({}, rocks::kZSTD), compressor_->Name());
  EXPECT_EQ(name(AtLevel(6), rocks::kZSTD), builtin_->Name());
  rocks::CompressionOptions options = AtLevel(kZstdLevel);
  options.max_dict_bytes = 4096;
  EXPECT_EQ(name(options, rocks::kZSTD), builtin_->Name());
  options = AtLevel(kZstdLevel);
  options.checksum = true;
  EXPECT_EQ(name(options, rocks::kZSTD), builtin_->Name());
  for (const int least : {0, -1}) {
    options = AtLevel(kZstdLevel);
    options.max_compressed_bytes_per_kb = least;
    EXPECT_EQ(ours_->GetCompressor(options, rocks::kZSTD), nullptr) << least;
  }
  options = {};
  EXPECT_EQ(name(options, rocks::kLZ4Compression), builtin_lz4_->Name());
  EXPECT_STREQ(Lz4(options, /*is_bottommost=*/true)->Name(), builtin_lz4_->Name());
  EXPECT_STRNE(Lz4(options, /*is_bottommost=*/false)->Name(), builtin_lz4_->Name());
  EXPECT_STREQ(lz4_->Clone()->Name(), lz4_->Name());
  options.level = -4;
  EXPECT_STREQ(Lz4(options, /*is_bottommost=*/false)->Name(), lz4_->Name());
  options.level = 1;  // LZ4HC
  EXPECT_STRNE(Lz4(options, /*is_bottommost=*/false)->Name(), lz4_->Name());
  options = {};
  options.max_dict_bytes = 4096;
  EXPECT_STRNE(Lz4(options, /*is_bottommost=*/false)->Name(), lz4_->Name());
  EXPECT_EQ(ours_->GetCompressor(AtLevel(kZstdLevel), rocks::kNoCompression), nullptr);
}

TEST_F(BlockCompressionTest, TheLastLevelLearnsUnlessThreadsOrNoBufferAreAskedFor) {
  rocks::CompressionOptions options = AtLevel(kZstdLevel);
  options.max_dict_buffer_bytes = 4 << 20;
  EXPECT_TRUE(Learns(options, /*is_bottommost=*/true));
  EXPECT_FALSE(Learns(options, /*is_bottommost=*/false));
  options.parallel_threads = 2;
  EXPECT_FALSE(Learns(options, /*is_bottommost=*/true));
  options.parallel_threads = 1;
  options.max_dict_buffer_bytes = 0;
  EXPECT_FALSE(Learns(options, /*is_bottommost=*/true));
}

// Files name the one that can read them: a store must open without this manager, as earlier programs open it.
TEST_F(BlockCompressionTest, FilesAreThoseOfRocksDbsOwnManager) {
  EXPECT_STREQ(ours_->CompatibilityName(), rocks::GetBuiltinV2CompressionManager()->CompatibilityName());
}

TEST(CompressionEffortTest, TrialsOfSteadyDataGrowRare) {
  CompressionEffort effort;
  int trials = 0;
  for (int block = 0; block < 10'000; ++block) {
    if (!effort.TrialIsDue()) continue;
    ++trials;
    effort.NoteTrial(4000, 4100);
    EXPECT_TRUE(effort.light());
  }
  EXPECT_LT(trials, 100);
  EXPECT_GT(trials, 70);
}

TEST(CompressionEffortTest, AChangeIsFollowedAndTriedMoreOften) {
  CompressionEffort effort;
  for (int block = 0; block < 10'000; ++block) {
    if (effort.TrialIsDue()) effort.NoteTrial(4000, 4100);
  }
  int blocks = 0;
  for (; effort.light() && blocks < 10'000; ++blocks) {
    if (effort.TrialIsDue()) effort.NoteTrial(4100, 4000);
  }
  EXPECT_LE(blocks, 4 * static_cast<int>(CompressionEffort::kBlocksBetweenTrialsMax));
  for (uint32_t block = 0; block < CompressionEffort::kBlocksBetweenTrialsMin; ++block) EXPECT_FALSE(effort.TrialIsDue());
  EXPECT_TRUE(effort.TrialIsDue());
}

}  // namespace
}  // namespace cairn::store
