// SPDX-License-Identifier: GPL-2.0-only
// Which blocks are whose, and LZ4 where it saves anything, behind RocksDB's interface.
#include "store/block_compression.h"

#include <algorithm>
#include <utility>

#include <rocksdb/filter_policy.h>

#include "store/compression_effort.h"
#include "store/learned_dictionaries.h"
#include "store/zstd_blocks.h"
#include "store/zstd_decompressor.h"

namespace cairn::store {
namespace {

// A trial costs one compression only, and none where data is compressed anyway.
constexpr uint32_t kLz4BlocksBetweenTrialsMax = 16;

// RocksDB's LZ4, whose light effort is none at all. RocksDB keeps what makes a block an eighth smaller at least, and writes others
// as they are: where the blocks that were tried of late are all of that kind, few of the next ones are tried.
class Lz4Blocks final : public rocks::CompressorWrapper {
 public:
  using CompressorWrapper::CompressorWrapper;

  const char* Name() const override { return "CairnLz4Blocks"; }
  std::unique_ptr<rocks::Compressor> Clone() const override { return std::make_unique<Lz4Blocks>(wrapped_->Clone()); }

  ManagedWorkingArea ObtainWorkingArea() override { return {new TriedArea(wrapped_->ObtainWorkingArea()), this}; }
  void ReleaseWorkingArea(WorkingArea* area) override { delete static_cast<TriedArea*>(area); }

  rocks::Status CompressBlock(rocks::Slice block, char* output, size_t* output_bytes, rocks::CompressionType* type,
                              ManagedWorkingArea* working_area) override {
    if (working_area == nullptr || working_area->owner() != this) {
      return wrapped_->CompressBlock(block, output, output_bytes, type, nullptr);
    }
    TriedArea& area = *static_cast<TriedArea*>(working_area->get());
    const bool trial = area.effort.TrialIsDue();
    if (!trial && area.effort.light()) {
      *type = rocks::kNoCompression;
      *output_bytes = 0;
      return rocks::Status::OK();
    }
    rocks::Status status = wrapped_->CompressBlock(block, output, output_bytes, type, &area.lz4);
    // Large rows, in blocks of their own, count no more than others.
    const bool is_smaller = *type != rocks::kNoCompression && !block.empty();
    if (trial) area.effort.NoteTrial(kTrialScale, is_smaller ? kTrialScale * *output_bytes / block.size() : kTrialScale);
    return status;
  }

 private:
  static constexpr uint64_t kTrialScale = 1 << 16;

  struct TriedArea final : WorkingArea {
    explicit TriedArea(ManagedWorkingArea builtin) : lz4(std::move(builtin)) {}

    CompressionEffort effort{kLz4BlocksBetweenTrialsMax};
    ManagedWorkingArea lz4;
  };
};

class BlockCompression final : public rocks::CompressionManagerWrapper {
 public:
  explicit BlockCompression(std::shared_ptr<rocks::Cache> cache)
      : CompressionManagerWrapper(rocks::GetBuiltinV2CompressionManager()),
        zstd_decompressor_(NewZstdDecompressor(wrapped_->GetDecompressorOptimizeFor(rocks::kZSTD), std::move(cache))) {}

  const char* Name() const override { return "CairnBlockCompression"; }

  std::unique_ptr<rocks::Compressor> GetCompressor(const rocks::CompressionOptions& options,
                                                   rocks::CompressionType type) override {
    if (IsOurZstd(options, type)) return NewZstdBlocks(nullptr);
    return CompressionManagerWrapper::GetCompressor(options, type);
  }
  std::unique_ptr<rocks::Compressor> GetCompressorForSST(const rocks::FilterBuildingContext& context,
                                                         const rocks::CompressionOptions& options,
                                                         rocks::CompressionType type) override {
    // Files above the last level are merged again soon. Those of loads, which count as such, have several threads that compress, as have
    // an expert's who asks for them: RocksDB has but one for a file whose blocks had to wait.
    const bool learns = context.is_bottommost && options.max_dict_buffer_bytes != 0 && options.parallel_threads <= 1;
    if (IsOurZstd(options, type)) return NewZstdBlocks(learns ? learned_ : nullptr);
    auto compressor = GetCompressor(options, type);
    // What is written to the last level stays, and nearly all data is there. A level from 1 on would be LZ4HC's.
    const bool is_tried = type == rocks::kLZ4Compression && options.max_dict_bytes == 0 && !context.is_bottommost &&
                          (options.level <= 0 || options.level == rocks::CompressionOptions::kDefaultCompressionLevel);
    if (is_tried && compressor != nullptr) return std::make_unique<Lz4Blocks>(std::move(compressor));
    return compressor;
  }

  // All of these read whatever RocksDB's own do; what has no block of Zstandard's is left to them.
  std::shared_ptr<rocks::Decompressor> GetDecompressor() override { return zstd_decompressor_; }
  std::shared_ptr<rocks::Decompressor> GetDecompressorOptimizeFor(rocks::CompressionType type) override {
    return type == rocks::kZSTD ? zstd_decompressor_ : wrapped_->GetDecompressorOptimizeFor(type);
  }
  std::shared_ptr<rocks::Decompressor> GetDecompressorForTypes(const rocks::CompressionType* begin,
                                                               const rocks::CompressionType* end) override {
    if (std::find(begin, end, rocks::kZSTD) != end) return zstd_decompressor_;
    return wrapped_->GetDecompressorForTypes(begin, end);
  }

 private:
  static bool IsOurZstd(const rocks::CompressionOptions& options, rocks::CompressionType type) {
    const bool is_our_level = options.level == kZstdLevel || options.level == rocks::CompressionOptions::kDefaultCompressionLevel;
    // Where no block may become smaller RocksDB has no compressor at all.
    return type == rocks::kZSTD && is_our_level && options.max_dict_bytes == 0 && !options.checksum &&
           options.max_compressed_bytes_per_kb > 0;
  }

  const std::shared_ptr<LearnedDictionaries> learned_ = std::make_shared<LearnedDictionaries>();
  const std::shared_ptr<rocks::Decompressor> zstd_decompressor_;
};

}  // namespace

std::shared_ptr<rocks::CompressionManager> NewBlockCompression(std::shared_ptr<rocks::Cache> cache) {
  return std::make_shared<BlockCompression>(std::move(cache));
}

}  // namespace cairn::store
