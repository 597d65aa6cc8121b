// SPDX-License-Identifier: GPL-2.0-only
// How many entries of an index lie in a range: counted when few, estimated when many.
#pragma once

#include <cstdint>

#include "base/bytes.h"
#include "base/ids.h"
#include "base/status.h"
#include "catalog/table.h"
#include "store/store.h"

namespace cairn::stats {

struct RangeCount {
  uint64_t rows = 0;
  bool exact = false;  // counted to the end
};

// What is known of an index beforehand.
struct IndexSize {
  uint64_t entries = 0;                     // of the whole index
  catalog::FileDensity* density = nullptr;  // read and kept up to date; longer-lived than the call
};

// Walks at most a few entries, as committed, from the lower end. When the range ends by then the count
// is exact, memtables and deletions included; otherwise it is the entries that memtables have in
// the range and as many more as make up its bytes in files. A range that is open at its upper
// end is walked only if it looks small.
// Thread rule: any thread. Takes no locks.
Status CountRange(const store::Store& store, IndexId index, ByteView lower, ByteView upper, const IndexSize& size,
                  RangeCount* count);

}  // namespace cairn::stats
