// SPDX-License-Identifier: GPL-2.0-only
// How many of its files a store keeps open.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <string>

#include <rocksdb/options.h>

#include "base/log_sink.h"
#include "base/status.h"
#include "store/rocksdb_fwd.h"

namespace cairn::store {

// RocksDB keeps all of them open if it is told no number (max_open_files), and does not look how many the process may have. Reads want it so
// (store/held_indexes.h). But without a descriptor nobody can write a file or connect, and a store does not open.
//
// So all are kept open only while they are at most half of what the process may have open, and with those of older versions and of
// compactions at most three quarters. Then half of that is the number, until the store is opened again. Who has a file open then keeps it:
// RocksDB closes it when the file goes, or when nobody uses it who found it after that.
//
// The limit itself is the server's to raise, as open_files_limit says. An expert's number stays what it is.
//
// Thread rule: any thread.
class OpenFiles final {
 public:
  OpenFiles(const std::string& expert_db_options, LogSink* log);

  // For a store that is to be opened.
  void Prepare(rocks::Env* env, const std::string& directory, rocks::DBOptions* db);

  // Before so many files come at once, and about once a second.
  Status MakeRoom(rocks::DB* root, std::span<rocks::ColumnFamilyHandle* const> families, uint64_t coming);

  // Of all families, whoever keeps them open.
  static uint64_t Count(rocks::DB* root, rocks::ColumnFamilyHandle* family);

 private:
  void Tell(uint64_t files) const;

  LogSink* const log_;
  const int kept_max_;
  std::atomic<bool> decided_;  // the number is what it will be
};

}  // namespace cairn::store
