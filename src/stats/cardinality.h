// SPDX-License-Identifier: GPL-2.0-only
// How many entries of an index share a value of its first parts, by sampling.
#pragma once

#include <cstdint>
#include <vector>

#include "base/status.h"
#include "catalog/table_access.h"
#include "store/store.h"

namespace cairn::stats {

// For each prefix of an index's own parts, the average number of entries per distinct value (at
// least 1). Reads a bounded number of entries: all of a small index, and of a large one runs of
// neighbours at places spread over its key range.
//
// A run in which a prefix never changes says only that its value is common; such values are measured
// by the share of the index's bytes they take.
// Thread rule: any thread. Takes no locks.
Status SampleIndex(const store::Store& store, const codec::IndexCodec& index, uint64_t table_rows,
                   std::vector<double>* rows_per_value);

}  // namespace cairn::stats
