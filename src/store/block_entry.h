// SPDX-License-Identifier: GPL-2.0-only
// The lengths that each entry of a data block begins with, and where among its restart points a key is.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "util/coding.h"

#include "base/bytes.h"
#include "store/index_separators.h"
#include "store/internal_key.h"
#include "store/rocksdb_fwd.h"

namespace cairn::store {

// Reads the lengths before an entry's key, which begins where this returns; null: they are malformed, or key and value
// reach beyond `end`.
[[gnu::always_inline]] inline const uint8_t* ReadEntryHead(const uint8_t* at, const uint8_t* end, uint32_t* shared,
                                                           uint32_t* own, uint32_t* value_bytes) {
  if (end - at < 4) return nullptr;  // no entry is that short
  *shared = at[0];
  *own = at[1];
  *value_bytes = at[2];
  if (__builtin_expect((*shared | *own) < 0x80 && (*value_bytes < 0x80 || at[3] < 0x80), true)) {
    if (*value_bytes < 0x80) {
      at += 3;
    } else {
      *value_bytes = (*value_bytes & 0x7f) | uint32_t{at[3]} << 7;
      at += 4;
    }
  } else {
    for (uint32_t* number : {shared, own, value_bytes}) {
      at = reinterpret_cast<const uint8_t*>(
          rocks::GetVarint32Ptr(reinterpret_cast<const char*>(at), reinterpret_cast<const char*>(end), number));
      if (at == nullptr) return nullptr;
    }
  }
  return static_cast<size_t>(end - at) < size_t{*own} + *value_bytes ? nullptr : at;
}

// string_view's comparison is a call.
inline bool KeyIsBefore(ByteView one, ByteView other) {
  const int order = std::memcmp(one.data(), other.data(), std::min(one.size(), other.size()));
  return order < 0 || (order == 0 && one.size() < other.size());
}

// The user's key of a restart point, which has it whole. False: malformed.
[[gnu::always_inline]] inline bool ReadPoint(const BlockEntries& block, uint32_t i, ByteView* key) {
  const uint8_t* at = block.Point(i);
  uint32_t shared, own, value_bytes;
  if (at == nullptr || (at = ReadEntryHead(at, block.end, &shared, &own, &value_bytes)) == nullptr || shared != 0 ||
      own < kTrailerBytes) {
    return false;
  }
  *key = AsBytes(at, own - kTrailerBytes);
  return true;
}

// Brings `low` to the first restart point whose key is not before `key`, which is at or before `high`. False: malformed.
[[gnu::always_inline]] inline bool BisectPoints(const BlockEntries& block, ByteView key, uint32_t* low, uint32_t high) {
  while (*low < high) {
    const uint32_t middle = *low + (high - *low) / 2;
    ByteView whole;
    if (!ReadPoint(block, middle, &whole)) return false;
    if (KeyIsBefore(whole, key)) {
      *low = middle + 1;
    } else {
      high = middle;
    }
  }
  return true;
}

// The last restart point whose key is before all versions of `key`, or else the block's begin. Null: malformed.
[[gnu::always_inline]] inline const uint8_t* LastPointBefore(const BlockEntries& block, ByteView key) {
  uint32_t low = 0;
  if (!BisectPoints(block, key, &low, block.point_count)) return nullptr;
  return low == 0 ? block.begin : block.Point(low - 1);
}

}  // namespace cairn::store
