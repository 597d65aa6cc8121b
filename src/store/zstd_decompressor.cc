// SPDX-License-Identifier: GPL-2.0-only
// Dictionaries made ready, and RocksDB's contexts, one for each core.
#include "store/zstd_decompressor.h"

#include <string>
#include <utility>

#include <zstd.h>

#include "store/ready_dictionaries.h"
#include "util/compression.h"

namespace cairn::store {
namespace {

class WithDictionary final : public rocks::DecompressorWrapper {
 public:
  WithDictionary(std::unique_ptr<rocks::Decompressor> rocksdbs, ReadyDictionary dictionary, bool is_charged)
      : DecompressorWrapper(std::move(rocksdbs)), dictionary_(std::move(dictionary)), is_charged_(is_charged) {}

  const char* Name() const override { return "CairnZstdWithDictionary"; }
  size_t ApproximateOwnedMemoryUsage() const override {
    const size_t shared_bytes = is_charged_ ? 0 : ZSTD_sizeof_DDict(dictionary_.get());
    return wrapped_->ApproximateOwnedMemoryUsage() + sizeof(*this) + shared_bytes;
  }

  rocks::Status DecompressBlock(const Args& args, char* output) override {
    if (args.compression_type != rocks::kZSTD) return wrapped_->DecompressBlock(args, output);
    const rocks::UncompressionContext context(rocks::kZSTD);
    if (context.GetZSTDContext() == nullptr) return rocks::Status::MemoryLimit("no memory for Zstandard");
    const size_t bytes = ZSTD_decompress_usingDDict(context.GetZSTDContext(), output, args.uncompressed_size,
                                                    args.compressed_data.data(), args.compressed_data.size(), dictionary_.get());
    if (ZSTD_isError(bytes)) return rocks::Status::Corruption(std::string("Zstandard: ") + ZSTD_getErrorName(bytes));
    if (bytes != args.uncompressed_size) return rocks::Status::Corruption("Zstandard: a block is shorter than it says");
    return rocks::Status::OK();
  }

 private:
  const ReadyDictionary dictionary_;
  const bool is_charged_;  // by itself, once for all who share it
};

class ZstdDecompressor final : public rocks::DecompressorWrapper {
 public:
  ZstdDecompressor(std::shared_ptr<rocks::Decompressor> rocksdbs, std::shared_ptr<rocks::Cache> cache)
      : DecompressorWrapper(std::move(rocksdbs)), dictionaries_(std::move(cache)) {}

  const char* Name() const override { return "CairnZstdDecompressor"; }

  rocks::Status MaybeCloneForDict(const rocks::Slice& dictionary, std::unique_ptr<rocks::Decompressor>* clone) override {
    const rocks::Status status = wrapped_->MaybeCloneForDict(dictionary, clone);
    if (!status.ok()) return status;
    // RocksDB's tells of each block that the dictionary is damaged, where it is that, or does without memory.
    auto ready = dictionaries_.Of({dictionary.data(), dictionary.size()});
    if (ready != nullptr) *clone = std::make_unique<WithDictionary>(std::move(*clone), std::move(ready), dictionaries_.charges());
    return status;
  }

 private:
  ReadyDictionaries dictionaries_;
};

}  // namespace

std::shared_ptr<rocks::Decompressor> NewZstdDecompressor(std::shared_ptr<rocks::Decompressor> rocksdbs,
                                                         std::shared_ptr<rocks::Cache> cache) {
  return std::make_shared<ZstdDecompressor>(std::move(rocksdbs), std::move(cache));
}

}  // namespace cairn::store
