// SPDX-License-Identifier: GPL-2.0-only
// Where keys lie in a data block, and how many entries come before them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/bytes.h"
#include "store/index_separators.h"
#include "store/key_lists.h"

namespace cairn::store {

// A block's builder stores each so many'th key whole (`interval`; the file tells it), so the number of such a restart point
// tells how many entries come before it. From there on entries are walked over, of which lengths are read and bytes that
// keys do not share.
//
// All return false where an entry is malformed: every length is checked. Keys that are looked for are internal keys, of which
// the user's part counts. Thread rule: any thread, as long as the block is held.

// The first entry that is not before some key, or the block's end.
struct BlockPlace {
  const uint8_t* at = nullptr;
  uint64_t before = 0;      // entries
  uint32_t next_point = 0;  // the first restart point whose key is not before that key
};

[[nodiscard]] bool FindPlace(const BlockEntries& entries, uint32_t interval, ByteView internal_key, BlockPlace* place);

// The same for a key behind `internal_lower`, whose place is `lower`; it is mostly near: restart points are looked at from there
// on, in steps that double.
[[nodiscard]] bool FindPlaceBehind(const BlockEntries& entries, uint32_t interval, const BlockPlace& lower, ByteView internal_lower,
                                   ByteView internal_key, BlockPlace* place);

// How many entries there are. Precondition: the block has some.
[[nodiscard]] bool CountEntries(const BlockEntries& entries, uint32_t interval, uint64_t* count);

// Adds the keys of entries from `at` on to the list begun last: at most `count_max`, up to the block's `end`. They are put
// together from what they share: `before` has what the first one shares with the entry before it, and so much may be read
// behind it as KeyLists tells. False also for entries that are neither a value nor a deletion.
[[nodiscard]] bool ListEntries(const uint8_t* at, const uint8_t* end, uint64_t count_max, ByteView before, KeyLists* lists);

}  // namespace cairn::store
