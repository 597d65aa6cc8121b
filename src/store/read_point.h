// SPDX-License-Identifier: GPL-2.0-only
// Memtables and files of a family, and up to which change they are looked at.
#pragma once

#include <cstdint>

#include "store/family_source.h"
#include "store/rocksdb_fwd.h"

namespace cairn::store {

// `version` has all changes of the family up to `sequence`, and keeps them: nothing that a view of that number sees is dropped
// from it. Without a view it may lack the last one where that is a load, whose number RocksDB tells a moment before its version.
// Whoever takes it releases the version: version_files.h.
struct ReadPoint {
  rocks::SuperVersion* version = nullptr;
  uint64_t sequence = 0;
};

// That of a view; of null, of what is committed now.
//
// Without a view the version comes first, as a compaction after it may drop what a number taken before it sees. But a load handed over
// between the two is not in it, and what others commit after that is, if its memtable still is the one that is written to: they
// would be seen in the wrong order. So both are taken again where the version was replaced meanwhile. (RocksDB takes in files, and
// makes their version the current one, while nobody else may write.)
//
// `between` is called between the two, each time: for tests.
//
// Thread rule: any.
template <typename Between>
ReadPoint TakeReadPoint(const FamilySource& source, const rocks::Snapshot* view, const Between& between) {
  for (;;) {
    ReadPoint point;
    point.version = source.family->GetReferencedSuperVersion(source.db);
    if (view != nullptr) {
      point.sequence = view->GetSequenceNumber();
      return point;
    }
    between();
    point.sequence = source.db->GetLatestSequenceNumber();
    if (source.family->GetSuperVersionNumber() == point.version->version_number) return point;
    source.db->CleanupIteratorSuperVersion(point.version, /*background_purge=*/false);
  }
}

inline ReadPoint TakeReadPoint(const FamilySource& source, const rocks::Snapshot* view) {
  return TakeReadPoint(source, view, [] {});
}

}  // namespace cairn::store
