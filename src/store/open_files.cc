// SPDX-License-Identifier: GPL-2.0-only
// Counted where RocksDB keeps the readers of files.
#include "store/open_files.h"

#include <algorithm>
#include <climits>
#include <vector>

#include <rocksdb/db.h>
#include <rocksdb/env.h>
#include <sys/resource.h>

#include "db/table_cache.h"
#include "db/version_set.h"

#include "store/current_version.h"
#include "store/rocks_status.h"

namespace cairn::store {
namespace {

constexpr int kKeptMin = 64;

// Half of what the process may have open: the other half is for connections, tables, other engines, and files that are written.
int KeptMax() {
  rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return INT_MAX;
  return static_cast<int>(std::clamp<rlim_t>(limit.rlim_cur / 2, kKeptMin, INT_MAX));
}

// Also of files that nobody needs any more: these go soon.
uint64_t FilesIn(rocks::Env* env, const std::string& directory) {
  std::vector<std::string> names;
  // Of a folder that cannot be listed, or is not there, more is said by who opens the store.
  env->GetChildren(directory, &names).PermitUncheckedError();
  return static_cast<uint64_t>(std::ranges::count_if(names, [](const std::string& name) { return name.ends_with(".sst"); }));
}

uint64_t FilesOf(rocks::DB* root, rocks::ColumnFamilyHandle* family) {
  const CurrentVersion version(root, family);
  const rocks::VersionStorageInfo& files = *version->current->storage_info();
  uint64_t count = 0;
  for (int level = 0; level < files.num_levels(); ++level) count += files.LevelFiles(level).size();
  return count;
}

}  // namespace

OpenFiles::OpenFiles(const std::string& expert_db_options, LogSink* log)
    : log_(log), kept_max_(KeptMax()), decided_(expert_db_options.find("max_open_files") != std::string::npos) {}

void OpenFiles::Tell(uint64_t files) const {
  if (log_ == nullptr) return;
  log_->Log(LogLevel::kWarning, "the store has " + std::to_string(files) + " files, of which at most " + std::to_string(kept_max_) +
                                    " are kept open from now on, half of what the server may have open. That makes reads slower; with an "
                                    "open_files_limit of more than twice as many as there are files, all are kept open from the next start on");
}

void OpenFiles::Prepare(rocks::Env* env, const std::string& directory, rocks::DBOptions* db) {
  const uint64_t files = FilesIn(env, directory);
  if (files <= static_cast<uint64_t>(kept_max_) || decided_.exchange(true)) return;
  db->max_open_files = kept_max_;
  Tell(files);
}

uint64_t OpenFiles::Count(rocks::DB* root, rocks::ColumnFamilyHandle* family) {
  return CurrentVersion(root, family).family()->table_cache()->get_cache().get()->GetUsage();
}

Status OpenFiles::MakeRoom(rocks::DB* root, std::span<rocks::ColumnFamilyHandle* const> families, uint64_t coming) {
  if (decided_.load(std::memory_order_acquire)) return Status::Ok();
  const auto kept_max = static_cast<uint64_t>(kept_max_);
  uint64_t files = coming;
  for (rocks::ColumnFamilyHandle* const family : families) files += FilesOf(root, family);
  if (files <= kept_max && Count(root, families.front()) + coming <= kept_max + kept_max / 2) return Status::Ok();
  const rocks::Status set = root->SetDBOptions({{"max_open_files", std::to_string(kept_max_)}});
  // RocksDB's file of options, which nobody reads, may have no room on the disk; the number is in force all the same.
  if (!set.ok() && root->GetDBOptions().max_open_files != kept_max_) return FromRocks(set);
  if (!decided_.exchange(true)) Tell(files);
  return Status::Ok();
}

}  // namespace cairn::store
