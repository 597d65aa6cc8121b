// SPDX-License-Identifier: GPL-2.0-only
// All settings of RocksDB, derived from a memory budget and a number of cores.
#pragma once

#include <cstdint>
#include <memory>

#include <rocksdb/listener.h>
#include <rocksdb/options.h>
#include <rocksdb/sst_file_manager.h>

#include "base/status.h"
#include "store/options.h"

namespace cairn::store {

struct RocksOptions {
  rocks::DBOptions db;
  rocks::ColumnFamilyOptions data;
  rocks::ColumnFamilyOptions dictionary;
  uint64_t load_times = 1;  // level 0, and the level below, may hold so many times as much in a load: store/load_pace.h
};

// Unflushed writes may take this much of the memory budget.
uint64_t WriteBufferBudgetBytes(uint64_t memory_bytes);

// Derives everything, then lays the expert strings over it. kInvalidArgument when RocksDB refuses
// one of them.
Status DeriveRocksOptions(const StoreOptions& options, rocks::Env* env,
                          std::shared_ptr<rocks::SstFileManager> files,
                          std::vector<std::shared_ptr<rocks::EventListener>> listeners, RocksOptions* derived);

}  // namespace cairn::store
