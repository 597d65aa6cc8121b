// SPDX-License-Identifier: GPL-2.0-only
// Found by the index in the blocks' first keys; judged and trained outside of the mutex.
#include "store/learned_dictionaries.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <utility>
#include <vector>

#include "util/coding.h"

#include "base/endian.h"
#include "store/rocksdb_fwd.h"

namespace cairn::store {
namespace {

// The first entry of a block has its whole key, behind three numbers: the bytes it shares with the one before, which are none, those of
// the key, and those of the value.
IndexId IndexOfBlock(std::string_view block) {
  const char* at = block.data();
  const char* const end = at + block.size();
  uint32_t shared_bytes = 0, key_bytes = 0, value_bytes = 0;
  for (uint32_t* const number : {&shared_bytes, &key_bytes, &value_bytes}) {
    at = rocks::GetVarint32Ptr(at, end, number);
    if (at == nullptr) return IndexId();
  }
  constexpr size_t kIndexBytes = sizeof(IndexId::value);
  if (shared_bytes != 0 || key_bytes < kIndexBytes || static_cast<size_t>(end - at) < kIndexBytes) return IndexId();
  return IndexId(LoadBe32(at));
}

}  // namespace

IndexId LearnedDictionaries::IndexOf(std::string_view samples, std::span<const size_t> block_bytes) {
  if (block_bytes.empty()) return IndexId();
  std::vector<IndexId> indexes;
  indexes.reserve(block_bytes.size());
  for (const size_t bytes : block_bytes) {
    indexes.push_back(IndexOfBlock(samples.substr(0, bytes)));
    samples.remove_prefix(std::min(bytes, samples.size()));
  }
  const auto middle = indexes.begin() + static_cast<std::ptrdiff_t>(indexes.size() / 2);
  std::nth_element(indexes.begin(), middle, indexes.end());
  return *middle;
}

std::string LearnedDictionaries::For(std::string_view samples, std::span<const size_t> block_bytes, int level) {
  const IndexId index = IndexOf(samples, block_bytes);
  const auto known = Find(index);
  const auto dictionary = MakeBlockDictionary(samples, block_bytes, level, known);
  if (dictionary == nullptr) return {};
  if (dictionary != known) Keep(index, dictionary);
  return dictionary->bytes;
}

std::shared_ptr<const BlockDictionary> LearnedDictionaries::Find(IndexId index) {
  const std::lock_guard lock(mutex_);
  const auto found =
      std::ranges::find_if(kept_, [&](const Kept& kept) { return kept.dictionary != nullptr && kept.index == index; });
  if (found == kept_.end()) return nullptr;
  std::rotate(kept_.begin(), found, found + 1);
  return kept_.front().dictionary;
}

void LearnedDictionaries::Keep(IndexId index, std::shared_ptr<const BlockDictionary> dictionary) {
  const std::lock_guard lock(mutex_);
  auto place = std::ranges::find_if(kept_, [&](const Kept& kept) { return kept.dictionary != nullptr && kept.index == index; });
  if (place == kept_.end()) place = std::prev(kept_.end());
  *place = {.index = index, .dictionary = std::move(dictionary)};
  std::rotate(kept_.begin(), place, place + 1);
}

}  // namespace cairn::store
