// SPDX-License-Identifier: GPL-2.0-only
// Looks for damage in the write-ahead log that replaying it would pass over in silence.
#pragma once

#include <string>

#include "base/log_sink.h"
#include "base/status.h"
#include "store/rocksdb_fwd.h"

namespace cairn::store {

// Point-in-time recovery stops at the first record that makes no sense, which is right for the torn
// end a crash leaves: that was never confirmed to anybody. It would stop just so at a flipped bit in the
// midst of confirmed commits, and drop all that follow. The two differ: behind a torn end there
// are no more valid records.
//
// Reads all log files of a closed store. kCorruption, naming file and byte, when valid records follow
// damage; nothing is changed then. A torn end is only a warning to `log` (which may be null). Files that
// RocksDB recycles end in old records by design and are not judged. kIoError: a file cannot be read.
Status CheckWalFiles(rocks::Env* env, const std::string& directory, LogSink* log);

}  // namespace cairn::store
