// SPDX-License-Identifier: GPL-2.0-only
// RocksDB's internal keys: the user's key and a trailer of 8 bytes, little-endian: sequence number << 8 | type.
#pragma once

#include <cstddef>

#include "base/bytes.h"

namespace cairn::store {

constexpr size_t kTrailerBytes = 8;

// Precondition: the trailer is there.
inline ByteView UserKeyOf(ByteView internal_key) { return {internal_key.data(), internal_key.size() - kTrailerBytes}; }

}  // namespace cairn::store
