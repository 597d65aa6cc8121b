// SPDX-License-Identifier: GPL-2.0-only
// Where the keys of one index lie in the data family.
#pragma once

#include "base/bytes.h"
#include "base/ids.h"

namespace cairn {

// All keys k of the index have lower() <= k < upper(), and no other index's keys do.
// Lifetime: the views are into this object.
class IndexBounds {
 public:
  explicit IndexBounds(IndexId index) {
    StoreBe32(lower_, index.value);
    StoreBe32(upper_, index.value + 1);
  }
  ByteView lower() const { return AsBytes(lower_, sizeof lower_); }
  ByteView upper() const { return AsBytes(upper_, sizeof upper_); }

 private:
  char lower_[4];
  char upper_[4];
};

}  // namespace cairn
