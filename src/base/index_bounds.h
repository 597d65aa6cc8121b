// SPDX-License-Identifier: GPL-2.0-only
// Where the keys of an index, or of several whose numbers follow each other, lie in the data family.
#pragma once

#include "base/bytes.h"
#include "base/ids.h"

namespace cairn {

// All keys k of the indexes have lower() <= k < upper(), and no other index's keys do.
// Lifetime: the views are into this object.
class IndexBounds {
 public:
  explicit IndexBounds(IndexId index) : IndexBounds(index, index) {}
  IndexBounds(IndexId first, IndexId last) {
    StoreBe32(lower_, first.value);
    StoreBe32(upper_, last.value + 1);
  }
  ByteView lower() const { return AsBytes(lower_, sizeof lower_); }
  ByteView upper() const { return AsBytes(upper_, sizeof upper_); }

 private:
  char lower_[4];
  char upper_[4];
};

}  // namespace cairn
