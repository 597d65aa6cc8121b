// SPDX-License-Identifier: GPL-2.0-only
// Who syncs, and who waits for whom.
#include "store/shared_sync.h"

namespace cairn::store {

Status SharedSync::Run(const std::function<Status()>& sync) {
  std::unique_lock lock(mutex_);
  const uint64_t wanted = begun_count_ + 1;
  while (last_success_ < wanted) {
    if (begun_count_ != ended_count_) {
      ++waiting_count_;
      ended_.wait(lock, [&] { return begun_count_ == ended_count_ || last_success_ >= wanted; });
      --waiting_count_;
      continue;
    }
    const uint64_t number = ++begun_count_;
    lock.unlock();
    Status status = sync();
    lock.lock();
    ended_count_ = number;
    if (status.ok()) last_success_ = number;
    ended_.notify_all();
    if (!status.ok()) return status;
  }
  return Status::Ok();
}

size_t SharedSync::waiting_count() const {
  std::lock_guard lock(mutex_);
  return waiting_count_;
}

}  // namespace cairn::store
