// SPDX-License-Identifier: GPL-2.0-only
// Finds logs at whose damage RocksDB would stop at each start, and never get past; and such as it would get past in silence.
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

// No log has a record before all older ones are durable (store/log_order.h). So what is damaged at a log's end was confirmed where a later
// log has a record, unless a crash left that end and the start after it has got past it: then the next record is what RocksDB wrote
// of that. It would stop at the damage as at any torn end and drop the later logs, or replay them without the damaged record where that
// took no sequence number, as a prepared transaction's: both without a word, as long as no family's files have what is in later logs.
//
// kCorruption, naming file and byte, where that would be so of one of `followed` (FoundDamage). What RocksDB does not take for damage
// (zeros) is none, and logs that it does not read do not count. What one cannot tell: damage in the last record before an end that has been
// got past, or before the first log of a process, while a log with such an end is still there.
//
// For a store that nobody has open, and whose logs CheckWalFiles() lets pass. kIoError, kCorruption: logs or manifest cannot be read.
Status CheckFollowedLogs(rocks::Env* env, const std::string& directory, const std::vector<std::string>& followed);

}  // namespace cairn::store
