// SPDX-License-Identifier: GPL-2.0-only
// How many entries of an index lie in a range: counted when few or side by side, else estimated.
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

// As committed. Of settled data (store::Store::CountSettled) by where both ends of the range lie: exact if all of it is within
// one or two blocks, and if it looks like few rows, which then are walked over; otherwise bytes of blocks by the mean entry.
// A file that may have several versions of a key counts each, unless there are few.
//
// Of other data walks at most a few entries from the lower end. When the range ends by then the count
// is exact, memtables and deletions included; otherwise it is the entries that memtables have in
// the range and as many more as make up its bytes in files. A range that is open at its upper
// end is walked only if it looks small.
// Thread rule: any thread. Takes no locks.
Status CountRange(const store::Store& store, IndexId index, ByteView lower, ByteView upper, const IndexSize& size,
                  RangeCount* count);

}  // namespace cairn::stats
