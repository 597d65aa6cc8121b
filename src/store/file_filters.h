// SPDX-License-Identifier: GPL-2.0-only
// What files' filters know of the keys in them, and how many bits that takes.
#pragma once

#include <cstddef>
#include <memory>

#include "store/rocksdb_fwd.h"

namespace cairn::store {

// So much of a key is in filters by itself: an index id and eight bytes, which is a BIGINT or two INTs
// (docs/decisions/0020-prefix-filters.md).
constexpr size_t kFilteredPrefixBytes = 12;
// And so much of one that is in an index with lists: an index id and two BIGINTs (docs/decisions/0055-long-beginnings.md).
constexpr size_t kLongBeginningBytes = 20;

// The last level's filters, nine tenths of all, let one look in 45 for an absent key pass, those above one in 100.
constexpr double kLastLevelBitsPerKey = 8;
constexpr double kUpperLevelBitsPerKey = 10;

// RocksDB's Bloom filters, of which the last level's are smaller. Files of unknown level, which loads write, count as its.
//
// Of an index that is only walked (IsOnlyWalked() in base/ids.h) filters have the beginnings of keys alone, kFilteredPrefixBytes
// of each and, where the index has lists, long ones (store/long_beginnings.h). Who asks for a whole key of such an index, or for more than its
// short beginning, is answered for the longest beginning that the filter has: "may be there" where another entry begins so, and
// never "absent" of one that is there. So it does not matter who asks what.
//
// RocksDB finds a filter by its policy's compatibility name. This one's is its own: whoever opens the store with another policy reads
// these files without filters, and this one reads others' files so (docs/decisions/0048-filters-of-walked-indexes.md).
// Format: docs/formats/filter.md.
//
// Threads: any. Not null.
std::shared_ptr<const rocks::FilterPolicy> NewFileFilters();

// Whether a policy is such a one, so that its filters, as whole keys are asked for, may also be asked for long beginnings.
bool KnowLongBeginnings(const rocks::FilterPolicy& policy);

}  // namespace cairn::store
