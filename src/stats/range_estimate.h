// SPDX-License-Identifier: GPL-2.0-only
// How many entries of an index lie in a range: counted when few, estimated when many.
#pragma once

#include <cstdint>

#include "base/bytes.h"
#include "base/ids.h"
#include "base/status.h"
#include "store/store.h"

namespace cairn::stats {

struct RangeCount {
  uint64_t rows = 0;
  bool exact = false;  // counted to the end
};

// Walks at most a few dozen committed entries from the lower end. When the range ends by then the
// count is exact, memtables and deletions included; otherwise the share of the range in the index's
// bytes is applied to `table_rows`.
// Thread rule: any thread. Takes no locks.
Status CountRange(const store::Store& store, IndexId index, ByteView lower, ByteView upper, uint64_t table_rows,
                  RangeCount* count);

}  // namespace cairn::stats
