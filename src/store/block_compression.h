// SPDX-License-Identifier: GPL-2.0-only
// Compresses blocks, no harder than pays.
#pragma once

#include <memory>

#include <rocksdb/advanced_compression.h>

#include "store/rocksdb_fwd.h"

namespace cairn::store {

// Zstandard's level of a block that repays it, in Zstandard's own count.
constexpr int kZstdLevel = 3;

// RocksDB's own compression but for Zstandard of level kZstdLevel without dictionary and checksum: there each block is compressed at
// that level, or with less effort where that makes it no larger (store/compression_effort.h); and for LZ4 without dictionary, where
// blocks are left as they are while it makes none smaller. The blocks are such as RocksDB makes and reads by itself.
//
// Threads: any; one may serve many families and stores.
std::shared_ptr<rocks::CompressionManager> NewBlockCompression();

}  // namespace cairn::store
