// SPDX-License-Identifier: GPL-2.0-only
// How many of its files a store keeps open.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include <rocksdb/options.h>

#include "base/log_sink.h"
#include "base/status.h"
#include "store/rocksdb_fwd.h"

namespace cairn::store {

// RocksDB keeps all of them open if it is told no number (max_open_files), and does not look how many the process may have. Reads want it so
// (store/held_indexes.h). But without a descriptor nobody can write a file or connect, and a store does not open.
//
// So all are kept open only while they are at most half of what the process may have open, and with those of older versions and of
// compactions at most three quarters. Then there is a number, until the store is opened again: three quarters. Who has a file open then keeps it:
// RocksDB closes it when the file goes, or when nobody uses it who found it after that. As it counts those too, a smaller number would leave no
// room for files that come later, and each read would open them anew. A store that is opened with more files keeps few in this way, and
// its number is half.
//
// RocksDB divides the number among 64 parts by the numbers of files, and a part that already has more open keeps these: where there are few files
// for each part, the sum may be a little greater.
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
  void Tell(uint64_t files, int number, std::string_view part) const;

  LogSink* const log_;
  const int half_, three_quarters_;  // of what the process may have open
  std::atomic<bool> decided_;  // the number is what it will be
};

}  // namespace cairn::store
