// SPDX-License-Identifier: GPL-2.0-only
// What streams over chosen files of a version share.
#pragma once

#include <algorithm>

#include "db/db_impl/db_impl.h"
#include "db/version_set.h"
#include "table/internal_iterator.h"

#include "base/bytes.h"
#include "store/rocks_status.h"
#include "store/rocksdb_fwd.h"

namespace cairn::store {

inline ByteView UserKey(const rocks::Slice& internal_key) { return ToView(rocks::ExtractUserKey(internal_key)); }

// The first file that ends at `lower` or behind it. Precondition: the files are in order and apart, as they are
// in each level but 0.
inline const rocks::FdWithKeyRange* FirstFileFrom(const rocks::LevelFilesBrief& level, ByteView lower) {
  return std::lower_bound(level.files, level.files + level.num_files, lower,
                          [](const rocks::FdWithKeyRange& file, ByteView key) { return UserKey(file.largest_key) < key; });
}

// Gives `version` to the stream, which releases it when it ends. Thread rule: as of the stream.
inline void HoldVersion(rocks::InternalIterator* stream, rocks::DBImpl* db, rocks::SuperVersion* version) {
  const auto release = [](void* held_by, void* held) {
    static_cast<rocks::DBImpl*>(held_by)->CleanupIteratorSuperVersion(static_cast<rocks::SuperVersion*>(held),
                                                                      /*background_purge=*/false);
  };
  stream->RegisterCleanup(release, db, version);
}

}  // namespace cairn::store
