// SPDX-License-Identifier: GPL-2.0-only
// Reads blocks that Zstandard has compressed with a dictionary.
#pragma once

#include <memory>

#include <rocksdb/advanced_compression.h>

#include "store/rocksdb_fwd.h"

namespace cairn::store {

// `rocksdbs`, which reads Zstandard's blocks and others, but for Zstandard's with a dictionary: RocksDB, as it is built, has
// Zstandard take in a dictionary anew for each block, which takes as long as the block. Here it is made ready once, when it is read, and
// lies beside it in the block cache (27 KB, and a copy); who does not bring it there shares the last ones that were made
// (store/ready_dictionaries.h). What can be read is the same.
//
// Threads: any.
std::shared_ptr<rocks::Decompressor> NewZstdDecompressor(std::shared_ptr<rocks::Decompressor> rocksdbs);

}  // namespace cairn::store
