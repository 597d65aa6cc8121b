// SPDX-License-Identifier: GPL-2.0-only
// Looks for damage in the write-ahead log, by RocksDB's documented record format.
#include "store/wal_check.h"

#include <optional>
#include <vector>

#include <rocksdb/env.h>

#include "base/endian.h"
#include "store/log_files.h"
#include "store/rocks_status.h"
#include "util/crc32c.h"

namespace cairn::store {
namespace {

// A log file is a row of blocks; a fragment never crosses a block's end:
//   4 bytes masked CRC-32C of all that follows the length, 2 bytes data length, 1 byte type, data
// Up to six zero bytes fill a block's end. A record is one fragment, or a first one, any number of middle ones and a last.
constexpr size_t kBlockBytes = 32768;
constexpr size_t kHeaderBytes = 7;
// In logs that RocksDB recycles, which have types of their own, the log's number comes between type and data.
constexpr size_t kRecyclableHeaderBytes = 11;

enum FragmentType : uint8_t { kFull = 1, kFirst = 2, kMiddle = 3, kLast = 4 };

bool IsRecyclable(uint8_t type) { return (type >= 5 && type <= 8) || type == 11 || type == 131; }

struct Walk {
  std::optional<uint64_t> damaged_at;
  std::optional<uint64_t> impassable_at;  // see CountDamage
  uint64_t whole_bytes_after = 0;         // of records behind the damage
  uint64_t begun_bytes = 0;               // of a record whose last fragment is yet to come
  bool has_record = false;                // a whole one, anywhere
  bool has_record_before = false;         // … before the damage
  bool recycled = false;
  bool is_torn = false;  // some record has no beginning or no end, whether or not a checksum tells
};

// The size of the valid fragment at the start of `bytes`, or 0.
size_t ValidFragmentBytes(ByteView bytes) {
  if (bytes.size() < kHeaderBytes) return 0;
  const uint8_t type = static_cast<uint8_t>(bytes[6]);
  const size_t all_bytes = (IsRecyclable(type) ? kRecyclableHeaderBytes : kHeaderBytes) + LoadLe16(bytes.data() + 4);
  if (type == 0 || all_bytes > bytes.size()) return 0;
  const uint32_t expected = rocks::crc32c::Unmask(LoadLe32(bytes.data()));
  return rocks::crc32c::Value(bytes.data() + 6, all_bytes - 6) == expected ? all_bytes : 0;
}

void CountRecord(uint64_t bytes, Walk* walk) {
  walk->has_record = true;
  if (walk->damaged_at) walk->whole_bytes_after += bytes;
}

// After a loss of power the blocks of one large record may be on disk or not in any order: fragments
// without their first one, or with a gap before their last one, belong to what was never confirmed.
void CountFragment(uint8_t type, size_t bytes, Walk* walk) {
  const bool goes_on = type == kMiddle || type == kLast;
  if (goes_on != (walk->begun_bytes != 0)) walk->is_torn = true;
  switch (type) {
    case kFull:
      CountRecord(bytes, walk);
      walk->begun_bytes = 0;
      break;
    case kFirst:
      walk->begun_bytes = bytes;
      break;
    case kMiddle:
      if (walk->begun_bytes != 0) walk->begun_bytes += bytes;
      break;
    case kLast:
      if (walk->begun_bytes != 0) CountRecord(walk->begun_bytes + bytes, walk);
      walk->begun_bytes = 0;
      break;
    default:  // says how to read the log, and has no data
      walk->begun_bytes = 0;
  }
}

// RocksDB judges a recyclable type before the checksum. As the first of a log it takes it for the remains of an older log, at
// which it ends as if all were well; after any other record it reads the same bytes for ever. One flipped bit makes
// such a type of any other one. No crash does: its torn ends are cut off, or have zeros where data did not arrive.
void CountDamage(uint8_t type, uint64_t at, bool is_read, Walk* walk) {
  if (!walk->damaged_at) {
    walk->damaged_at = at;
    walk->has_record_before = walk->has_record;
  }
  if (is_read && IsRecyclable(type) && !walk->impassable_at) walk->impassable_at = at;
  walk->begun_bytes = 0;
}

// After damage each byte may be where the next fragment begins, as lengths cannot be trusted. RocksDB goes on at the
// next block instead.
void WalkBlock(ByteView block, uint64_t offset, Walk* walk) {
  bool is_read = true;  // by RocksDB
  size_t at = 0;
  while (at + kHeaderBytes <= block.size() && !walk->recycled) {
    const ByteView rest = block.substr(at);
    const uint8_t type = static_cast<uint8_t>(rest[6]);
    const size_t bytes = ValidFragmentBytes(rest);
    if (bytes == 0 || (walk->damaged_at && IsRecyclable(type))) {
      CountDamage(type, offset + at, is_read, walk);
      is_read = false;
      ++at;
      continue;
    }
    // The checksum covers the type, so no flipped bit makes a log that is read so.
    walk->recycled = IsRecyclable(type);
    CountFragment(type, bytes, walk);
    at += bytes;
  }
  // A block's end may be filled up, but not a file's.
  if (at < block.size() && block.size() < kBlockBytes) walk->is_torn = true;
}

Status WalkFile(rocks::Env* env, const std::string& path, Walk* walk, uint64_t* size) {
  std::unique_ptr<rocks::SequentialFile> file;
  CAIRN_RETURN_IF_ERROR(FromRocks(env->NewSequentialFile(path, &file, rocks::EnvOptions())));
  std::vector<char> buffer(kBlockBytes);
  rocks::Slice block;
  *size = 0;
  do {
    CAIRN_RETURN_IF_ERROR(FromRocks(file->Read(kBlockBytes, &block, buffer.data())));
    WalkBlock(ToView(block), *size, walk);
    *size += block.size();
  } while (block.size() == kBlockBytes && !walk->recycled);
  if (walk->begun_bytes != 0) walk->is_torn = true;
  return Status::Ok();
}

// As no mode of recovery helps, the file itself must end before the damage. What is left of a header makes the cut a torn
// end to RocksDB; at a clean end it would go on with the next log, and so leave out records in between. But a torn end without a
// record before it would stop the start after that one too (store/stuck_logs.h): then nothing may be left, here and behind.
Status Impassable(const std::vector<std::string>& paths, size_t at, const Walk& walk) {
  std::string commands;
  if (walk.has_record_before) {
    commands = "cut it with truncate -s " + std::to_string(*walk.damaged_at + kHeaderBytes - 1);
  } else {
    commands = "of those after it, and empty them in this order:";
    for (size_t i = paths.size(); i-- > at;) commands += " truncate -s 0 " + paths[i] + (i == at ? "" : ";");
  }
  return Status::Corruption("the write-ahead log " + paths[at] + " is damaged at byte " + std::to_string(*walk.damaged_at) +
                            ", and the type of the record at byte " + std::to_string(*walk.impassable_at) +
                            " is one at which RocksDB would end in silence or never return. Nothing was changed. To start "
                            "without what follows the damage, keep a copy of the file and " + commands +
                            "; RocksDB's option wal_recovery_mode does not help here");
}

Status Judge(const std::vector<std::string>& paths, size_t at, const Walk& walk, uint64_t size, LogDamage refused, LogSink* log) {
  const std::string& path = paths[at];
  if (walk.recycled || !walk.damaged_at) return Status::Ok();
  if (walk.impassable_at) return Impassable(paths, at, walk);
  if (refused == LogDamage::kImpassable) return Status::Ok();
  if (walk.whole_bytes_after == 0) {
    if (log != nullptr) {
      log->Log(LogLevel::kWarning, path + " ends in an incomplete record of " +
                                       std::to_string(size - *walk.damaged_at) +
                                       " bytes, as a crash leaves it; it is not replayed");
    }
    return Status::Ok();
  }
  return Status::Corruption("the write-ahead log " + path + " is damaged at byte " +
                            std::to_string(*walk.damaged_at) + ", and " + std::to_string(walk.whole_bytes_after) +
                            " bytes of valid records follow. Nothing was changed. To start without what "
                            "follows the damage, set RocksDB's option wal_recovery_mode=kPointInTimeRecovery");
}

}  // namespace

Status CheckWalFiles(rocks::Env* env, const std::string& directory, LogDamage refused, LogSink* log,
                     FoundDamage* found) {
  std::vector<std::string> paths;
  CAIRN_RETURN_IF_ERROR(FindLogs(env, directory, &paths));
  std::vector<std::string> unfinished;
  for (size_t at = 0; at < paths.size(); ++at) {
    Walk walk;
    uint64_t size = 0;
    CAIRN_RETURN_IF_ERROR(WalkFile(env, paths[at], &walk, &size));
    CAIRN_RETURN_IF_ERROR(Judge(paths, at, walk, size, refused, log));
    if (found == nullptr || size == 0) continue;
    if (!(walk.damaged_at ? walk.has_record_before : walk.has_record)) found->at_a_beginning = true;
    if (walk.has_record || walk.recycled) {
      found->torn.clear();
      found->followed = unfinished;
    } else {
      found->torn.push_back(paths[at]);
    }
    if ((walk.damaged_at || walk.is_torn) && !walk.recycled) unfinished.push_back(paths[at]);
  }
  return Status::Ok();
}

}  // namespace cairn::store
