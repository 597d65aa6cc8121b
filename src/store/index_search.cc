// SPDX-License-Identifier: GPL-2.0-only
// Interpolation between separators at even distances, then steps that double.
#include "store/index_search.h"

#include <algorithm>
#include <cstring>

#include "base/endian.h"
#include "store/internal_key.h"

namespace cairn::store {
namespace {

// Eight bytes from `begin` on, as a number that orders as they do; zeros are behind the end.
inline uint64_t NumberAt(ByteView key, size_t begin) {
  if (key.size() >= begin + sizeof(uint64_t)) return LoadBe64(key.data() + begin);
  char bytes[sizeof(uint64_t)] = {};
  if (key.size() > begin) std::memcpy(bytes, key.data() + begin, key.size() - begin);
  return LoadBe64(bytes);
}

}  // namespace

// Where among the separators the key is expected.
uint32_t IndexSearch::Learned::Expect(ByteView key) const {
  const int order = key.substr(0, shared_bytes).compare(ByteView(shared.data(), shared_bytes));
  if (order != 0) return order < 0 ? first : first + count - 1;
  const uint64_t number = NumberAt(key, shared_bytes);
  const auto above = static_cast<size_t>(std::upper_bound(numbers.begin(), numbers.end(), number) - numbers.begin());
  if (above == 0) return first;
  if (above > kParts) return first + count - 1;
  const uint32_t low = At(above - 1), high = At(above);
  const double part = static_cast<double>(number - numbers[above - 1]) / static_cast<double>(numbers[above] - numbers[above - 1]);
  return std::min(low + static_cast<uint32_t>(part * (high - low)), high);
}

bool IndexSearch::FindEnds(uint32_t index_id, uint32_t* first, uint32_t* end) const {
  char id[sizeof(uint32_t)];
  StoreBe32(id, index_id);
  const ByteView begin = AsBytes(id, sizeof id);
  if (!separators.Bisect([&](ByteView separator) { return separator < begin; }, first, separators.point_count)) return false;
  *end = *first;
  return separators.Bisect([&](ByteView separator) { return separator.starts_with(begin); }, end, separators.point_count);
}

void IndexSearch::LearnBetween(uint32_t index_id, uint32_t first, uint32_t end) {
  ByteView first_key, last_key;
  if (separators.Read(first, &first_key) == nullptr || separators.Read(end - 1, &last_key) == nullptr) return;
  first_key = separators.UserKeyOf(first_key);
  last_key = separators.UserKeyOf(last_key);
  const auto apart = std::mismatch(first_key.begin(), first_key.end(), last_key.begin(), last_key.end());
  const auto shared_bytes = static_cast<size_t>(apart.first - first_key.begin());
  if (shared_bytes > kSharedMax || learned_.size() == kLearnedMax) return;
  Learned learned;
  learned.index_id = index_id;
  learned.first = first;
  learned.count = end - first;
  learned.shared_bytes = static_cast<uint16_t>(shared_bytes);
  std::copy_n(first_key.data(), shared_bytes, learned.shared.data());
  for (size_t part = 0; part <= kParts; ++part) {
    ByteView key;
    if (separators.Read(learned.At(part), &key) == nullptr) return;
    learned.numbers[part] = NumberAt(separators.UserKeyOf(key), shared_bytes);
    if (part != 0 && learned.numbers[part] < learned.numbers[part - 1]) return;
  }
  learned_.push_back(learned);
}

void IndexSearch::Learn(uint32_t index_id) {
  uint32_t first = 0, end = 0;
  if (FindEnds(index_id, &first, &end) && end - first >= kCountMin) LearnBetween(index_id, first, end);
}

void IndexSearch::LearnAll() {
  uint32_t end = 0;
  for (size_t indexes = 0; indexes < kLearnedMax && end < separators.point_count; ++indexes) {
    uint32_t first = end;
    ByteView key;
    if (separators.Read(first, &key) == nullptr || key.size() < sizeof(uint32_t)) return;
    const uint32_t index_id = LoadBe32(key.data());
    if (!FindEnds(index_id, &first, &end) || end <= first) return;
    if (end - first >= kCountMin) LearnBetween(index_id, first, end);
  }
  learned_.shrink_to_fit();
}

bool IndexSearch::HasLearned(uint32_t index_id) const {
  return std::ranges::any_of(learned_, [index_id](const Learned& learned) { return learned.index_id == index_id; });
}

// Bounds the search from `at` on, in steps that double.
bool IndexSearch::Gallop(ByteView internal_key, uint32_t at, uint32_t* low, uint32_t* high) const {
  ByteView separator;
  if (separators.Read(at, &separator) == nullptr) return false;
  const bool upwards = separators.IsBefore(separator, internal_key);
  if (upwards) {
    *low = at + 1;
  } else {
    *high = at;
  }
  for (uint32_t step = 1; *low < *high; step *= 2) {
    const uint32_t next = upwards ? at + std::min(step, *high - 1 - at) : at - std::min(step, at - *low);
    if (separators.Read(next, &separator) == nullptr) return false;
    if (separators.IsBefore(separator, internal_key)) {
      *low = next + 1;
      if (!upwards) break;
    } else {
      *high = next;
      if (upwards) break;
    }
  }
  return true;
}

bool IndexSearch::Find(ByteView internal_key, uint32_t* found) const {
  const ByteView user_key = UserKeyOf(internal_key);
  uint32_t low = 0, high = separators.point_count;
  if (!learned_.empty() && user_key.size() >= sizeof(uint32_t)) {
    const uint32_t index_id = LoadBe32(user_key.data());
    const auto learned = std::ranges::find(learned_, index_id, &Learned::index_id);
    if (learned != learned_.end() && !Gallop(internal_key, learned->Expect(user_key), &low, &high)) return false;
  }
  const auto is_before = [&](ByteView separator) { return separators.IsBefore(separator, internal_key); };
  if (!separators.Bisect(is_before, &low, high)) return false;
  *found = low;
  return true;
}

IndexSearch::Where IndexSearch::FindBlock(ByteView internal_key, uint32_t* found, rocks::BlockHandle* handle) const {
  if (!Find(internal_key, found)) return Where::kMalformed;
  const bool is_behind_all = *found == separators.point_count;
  if (!is_behind_all && separators.ReadHandle(*found, handle) == nullptr) return Where::kMalformed;
  rocks::BlockHandle before;
  switch (separators.ReadHandleBefore(*found, &before)) {
    case IndexSeparators::Between::kNothing: return is_behind_all ? Where::kBehindAll : Where::kInBlock;
    case IndexSeparators::Between::kUnknown: return Where::kUnknown;
    case IndexSeparators::Between::kMalformed: break;
  }
  return Where::kMalformed;
}

}  // namespace cairn::store
