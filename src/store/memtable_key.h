// SPDX-License-Identifier: GPL-2.0-only
// Keys of a memtable's entries, as RocksDB encodes them, and their order.
//
// An entry begins with a varint of the internal key's length. User keys are in order of their bytes, entries of one key from
// new to old. The type does not count.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "base/bytes.h"
#include "base/endian.h"
#include "store/internal_key.h"

namespace cairn::store {

// The user's key of an entry; its trailer follows it.
struct EntryKey {
  const char* data;
  size_t size;

  static EntryKey Of(const char* entry) {
    const auto* byte = reinterpret_cast<const uint8_t*>(entry);
    size_t internal_size = *byte++;
    if (__builtin_expect(internal_size >= 0x80, false)) {
      internal_size &= 0x7f;
      for (unsigned shift = 7;; shift += 7) {
        internal_size |= size_t{*byte & 0x7fu} << shift;
        if (*byte++ < 0x80) break;
      }
    }
    return {reinterpret_cast<const char*>(byte), internal_size - kTrailerBytes};
  }

  static EntryKey OfInternal(ByteView internal_key) {
    return {internal_key.data(), internal_key.size() - kTrailerBytes};
  }

  uint64_t sequence() const { return LoadLe64(data + size) >> 8; }

  // Eight bytes from `offset` on as a number that is in the order of the bytes; zeros follow the key.
  uint64_t WordAt(size_t offset) const {
    if (__builtin_expect(offset + 8 <= size, true)) return LoadBe64(data + offset);
    if (offset >= size) return 0;
    return LoadBe64(data + offset) & ~uint64_t{0} << 8 * (offset + 8 - size);  // the trailer may be read
  }
};

// What is looked for, or about to be inserted. Refers to the key's bytes.
struct MemtableTarget {
  static constexpr size_t kWordCount = 3;
  static constexpr size_t kWordBytes = kWordCount * 8;

  explicit MemtableTarget(const EntryKey& of) : MemtableTarget(of, of.sequence()) {}
  // Without a trailer behind the key: eight bytes of whatever may be read there.
  MemtableTarget(const EntryKey& of, uint64_t at_sequence) : key(of), sequence(at_sequence) {
    for (size_t i = 0; i < kWordCount; ++i) words[i] = key.WordAt(8 * i);
  }

  EntryKey key;
  uint64_t sequence;
  uint64_t words[kWordCount];  // the key's first bytes
};

// Less than, equal to or greater than 0 as `target` is before, at or after `entry`. The first `known_equal`
// bytes are not compared; a reader that was overtaken may be wrong about them, the entry may even be shorter.
inline int CompareToEntry(const MemtableTarget& target, const char* entry, size_t known_equal = 0) {
  const EntryKey other = EntryKey::Of(entry);
  const size_t common = std::min(target.key.size, other.size);
  known_equal = std::min(known_equal, common);
  if (const int order = std::memcmp(target.key.data + known_equal, other.data + known_equal, common - known_equal)) {
    return order;
  }
  if (target.key.size != other.size) return target.key.size < other.size ? -1 : 1;
  const uint64_t sequence = other.sequence();
  return target.sequence == sequence ? 0 : target.sequence > sequence ? -1 : 1;
}

}  // namespace cairn::store
