// SPDX-License-Identifier: GPL-2.0-only
// The bytes of a file's filter. Format: docs/formats/filter.md.
#pragma once

#include <cstddef>
#include <vector>

#include "base/bytes.h"
#include "base/ids.h"

namespace cairn::store {

// What a filter says of itself behind its bits: the indexes of which it has long beginnings, in the order of their ids.
struct FilterFormat {
  ByteView bits;  // RocksDB's; a view into the filter
  std::vector<IndexId> long_indexes;
};

// Appends the filter. Precondition: at most kLongIndexesMax indexes.
inline constexpr size_t kLongIndexesMax = 0xffff;
void EncodeFilter(const FilterFormat& filter, ByteBuffer* bytes);

// False: these bytes are no filter.
[[nodiscard]] bool DecodeFilter(ByteView bytes, FilterFormat* filter);

}  // namespace cairn::store
