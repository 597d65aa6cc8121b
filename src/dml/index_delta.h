// SPDX-License-Identifier: GPL-2.0-only
// What became of the entries of an index while it was being built (docs/formats/key.md).
#pragma once

#include "base/bytes.h"
#include "base/status.h"
#include "catalog/index_build.h"

namespace cairn::dml {

// One change of an entry; the newest of an entry and row replaces the ones before.
//
//   key   := delta id (4 bytes), the entry's key without its index id,
//            for a unique index the row's primary key without its index id
//   value := 1 (the row has the entry) or 2 (it has not), varint bytes of the entry's key without its
//            id, the entry's value (empty for 2)
//
// So the deltas of one entry lie side by side, and rows that take a unique value from each other do not
// overwrite each other's.
struct IndexDelta {
  bool present = false;
  ByteView entry_key_rest;    // without index id
  ByteView primary_key_rest;  // likewise; empty unless the index is unique
  ByteView value;
};

// Both append.
void EncodeDelta(const catalog::IndexBuild& build, bool present, ByteView entry_key, ByteView entry_value,
                 ByteView primary_key, ByteBuffer* key, ByteBuffer* value);

// The views are into `key` and `value`. kCorruption for bytes EncodeDelta does not make.
Status DecodeDelta(ByteView key, ByteView value, IndexDelta* delta);

}  // namespace cairn::dml
