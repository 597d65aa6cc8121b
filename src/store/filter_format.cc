// SPDX-License-Identifier: GPL-2.0-only
// The bytes of a file's filter.
#include "store/filter_format.h"

#include <algorithm>
#include <cassert>

#include "base/endian.h"

namespace cairn::store {
namespace {

constexpr size_t kIdBytes = sizeof(uint32_t);
constexpr size_t kCountBytes = sizeof(uint16_t);

}  // namespace

void EncodeFilter(const FilterFormat& filter, ByteBuffer* bytes) {
  assert(filter.long_indexes.size() <= kLongIndexesMax && std::ranges::is_sorted(filter.long_indexes));
  bytes->Append(filter.bits);
  for (const IndexId index : filter.long_indexes) bytes->AppendBe32(index.value);
  bytes->AppendBe16(static_cast<uint16_t>(filter.long_indexes.size()));
}

bool DecodeFilter(ByteView bytes, FilterFormat* filter) {
  if (bytes.size() < kCountBytes) return false;
  const size_t count = LoadBe16(bytes.data() + bytes.size() - kCountBytes);
  const size_t list_bytes = count * kIdBytes;
  if (bytes.size() - kCountBytes < list_bytes) return false;
  const size_t bits_bytes = bytes.size() - kCountBytes - list_bytes;
  filter->bits = bytes.substr(0, bits_bytes);
  filter->long_indexes.clear();
  for (size_t i = 0; i < count; ++i) filter->long_indexes.push_back(IndexId(LoadBe32(bytes.data() + bits_bytes + i * kIdBytes)));
  return std::ranges::is_sorted(filter->long_indexes);
}

}  // namespace cairn::store
