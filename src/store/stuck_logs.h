// SPDX-License-Identifier: GPL-2.0-only
// Finds logs that RocksDB would stop at at each start, and never get past.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "store/rocksdb_fwd.h"

namespace cairn::store {

// Where RocksDB stops at damage it writes at the head of the next log how far it came, and by that the start after it gets past the damage.
// But it writes that only where it has read a whole record, of whichever log. Else the start after stops at the same log: it drops what was
// confirmed in between, or refuses to open ("Column family inconsistency"), as the manifest has noted that what is in the log is in files.
//
// `stuck` gets the damaged log and all behind it, which RocksDB would drop whole, paths from new to old. In this order they may be emptied:
// whenever that is cut off, the damage is still before all that is left. None: RocksDB has a record to go by, or it will refuse to open
// and change nothing, as files have what came after the damage.
//
// For a store that nobody has open, and a mode of recovery that stops at damage. kIoError, kCorruption: logs or manifest cannot be read.
Status FindStuckLogs(rocks::Env* env, const std::string& directory, std::vector<std::string>* stuck);

}  // namespace cairn::store
