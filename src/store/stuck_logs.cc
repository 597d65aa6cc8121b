// SPDX-License-Identifier: GPL-2.0-only
// Reads logs as RocksDB does, by its own reader: their beginnings, or up to damage. And what the manifest says of them.
#include "store/stuck_logs.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "db/write_batch_internal.h"
#include "file/filename.h"

#include "store/log_files.h"
#include "store/log_reader.h"
#include "store/manifest.h"
#include "store/rocks_status.h"

namespace cairn::store {
namespace {

enum class Beginning : uint8_t {
  kNothing,  // RocksDB goes on with the next log
  kRecord,   // a whole one
  kMark,     // … that says how far RocksDB came when it stopped at damage in older logs
  kDamage,   // RocksDB stops
  kOld,      // of a log that RocksDB recycles: not for us to judge
};

struct FoundLog {
  std::string path;
  uint64_t number = 0;
  Beginning beginning = Beginning::kNothing;
  std::optional<uint64_t> damaged_at;  // as far as it was read: behind the whole records before the damage
};

Status ReadLog(rocks::Env* env, bool reads_on, FoundLog* log) {
  LogReports reports;
  std::unique_ptr<rocks::log::Reader> reader;
  CAIRN_RETURN_IF_ERROR(OpenLogReader(env, log->path, log->number, &reports, &reader));
  rocks::Slice record;
  std::string scratch;
  do {
    const uint64_t begin = reader->LastRecordEnd();
    const bool has_record = reader->ReadRecord(&record, &scratch, rocks::WALRecoveryMode::kPointInTimeRecovery);
    if (reports.first.IsIOError()) return FromRocks(reports.first);
    const bool is_too_small = has_record && record.size() < rocks::WriteBatchInternal::kHeader;
    const bool is_damaged = !reports.first.ok() || is_too_small;
    if (is_damaged) log->damaged_at = begin;
    if (log->beginning == Beginning::kNothing) {
      if (is_damaged) {
        log->beginning = Beginning::kDamage;
      } else if (reports.is_old) {
        log->beginning = Beginning::kOld;
      } else if (has_record) {
        const bool is_empty = record.size() == rocks::WriteBatchInternal::kHeader;
        log->beginning = is_empty ? Beginning::kMark : Beginning::kRecord;
      }
    }
    if (is_damaged || !has_record) break;
  } while (reads_on);
  return Status::Ok();
}

// The beginnings of all, and those that are named up to damage.
Status ReadLogs(rocks::Env* env, const std::string& directory, const std::vector<std::string>& read_on, std::vector<FoundLog>* logs) {
  std::vector<std::string> paths;
  CAIRN_RETURN_IF_ERROR(FindLogs(env, directory, &paths));
  for (std::string& path : paths) {
    FoundLog log;
    rocks::FileType type;
    if (!rocks::ParseFileName(path.substr(directory.size() + 1), &log.number, &type) || type != rocks::kWalFile) continue;
    log.path = std::move(path);
    CAIRN_RETURN_IF_ERROR(ReadLog(env, std::ranges::find(read_on, log.path) != read_on.end(), &log));
    logs->push_back(std::move(log));
  }
  return Status::Ok();
}

Status Followed(const FoundLog& damaged, const FoundLog& later) {
  return Status::Corruption("the write-ahead log " + damaged.path + " is damaged behind its first " + std::to_string(*damaged.damaged_at) +
                            " bytes, and valid records follow in " + later.path +
                            ". Nothing was changed. To start without what is lost by that, set RocksDB's option "
                            "wal_recovery_mode=kPointInTimeRecovery");
}

}  // namespace

Status FindStuckLogs(rocks::Env* env, const std::string& directory, std::vector<std::string>* stuck) {
  stuck->clear();
  std::vector<FoundLog> logs;
  CAIRN_RETURN_IF_ERROR(ReadLogs(env, directory, /*read_on=*/{}, &logs));
  if (std::ranges::none_of(logs, [](const FoundLog& log) { return log.beginning == Beginning::kDamage; })) return Status::Ok();
  Manifest manifest;
  CAIRN_RETURN_IF_ERROR(ReadManifest(env, directory, &manifest));
  const auto first = std::ranges::find_if(logs, [&](const FoundLog& log) {
    return log.number >= manifest.oldest_log && log.beginning != Beginning::kNothing;
  });
  if (first == logs.end() || first->beginning != Beginning::kDamage || manifest.IsInFiles(first->number)) return Status::Ok();
  for (auto log = logs.end(); log != first;) stuck->push_back((--log)->path);
  return Status::Ok();
}

Status CheckFollowedLogs(rocks::Env* env, const std::string& directory, const std::vector<std::string>& followed) {
  if (followed.empty()) return Status::Ok();
  std::vector<FoundLog> logs;
  CAIRN_RETURN_IF_ERROR(ReadLogs(env, directory, followed, &logs));
  Manifest manifest;
  CAIRN_RETURN_IF_ERROR(ReadManifest(env, directory, &manifest));
  const FoundLog* damaged = nullptr;
  for (const FoundLog& log : logs) {
    if (log.number < manifest.oldest_log) continue;
    if (log.beginning == Beginning::kRecord && damaged != nullptr) return Followed(*damaged, log);
    if (log.beginning == Beginning::kMark) damaged = nullptr;
    if (log.damaged_at && damaged == nullptr) damaged = &log;
  }
  return Status::Ok();
}

}  // namespace cairn::store
