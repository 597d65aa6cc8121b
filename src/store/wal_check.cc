// SPDX-License-Identifier: GPL-2.0-only
// Looks for damage in the write-ahead log, by RocksDB's documented record format.
#include "store/wal_check.h"

#include <algorithm>
#include <optional>
#include <vector>

#include <rocksdb/env.h>

#include "base/endian.h"
#include "store/rocks_status.h"
#include "util/crc32c.h"

namespace cairn::store {
namespace {

// A log file is a row of blocks; a record never crosses a block's end:
//   4 bytes masked CRC-32C of type and data, 2 bytes data length, 1 byte type, data
// Up to six zero bytes fill a block's end.
constexpr size_t kBlockBytes = 32768;
constexpr size_t kHeaderBytes = 7;

bool IsRecyclable(uint8_t type) { return (type >= 5 && type <= 8) || type == 11 || type == 131; }

struct Walk {
  std::optional<uint64_t> damaged_at;
  uint64_t valid_bytes_after = 0;
  bool recycled = false;
};

// The size of the valid record at the start of `bytes`, or 0.
size_t ValidRecordBytes(ByteView bytes) {
  if (bytes.size() < kHeaderBytes) return 0;
  const uint8_t type = static_cast<uint8_t>(bytes[6]);
  const size_t data_bytes = LoadLe16(bytes.data() + 4);
  if (type == 0 || data_bytes > bytes.size() - kHeaderBytes) return 0;
  const uint32_t expected = rocks::crc32c::Unmask(LoadLe32(bytes.data()));
  if (rocks::crc32c::Value(bytes.data() + 6, data_bytes + 1) != expected) return 0;
  return kHeaderBytes + data_bytes;
}

// After damage each byte may be where the next record begins, as lengths cannot be trusted.
void WalkBlock(ByteView block, uint64_t offset, Walk* walk) {
  size_t at = 0;
  while (at + kHeaderBytes <= block.size() && !walk->recycled) {
    const ByteView rest = block.substr(at);
    if (IsRecyclable(static_cast<uint8_t>(rest[6])) && !walk->damaged_at) {
      walk->recycled = true;
    } else if (const size_t bytes = ValidRecordBytes(rest); bytes != 0) {
      if (walk->damaged_at) walk->valid_bytes_after += bytes;
      at += bytes;
    } else {
      if (!walk->damaged_at) walk->damaged_at = offset + at;
      ++at;
    }
  }
}

Status WalkFile(rocks::Env* env, const std::string& path, Walk* walk, uint64_t* size) {
  std::unique_ptr<rocks::SequentialFile> file;
  CAIRN_RETURN_IF_ERROR(FromRocks(env->NewSequentialFile(path, &file, rocks::EnvOptions())));
  std::vector<char> buffer(kBlockBytes);
  for (*size = 0;;) {
    rocks::Slice block;
    CAIRN_RETURN_IF_ERROR(FromRocks(file->Read(kBlockBytes, &block, buffer.data())));
    WalkBlock(ToView(block), *size, walk);
    *size += block.size();
    if (block.size() < kBlockBytes || walk->recycled) return Status::Ok();
  }
}

Status Judge(const std::string& path, const Walk& walk, uint64_t size, LogSink* log) {
  if (walk.recycled || !walk.damaged_at) return Status::Ok();
  if (walk.valid_bytes_after == 0) {
    if (log != nullptr) {
      log->Log(LogLevel::kWarning, path + " ends in an incomplete record of " +
                                       std::to_string(size - *walk.damaged_at) +
                                       " bytes, as a crash leaves it; it is not replayed");
    }
    return Status::Ok();
  }
  return Status::Corruption("the write-ahead log " + path + " is damaged at byte " +
                            std::to_string(*walk.damaged_at) + ", and " + std::to_string(walk.valid_bytes_after) +
                            " bytes of valid records follow. Nothing was changed. To start without what "
                            "follows the damage, set RocksDB's option wal_recovery_mode=kPointInTimeRecovery");
}

}  // namespace

Status CheckWalFiles(rocks::Env* env, const std::string& directory, LogSink* log) {
  std::vector<std::string> names;
  CAIRN_RETURN_IF_ERROR(FromRocks(env->GetChildren(directory, &names)));
  std::sort(names.begin(), names.end());
  for (const std::string& name : names) {
    if (!name.ends_with(".log")) continue;
    const std::string path = directory + "/" + name;
    Walk walk;
    uint64_t size = 0;
    CAIRN_RETURN_IF_ERROR(WalkFile(env, path, &walk, &size));
    CAIRN_RETURN_IF_ERROR(Judge(path, walk, size, log));
  }
  return Status::Ok();
}

}  // namespace cairn::store
