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

constexpr int kHalfMin = 64, kHalfMax = INT_MAX / 2;

// Half of what the process may have open: the other half is for connections, tables, other engines, and files that are written.
int HalfOfLimit() {
  rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return kHalfMax;
  return static_cast<int>(std::clamp<rlim_t>(limit.rlim_cur / 2, kHalfMin, kHalfMax));
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
    : log_(log),
      half_(HalfOfLimit()),
      three_quarters_(half_ + half_ / 2),
      decided_(expert_db_options.find("max_open_files") != std::string::npos) {}

void OpenFiles::Tell(uint64_t files, int number, std::string_view part) const {
  if (log_ == nullptr) return;
  log_->Log(LogLevel::kWarning, "the store has " + std::to_string(files) + " files, of which at most " + std::to_string(number) +
                                    " are kept open from now on, " + std::string(part) +
                                    " of what the server may have open. That makes reads slower; with an open_files_limit of more than twice "
                                    "as many as there are files, all are kept open from the next start on");
}

void OpenFiles::Prepare(rocks::Env* env, const std::string& directory, rocks::DBOptions* db) {
  const uint64_t files = FilesIn(env, directory);
  if (files <= static_cast<uint64_t>(half_) || decided_.exchange(true)) return;
  db->max_open_files = half_;
  Tell(files, half_, "half");
}

uint64_t OpenFiles::Count(rocks::DB* root, rocks::ColumnFamilyHandle* family) {
  return CurrentVersion(root, family).family()->table_cache()->get_cache().get()->GetUsage();
}

Status OpenFiles::MakeRoom(rocks::DB* root, std::span<rocks::ColumnFamilyHandle* const> families, uint64_t coming) {
  if (decided_.load(std::memory_order_acquire)) return Status::Ok();
  uint64_t files = coming;
  for (rocks::ColumnFamilyHandle* const family : families) files += FilesOf(root, family);
  const auto half = static_cast<uint64_t>(half_), three_quarters = static_cast<uint64_t>(three_quarters_);
  if (files <= half && Count(root, families.front()) + coming <= three_quarters) return Status::Ok();
  const rocks::Status set = root->SetDBOptions({{"max_open_files", std::to_string(three_quarters_)}});
  // RocksDB's file of options, which nobody reads, may have no room on the disk; the number is in force all the same.
  if (!set.ok() && root->GetDBOptions().max_open_files != three_quarters_) return FromRocks(set);
  if (!decided_.exchange(true)) Tell(files, three_quarters_, "three quarters");
  return Status::Ok();
}

}  // namespace cairn::store
