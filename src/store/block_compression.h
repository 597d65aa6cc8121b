// SPDX-License-Identifier: GPL-2.0-only
// Compresses blocks, no harder than pays.
#pragma once

#include <memory>

#include <rocksdb/advanced_compression.h>
#include <rocksdb/cache.h>

#include "store/rocksdb_fwd.h"

namespace cairn::store {

// RocksDB's own compression but for two:
// - Zstandard of level kZstdLevel, or where no level is named, without checksum and where no size of a dictionary is asked for:
//   store/zstd_blocks.h. It learns a dictionary in files that compactions write to the last level, unless `max_dict_buffer_bytes`
//   is 0 or several threads are to compress it. Files of one index share it where it is as good for them.
// - LZ4 without dictionary in files above the last level: most blocks are left as they are where it has made none smaller of late. Of
//   data in which it does so for one block in ten or fewer, up to half of these are left too.
// The blocks are such as RocksDB makes and reads by itself.
//
// `cache` is charged for dictionaries that are ready to read with, once for equal ones
// (store/ready_dictionaries.h). Without it (null) each reader counts its own as its memory.
//
// Threads: any; one may serve many families, but of one store only: index ids are a store's.
std::shared_ptr<rocks::CompressionManager> NewBlockCompression(std::shared_ptr<rocks::Cache> cache = nullptr);

}  // namespace cairn::store
