// SPDX-License-Identifier: GPL-2.0-only
// What an open cursor's iterator points into, and the read options made of it.
#pragma once

#include <string>

#include <rocksdb/options.h>

#include "store/cursor.h"
#include "store/rocks_status.h"

namespace cairn::store {

struct CursorBounds {
  std::string lower;
  std::string upper;
  rocks::Slice lower_slice;
  rocks::Slice upper_slice;

  // Copies the bounds; the result points into this object.
  rocks::ReadOptions MakeReadOptions(const CursorOptions& options) {
    rocks::ReadOptions read;
    lower.assign(options.lower_bound);
    upper.assign(options.upper_bound);
    if (!lower.empty()) {
      lower_slice = lower;
      read.iterate_lower_bound = &lower_slice;
    }
    if (!upper.empty()) {
      upper_slice = upper;
      read.iterate_upper_bound = &upper_slice;
    }
    if (options.snapshot != nullptr) read.snapshot = options.snapshot->rocks_;
    read.readahead_size = options.readahead_bytes;
    read.fill_cache = options.fill_cache;
    return read;
  }
};

}  // namespace cairn::store
