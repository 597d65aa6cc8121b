// SPDX-License-Identifier: GPL-2.0-only
// The dictionary's flushes.
#include "store/log_release.h"

#include "store/rocks_status.h"
#include "store/store_impl.h"

namespace cairn::store {

void LogRelease::OnFlushCompleted(rocks::DB*, const rocks::FlushJobInfo& flush) {
  if (flush.cf_name == rocks::kDefaultColumnFamilyName) owed_.store(true, std::memory_order_relaxed);
}

Status Store::ReleaseLogs() {
  if (impl_->gate->state() != WriteGate::kOpen || !impl_->log_release->Take()) return Status::Ok();
  rocks::FlushOptions flush;
  flush.wait = false;
  flush.allow_write_stall = true;  // does not wait for compactions
  return FromRocks(impl_->root->Flush(flush, Handle(Family::kDictionary)));
}

}  // namespace cairn::store
