// SPDX-License-Identifier: GPL-2.0-only
// A cheap dictionary shows whether a good one is worth its time.
#include "store/block_dictionary.h"

#include <algorithm>

#include <zdict.h>

#include "store/zstd_context.h"

namespace cairn::store {
namespace {

// One of so many samples is kept from the first dictionary, to try it with.
constexpr size_t kTriedShare = 6;
// It pays if it takes off one of so many bytes. Random digits lose less: their bytes' frequencies, which each block tells else.
constexpr size_t kGainShare = 32;

// What blocks take, each by itself; 0 when there is no memory to find out.
size_t CompressedBytes(std::string_view blocks, std::span<const size_t> block_bytes, std::string_view dictionary, int level) {
  const ZstdContext context = NewZstdContext(level, 0, dictionary);
  if (context == nullptr || block_bytes.empty()) return 0;
  std::string output(ZSTD_compressBound(std::ranges::max(block_bytes)), '\0');
  size_t total = 0;
  for (const size_t bytes : block_bytes) {
    const size_t compressed = ZSTD_compress2(context.get(), output.data(), output.size(), blocks.data(), bytes);
    if (ZSTD_isError(compressed)) return 0;
    total += compressed;
    blocks.remove_prefix(bytes);
  }
  return total;
}

// Of a dictionary's buffer, what was made in it.
std::string Made(std::string dictionary, size_t bytes) {
  dictionary.resize(ZDICT_isError(bytes) ? 0 : bytes);
  return dictionary;
}

// The first samples as they are, with the frequencies of all: a tenth of a trained one's time, half of its gain.
std::string Untrained(std::string_view samples, std::span<const size_t> block_bytes, int level) {
  std::string dictionary(kBlockDictionaryBytes, '\0');
  ZDICT_params_t params{};
  params.compressionLevel = level;
  const size_t bytes = ZDICT_finalizeDictionary(dictionary.data(), dictionary.size(), samples.data(),
                                                std::min(samples.size(), kBlockDictionaryBytes), samples.data(), block_bytes.data(),
                                                static_cast<unsigned>(block_bytes.size()), params);
  return Made(std::move(dictionary), bytes);
}

std::string Trained(std::string_view samples, std::span<const size_t> block_bytes) {
  std::string dictionary(kBlockDictionaryBytes, '\0');
  const size_t bytes = ZDICT_trainFromBuffer(dictionary.data(), dictionary.size(), samples.data(), block_bytes.data(),
                                             static_cast<unsigned>(block_bytes.size()));
  return Made(std::move(dictionary), bytes);
}

bool Pays(std::string_view samples, std::span<const size_t> block_bytes, int level) {
  const size_t tried_count = block_bytes.size() / kTriedShare;
  if (tried_count == 0) return false;
  const std::span<const size_t> known = block_bytes.first(block_bytes.size() - tried_count);
  size_t known_bytes = 0;
  for (const size_t bytes : known) known_bytes += bytes;
  const std::string dictionary = Untrained(samples.substr(0, known_bytes), known, level);
  if (dictionary.empty()) return false;
  const std::string_view tried = samples.substr(known_bytes);
  const size_t without = CompressedBytes(tried, block_bytes.last(tried_count), {}, level);
  const size_t with = CompressedBytes(tried, block_bytes.last(tried_count), dictionary, level);
  return without != 0 && with != 0 && with + without / kGainShare <= without;
}

}  // namespace

std::string MakeBlockDictionary(std::string_view samples, std::span<const size_t> block_bytes, int level) {
  if (samples.size() < kDictionarySampleBytesMin || !Pays(samples, block_bytes, level)) return {};
  return Trained(samples, block_bytes);
}

}  // namespace cairn::store
