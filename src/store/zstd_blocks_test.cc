// SPDX-License-Identifier: GPL-2.0-only
// Blocks of one kind teach a dictionary; what it is good for becomes smaller, and all comes back by RocksDB's own means and ours.
#include "store/zstd_blocks.h"

#include <random>
#include <string>

#include <gtest/gtest.h>

#include "store/block_compression.h"
#include "store/block_dictionary.h"
#include "store/learned_dictionaries.h"
#include "store/words_testing.h"

namespace cairn::store {
namespace {

using Role = rocks::CacheEntryRole;

constexpr size_t kBlockBytes = 8 << 10;

class ZstdBlocksTest : public ::testing::Test {
 public:
  using Area = rocks::Compressor::ManagedWorkingArea;

  // Rows of words that other blocks have too, so that most of a block is new to itself only.
  std::string Rows() {
    std::string block;
    FillWithWords(kBlockBytes, &random_, &block);
    return block;
  }
  std::string Digits() {
    std::string block;
    while (block.size() < kBlockBytes) block += std::to_string(random_()) + '-';
    return block;
  }

  template <typename Make>
  rocks::Compressor::DictSamples Samples(size_t bytes, Make make) {
    rocks::Compressor::DictSamples samples;
    while (samples.sample_data.size() < bytes) {
      const std::string block = make();
      samples.sample_data += block;
      samples.sample_lens.push_back(block.size());
    }
    return samples;
  }

  static std::string Compress(rocks::Compressor* compressor, const std::string& block, Area* area) {
    std::string output(block.size(), '\0');
    size_t bytes = output.size();
    rocks::CompressionType type;
    EXPECT_TRUE(compressor->CompressBlock(block, output.data(), &bytes, &type, area).ok());
    EXPECT_EQ(type, rocks::kZSTD);
    output.resize(bytes);
    return output;
  }

  static std::string Decompress(const std::string& compressed, rocks::Slice dictionary) {
    const std::string block = Decompress(*rocks::GetBuiltinV2CompressionManager(), compressed, dictionary);
    EXPECT_EQ(Decompress(*NewBlockCompression(), compressed, dictionary), block);
    return block;
  }
  static std::string Decompress(rocks::CompressionManager& manager, const std::string& compressed, rocks::Slice dictionary) {
    const auto plain = manager.GetDecompressorOptimizeFor(rocks::kZSTD);
    std::unique_ptr<rocks::Decompressor> with;
    if (!dictionary.empty()) {
      EXPECT_TRUE(plain->MaybeCloneForDict(dictionary, &with).ok());
    }
    rocks::Decompressor* const decompressor = with != nullptr ? with.get() : plain.get();
    rocks::Decompressor::Args args;
    args.compression_type = rocks::kZSTD;
    args.compressed_data = compressed;
    if (!decompressor->ExtractUncompressedSize(args).ok()) return "no size";
    std::string block(args.uncompressed_size, '\0');
    return decompressor->DecompressBlock(args, block.data()).ok() ? block : "damaged";
  }

  const std::unique_ptr<rocks::Compressor> plain_ = NewZstdBlocks(std::make_shared<LearnedDictionaries>());
  std::mt19937 random_{1};
};

TEST_F(ZstdBlocksTest, DataBlocksOnlyWantADictionary) {
  const auto guidance = plain_->GetDictGuidance(Role::kDataBlock);
  ASSERT_TRUE(std::holds_alternative<rocks::Compressor::DictSampling>(guidance));
  EXPECT_EQ(std::get<rocks::Compressor::DictSampling>(guidance).max_sample_bytes, kDictionarySampleBytesMax);
  for (const Role role : {Role::kIndexBlock, Role::kFilterBlock, Role::kOtherBlock}) {
    EXPECT_TRUE(std::holds_alternative<rocks::Compressor::DictDisabled>(plain_->GetDictGuidance(role)));
  }
  EXPECT_TRUE(plain_->GetSerializedDict().empty());
  const auto none = NewZstdBlocks(nullptr)->GetDictGuidance(Role::kDataBlock);
  EXPECT_TRUE(std::holds_alternative<rocks::Compressor::DictDisabled>(none));
}

TEST_F(ZstdBlocksTest, WhatBlocksShareIsLearned) {
  const auto rows = [this] { return Rows(); };
  const auto taught = plain_->MaybeCloneSpecialized(Role::kDataBlock, Samples(kDictionarySampleBytesMax, rows));
  ASSERT_NE(taught, nullptr);
  const rocks::Slice dictionary = taught->GetSerializedDict();
  ASSERT_FALSE(dictionary.empty());
  EXPECT_LE(dictionary.size(), kBlockDictionaryBytes);
  Area plain_area = plain_->ObtainWorkingArea();
  Area area = taught->ObtainWorkingArea();
  size_t plain_bytes = 0, bytes = 0;
  for (int i = 0; i < 300; ++i) {
    const std::string block = Rows();
    plain_bytes += Compress(plain_.get(), block, &plain_area).size();
    const std::string compressed = Compress(taught.get(), block, i % 3 == 0 ? nullptr : &area);
    bytes += compressed.size();
    EXPECT_EQ(Decompress(compressed, dictionary), block);
    EXPECT_NE(Decompress(compressed, {}), block);
  }
  EXPECT_LT(bytes, plain_bytes - plain_bytes / 20);
}

TEST_F(ZstdBlocksTest, CopiesHaveTheDictionary) {
  const auto rows = [this] { return Rows(); };
  const auto taught = plain_->MaybeCloneSpecialized(Role::kDataBlock, Samples(kDictionarySampleBytesMax, rows));
  ASSERT_NE(taught, nullptr);
  const std::string dictionary = taught->GetSerializedDict().ToString();
  EXPECT_EQ(taught->Clone()->GetSerializedDict(), dictionary);
  const auto given =
      plain_->MaybeCloneSpecialized(Role::kDataBlock, rocks::Compressor::DictPreDefined{std::string(dictionary)});
  ASSERT_NE(given, nullptr);
  const std::string block = Rows();
  EXPECT_EQ(Compress(given.get(), block, nullptr), Compress(taught.get(), block, nullptr));
  const auto none = taught->MaybeCloneSpecialized(Role::kIndexBlock, rocks::Compressor::DictDisabled());
  ASSERT_NE(none, nullptr);
  EXPECT_TRUE(none->GetSerializedDict().empty());
}

// RocksDB has none for the blocks of a file that waited for a dictionary.
TEST_F(ZstdBlocksTest, WithoutAWorkingAreaTheEffortIsRememberedToo) {
  const auto other = plain_->Clone();
  Area area = other->ObtainWorkingArea();
  for (int i = 0; i < 400; ++i) {
    const std::string block = i < 300 ? Digits() : Rows();
    EXPECT_EQ(Compress(plain_.get(), block, nullptr), Compress(other.get(), block, &area)) << i;
  }
}

// Of digits a dictionary tells nothing but how often each comes.
TEST_F(ZstdBlocksTest, WhereADictionaryDoesNotPayThereIsNone) {
  const auto digits = [this] { return Digits(); };
  const auto rows = [this] { return Rows(); };
  EXPECT_EQ(plain_->MaybeCloneSpecialized(Role::kDataBlock, Samples(kDictionarySampleBytesMax, digits)), nullptr);
  EXPECT_EQ(plain_->MaybeCloneSpecialized(Role::kDataBlock, Samples(kDictionarySampleBytesMin / 2, rows)), nullptr);
  EXPECT_EQ(plain_->MaybeCloneSpecialized(Role::kDataBlock, rocks::Compressor::DictSamples()), nullptr);
  EXPECT_EQ(plain_->MaybeCloneSpecialized(Role::kDataBlock, rocks::Compressor::DictDisabled()), nullptr);
}

// Large rows have blocks of their own; nothing at all, or one byte over and over, teaches nothing, and does no harm.
TEST_F(ZstdBlocksTest, OddSamplesDoNoHarm) {
  const std::string large(kDictionarySampleBytesMin, 'x');
  for (const std::string& block : {large, std::string("x"), std::string(7, '\0')}) {
    const auto same = [&] { return block; };
    const auto taught = plain_->MaybeCloneSpecialized(Role::kDataBlock, Samples(kDictionarySampleBytesMin, same));
    rocks::Compressor* const compressor = taught != nullptr ? taught.get() : plain_.get();
    const std::string rows = Rows();
    EXPECT_EQ(Decompress(Compress(compressor, rows, nullptr), compressor->GetSerializedDict()), rows);
  }
}

}  // namespace
}  // namespace cairn::store
