// SPDX-License-Identifier: GPL-2.0-only
// RocksDB's statuses in the engine's words, and its slices as views.
#pragma once

#include <string_view>

#include <rocksdb/slice.h>
#include <rocksdb/status.h>

#include "base/bytes.h"
#include "base/status.h"
#include "store/rocksdb_fwd.h"

namespace cairn::store {

inline rocks::Slice ToSlice(ByteView bytes) { return rocks::Slice(bytes.data(), bytes.size()); }
inline ByteView ToView(const rocks::Slice& slice) { return ByteView(slice.data(), slice.size()); }

// Translates, with RocksDB's text (which names the file) as the message of what is unexpected.
Status FromRocksSlow(const rocks::Status& status);

inline Status FromRocks(const rocks::Status& status) {
  if (__builtin_expect(status.ok(), true)) return Status::Ok();
  return FromRocksSlow(status);
}

// Whether something could not be read because its bytes are damaged, the device does not give them, or its file is not there.
bool IsUnreadable(const rocks::Status& status);

// Whether a file could not be opened because the process, or the system, has as many open as it may.
bool LacksDescriptor(const rocks::Status& status);

// Whether the disk ran out of space while a data file was written. Not where that befell RocksDB's manifest.
bool LacksRoomForFile(const rocks::Status& status);

}  // namespace cairn::store
