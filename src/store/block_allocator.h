// SPDX-License-Identifier: GPL-2.0-only
// Memory for the blocks of RocksDB's block cache.
#pragma once

#include <cstdint>
#include <memory>

#include <rocksdb/memory_allocator.h>

#include "store/rocksdb_fwd.h"

namespace cairn::store {

// For a block cache of so many bytes. Blocks of 3 to 64 KiB are slots (store/slab_allocator.h); larger ones, indexes and filters, are
// mappings of their own; small ones, and all when there are neither slots nor mappings, come from operator new. UsableSize() is all
// that a block takes, so the cache counts that. Never returns null: throws as operator new does.
//
// Lifetime: the cache's, which holds it, and blocks outlive neither. Threads: any.
std::shared_ptr<rocks::MemoryAllocator> NewBlockAllocator(uint64_t cache_bytes);

}  // namespace cairn::store
