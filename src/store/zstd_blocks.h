// SPDX-License-Identifier: GPL-2.0-only
// Zstandard's blocks of a file: by as much effort as pays, with a dictionary where one pays.
#pragma once

#include <memory>

#include <rocksdb/advanced_compression.h>

#include "store/rocksdb_fwd.h"

namespace cairn::store {

class LearnedDictionaries;

// Zstandard's level of a block that repays it, in Zstandard's own count.
constexpr int kZstdLevel = 3;

// For the blocks of one file. Each is compressed at kZstdLevel, or with less effort where that makes it no larger
// (store/compression_effort.h). With `learned` (may be null), data blocks have a dictionary where one pays for those that come first:
// the last one of their index, or a new one (store/learned_dictionaries.h). RocksDB holds these blocks back meanwhile, and compresses all
// of the file on one thread. Blocks and dictionary are such as RocksDB makes and reads by itself.
//
// Threads: any, each with a working area of its own.
std::unique_ptr<rocks::Compressor> NewZstdBlocks(std::shared_ptr<LearnedDictionaries> learned);

}  // namespace cairn::store
