// SPDX-License-Identifier: GPL-2.0-only
// The merged stream of only those memtables and files that may have keys with a certain beginning.
#pragma once

#include <cstddef>
#include <cstdint>

#include "db/db_impl/db_impl.h"
#include "memory/arena.h"
#include <rocksdb/options.h>
#include "table/internal_iterator.h"

#include "store/rocksdb_fwd.h"

namespace cairn::store {

// So much of a key is in filters beside the whole key: an index id and eight bytes, which is a BIGINT or two
// INTs. A file remembers the length it was written with, and is asked accordingly (decision 20).
constexpr size_t kFilteredPrefixBytes = 12;

// As DBImpl::NewInternalIterator, for a range within which all keys begin alike as far as filters know
// beginnings: memtables and files whose filter has no such beginning are left out, and of a level just
// the file or two that the range lies in are opened. So it serves these bounds only. Deletions of
// ranges apply, also those in files that are left out. Null when the bounds do not begin alike.
//
// `version` is then held by the stream, which lives in `arena`; `read` must outlive it.
rocks::InternalIterator* NewPrefixStream(rocks::DBImpl* db, rocks::ColumnFamilyData* family,
                                         rocks::SuperVersion* version, rocks::ReadOptions* read, uint64_t sequence,
                                         rocks::Arena* arena);

}  // namespace cairn::store
