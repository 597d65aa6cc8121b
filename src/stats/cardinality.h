// SPDX-License-Identifier: GPL-2.0-only
// How many entries of an index share a value of its first parts, by sampling.
#pragma once

#include <cstdint>
#include <vector>

#include "base/status.h"
#include "catalog/table_access.h"
#include "store/store.h"

namespace cairn::stats {

// For each prefix of an index's own parts and, if it is not unique, of those that follow from the primary key (but for a hidden row
// id), the average number of entries per distinct value (at least 1). Reads a bounded number of entries: all of a small index, and of a large
// one runs of neighbours at places that split its bytes evenly. A run ends early where thousands that make no rows lie in its way: so the
// work is bounded, and need not be killed.
//
// Each entry stands for one over the number of entries that share its value, so common and rare
// values both count for what they are; values that reach out of a run are measured by CountRange. A value of the first part
// that fills runs is a stratum of its own, and so is what lies between two of them: runs are spread anew over such that have
// none, so that a value of almost all rows (NULL, zero) does not hide the others. Three times at most: what then has no run is
// taken to be like what has.
// Source: stratified sampling, e.g. Cochran, Sampling Techniques, chapter 5.
// Thread rule: any thread. Takes no locks.
Status SampleIndex(const store::Store& store, const codec::IndexCodec& index, uint64_t table_rows,
                   std::vector<double>* rows_per_value);

}  // namespace cairn::stats
