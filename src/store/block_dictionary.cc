// SPDX-License-Identifier: GPL-2.0-only
// What is known is tried first; then a cheap dictionary shows whether a good one is worth its time.
#include "store/block_dictionary.h"

#include <algorithm>
#include <utility>

#include <zdict.h>

#include "store/zstd_context.h"

namespace cairn::store {
namespace {

// One of so many samples is kept from the dictionaries, to try them with.
constexpr size_t kTriedShare = 6;

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

}  // namespace

std::shared_ptr<const BlockDictionary> MakeBlockDictionary(std::string_view samples, std::span<const size_t> block_bytes, int level,
                                                           std::shared_ptr<const BlockDictionary> known) {
  const size_t tried_count = block_bytes.size() / kTriedShare;
  if (samples.size() < kDictionarySampleBytesMin || tried_count == 0) return nullptr;
  const std::span<const size_t> learned_bytes = block_bytes.first(block_bytes.size() - tried_count);
  const std::span<const size_t> tried_bytes = block_bytes.last(tried_count);
  size_t bytes = 0;
  for (const size_t block : learned_bytes) bytes += block;
  const std::string_view learned = samples.substr(0, bytes);
  const std::string_view tried = samples.substr(bytes);
  const size_t without = CompressedBytes(tried, tried_bytes, {}, level);
  const auto trial = [&](std::string_view dictionary) {
    const size_t with = dictionary.empty() ? 0 : CompressedBytes(tried, tried_bytes, dictionary, level);
    return DictionaryTrial{.without = without, .with = with};
  };
  if (known != nullptr) {
    const DictionaryTrial now = trial(known->bytes);
    if (now.Pays() && now.IsAsGoodAs(known->trial)) return known;
  }
  if (!trial(Untrained(learned, learned_bytes, level)).Pays()) return nullptr;
  BlockDictionary made{.bytes = Trained(learned, learned_bytes), .trial = {}};
  made.trial = trial(made.bytes);
  return made.trial.Pays() ? std::make_shared<const BlockDictionary>(std::move(made)) : nullptr;
}

}  // namespace cairn::store
