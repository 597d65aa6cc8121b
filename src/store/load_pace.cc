// SPDX-License-Identifier: GPL-2.0-only
// The pace of flushes, and what level 0 may gather meanwhile.
#include "store/load_pace.h"

#include <string>

#include "store/rocks_status.h"
#include "store/store_impl.h"

namespace cairn::store {

bool LoadPace::Look(uint64_t now_us, uint64_t flushed_bytes) {
  const uint64_t bytes = flushed_bytes - flushed_before_bytes_;
  if (bytes >= memtable_bytes_ / 2) loading_ = true;
  if (now_us - window_began_us_ < kWindowUs) return loading_;
  if (bytes < memtable_bytes_ / 8) loading_ = false;
  window_began_us_ = now_us;
  flushed_before_bytes_ = flushed_bytes;
  return loading_;
}

// Merging level 0 down rewrites the level below as a whole, as each file has entries of all indexes: the more files go at
// once, the less is rewritten for each. What reads lose by more files is little beside a load, and ends with it.
Status Store::PaceCompactions(uint64_t now_us) {
  constexpr int kTimesMore = 3;
  const int usual = impl_->level0_files_usual;
  if (usual == 0 || impl_->gate->state() != WriteGate::kOpen) return Status::Ok();
  const bool loading = impl_->pace.Look(now_us, impl_->statistics->getTickerCount(rocks::FLUSH_WRITE_BYTES));
  if (loading == impl_->loads) return Status::Ok();
  PrepareThread();
  impl_->loads = loading;
  return FromRocks(impl_->root->SetOptions(
      Handle(Family::kData),
      {{"level0_file_num_compaction_trigger", std::to_string(loading ? kTimesMore * usual : usual)}}));
}

int Store::level0_files_max() const {
  return impl_->root->GetOptions(Handle(Family::kData)).level0_file_num_compaction_trigger;
}

}  // namespace cairn::store
