// SPDX-License-Identifier: GPL-2.0-only
// Which files are compacted for the deletions in them: those in which a walk would step over many at once.
#pragma once

#include <cstdint>
#include <memory>

#include <rocksdb/table_properties.h>

#include "store/rocksdb_fwd.h"

namespace cairn::store {

// Fewer deletions in a row than this are not a run: a walk steps over them in some microseconds.
constexpr uint64_t kDeletionRunMin = 64;
// So many deletions in runs mark a file, however large it is.
constexpr uint64_t kDeletionsInRunsMax = 64 << 10;
// Half of its entries mark a file from this size on, in bytes; below it, a walk is through the file soon.
constexpr uint64_t kMarkedFileBytesMin = 1 << 20;

// Marks a file for compaction when it has kDeletionsInRunsMax deletions in runs, or half of its entries are in runs and it has
// kMarkedFileBytesMin. A run is of deletions of one key after another with nothing else between them, as what reads a queue and
// deletes behind itself leaves. An index whose column is updated has as many deletions, each beside living entries: a walk passes
// them one by one, and moving them is left to the reads that pay for it (docs/decisions/0019-reads-move-data.md).
//
// Threads: any.
std::shared_ptr<rocks::TablePropertiesCollectorFactory> NewDeletionRunMarks();

}  // namespace cairn::store
