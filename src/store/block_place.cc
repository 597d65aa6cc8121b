// SPDX-License-Identifier: GPL-2.0-only
// Searches of restart points, and short walks over the lengths of entries.
#include "store/block_place.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "db/dbformat.h"

#include "base/endian.h"
#include "store/block_entry.h"
#include "store/internal_key.h"

namespace cairn::store {
namespace {

// How many of the first `bytes` are equal. Those of a trailer follow both.
inline size_t EqualBytes(const uint8_t* one, const uint8_t* other, size_t bytes) {
  static_assert(kTrailerBytes >= sizeof(uint64_t));
  for (size_t equal = 0; equal < bytes; equal += sizeof(uint64_t)) {
    const uint64_t differing = LoadBe64(one + equal) ^ LoadBe64(other + equal);
    if (differing != 0) return std::min(equal + static_cast<size_t>(std::countl_zero(differing)) / 8, bytes);
  }
  return bytes;
}

// Most keys are short: a move of a fixed size instead of a call. `may_copy_behind`: from and to what follows.
inline void CopyShort(char* to, const void* from, size_t bytes, bool may_copy_behind) {
  if (bytes <= KeyLists::kBehindKey && may_copy_behind) {
    char moved[KeyLists::kBehindKey];
    std::memcpy(moved, from, sizeof moved);  // these may overlap
    std::memcpy(to, moved, sizeof moved);
  } else {
    std::memcpy(to, from, bytes);
  }
}

// Where entries end that come before a restart point, or behind all; null: malformed.
const uint8_t* EndBefore(const BlockEntries& entries, uint32_t point) {
  return point == entries.point_count ? entries.end : entries.Point(point);
}

// Goes on to the first entry whose key is not before `key`, or to `end`. Of each key those bytes are compared that the one
// before it has not. That one is before `key`, has so many bytes, and of these the first `same` are as in `key`, which a
// trailer follows.
bool ScanBefore(ByteView key, const uint8_t* end, size_t same, size_t before_bytes, BlockPlace* place) {
  const auto* const wanted = reinterpret_cast<const uint8_t*>(key.data());
  while (place->at != end) {
    uint32_t shared, own, value_bytes;
    const uint8_t* const at = ReadEntryHead(place->at, end, &shared, &own, &value_bytes);
    if (at == nullptr || size_t{shared} + own < kTrailerBytes) return false;
    const size_t bytes = size_t{shared} + own - kTrailerBytes;
    if (shared > same) {
      // It differs from `key` where the one before does; a beginning of `key` would have to be put together for that.
      if (same >= before_bytes || bytes <= same) return false;
    } else if (shared < std::min(bytes, key.size()) && *at < wanted[shared]) {  // as most
      same = shared;
    } else {
      const size_t common = std::min(bytes, key.size());
      if (common < shared) return false;
      same = shared + EqualBytes(at, wanted + shared, common - shared);
      if (same == key.size() || (same < common && at[same - shared] > wanted[same])) return true;
    }
    before_bytes = bytes;
    place->at = at + own + value_bytes;
    ++place->before;
  }
  return true;
}

}  // namespace

bool FindPlace(const BlockEntries& entries, uint32_t interval, ByteView internal_key, BlockPlace* place) {
  const ByteView key = UserKeyOf(internal_key);
  uint32_t low = 0;
  if (!BisectPoints(entries, key, &low, entries.point_count)) return false;
  if (low == 0) {
    *place = {entries.begin, 0, 0};
    return true;
  }
  *place = {entries.Point(low - 1), uint64_t{interval} * (low - 1), low};
  const uint8_t* const end = EndBefore(entries, low);
  return place->at != nullptr && place->at <= end && ScanBefore(key, end, 0, 0, place);
}

// What the entry at the lower place shares with the one before it, it shares with the lower key, so that the walk may begin
// with that.
bool FindPlaceBehind(const BlockEntries& entries, uint32_t interval, const BlockPlace& lower, ByteView internal_lower,
                     ByteView internal_key, BlockPlace* place) {
  const ByteView before = UserKeyOf(internal_lower), key = UserKeyOf(internal_key);
  uint32_t low = lower.next_point, high = entries.point_count;
  for (uint32_t step = 1; low < high; step *= 2) {
    const uint32_t next = std::min(low + step - 1, high - 1);
    ByteView whole;
    if (!ReadPoint(entries, next, &whole)) return false;
    if (!KeyIsBefore(whole, key)) {
      high = next;
      break;
    }
    low = next + 1;
  }
  if (!BisectPoints(entries, key, &low, high)) return false;
  size_t same = 0, before_bytes = 0;
  *place = lower;
  if (low == lower.next_point) {
    before_bytes = before.size();
    same = EqualBytes(reinterpret_cast<const uint8_t*>(before.data()), reinterpret_cast<const uint8_t*>(key.data()),
                      std::min(before.size(), key.size()));
  } else {
    *place = {entries.Point(low - 1), uint64_t{interval} * (low - 1), low};
  }
  const uint8_t* const end = EndBefore(entries, low);
  return place->at != nullptr && place->at <= end && ScanBefore(key, end, same, before_bytes, place);
}

bool CountEntries(const BlockEntries& entries, uint32_t interval, uint64_t* count) {
  *count = uint64_t{interval} * (entries.point_count - 1);
  const uint8_t* at = entries.Point(entries.point_count - 1);
  for (; at != entries.end; ++*count) {
    uint32_t shared, own, value_bytes;
    if (at == nullptr || (at = ReadEntryHead(at, entries.end, &shared, &own, &value_bytes)) == nullptr) return false;
    at += size_t{own} + value_bytes;
  }
  return true;
}

bool ListEntries(const uint8_t* at, const uint8_t* end, uint64_t count_max, ByteView before, KeyLists* lists) {
  for (; at != end && count_max != 0; --count_max) {
    uint32_t shared, own, value_bytes;
    if ((at = ReadEntryHead(at, end, &shared, &own, &value_bytes)) == nullptr) return false;
    if (shared > before.size() || size_t{shared} + own < kTrailerBytes) return false;
    char* const key = lists->Allocate(size_t{shared} + own);
    if (key == nullptr) return true;
    CopyShort(key, before.data(), shared, /*may_copy_behind=*/true);
    CopyShort(key + shared, at, own, end - at >= ptrdiff_t{KeyLists::kBehindKey});
    before = ByteView(key, size_t{shared} + own);
    at += size_t{own} + value_bytes;
    const size_t bytes = before.size() - kTrailerBytes;
    const auto type = static_cast<uint8_t>(key[bytes]);
    const bool is_value = type == rocks::kTypeValue;
    if (!is_value && type != rocks::kTypeDeletion && type != rocks::kTypeSingleDeletion) return false;
    if (!lists->Add(ByteView(key, bytes), is_value)) return true;
  }
  return true;
}

}  // namespace cairn::store
