// SPDX-License-Identifier: GPL-2.0-only
// All settings of RocksDB, derived from a memory budget and a number of cores.
#pragma once

#include <cstdint>
#include <memory>

#include <rocksdb/listener.h>
#include <rocksdb/options.h>
#include <rocksdb/sst_file_manager.h>

#include "base/status.h"
#include "store/memtable_rep.h"
#include "store/options.h"

namespace cairn::store {

// What unflushed writes may take of the memory budget.
struct WriteBuffers {
  uint64_t each_bytes = 0;  // a memtable of the data family
  uint64_t all_bytes = 0;   // all memtables of the store

  friend bool operator==(const WriteBuffers&, const WriteBuffers&) = default;
};

WriteBuffers UsualWriteBuffers(uint64_t memory_bytes);
// In a load (store/load_pace.h): never less. Cached blocks make room for them, as memtables are charged to the block cache.
WriteBuffers LoadWriteBuffers(uint64_t memory_bytes);

struct RocksOptions {
  rocks::DBOptions db;
  rocks::ColumnFamilyOptions data;
  rocks::ColumnFamilyOptions dictionary;
  std::shared_ptr<MemtableTreeFactory> memtables;  // the data family's; null: an expert's
};

// Derives everything, then lays the expert strings over it. kInvalidArgument when RocksDB refuses
// one of them.
Status DeriveRocksOptions(const StoreOptions& options, rocks::Env* env,
                          std::shared_ptr<rocks::SstFileManager> files,
                          std::vector<std::shared_ptr<rocks::EventListener>> listeners, RocksOptions* derived);

}  // namespace cairn::store
