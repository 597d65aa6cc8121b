// SPDX-License-Identifier: GPL-2.0-only
// Keys by which others wait for a transaction.
#pragma once

#include <cstdint>

#include "base/bytes.h"

namespace cairn::txn {

// Keys in the table of point locks that stand for a transaction: index 0 is nobody's. The transaction holds them exclusively.
// Lifetime: the views are into this object.
class NumberKey {
 public:
  explicit NumberKey(uint64_t owner_id) { StoreBe64(bytes_ + 4, owner_id); }
  // While it has ranges.
  ByteView view() const { return AsBytes(bytes_, 12); }
  // While it has claims.
  ByteView claims() const { return AsBytes(bytes_, sizeof bytes_); }

 private:
  char bytes_[13] = {};
};

}  // namespace cairn::txn
