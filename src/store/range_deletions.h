// SPDX-License-Identifier: GPL-2.0-only
// Whether deletions of ranges in memtables and newer files reach between two bounds.
#pragma once

#include <cstdint>

#include "db/column_family.h"
#include <rocksdb/options.h>

#include "store/family_source.h"
#include "store/file_run.h"
#include "store/rocksdb_fwd.h"

namespace cairn::store {

// Of those that `sequence` sees, and the bounds that `read` has.
enum class RangeDeletions : uint8_t {
  kNone,       // whatever the bounds
  kElsewhere,  // not between these
  kWithin,     // or that is not known
};

// Of all memtables of `version`, and of the files of all runs but the oldest. Asks few files only: of many it is not known.
RangeDeletions RangeDeletionsAbove(const FamilySource& source, const rocks::SuperVersion& version,
                                   const rocks::ReadOptions& read, const FileRuns& runs, uint64_t sequence);

}  // namespace cairn::store
