// SPDX-License-Identifier: GPL-2.0-only
// The file that says which version of Cairn's store format a directory has.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"
#include "store/rocksdb_fwd.h"

namespace cairn::store {

// The newest format this code writes and reads. What an earlier program may not even open, as RocksDB replays logs and deletes files when it
// does, needs a new number here; what it only may not work with, the dictionary's format says (docs/formats/dictionary.md). Numbers are never
// reused:
//   1  two column families ("default" for data, "dictionary"), RocksDB 11.8
inline constexpr unsigned kStoreFormat = 1;

// Whether RocksDB names a data file or a log so. A store gets the first of these after CURRENT, by which RocksDB finds it.
inline bool IsDataFileOrLog(std::string_view name) {
  const size_t dot = name.find_first_not_of("0123456789");
  if (dot == 0 || dot == std::string_view::npos) return false;
  return name.substr(dot) == ".sst" || name.substr(dot) == ".log";
}

// Reads "<directory>/CAIRN_FORMAT", one line "cairn store format <number>\n". With `may_create`
// an empty or missing directory gets one, synced. Nothing is changed on any error:
// kNotFound: no store there; kFormatTooNew; kInvalidArgument: a RocksDB directory that is not
// Cairn's, or one to be made that has files or folders of somebody else; kCorruption: the file makes no sense, or CURRENT is missing beside data files or logs; kIoError.
Status CheckFormatFile(rocks::Env* env, const std::string& directory, bool may_create);

}  // namespace cairn::store
