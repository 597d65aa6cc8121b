// SPDX-License-Identifier: GPL-2.0-only
// Looks for damage in the write-ahead log that replaying it would pass over in silence.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/log_sink.h"
#include "base/status.h"
#include "store/rocksdb_fwd.h"

namespace cairn::store {

// Point-in-time recovery stops at the first record that makes no sense, which is right for the torn
// end a crash leaves: that was never confirmed to anybody. It would stop just so at a flipped bit in the
// midst of confirmed commits, and drop all that follow. The two differ: behind a torn end there
// are no more whole records, though parts of the torn one may be.
// That is so within a file: what follows in later ones is not told by that (store/stuck_logs.h).
//
// Reads all log files of a closed store. kCorruption, naming file and byte, when whole records follow
// damage, or when RocksDB would come upon a type of record which it cannot get past or stops at as if nothing were
// missing; nothing is changed then. A torn end is only a warning to `log` (which may be null). Files that RocksDB
// recycles (only an expert's option makes it do so) end in old records by design and are not judged; a valid
// record of their own format tells them. kIoError: a file cannot be read.
//
// kImpassable: only the last of these reasons counts, and nobody is warned. For who has chosen what else recovery does with damage.
//
// `found`, if wanted, gets what RocksDB might not get past (store/stuck_logs.h says why):
// - the paths of files that have bytes and not one whole record, and behind which no other has one;
// - whether any file has bytes, but no whole record at its beginning;
// and where RocksDB might drop what follows, or replay it without what is damaged, without a word (CheckFollowedLogs):
// - the paths of files that do not end with a whole record, perhaps in zeros only, and behind which another has one. From old to new.
struct FoundDamage {
  std::vector<std::string> torn;
  bool at_a_beginning = false;
  std::vector<std::string> followed;
};
enum class LogDamage : uint8_t { kAny, kImpassable };
Status CheckWalFiles(rocks::Env* env, const std::string& directory, LogDamage refused, LogSink* log,
                     FoundDamage* found = nullptr);

}  // namespace cairn::store
