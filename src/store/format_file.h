// SPDX-License-Identifier: GPL-2.0-only
// The file that says which version of Cairn's store format a directory has.
#pragma once

#include <string>

#include "base/status.h"
#include "store/rocksdb_fwd.h"

namespace cairn::store {

// The newest format this code writes and reads. Numbers are never reused:
//   1  two column families ("default" for data, "dictionary"), RocksDB 11.8
inline constexpr unsigned kStoreFormat = 1;

// Reads "<directory>/CAIRN_FORMAT", one line "cairn store format <number>\n". With `may_create`
// an empty or missing directory gets one, synced. Nothing is changed on any error:
// kNotFound: no store there; kFormatTooNew; kInvalidArgument: a RocksDB directory that is not
// Cairn's; kCorruption: the file makes no sense; kIoError.
Status CheckFormatFile(rocks::Env* env, const std::string& directory, bool may_create);

}  // namespace cairn::store
