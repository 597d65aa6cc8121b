// SPDX-License-Identifier: GPL-2.0-only
// How many entries of an index lie in a range: counted when few or settled, else estimated.
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

// As committed, by where both ends of the range lie in each memtable and file (store::Store::CountByPosition). Exact: settled data
// within one or two blocks, up to 128 entries of any sources (with older versions, deletions), and what looks like 24
// rows or fewer, which then are walked over. Otherwise entries that were counted, by what a sample of them makes; or, where
// blocks were not looked into, those and bytes of blocks by the mean entry: where most rows of the range lie in memtables anew
// that is up to twice the truth.
//
// Where sources cannot be counted so (deletions of ranges, damage), or a sample is almost all deletions and old versions,
// walks at most a few entries from the lower end, past some thousand that make no rows. When the range ends by then the count is exact,
// memtables and deletions included; otherwise it is the entries that memtables have in the range and as many more as make up its bytes
// in files. There a range that is open at its upper end is walked only if it looks small.
// So its work is bounded, and it need not be killed.
// Thread rule: any thread. Takes no locks.
Status CountRange(const store::Store& store, IndexId index, ByteView lower, ByteView upper, const IndexSize& size,
                  RangeCount* count);

}  // namespace cairn::stats
