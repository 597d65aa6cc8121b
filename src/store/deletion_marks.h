// SPDX-License-Identifier: GPL-2.0-only
// Which files are compacted for the deletions in them.
#pragma once

#include <cstdint>
#include <memory>

#include <rocksdb/table_properties.h>

#include "store/rocksdb_fwd.h"

namespace cairn::store {

// Deletions are counted in windows of so many entries that follow each other in a file.
constexpr uint64_t kDeletionWindow = 128 << 10;
// Smaller files are not marked, in bytes. 140,000 deletions in a row compress to more than this, but to less than 1 MiB.
constexpr uint64_t kMarkedFileBytesMin = 256 << 10;

// Marks files for compaction, by RocksDB's CompactOnDeletionCollector: of those that are flushed such in which three quarters of a
// window, or of the file, are deletions; of those that a compaction writes, half.
//
// An index whose column is updated has a deletion for each entry put, half of all. Compacting each memtable of it as soon as it
// is flushed gains its readers little: they step over one deletion for each entry, and reads that meet many in level 0 pay for moving
// them (docs/decisions/0019-reads-move-data.md). Below level 0 nobody else moves them.
//
// Threads: any.
std::shared_ptr<rocks::TablePropertiesCollectorFactory> NewDeletionMarks();

}  // namespace cairn::store
