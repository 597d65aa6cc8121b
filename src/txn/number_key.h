// SPDX-License-Identifier: GPL-2.0-only
// Keys by which others wait for a transaction.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/bytes.h"
#include "base/endian.h"

namespace cairn::txn {

// Keys in the table of point locks that stand for a transaction: index 0 is nobody's. The transaction holds them exclusively.
// Lifetime: the views are into this object.
class NumberKey {
 public:
  explicit NumberKey(uint64_t owner_id) { StoreBe64(bytes_ + kIndexBytes, owner_id); }
  // While it has ranges.
  ByteView view() const { return AsBytes(bytes_, 12); }
  // While it has claims.
  ByteView claims() const { return AsBytes(bytes_, sizeof bytes_); }

  // What a locked key is, for people to read.
  enum class Kind : uint8_t { kRow, kRanges, kClaims };
  static Kind KindOf(ByteView key) {
    if (key.size() < kIndexBytes || LoadBe32(key.data()) != 0) return Kind::kRow;
    return key.size() == sizeof bytes_ ? Kind::kClaims : Kind::kRanges;
  }

 private:
  static constexpr size_t kIndexBytes = 4;

  char bytes_[13] = {};
};

}  // namespace cairn::txn
