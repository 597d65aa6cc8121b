// SPDX-License-Identifier: GPL-2.0-only
// After a load, all levels are merged into the last at once, where step by step would not cost much less.
#include <algorithm>
#include <mutex>
#include <string>
#include <vector>

#include "store/rocks_status.h"
#include "store/store_impl.h"

namespace cairn::store {
namespace {

// Of a load's full memtable. Larger databases are not written anew at once, whatever they owe: it would take longer than compactions may
// wait, and as much room again.
constexpr uint64_t kMemtablesMax = 64;

// What lies in the data family's files.
struct Files {
  uint64_t bytes = 0;
  uint64_t bytes_above_last = 0;
  size_t in_level0 = 0;
  int last_level = 0;
  bool being_compacted = false;
  std::vector<std::string> names;
};

Files ListFiles(rocks::DB* root, rocks::ColumnFamilyHandle* data) {
  rocks::ColumnFamilyMetaData family;
  root->GetColumnFamilyMetaData(data, &family);
  Files files;
  files.last_level = static_cast<int>(family.levels.size()) - 1;
  for (const rocks::LevelMetaData& level : family.levels) {
    for (const rocks::SstFileMetaData& file : level.files) {
      files.names.push_back(file.name);
      files.bytes += file.size;
      if (level.level < files.last_level) files.bytes_above_last += file.size;
      if (level.level == 0) ++files.in_level0;
      files.being_compacted = files.being_compacted || file.being_compacted;
    }
  }
  return files;
}

// So much may be written: half more than what RocksDB would write now anyway to bring each level below its bound, or `least_bytes`.
uint64_t WorthwhileBytes(rocks::DB* root, rocks::ColumnFamilyHandle* data, uint64_t memtable_bytes, uint64_t least_bytes) {
  uint64_t owed_bytes = 0;
  root->GetIntProperty(data, rocks::DB::Properties::kEstimatePendingCompactionBytes, &owed_bytes);
  const uint64_t bytes = std::max(owed_bytes + owed_bytes / 2, least_bytes);
  return std::min<uint64_t>(bytes, kMemtablesMax * memtable_bytes);
}

}  // namespace

Status Store::BeginCompactions() {
  if (impl_->level0_files_usual == 0) return Status::Ok();
  impl_->pace.compactions_held = true;
  rocks::ColumnFamilyHandle* const data = Handle(Family::kData);
  const Files files = ListFiles(impl_->root, data);
  if (files.in_level0 >= impl_->level0_files_usual &&
      files.bytes <= WorthwhileBytes(impl_->root, data, impl_->load_buffers.each_bytes, 0)) {
    impl_->settling_owed.store(true);
    return Status::Ok();
  }
  return SetPace({});
}

Status Store::FlushForSettling() {
  const std::lock_guard lock(impl_->settling_flush_mutex);
  const uint64_t before_bytes = impl_->statistics->getTickerCount(rocks::FLUSH_WRITE_BYTES);
  Status flushed = FlushMemtables();
  impl_->settling_flushed_bytes += impl_->statistics->getTickerCount(rocks::FLUSH_WRITE_BYTES) - before_bytes;
  impl_->settling_flushed = flushed.ok();
  return flushed;
}

Status Store::SettleLoad() {
  if (!impl_->settling_owed.load() || impl_->gate->state() != WriteGate::kOpen) return Status::Ok();
  rocks::ColumnFamilyHandle* const data = Handle(Family::kData);
  const uint64_t worthwhile_bytes =
      WorthwhileBytes(impl_->root, data, impl_->load_buffers.each_bytes, impl_->settling_bytes_max.load());
  Files files = ListFiles(impl_->root, data);
  // A quarter is for those who write meanwhile.
  if (files.bytes > worthwhile_bytes || !impl_->gate->HasRoomFor(files.bytes + files.bytes / 4)) {
    impl_->settling_owed.store(false);
    return Status::Ok();
  }
  if (impl_->damaged_files->count() != 0) {
    impl_->settling_owed.store(false);
    return Status::Ok();
  }
  if (files.being_compacted) return Status::Ok();  // no other begins, so its end is near
  // With what is still in memory, whose log is larger than its files.
  Status flushed = FlushForSettling();
  files = ListFiles(impl_->root, data);
  if (!flushed.ok() || files.bytes_above_last == 0) {
    impl_->settling_owed.store(false);
    return flushed;
  }
  rocks::CompactionOptions options;
  options.canceled = &impl_->relief_stopped;
  options.output_file_size_limit = impl_->root->GetOptions(data).target_file_size_base;
  rocks::CompactionJobInfo compaction{};
  impl_->settling.store(true);
  // From here on StopSettling() ends it.
  if (!impl_->settling_owed.load()) {
    impl_->settling.store(false);
    return Status::Ok();
  }
  impl_->relief_compacts.store(true);
  const rocks::Status status = impl_->root->CompactFiles(options, data, files.names, files.last_level,
                                                         /*output_path_id=*/-1, /*output_file_names=*/nullptr, &compaction);
  impl_->compactions->Forget(compaction.job_id);
  impl_->damaged_files->NoteCompaction(impl_->root, data->GetID(), status, files.names);
  impl_->settling.store(false);
  impl_->relief_compacts.store(false);
  impl_->settling_owed.store(false);
  // Rows pour in again, the store is closed, or a range of keys is being compacted for another reason.
  if (status.IsIncomplete() || status.IsShutdownInProgress() || status.IsCompactionTooLarge() || status.IsAborted() ||
      status.IsInvalidArgument()) {
    return Status::Ok();
  }
  CAIRN_RETURN_IF_ERROR(FromRocks(status));
  impl_->settlings.fetch_add(1, std::memory_order_relaxed);
  return Status::Ok();
}

// One that is about to run is met at the next call.
void Store::StopSettling() {
  if (!impl_->settling.load()) return;
  const std::lock_guard lock(impl_->abort_mutex);
  impl_->stopped_settlings.fetch_add(1, std::memory_order_relaxed);
  impl_->root->AbortAllCompactions();
  impl_->root->ResumeAllCompactions();
}

}  // namespace cairn::store
