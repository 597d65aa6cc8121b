// SPDX-License-Identifier: GPL-2.0-only
// Keeps count of a store's files and paces their removal.
#pragma once

#include <cstdint>
#include <memory>

#include <rocksdb/env.h>
#include <rocksdb/sst_file_manager.h>

#include "store/rocksdb_fwd.h"

namespace cairn::store {

// SetMaxAllowedSpaceUsage() of what this makes decides which compactions may start, and nothing more. RocksDB's own
// also makes flushes and compactions under way fail at that bound, hard and without recovery, although the disk has
// room for them: a flush writes what was let through long ago, and frees its log.
//
// `delete_bytes_per_second`: pace at which files are removed, 0 for at once. Threads: any may use the manager.
std::shared_ptr<rocks::SstFileManager> MakeFileManager(rocks::Env* env, int64_t delete_bytes_per_second);

// What the compactions that run have read, or will: room for as much was there when they started. `files`: made above.
uint64_t CompactionsReservedBytes(rocks::SstFileManager& files);

}  // namespace cairn::store
