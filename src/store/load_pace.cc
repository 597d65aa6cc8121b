// SPDX-License-Identifier: GPL-2.0-only
// The pace of flushes, and what memtables and level 0 may hold meanwhile.
#include "store/load_pace.h"

#include <algorithm>
#include <mutex>
#include <string>
#include <utility>

#include <rocksdb/write_buffer_manager.h>

#include "store/rocks_status.h"
#include "store/store_impl.h"

namespace cairn::store {
namespace {

// What level 0 gathers in a load in which keys are looked for in its files.
constexpr uint64_t kLookedTimes = 6;

// A load that has come down to so small a part of its best pace is over.
constexpr uint64_t kBestTimes = 16;

// Of a count that may have begun again.
uint64_t Since(uint64_t before, uint64_t now) { return now - std::min(now, before); }

uint64_t Level0Files(rocks::DB* root, rocks::ColumnFamilyHandle* family) {
  std::string files;
  return root->GetProperty(family, rocks::DB::Properties::kNumFilesAtLevelPrefix + "0", &files) ? std::stoull(files) : 0;
}

uint64_t MemtableBytes(rocks::DB* root, rocks::ColumnFamilyHandle* family) {
  uint64_t bytes = 0;
  root->GetIntProperty(family, rocks::DB::Properties::kCurSizeAllMemTables, &bytes);
  return bytes;
}

// What reads have brought into the block cache; compactions bring nothing there.
uint64_t CachedBytes(const rocks::Statistics& statistics) {
  return statistics.getTickerCount(rocks::BLOCK_CACHE_DATA_BYTES_INSERT);
}

}  // namespace

// Of the bytes flushed since the last look, those that were left in memory.
uint64_t LoadPace::PassOver(const Sample& sample) {
  const bool is_over = left_flushes_began_us_ != 0 && sample.now_us - left_flushes_began_us_ >= kWindowUs;
  if (is_over) SetLeftInMemory(0);
  const uint64_t flushed = Since(last_flushed_bytes_, sample.flushed_bytes);
  last_flushed_bytes_ = sample.flushed_bytes;
  const uint64_t passed_over = std::min(left_in_memory_bytes_, flushed);
  if (passed_over > 0 && left_flushes_began_us_ == 0) left_flushes_began_us_ = sample.now_us;
  left_in_memory_bytes_ -= passed_over;
  return passed_over;
}

bool LoadPace::Look(const Sample& sample) {
  passed_over_bytes_ += PassOver(sample);
  return LookAt({.now_us = sample.now_us,
                 .flushed_bytes = Since(passed_over_bytes_, sample.flushed_bytes),
                 .file_looks = sample.file_looks,
                 .cached_bytes = sample.cached_bytes});
}

bool LoadPace::LookAt(const Sample& sample) {
  const uint64_t bytes = Since(flushed_before_bytes_, sample.flushed_bytes);
  const bool window_ends = sample.now_us - window_began_us_ >= kWindowUs;
  const bool many_bytes = bytes >= begin_bytes_;
  if (many_bytes) {
    if (!loading_) {
      load_began_bytes_ = flushed_before_bytes_;
      best_window_bytes_ = 0;
      reads_much_ = false;
    }
    loading_ = true;
  }
  if (many_bytes || window_ends) {
    looks_often_ = Since(looks_before_, sample.file_looks) > bytes / kBytesPerLook;
    if (Since(cached_before_bytes_, sample.cached_bytes) > bytes) reads_much_ = true;
  }
  if (loading_) load_bytes_ = Since(load_began_bytes_, sample.flushed_bytes);
  if (!window_ends) return loading_;
  best_window_bytes_ = std::max(best_window_bytes_, bytes);
  // By a quarter of kLoadBytesMin requests would keep a load going without end, which they are too few to begin.
  if (bytes < std::max({begin_bytes_ / 4, load_bytes_min_ / 2, best_window_bytes_ / kBestTimes})) loading_ = false;
  window_began_us_ = sample.now_us;
  flushed_before_bytes_ = sample.flushed_bytes;
  looks_before_ = sample.file_looks;
  cached_before_bytes_ = sample.cached_bytes;
  return loading_;
}

// Whether a load goes on.
bool Store::LookAtPace(uint64_t now_us) {
  // What settling flushes itself may be done and not counted yet.
  const std::unique_lock counted(impl_->settling_flush_mutex, std::try_to_lock);
  if (!counted.owns_lock()) return impl_->load_pace.loading();
  const uint64_t flushed_bytes = impl_->statistics->getTickerCount(rocks::FLUSH_WRITE_BYTES);
  const uint64_t own_bytes = std::min(flushed_bytes, impl_->settling_flushed_bytes);
  if (std::exchange(impl_->settling_flushed, false)) impl_->load_pace.SetLeftInMemory(0);
  return impl_->load_pace.Look({.now_us = now_us,
                                .flushed_bytes = flushed_bytes - own_bytes,
                                .file_looks = impl_->statistics->getTickerCount(rocks::MEMTABLE_MISS),
                                .cached_bytes = CachedBytes(*impl_->statistics)});
}

// Merging level 0 down rewrites the level below as a whole, as each file has entries of all indexes: the more files go at
// once, the less is rewritten for each. What range reads lose by more files is little beside a load, and ends with it; point
// reads, and looks for new keys, may be as many as the rows.
Status Store::PaceCompactions(uint64_t now_us) {
  if (impl_->level0_files_usual == 0) return Status::Ok();
  const bool open = impl_->gate->state() == WriteGate::kOpen;
  const bool flushing = LookAtPace(now_us);
  // Where writes are refused a load comes to its end, so that what level 0 has gathered is compacted and gives room; none begins.
  const bool loading = flushing && (open || impl_->pace.times > 1);
  const bool lacks_room = impl_->settling.load() && !impl_->gate->HasRoomFor(0);
  if (loading || !open || lacks_room || (impl_->pace.compactions_held && Level0Full())) {
    // Nothing may hold up compactions now, nor take room from writers. What is being settled goes the usual way.
    impl_->settling_owed.store(false);
    StopSettling();
    if (!loading) return SetPace({});
    return SetPace({.times = impl_->load_pace.looks_often() ? kLookedTimes : kLoadTimes, .large_memtables = LoadMayTakeMemory()});
  }
  if (impl_->pace.times > 1) {
    impl_->settling_bytes_max.store(impl_->load_pace.load_bytes());
    impl_->settling_owed.store(true);
    // Larger than a memtable may be from now on, it is flushed before long.
    if (impl_->pace.large_memtables) impl_->load_pace.SetLeftInMemory(MemtableBytes(impl_->root, Handle(Family::kData)));
    return SetPace({.compactions_held = true});
  }
  return SetPace({.compactions_held = impl_->pace.compactions_held && impl_->settling_owed.load()});
}

// Not where larger memtables would leave less room on the disk than their flushes need, or than who reads needs in the cache; nor
// where compactions fall behind, so that more of the budget than is meant for it keeps filters of level 0.
bool Store::LoadMayTakeMemory() const {
  return impl_->usual_buffers != impl_->load_buffers && !impl_->load_pace.reads_much() &&
         impl_->gate->HasRoomFor(impl_->load_buffers.all_bytes - impl_->usual_buffers.all_bytes) &&
         Level0Files(impl_->root, Handle(Family::kData)) <= kLoadTimes * impl_->level0_files_usual / 4 * 5;
}

// So that writers would soon be slowed down, which RocksDB does not while it compacts nothing. A fifth of the places is left
// for what is written until compactions, which begin now, have made room.
bool Store::Level0Full() const {
  rocks::ColumnFamilyHandle* const data = Handle(Family::kData);
  const int slowdown_files = impl_->root->GetOptions(data).level0_slowdown_writes_trigger;
  return static_cast<int>(Level0Files(impl_->root, data)) >= slowdown_files - slowdown_files / 5;
}

Status Store::SetPace(const Pace& pace) {
  if (pace == impl_->pace) return Status::Ok();
  const WriteBuffers& usual = impl_->usual_buffers;
  const WriteBuffers& buffers = pace.large_memtables ? impl_->load_buffers : usual;
  // Level 0 is compacted also once it is larger than the level below may be, which each file adds half a memtable to.
  const uint64_t base_bytes = pace.times * impl_->base_bytes_usual / usual.each_bytes * buffers.each_bytes;
  CompactionHold::OptionTexts options = {
      {"level0_file_num_compaction_trigger", std::to_string(pace.times * impl_->level0_files_usual)},
      {"max_bytes_for_level_base", std::to_string(base_bytes)}};
  // An expert's sizes never change.
  const bool resizes = pace.large_memtables != impl_->pace.large_memtables;
  if (resizes) options.emplace("write_buffer_size", std::to_string(buffers.each_bytes));
  CAIRN_RETURN_IF_ERROR(FromRocks(impl_->compaction_hold->SetPace(pace.compactions_held, std::move(options))));
  // The memtable that fills grows too, with the filter it has; one that is too large now is flushed at the next write.
  if (resizes) {
    impl_->memtables->SetMemtableBytes(buffers.each_bytes);
    impl_->root->GetDBOptions().write_buffer_manager->SetBufferSize(buffers.all_bytes);
  }
  impl_->pace = pace;
  return Status::Ok();
}

int Store::level0_files_max() const {
  return impl_->root->GetOptions(Handle(Family::kData)).level0_file_num_compaction_trigger;
}

uint64_t Store::memtable_bytes_max() const { return impl_->root->GetOptions(Handle(Family::kData)).write_buffer_size; }

}  // namespace cairn::store
