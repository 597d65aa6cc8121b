// SPDX-License-Identifier: GPL-2.0-only
// The trees of the memtables of a version, for walks that do without RocksDB's iterators.
#pragma once

#include <list>

#include "db/column_family.h"

#include "base/bytes.h"
#include "store/memtable_tree.h"
#include "store/rocksdb_fwd.h"

namespace cairn::store {

// The tree of `memtable`; null of a memtable of another kind. Who walks it sees point entries only and verifies no
// checksums: see HasPlainEntries().
const MemtableTree* TreeOf(const rocks::ReadOnlyMemTable& memtable);

// Whether the tree's entries are all there is to them: no checksum that is to be verified.
bool HasPlainEntries(const rocks::ReadOnlyMemTable& memtable);

// Whether beside that the memtable has no deletion of a range.
// Deletions that come later have higher sequence numbers than all that was committed before this is asked.
bool HasPlainEntriesOnly(const rocks::ReadOnlyMemTable& memtable);

// The older memtables of a version, which are or soon will be on their way to disk; the newest first.
// Thread rule: as long as the version is held, any.
const std::list<rocks::ReadOnlyMemTable*>& OlderMemtables(const rocks::SuperVersion& version);

// Whether the active memtable has nothing between an internal key and an upper bound (empty: none) that can be visible
// at a sequence number that was committed before this is asked: then what comes later is not visible either.
bool IsActiveMemtableEmpty(const rocks::SuperVersion& version, const rocks::Slice& from, ByteView upper);

}  // namespace cairn::store
