// SPDX-License-Identifier: GPL-2.0-only
// What it costs to read blocks of many files, each with a dictionary of its own, or all with one.
#include "store/zstd_decompressor.h"

#include <cstdlib>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <benchmark/benchmark.h>

#include "store/block_compression.h"
#include "store/learned_dictionaries.h"
#include "store/words_testing.h"
#include "store/zstd_blocks.h"

namespace cairn::store {
namespace {

constexpr auto kRole = rocks::CacheEntryRole::kDataBlock;
constexpr size_t kFiles = 40;
constexpr size_t kFileBlocks = 25;
constexpr size_t kBlockBytes = 8 << 10;

void Require(bool done) {
  if (!done) std::abort();
}

// Rows of words that all files have.
std::string Rows(std::minstd_rand* random) {
  std::string block;
  FillWithWords(kBlockBytes, random, &block);
  return block;
}

struct File {
  std::string dictionary;
  std::unique_ptr<rocks::Decompressor> reader;
  std::vector<std::string> blocks;  // compressed
};

class Files {
 public:
  explicit Files(bool shared) {
    std::minstd_rand random(1);
    std::string dictionary;
    for (File& file : files_) {
      if (dictionary.empty() || !shared) dictionary = Learn(&random);
      Fill(dictionary, &random, &file);
    }
  }

  void Read(size_t number, size_t block, std::string* rows) const {
    const File& file = files_[number];
    rocks::Decompressor::Args args;
    args.compression_type = rocks::kZSTD;
    args.compressed_data = file.blocks[block];
    Require(file.reader->ExtractUncompressedSize(args).ok() && args.uncompressed_size <= rows->size());
    Require(file.reader->DecompressBlock(args, rows->data()).ok());
  }

 private:
  static std::string Learn(std::minstd_rand* random) {
    std::string samples;
    std::vector<size_t> block_bytes;
    while (samples.size() < kDictionarySampleBytesMax) {
      const std::string rows = Rows(random);
      samples += rows;
      block_bytes.push_back(rows.size());
    }
    LearnedDictionaries learned;
    return learned.For(samples, block_bytes, kZstdLevel);
  }

  void Fill(const std::string& dictionary, std::minstd_rand* random, File* file) {
    file->dictionary = dictionary;
    const auto compressor =
        NewZstdBlocks(nullptr)->MaybeCloneSpecialized(kRole, rocks::Compressor::DictPreDefined{std::string(dictionary)});
    Require(compressor != nullptr);
    Require(manager_->GetDecompressorOptimizeFor(rocks::kZSTD)->MaybeCloneForDict(file->dictionary, &file->reader).ok());
    for (size_t i = 0; i < kFileBlocks; ++i) {
      const std::string rows = Rows(random);
      std::string compressed(rows.size(), '\0');
      size_t bytes = compressed.size();
      rocks::CompressionType type;
      Require(compressor->CompressBlock(rows, compressed.data(), &bytes, &type, nullptr).ok() && type == rocks::kZSTD);
      compressed.resize(bytes);
      file->blocks.push_back(std::move(compressed));
    }
  }

  const std::shared_ptr<rocks::CompressionManager> manager_ = NewBlockCompression();
  std::vector<File> files_ = std::vector<File>(kFiles);
};

// 0: a dictionary for each file; 1: one for all.
void ReadBlocksOfManyFiles(benchmark::State& state) {
  const Files files(state.range(0) != 0);
  std::minstd_rand random(2);
  std::string rows(2 * kBlockBytes, '\0');
  for (auto _ : state) {
    const size_t number = random() % kFiles;
    files.Read(number, random() % kFileBlocks, &rows);
    benchmark::DoNotOptimize(rows.data());
  }
}
BENCHMARK(ReadBlocksOfManyFiles)->Arg(0)->Arg(1);

}  // namespace
}  // namespace cairn::store
