// SPDX-License-Identifier: GPL-2.0-only
// How much one entry and one batch may be.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/bytes.h"
#include "base/status.h"

namespace cairn::store {

// RocksDB counts in 32 bits, and does not look whether they are enough, the bytes of an entry in a memtable, places in the block
// of a file that an entry lies in, and the changes of a batch.
//
// Key and value together. 16 MiB are left for what a memtable, a log or a sorted run has beside them, and for other entries of the
// block: these are less than an expert's largest block, too.
inline constexpr uint64_t kEntryBytesMax = (uint64_t{1} << 32) - (uint64_t{16} << 20);
// Of one batch. What is left is for small batches that are written together with it.
inline constexpr uint64_t kBatchChangesMax = (uint64_t{1} << 32) - (uint64_t{1} << 24);

constexpr bool FitsEntry(uint64_t key_bytes, uint64_t value_bytes) {
  return key_bytes <= kEntryBytesMax && value_bytes <= kEntryBytesMax - key_bytes;
}

// kTooLarge, with what is too large.
[[gnu::cold]] Status EntryTooLarge(uint64_t key_bytes, uint64_t value_bytes);
[[gnu::cold]] Status BatchTooLarge();

inline Status CheckEntry(ByteView key, ByteView value) {
  return FitsEntry(key.size(), value.size()) ? Status::Ok() : EntryTooLarge(key.size(), value.size());
}
// Before another change comes to a batch that has so many.
inline Status CheckBatch(uint64_t change_count) { return change_count < kBatchChangesMax ? Status::Ok() : BatchTooLarge(); }

}  // namespace cairn::store
