// SPDX-License-Identifier: GPL-2.0-only
// A range that lies in one file is read from that file, without a merge.
#pragma once

#include <cstdint>

#include "db/db_impl/db_impl.h"
#include "memory/arena.h"
#include <rocksdb/options.h>
#include "table/internal_iterator.h"

#include "base/bytes.h"
#include "store/rocksdb_fwd.h"

namespace cairn::store {

// One file of a version, or none.
struct SoleFile {
  const rocks::FileMetaData* file = nullptr;
  int level = 0;
};

// The file that has all entries between the bounds (empty: none) that can be visible at a sequence number taken
// after the version was; none when memtables have entries, or more than one file meets the bounds, or no file does.
// Settled data of a table is mostly so; merging one source with nothing is a fifth of a scan.
SoleFile FindSoleFile(const rocks::SuperVersion& version, ByteView lower, ByteView upper);

// As DBImpl::NewInternalIterator, for any bounds for which FindSoleFile gives this file. `version` is then held
// by the stream, which lives in `arena`; `read` must outlive it.
rocks::InternalIterator* NewSoleFileStream(rocks::DBImpl* db, rocks::ColumnFamilyData* family,
                                           rocks::SuperVersion* version, const rocks::ReadOptions& read,
                                           const SoleFile& sole, uint64_t sequence, rocks::Arena* arena);

}  // namespace cairn::store
