// SPDX-License-Identifier: GPL-2.0-only
// The pace of flushes, and what level 0 may gather meanwhile.
#include "store/load_pace.h"

#include <algorithm>
#include <string>

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

}  // namespace

bool LoadPace::Look(const Sample& sample) {
  const uint64_t bytes = Since(flushed_before_bytes_, sample.flushed_bytes);
  const bool window_ends = sample.now_us - window_began_us_ >= kWindowUs;
  const bool many_bytes = bytes >= memtable_bytes_ / 2;
  if (many_bytes) {
    if (!loading_) {
      load_began_bytes_ = flushed_before_bytes_;
      best_window_bytes_ = 0;
    }
    loading_ = true;
  }
  if (many_bytes || window_ends) looks_often_ = Since(looks_before_, sample.file_looks) > bytes / kBytesPerLook;
  if (loading_) load_bytes_ = Since(load_began_bytes_, sample.flushed_bytes);
  if (!window_ends) return loading_;
  best_window_bytes_ = std::max(best_window_bytes_, bytes);
  if (bytes < std::max(memtable_bytes_ / 8, best_window_bytes_ / kBestTimes)) loading_ = false;
  window_began_us_ = sample.now_us;
  flushed_before_bytes_ = sample.flushed_bytes;
  looks_before_ = sample.file_looks;
  return loading_;
}

// Merging level 0 down rewrites the level below as a whole, as each file has entries of all indexes: the more files go at
// once, the less is rewritten for each. What range reads lose by more files is little beside a load, and ends with it; point
// reads, and looks for new keys, may be as many as the rows.
Status Store::PaceCompactions(uint64_t now_us) {
  if (impl_->level0_files_usual == 0) return Status::Ok();
  const bool open = impl_->gate->state() == WriteGate::kOpen;
  const uint64_t flushed_bytes = impl_->statistics->getTickerCount(rocks::FLUSH_WRITE_BYTES);
  const uint64_t own_bytes = std::min(flushed_bytes, impl_->settling_flushed_bytes.load());
  const bool loading = open ? impl_->pace.Look({.now_us = now_us,
                                                .flushed_bytes = flushed_bytes - own_bytes,
                                                .file_looks = impl_->statistics->getTickerCount(rocks::MEMTABLE_MISS)})
                            : impl_->pace_times > 1;
  const uint64_t load_times = impl_->pace.looks_often() ? std::min(kLookedTimes, impl_->load_times) : impl_->load_times;
  const bool lacks_room = impl_->settling.load() && !impl_->gate->HasRoomFor(0);
  if (loading || !open || lacks_room || (impl_->compactions_held && Level0Full())) {
    // Nothing may hold up compactions now, nor take room from writers. What is being settled goes the usual way.
    impl_->settling_owed.store(false);
    StopSettling();
    return SetPace(loading ? load_times : 1, /*held=*/false);
  }
  if (impl_->pace_times > 1) {
    impl_->settling_bytes_max.store(impl_->pace.load_bytes());
    impl_->settling_owed.store(true);
    return SetPace(1, /*held=*/true);
  }
  return SetPace(1, impl_->compactions_held && impl_->settling_owed.load());
}

// So that writers would soon be slowed down, which RocksDB does not while it compacts nothing. A fifth of the places is left
// for what is written until compactions, which begin now, have made room.
bool Store::Level0Full() const {
  rocks::ColumnFamilyHandle* const data = Handle(Family::kData);
  rocks::ColumnFamilyMetaData family;
  impl_->root->GetColumnFamilyMetaData(data, &family);
  const int slowdown_files = impl_->root->GetOptions(data).level0_slowdown_writes_trigger;
  return static_cast<int>(family.levels[0].files.size()) >= slowdown_files - slowdown_files / 5;
}

Status Store::SetPace(uint64_t times, bool held) {
  if (times == impl_->pace_times && held == impl_->compactions_held) return Status::Ok();
  // Level 0 is compacted also once it is larger than the level below may be, which each file adds half a memtable to.
  CAIRN_RETURN_IF_ERROR(FromRocks(impl_->root->SetOptions(
      Handle(Family::kData),
      {{"level0_file_num_compaction_trigger", std::to_string(times * impl_->level0_files_usual)},
       {"max_bytes_for_level_base", std::to_string(times * impl_->base_bytes_usual)},
       {"disable_auto_compactions", held ? "true" : "false"}})));
  impl_->pace_times = times;
  impl_->compactions_held = held;
  return Status::Ok();
}

int Store::level0_files_max() const {
  return impl_->root->GetOptions(Handle(Family::kData)).level0_file_num_compaction_trigger;
}

}  // namespace cairn::store
