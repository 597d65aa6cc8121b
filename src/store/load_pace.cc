// SPDX-License-Identifier: GPL-2.0-only
// The pace of flushes, and what level 0 may gather meanwhile.
#include "store/load_pace.h"

#include <algorithm>
#include <string>

#include "store/rocks_status.h"
#include "store/store_impl.h"

namespace cairn::store {
namespace {

// What level 0 gathers in a load.
constexpr uint64_t kTimesMore = 6;

}  // namespace

bool LoadPace::Look(uint64_t now_us, uint64_t flushed_bytes) {
  const uint64_t bytes = flushed_bytes - std::min(flushed_bytes, flushed_before_bytes_);
  if (bytes >= memtable_bytes_ / 2) {
    if (!loading_) load_began_bytes_ = flushed_before_bytes_;
    loading_ = true;
  }
  if (loading_) load_bytes_ = flushed_bytes - std::min(flushed_bytes, load_began_bytes_);
  if (now_us - window_began_us_ < kWindowUs) return loading_;
  if (bytes < memtable_bytes_ / 8) loading_ = false;
  window_began_us_ = now_us;
  flushed_before_bytes_ = flushed_bytes;
  return loading_;
}

// Merging level 0 down rewrites the level below as a whole, as each file has entries of all indexes: the more files go at
// once, the less is rewritten for each. What reads lose by more files is little beside a load, and ends with it.
Status Store::PaceCompactions(uint64_t now_us) {
  if (impl_->level0_files_usual == 0) return Status::Ok();
  const bool open = impl_->gate->state() == WriteGate::kOpen;
  const uint64_t flushed_bytes = impl_->statistics->getTickerCount(rocks::FLUSH_WRITE_BYTES);
  const uint64_t own_bytes = std::min(flushed_bytes, impl_->settling_flushed_bytes.load());
  const bool loading = open ? impl_->pace.Look(now_us, flushed_bytes - own_bytes) : impl_->loads;
  const bool lacks_room = impl_->settling.load() && !impl_->gate->HasRoomFor(0);
  if (loading || !open || lacks_room || (impl_->compactions_held && Level0Full())) {
    // Nothing may hold up compactions now, nor take room from writers. What is being settled goes the usual way.
    impl_->settling_owed.store(false);
    StopSettling();
    return SetPace(loading, /*held=*/false);
  }
  if (impl_->loads) {
    impl_->settling_bytes_max.store(impl_->pace.load_bytes());
    impl_->settling_owed.store(true);
    return SetPace(/*loading=*/false, /*held=*/true);
  }
  return SetPace(/*loading=*/false, impl_->compactions_held && impl_->settling_owed.load());
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

Status Store::SetPace(bool loading, bool held) {
  if (loading == impl_->loads && held == impl_->compactions_held) return Status::Ok();
  PrepareThread();
  // Level 0 is compacted also once it is larger than the level below may be, which each file adds half a memtable to.
  const uint64_t times = loading ? kTimesMore : 1;
  CAIRN_RETURN_IF_ERROR(FromRocks(impl_->root->SetOptions(
      Handle(Family::kData),
      {{"level0_file_num_compaction_trigger", std::to_string(times * impl_->level0_files_usual)},
       {"max_bytes_for_level_base", std::to_string(times * impl_->base_bytes_usual)},
       {"disable_auto_compactions", held ? "true" : "false"}})));
  impl_->loads = loading;
  impl_->compactions_held = held;
  return Status::Ok();
}

int Store::level0_files_max() const {
  return impl_->root->GetOptions(Handle(Family::kData)).level0_file_num_compaction_trigger;
}

}  // namespace cairn::store
