// SPDX-License-Identifier: GPL-2.0-only
// A context for each thread and effort, which holds the dictionary as Zstandard wants it.
#include "store/zstd_blocks.h"

#include <atomic>
#include <limits>
#include <string>
#include <utility>
#include <variant>

#include "store/block_dictionary.h"
#include "store/compression_effort.h"
#include "store/learned_dictionaries.h"
#include "store/zstd_context.h"
#include "util/coding.h"

namespace cairn::store {
namespace {

constexpr size_t kSizeBytesMax = 5;  // before the compressed bytes: a varint of how many they stand for

// The setting of the light effort: repetitions are looked for in one place for each position, and shorter ones than this are none.
constexpr int kLightLevel = 1;
constexpr int kLightMatchBytesMin = 6;

// What one thread has to compress with. The dictionary has to stay.
class Area final : public rocks::Compressor::WorkingArea {
 public:
  explicit Area(const std::string& dictionary) : dictionary_(dictionary) {}

  // The number of bytes written; 0 when they do not fit, or there is no memory to make them.
  size_t CompressByChoice(rocks::Slice block, char* output, size_t capacity) {
    const bool usual = effort_.light();
    if (!effort_.TrialIsDue()) return Compress(usual, block, output, capacity);
    const size_t other_bytes = Compress(!usual, block, output, capacity);
    // The usual one last: what it makes is there to stay, unless the trial changes what is usual.
    const size_t usual_bytes = Compress(usual, block, output, capacity);
    const auto size = [&](size_t bytes) { return bytes == 0 ? block.size() : bytes; };
    effort_.NoteTrial(size(usual ? usual_bytes : other_bytes), size(usual ? other_bytes : usual_bytes));
    return effort_.light() == usual ? usual_bytes : Compress(!usual, block, output, capacity);
  }

 private:
  size_t Compress(bool light, rocks::Slice block, char* output, size_t capacity) {
    ZstdContext& context = light ? light_ : full_;
    if (context == nullptr) {
      context = NewZstdContext(light ? kLightLevel : kZstdLevel, light ? kLightMatchBytesMin : 0, dictionary_);
    }
    if (context == nullptr) return 0;
    const size_t bytes = ZSTD_compress2(context.get(), output, capacity, block.data(), block.size());
    return ZSTD_isError(bytes) ? 0 : bytes;
  }

  const std::string& dictionary_;
  CompressionEffort effort_;
  ZstdContext light_;
  ZstdContext full_;
};

class ZstdBlocks final : public rocks::Compressor {
 public:
  ZstdBlocks(std::shared_ptr<LearnedDictionaries> learned, std::string dictionary)
      : learned_(std::move(learned)), dictionary_(std::move(dictionary)) {}
  ~ZstdBlocks() override { delete spare_.load(std::memory_order_relaxed); }

  const char* Name() const override { return "CairnZstdBlocks"; }
  rocks::CompressionType GetPreferredCompressionType() const override { return rocks::kZSTD; }
  std::unique_ptr<rocks::Compressor> Clone() const override { return std::make_unique<ZstdBlocks>(learned_, dictionary_); }

  DictConfig GetDictGuidance(rocks::CacheEntryRole role) const override {
    if (learned_ == nullptr || role != rocks::CacheEntryRole::kDataBlock) return DictDisabled();
    return DictSampling{kDictionarySampleBytesMax};
  }
  rocks::Slice GetSerializedDict() const override { return dictionary_; }

  // Null stands for this one as it is.
  std::unique_ptr<rocks::Compressor> MaybeCloneSpecialized(rocks::CacheEntryRole, DictConfigArgs&& config) const override {
    std::string dictionary;
    if (const auto* samples = std::get_if<DictSamples>(&config); samples != nullptr && learned_ != nullptr) {
      dictionary = learned_->For(samples->sample_data, samples->sample_lens, kZstdLevel);
    } else if (auto* given = std::get_if<DictPreDefined>(&config)) {
      dictionary = std::move(given->dict_data);
    }
    return dictionary == dictionary_ ? nullptr : std::make_unique<ZstdBlocks>(learned_, std::move(dictionary));
  }

  ManagedWorkingArea ObtainWorkingArea() override { return {new Area(dictionary_), this}; }
  void ReleaseWorkingArea(WorkingArea* area) override { delete static_cast<Area*>(area); }

  // A block that cannot be compressed, for whatever reason, is written as it is.
  rocks::Status CompressBlock(rocks::Slice block, char* output, size_t* output_bytes, rocks::CompressionType* type,
                              ManagedWorkingArea* working_area) override {
    const size_t capacity = *output_bytes;
    *type = rocks::kNoCompression;
    *output_bytes = 0;
    if (block.size() > std::numeric_limits<uint32_t>::max() || capacity <= kSizeBytesMax) return rocks::Status::OK();
    char* const start = rocks::EncodeVarint32(output, static_cast<uint32_t>(block.size()));
    const size_t start_bytes = static_cast<size_t>(start - output);
    const size_t room = capacity - start_bytes;
    const bool has_area = working_area != nullptr && working_area->owner() == this;
    const size_t bytes = has_area ? static_cast<Area*>(working_area->get())->CompressByChoice(block, start, room)
                                  : CompressInSpare(block, start, room);
    *output_bytes = start_bytes + bytes;
    if (bytes != 0) *type = rocks::kZSTD;
    return rocks::Status::OK();
  }

 private:
  // RocksDB has no area for the blocks of a file that had to wait for a dictionary: one thread compresses them, block after block.
  size_t CompressInSpare(rocks::Slice block, char* output, size_t capacity) {
    std::unique_ptr<Area> area(spare_.exchange(nullptr, std::memory_order_acquire));
    if (area == nullptr) area = std::make_unique<Area>(dictionary_);
    const size_t bytes = area->CompressByChoice(block, output, capacity);
    area.reset(spare_.exchange(area.release(), std::memory_order_acq_rel));
    return bytes;
  }

  const std::shared_ptr<LearnedDictionaries> learned_;
  const std::string dictionary_;
  std::atomic<Area*> spare_{nullptr};
};

}  // namespace

std::unique_ptr<rocks::Compressor> NewZstdBlocks(std::shared_ptr<LearnedDictionaries> learned) {
  return std::make_unique<ZstdBlocks>(std::move(learned), std::string());
}

}  // namespace cairn::store
