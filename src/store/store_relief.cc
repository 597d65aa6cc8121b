// SPDX-License-Identifier: GPL-2.0-only
// Moves data: to where reads find it cheaply, when they have paid for it, and step by step where there is little room.
#include <algorithm>
#include <vector>

#include "db/memtable.h"
#include "db/version_set.h"
#include "file/filename.h"

#include "store/current_version.h"
#include "store/rocks_status.h"
#include "store/store_impl.h"

namespace cairn::store {
namespace {

constexpr uint64_t kMemtableShareMin = 64;  // of a full memtable
constexpr uint64_t kMemtableBytesMin = uint64_t{256} << 10;
constexpr size_t kLevel0FilesAtOnce = 8;
// Of level 0's, for flushes that others than writers ask for.
constexpr int kPlacesKept = 4;
constexpr uint64_t kMemoryOfAByte = 4;
constexpr size_t kBaseFilesTried = 4;
// RocksDB tries a compaction that was cancelled again after a second.
constexpr uint64_t kTriedAgainWithinUs = 5'000'000;
// A device that could not read may do so later, and what is damaged may be gone.
constexpr uint64_t kDamageTriedAgainUs = 600'000'000;

}  // namespace

// How the data family lies in memory and on disk at one moment.
class Store::Impl::Layout {
 public:
  Layout(rocks::DB* root, rocks::ColumnFamilyHandle* handle) : version_(root, handle) {}

  void Describe(ReadPressureSample* sample) const {
    sample->memtable_id = version_->mem->GetEarliestSequenceNumber();
    sample->memtable_bytes = version_->mem->GetDataSize();
    sample->memtable_bytes_min =
        std::max<uint64_t>(version_->mutable_cf_options.write_buffer_size / kMemtableShareMin, kMemtableBytesMin);
    sample->memtable_bytes_max = version_->mutable_cf_options.write_buffer_size;
    sample->memtables_waiting = static_cast<uint64_t>(version_->imm->NumNotFlushed());
    sample->level0_files_max = std::max(version_->mutable_cf_options.level0_file_num_compaction_trigger, 1);
    for (const rocks::FileMetaData* file : files(0)) {
      sample->level0_bytes += file->fd.GetFileSize();
      sample->oldest_level0_id = file->fd.GetNumber();  // they go from the newest to the oldest
      ++sample->level0_files;
    }
    sample->base_is_last = base_level() + 1 >= storage().num_non_empty_levels();
    if (base_level() > 0) {
      for (const rocks::FileMetaData* file : files(base_level())) sample->base_bytes += file->fd.GetFileSize();
    }
  }

  int base_level() const { return storage().base_level(); }
  uint64_t file_bytes_max() const { return version_->mutable_cf_options.target_file_size_base; }
  // Of writes that level 0 takes before all of them stop. What is in memory goes there as well, and a small change takes
  // several times its bytes there.
  uint64_t BytesUntilStop() const {
    const auto& options = version_->mutable_cf_options;
    const int taken = static_cast<int>(files(0).size()) + version_->imm->NumNotFlushed() + 1;
    const int places = options.level0_stop_writes_trigger - kPlacesKept - taken;
    return places > 0 ? static_cast<uint64_t>(places) * (options.write_buffer_size / kMemoryOfAByte) : 0;
  }
  // Before those who write are slowed down.
  uint64_t FreePlaces() const {
    const auto& options = version_->mutable_cf_options;
    const int slowdown_files = options.level0_slowdown_writes_trigger, stop_files = options.level0_stop_writes_trigger;
    const int places = slowdown_files > 0 ? std::min(slowdown_files, stop_files) : stop_files;
    const int taken = static_cast<int>(files(0).size()) + version_->imm->NumNotFlushed() + 1;
    return static_cast<uint64_t>(std::max(places - kPlacesKept - taken, 0));
  }
  bool Level0IsDue() const {
    return static_cast<int>(files(0).size()) >= version_->mutable_cf_options.level0_file_num_compaction_trigger;
  }
  // Of what the oldest file of level 0 meets in the base level: those that meet the least in the next one, which come
  // first. None where there is no next one.
  std::vector<std::string> CheapestBaseNames(size_t count) const {
    if (files(0).empty() || base_level() <= 0 || base_level() + 1 >= storage().num_levels()) return {};
    const rocks::FileMetaData* const oldest = files(0).back();
    std::vector<rocks::FileMetaData*> base;
    storage().GetOverlappingInputs(base_level(), &oldest->smallest, &oldest->largest, &base);
    std::vector<std::pair<uint64_t, uint64_t>> found;  // bytes that its compaction reads, number
    for (const rocks::FileMetaData* file : base) {
      std::vector<rocks::FileMetaData*> met;
      storage().GetOverlappingInputs(base_level() + 1, &file->smallest, &file->largest, &met);
      uint64_t bytes = file->fd.GetFileSize();
      for (const rocks::FileMetaData* below : met) bytes += below->fd.GetFileSize();
      found.emplace_back(bytes, file->fd.GetNumber());
    }
    count = std::min(count, found.size());
    std::partial_sort(found.begin(), found.begin() + static_cast<ptrdiff_t>(count), found.end());
    std::vector<std::string> names;
    for (size_t i = 0; i < count; ++i) names.push_back(rocks::MakeTableFileName(found[i].second));
    return names;
  }
  std::vector<std::string> Level0Names() const {
    std::vector<std::string> names;
    for (const rocks::FileMetaData* file : files(0)) {
      names.push_back(rocks::MakeTableFileName(file->fd.GetNumber()));
    }
    return names;
  }

 private:
  const rocks::VersionStorageInfo& storage() const { return *version_->current->storage_info(); }
  const std::vector<rocks::FileMetaData*>& files(int level) const { return storage().LevelFiles(level); }

  const CurrentVersion version_;
};

uint64_t Store::FreeLevel0Places() const { return Impl::Layout(impl_->root, Handle(Family::kData)).FreePlaces(); }

Status Store::RelieveReads(uint64_t now_us, bool cores_are_busy) {
  if (impl_->gate->state() != WriteGate::kOpen) return Status::Ok();
  ReadPressureSample sample;
  sample.walked = impl_->walked.Sum();
  sample.now_us = now_us;
  sample.cores_are_busy = cores_are_busy;
  sample.user_bytes = impl_->statistics->getTickerCount(rocks::BYTES_WRITTEN);
  rocks::ColumnFamilyHandle* const data = Handle(Family::kData);
  Relief relief;
  {
    const Impl::Layout layout(impl_->root, data);
    layout.Describe(&sample);
    relief = impl_->read_pressure.Decide(sample);
  }
  switch (relief) {
    case Relief::kNone: return Status::Ok();
    case Relief::kFlush: {
      rocks::FlushOptions options;
      options.wait = false;
      // Neither level 0 nor the memtables are near one, and waiting would hold up this thread.
      options.allow_write_stall = true;
      CAIRN_RETURN_IF_ERROR(FromRocks(impl_->root->Flush(options, data)));
      impl_->relief_flushes.fetch_add(1, std::memory_order_relaxed);
      return Status::Ok();
    }
    case Relief::kCompactLevel0: {
      // RocksDB would count it as one that did not fit: see RelieveSpace.
      if (!impl_->gate->HasRoomFor(sample.level0_bytes + sample.base_bytes)) return Status::Ok();
      bool fits;
      return CompactLevel0(SIZE_MAX, &fits);
    }
  }
  return Status::Ok();
}

Status Store::CompactLevel0(size_t files_max, bool* fits) {
  std::vector<std::string> names;
  int base_level;
  {
    const Impl::Layout layout(impl_->root, Handle(Family::kData));
    names = layout.Level0Names();
    base_level = layout.base_level();
  }
  *fits = true;
  if (names.empty() || base_level <= 0) return Status::Ok();
  // They go from the newest to the oldest, and only the oldest can leave the others behind.
  if (names.size() > files_max) names.erase(names.begin(), names.end() - static_cast<ptrdiff_t>(files_max));
  bool done;
  return CompactFiles(names, base_level, fits, &done);
}

// One file of it, so that files of level 0 meet less there.
Status Store::CompactBaseLevel(bool* done) {
  std::vector<std::string> names;
  int base_level;
  {
    const Impl::Layout layout(impl_->root, Handle(Family::kData));
    names = layout.CheapestBaseNames(kBaseFilesTried);
    base_level = layout.base_level();
  }
  *done = false;
  for (size_t i = 0; i < names.size() && !*done; ++i) {
    bool fits;
    CAIRN_RETURN_IF_ERROR(CompactFiles({names[i]}, base_level + 1, &fits, done));
  }
  return Status::Ok();
}

Status Store::CompactFiles(const std::vector<std::string>& names, int output_level, bool* fits, bool* done) {
  rocks::ColumnFamilyHandle* const data = Handle(Family::kData);
  rocks::CompactionOptions options;
  options.canceled = &impl_->relief_stopped;
  options.output_file_size_limit = Impl::Layout(impl_->root, data).file_bytes_max();
  impl_->relief_compacts.store(true);
  rocks::CompactionJobInfo compaction{};
  const rocks::Status status = impl_->root->CompactFiles(options, data, names, output_level, /*output_path_id=*/-1,
                                                         /*output_file_names=*/nullptr, &compaction);
  impl_->compactions->Forget(compaction.job_id);
  impl_->damaged_files->NoteCompaction(impl_->root, data->GetID(), status, names);
  impl_->relief_compacts.store(false);
  // Also if others took the room meanwhile.
  *fits = !status.IsCompactionTooLarge() && !LacksRoomForFile(status);
  *done = status.ok();
  // Others may be compacting the same files, or have done so since they were listed; or it was stopped.
  if (!*fits || status.IsAborted() || status.IsInvalidArgument() || status.IsIncomplete() ||
      status.IsShutdownInProgress()) {
    return Status::Ok();
  }
  CAIRN_RETURN_IF_ERROR(FromRocks(status));
  impl_->relief_compactions.fetch_add(1, std::memory_order_relaxed);
  return Status::Ok();
}

Status Store::RelieveSpace(uint64_t now_us) {
  const uint64_t cancelled = impl_->statistics->getTickerCount(rocks::COMPACTION_CANCELLED);
  rocks::ColumnFamilyHandle* const data = Handle(Family::kData);
  // Other compactions than level 0's hold nobody up: OPTIMIZE TABLE's, or those of a level that is too large.
  const bool held_up = cancelled != impl_->cancelled_looked_at && Impl::Layout(impl_->root, data).Level0IsDue();
  impl_->cancelled_looked_at = cancelled;
  if (!held_up) {
    if (now_us >= impl_->cancelled_us + kTriedAgainWithinUs) impl_->gate->SetCompactionsMove();
    return Status::Ok();
  }
  impl_->cancelled_us = now_us;
  bool fits = false;
  Status status = CompactInSteps(&fits);
  if (fits) {
    impl_->gate->SetCompactionsMove();
  } else {
    impl_->gate->SetCompactionsStuck(Impl::Layout(impl_->root, data).BytesUntilStop());
  }
  // Less what was refused just now.
  impl_->cancelled_looked_at = impl_->statistics->getTickerCount(rocks::COMPACTION_CANCELLED);
  return status;
}

// Level 0's oldest files, so many as there is room for; where not even one has it, what they meet is moved down first.
Status Store::CompactInSteps(bool* fits) {
  for (bool moved = true; moved && !*fits;) {
    impl_->gate->CheckFreeSpace();  // by what is free now compactions are let start
    for (size_t files_max = kLevel0FilesAtOnce; files_max > 0 && !*fits; files_max /= 2) {
      CAIRN_RETURN_IF_ERROR(CompactLevel0(files_max, fits));
    }
    moved = false;
    if (!*fits) CAIRN_RETURN_IF_ERROR(CompactBaseLevel(&moved));
  }
  return Status::Ok();
}

// Whether RocksDB holds writers up before long, by files of level 0 or by what compactions owe.
bool Store::IsNearStop() const {
  rocks::ColumnFamilyHandle* const data = Handle(Family::kData);
  if (Impl::Layout(impl_->root, data).BytesUntilStop() == 0) return true;
  uint64_t owed_bytes = 0;
  impl_->root->GetIntProperty(data, rocks::DB::Properties::kEstimatePendingCompactionBytes, &owed_bytes);
  const uint64_t most_bytes = impl_->root->GetOptions(data).hard_pending_compaction_bytes_limit;
  return most_bytes != 0 && owed_bytes >= most_bytes - most_bytes / 8;
}

// Writers would wait for ever for what is not compacted.
void Store::MindDamage(uint64_t now_us) {
  DamagedFiles& damaged = *impl_->damaged_files;
  const bool found = damaged.count() != 0;
  if (!found && !impl_->gate->is_damaged()) return;
  if (!IsNearStop()) {
    impl_->gate->SetDamaged(Status::Ok());
  } else if (found) {
    impl_->gate->SetDamaged(damaged.reason());
  }
  if (!damaged.LetGoAfter(kDamageTriedAgainUs, now_us)) return;
  // Nothing may have been written that would have RocksDB look for work. No key is empty, so this marks no file for it.
  const rocks::Slice none;
  impl_->root->SuggestCompactRange(Handle(Family::kData), &none, &none).PermitUncheckedError();
}

void Store::StopRelief() {
  impl_->relief_stopped.store(true);
  // The flag is looked at before a compaction begins; one that runs is ended by this. Others that it ends as well begin
  // again with the next flush, or with the next start. It knows only those that have begun, hence the loop.
  while (impl_->relief_compacts.load()) {
    impl_->root->AbortAllCompactions();
    impl_->root->ResumeAllCompactions();
  }
}

}  // namespace cairn::store
