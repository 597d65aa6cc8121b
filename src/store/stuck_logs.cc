// SPDX-License-Identifier: GPL-2.0-only
// Reads logs as RocksDB does, by its own reader: their beginnings, or up to damage. And what the manifest says of them.
#include "store/stuck_logs.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>

#include "db/log_reader.h"
#include "db/manifest_ops.h"
#include "db/version_edit_handler.h"
#include "db/write_batch_internal.h"
#include "file/filename.h"
#include "file/sequence_file_reader.h"

#include "store/log_files.h"
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

class Reports final : public rocks::log::Reader::Reporter {
 public:
  void Corruption(size_t, const rocks::Status& reason, uint64_t) override {
    if (first.ok()) first = reason;
  }
  void OldLogRecord(size_t) override { is_old = true; }

  rocks::Status first;
  bool is_old = false;
};

Status OpenReader(rocks::Env* env, const std::string& path, uint64_t log_number, Reports* reports,
                  std::unique_ptr<rocks::log::Reader>* reader) {
  std::unique_ptr<rocks::FSSequentialFile> file;
  CAIRN_RETURN_IF_ERROR(FromRocks(env->GetFileSystem()->NewSequentialFile(path, rocks::FileOptions(), &file, nullptr)));
  *reader = std::make_unique<rocks::log::Reader>(nullptr, std::make_unique<rocks::SequentialFileReader>(std::move(file), path), reports,
                                                 /*checksum=*/true, log_number);
  return Status::Ok();
}

struct FoundLog {
  std::string path;
  uint64_t number = 0;
  Beginning beginning = Beginning::kNothing;
  std::optional<uint64_t> damaged_at;  // as far as it was read: behind the whole records before the damage
};

Status ReadLog(rocks::Env* env, bool reads_on, FoundLog* log) {
  Reports reports;
  std::unique_ptr<rocks::log::Reader> reader;
  CAIRN_RETURN_IF_ERROR(OpenReader(env, log->path, log->number, &reports, &reader));
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

// What the manifest says of logs.
class ManifestLogs final : public rocks::VersionEditHandlerBase {
 public:
  explicit ManifestLogs(const rocks::ReadOptions& read) : VersionEditHandlerBase(read) {}

  // Older ones are passed over.
  uint64_t oldest_needed() const { return oldest_needed_; }
  // Whether some family has files with all that was in the log, and perhaps in later ones.
  bool IsInFiles(uint64_t log_number) const {
    return std::ranges::any_of(families_, [&](const auto& numbered) {
      return !numbered.second.files.empty() && numbered.second.log_number > log_number;
    });
  }

 protected:
  rocks::Status ApplyVersionEdit(rocks::VersionEdit& edit, rocks::ColumnFamilyData**) override {
    if (edit.HasMinLogNumberToKeep()) oldest_needed_ = std::max(oldest_needed_, edit.GetMinLogNumberToKeep());
    Family& family = families_[edit.GetColumnFamily()];
    if (edit.HasLogNumber()) family.log_number = std::max(family.log_number, edit.GetLogNumber());
    // A file that goes to another level is deleted and added.
    for (const auto& [level, number] : edit.GetDeletedFiles()) family.files.erase(number);
    for (const auto& [level, file] : edit.GetNewFiles()) family.files.insert(file.fd.GetNumber());
    return rocks::Status::OK();
  }

 private:
  struct Family {
    uint64_t log_number = 0;  // what was in older logs is in files
    std::set<uint64_t> files;
  };

  uint64_t oldest_needed_ = 0;
  std::map<uint32_t, Family> families_;
};

Status ReadManifest(rocks::Env* env, const std::string& directory, ManifestLogs* manifest) {
  std::string path;
  uint64_t number = 0;
  CAIRN_RETURN_IF_ERROR(
      FromRocks(rocks::GetCurrentManifestPath(directory, env->GetFileSystem().get(), /*is_retry=*/false, &path, &number)));
  Reports reports;
  std::unique_ptr<rocks::log::Reader> reader;
  CAIRN_RETURN_IF_ERROR(OpenReader(env, path, /*log_number=*/0, &reports, &reader));
  manifest->Iterate(*reader, &reports.first);
  return FromRocks(manifest->status());
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
  const rocks::ReadOptions read;
  ManifestLogs manifest(read);
  CAIRN_RETURN_IF_ERROR(ReadManifest(env, directory, &manifest));
  const auto first = std::ranges::find_if(logs, [&](const FoundLog& log) {
    return log.number >= manifest.oldest_needed() && log.beginning != Beginning::kNothing;
  });
  if (first == logs.end() || first->beginning != Beginning::kDamage || manifest.IsInFiles(first->number)) return Status::Ok();
  for (auto log = logs.end(); log != first;) stuck->push_back((--log)->path);
  return Status::Ok();
}

Status CheckFollowedLogs(rocks::Env* env, const std::string& directory, const std::vector<std::string>& followed) {
  if (followed.empty()) return Status::Ok();
  std::vector<FoundLog> logs;
  CAIRN_RETURN_IF_ERROR(ReadLogs(env, directory, followed, &logs));
  const rocks::ReadOptions read;
  ManifestLogs manifest(read);
  CAIRN_RETURN_IF_ERROR(ReadManifest(env, directory, &manifest));
  const FoundLog* damaged = nullptr;
  for (const FoundLog& log : logs) {
    if (log.number < manifest.oldest_needed()) continue;
    if (log.beginning == Beginning::kRecord && damaged != nullptr) return Followed(*damaged, log);
    if (log.beginning == Beginning::kMark) damaged = nullptr;
    if (log.damaged_at && damaged == nullptr) damaged = &log;
  }
  return Status::Ok();
}

}  // namespace cairn::store
