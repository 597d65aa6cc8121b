// SPDX-License-Identifier: GPL-2.0-only
// What a store is opened with.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/log_sink.h"
#include "base/status.h"
#include "store/environment.h"
#include "store/load_pace.h"

namespace cairn::store {

class Store;

struct StoreOptions {
  std::string directory;
  // False: a directory without a store is kNotFound.
  bool create_if_missing = true;

  // One budget for cached blocks, filters, indexes and unflushed writes; everything else is
  // derived from it and from the number of cores. At least 16 MiB.
  uint64_t memory_bytes = uint64_t{256} << 20;
  unsigned cores = 2;

  // Writes are refused while the disk has less free space than this; 0 derives it from the
  // memory for unflushed writes.
  uint64_t free_space_reserve_bytes = 0;

  // What has to be flushed within eight seconds, at least, to count as a load. Less is for tests.
  uint64_t load_bytes_min = kLoadBytesMin;

  // Option strings of RocksDB ("name=value;name=value") laid over the derived ones, for experts.
  std::string expert_db_options;
  std::string expert_family_options;

  // Extra checksums on everything between a batch and the disk, and file checks at open. For
  // tests; ranges and points are then read by RocksDB's code, not by ours.
  bool paranoid = false;

  // Both optional. Lifetime: longer than the store.
  LogSink* log = nullptr;
  Environment* environment = nullptr;

  // Asked once while a store is opened, as soon as it can be read: RocksDB has replayed the logs, and nothing else is done yet with what an earlier
  // process has left. If it is not ok, the store is closed, and that is what Open() returns. Optional.
  std::function<Status(const Store&)> check;

  // Called once, with the whole reason, when writing the write-ahead log failed: what the failing commit had written may
  // or may not be durable, so nobody may report it as rolled back. Likewise when files could not be taken over, of which what is committed
  // or prepared may need some. The policy (fail-stop) is
  // the caller's. Runs on the thread that wrote, possibly with RocksDB's internal mutex
  // held: must not call into the store and must not throw.
  std::function<void(const Status&)> on_wal_failure;
};

}  // namespace cairn::store
