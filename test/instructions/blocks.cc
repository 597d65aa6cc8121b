// SPDX-License-Identifier: GPL-2.0-only
// What it takes to read a block of a file that is in the system's cache and not in ours.
#include <cstdlib>
#include <memory>
#include <random>
#include <string>
#include <utility>

#include "operations.h"
#include "store/block_compression.h"
#include "store/block_dictionary.h"
#include "store/learned_dictionaries.h"
#include "store/words_testing.h"
#include "store/zstd_blocks.h"

namespace cairn::instructions {
namespace {

namespace rocks = store::rocks;

constexpr size_t kBlockBytes = 8 << 10;
constexpr auto kRole = rocks::CacheEntryRole::kDataBlock;

void Require(bool done) {
  if (!done) std::abort();
}

// Rows of words that other blocks have too.
std::string Rows(std::minstd_rand* random) {
  std::string block;
  store::FillWithWords(kBlockBytes, random, &block);
  return block;
}

// A block as the last level has it, compressed with a dictionary, and what reads it.
class BlockWithDictionary {
 public:
  BlockWithDictionary() {
    std::minstd_rand random(1);
    rocks::Compressor::DictSamples samples;
    while (samples.sample_data.size() < store::kDictionarySampleBytesMax) {
      const std::string rows = Rows(&random);
      samples.sample_data += rows;
      samples.sample_lens.push_back(rows.size());
    }
    const auto plain = store::NewZstdBlocks(std::make_shared<store::LearnedDictionaries>());
    const auto compressor = plain->MaybeCloneSpecialized(kRole, std::move(samples));
    Require(compressor != nullptr);
    dictionary_ = compressor->GetSerializedDict().ToString();
    rows_ = Rows(&random);
    compressed_.resize(rows_.size());
    size_t bytes = compressed_.size();
    rocks::CompressionType type;
    Require(compressor->CompressBlock(rows_, compressed_.data(), &bytes, &type, nullptr).ok() && type == rocks::kZSTD);
    compressed_.resize(bytes);
    Require(manager_->GetDecompressorOptimizeFor(rocks::kZSTD)->MaybeCloneForDict(dictionary_, &reader_).ok());
    read_.resize(rows_.size());
  }

  void Read(uint64_t count) {
    for (uint64_t i = 0; i < count; ++i) {
      rocks::Decompressor::Args block;
      block.compression_type = rocks::kZSTD;
      block.compressed_data = compressed_;
      Require(reader_->ExtractUncompressedSize(block).ok() && block.uncompressed_size == read_.size());
      Require(reader_->DecompressBlock(block, read_.data()).ok());
    }
    Require(read_ == rows_);
  }

 private:
  std::string dictionary_, rows_, compressed_, read_;
  const std::shared_ptr<rocks::CompressionManager> manager_ = store::NewBlockCompression();
  std::unique_ptr<rocks::Decompressor> reader_;
};

}  // namespace

std::vector<Operation> ReadsOfBlocks() {
  const auto block = std::make_shared<BlockWithDictionary>();
  return {{"read-block-with-dictionary", "block", 100, [block](uint64_t, uint64_t count) { block->Read(count); }}};
}

}  // namespace cairn::instructions
