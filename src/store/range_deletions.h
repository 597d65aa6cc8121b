// SPDX-License-Identifier: GPL-2.0-only
// Whether deletions of ranges in a memtable or in files reach between two bounds.
#pragma once

#include <cstdint>

#include "db/column_family.h"
#include "db/memtable.h"
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

RangeDeletions RangeDeletionsOf(rocks::ReadOnlyMemTable* memtable, bool is_active, const rocks::ReadOptions& read,
                                uint64_t sequence);

// Asks few files only: of many it is not known.
RangeDeletions RangeDeletionsOf(const FamilySource& source, const rocks::SuperVersion& version,
                                const rocks::ReadOptions& read, const FileRun& run, uint64_t sequence);

}  // namespace cairn::store
