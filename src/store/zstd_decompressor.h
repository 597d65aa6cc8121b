// SPDX-License-Identifier: GPL-2.0-only
// Reads blocks that Zstandard has compressed with a dictionary.
#pragma once

#include <memory>

#include <rocksdb/advanced_compression.h>
#include <rocksdb/cache.h>

#include "store/rocksdb_fwd.h"

namespace cairn::store {

// `rocksdbs`, which reads Zstandard's blocks and others, but for Zstandard's with a dictionary: RocksDB, as it is built, has
// Zstandard take in a dictionary anew for each block, which takes as long as the block. Here it is made ready once for all files that
// have the same (store/ready_dictionaries.h), and lies beside its bytes in the block cache; who does not bring it there shares
// those, and the last ones that were made. What can be read is the same.
//
// `cache` is charged for what is ready, once for equal ones. Null: each reader that has one counts it as its own memory.
//
// Threads: any.
std::shared_ptr<rocks::Decompressor> NewZstdDecompressor(std::shared_ptr<rocks::Decompressor> rocksdbs,
                                                         std::shared_ptr<rocks::Cache> cache);

}  // namespace cairn::store
