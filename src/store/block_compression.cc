// SPDX-License-Identifier: GPL-2.0-only
// Zstandard with two efforts, and LZ4 where it saves anything, behind RocksDB's interface.
#include "store/block_compression.h"

#include <limits>

#include <rocksdb/filter_policy.h>
#include <zstd.h>

#include "store/compression_effort.h"
#include "util/coding.h"

namespace cairn::store {
namespace {

constexpr size_t kSizeBytesMax = 5;  // before the compressed bytes: a varint of how many they stand for

// The setting of the light effort: repetitions are looked for in one place for each position, and shorter ones than this are none.
constexpr int kLightLevel = 1;
constexpr int kLightMatchBytesMin = 6;

struct FreeContext {
  void operator()(ZSTD_CCtx* context) const { ZSTD_freeCCtx(context); }
};
using Context = std::unique_ptr<ZSTD_CCtx, FreeContext>;

// Null when there is no memory for it.
Context NewContext(bool light) {
  Context context(ZSTD_createCCtx());
  if (context == nullptr) return nullptr;
  size_t result = ZSTD_CCtx_setParameter(context.get(), ZSTD_c_compressionLevel, light ? kLightLevel : kZstdLevel);
  if (light && !ZSTD_isError(result)) {
    result = ZSTD_CCtx_setParameter(context.get(), ZSTD_c_minMatch, kLightMatchBytesMin);
  }
  return ZSTD_isError(result) ? nullptr : std::move(context);
}

// What one thread has to compress with.
class Area final : public rocks::Compressor::WorkingArea {
 public:
  bool Choose(rocks::Slice block, size_t capacity) {
    if (effort_.TrialIsDue()) {
      if (capacity > trial_capacity_) {
        trial_ = std::make_unique_for_overwrite<char[]>(capacity);
        trial_capacity_ = capacity;
      }
      const auto size = [&](bool light) {
        const size_t bytes = Compress(light, block, trial_.get(), capacity);
        return bytes == 0 ? block.size() : bytes;
      };
      const size_t light_bytes = size(true);
      effort_.NoteTrial(light_bytes, size(false));
    }
    return effort_.light();
  }

  // The number of bytes written; 0 when they do not fit, or there is no memory to make them.
  size_t Compress(bool light, rocks::Slice block, char* output, size_t capacity) {
    Context& context = light ? light_ : full_;
    if (context == nullptr) context = NewContext(light);
    if (context == nullptr) return 0;
    const size_t bytes = ZSTD_compress2(context.get(), output, capacity, block.data(), block.size());
    return ZSTD_isError(bytes) ? 0 : bytes;
  }

 private:
  CompressionEffort effort_;
  Context light_;
  Context full_;
  std::unique_ptr<char[]> trial_;
  size_t trial_capacity_ = 0;
};

class ZstdBlocks final : public rocks::Compressor {
 public:
  const char* Name() const override { return "CairnZstdBlocks"; }
  rocks::CompressionType GetPreferredCompressionType() const override { return rocks::kZSTD; }
  std::unique_ptr<rocks::Compressor> Clone() const override { return std::make_unique<ZstdBlocks>(); }

  ManagedWorkingArea ObtainWorkingArea() override { return {new Area(), this}; }
  void ReleaseWorkingArea(WorkingArea* area) override { delete static_cast<Area*>(area); }

  // A block that cannot be compressed, for whatever reason, is written as it is.
  rocks::Status CompressBlock(rocks::Slice block, char* output, size_t* output_bytes, rocks::CompressionType* type,
                              ManagedWorkingArea* working_area) override {
    const size_t capacity = *output_bytes;
    *type = rocks::kNoCompression;
    *output_bytes = 0;
    if (block.size() > std::numeric_limits<uint32_t>::max() || capacity <= kSizeBytesMax) return rocks::Status::OK();
    ManagedWorkingArea own;
    if (working_area == nullptr || working_area->owner() != this) {
      own = ObtainWorkingArea();
      working_area = &own;
    }
    Area& area = *static_cast<Area*>(working_area->get());
    char* const start = rocks::EncodeVarint32(output, static_cast<uint32_t>(block.size()));
    const size_t start_bytes = static_cast<size_t>(start - output);
    const bool light = area.Choose(block, capacity - start_bytes);
    const size_t bytes = area.Compress(light, block, start, capacity - start_bytes);
    *output_bytes = start_bytes + bytes;
    if (bytes != 0) *type = rocks::kZSTD;
    return rocks::Status::OK();
  }
};

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
  BlockCompression() : CompressionManagerWrapper(rocks::GetBuiltinV2CompressionManager()) {}

  const char* Name() const override { return "CairnBlockCompression"; }

  std::unique_ptr<rocks::Compressor> GetCompressor(const rocks::CompressionOptions& options,
                                                   rocks::CompressionType type) override {
    if (type == rocks::kZSTD && options.level == kZstdLevel && options.max_dict_bytes == 0 && !options.checksum) {
      return std::make_unique<ZstdBlocks>();
    }
    return CompressionManagerWrapper::GetCompressor(options, type);
  }
  std::unique_ptr<rocks::Compressor> GetCompressorForSST(const rocks::FilterBuildingContext& context,
                                                         const rocks::CompressionOptions& options,
                                                         rocks::CompressionType type) override {
    auto compressor = GetCompressor(options, type);
    // What is written to the last level stays, and nearly all data is there. A level from 1 on would be LZ4HC's.
    const bool is_tried = type == rocks::kLZ4Compression && options.max_dict_bytes == 0 && !context.is_bottommost &&
                          (options.level <= 0 || options.level == rocks::CompressionOptions::kDefaultCompressionLevel);
    if (is_tried && compressor != nullptr) return std::make_unique<Lz4Blocks>(std::move(compressor));
    return compressor;
  }
};

}  // namespace

std::shared_ptr<rocks::CompressionManager> NewBlockCompression() { return std::make_shared<BlockCompression>(); }

}  // namespace cairn::store
