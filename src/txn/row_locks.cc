// SPDX-License-Identifier: GPL-2.0-only
// What owners of locks can do without a lock table.
#include "txn/row_locks.h"

#include <cassert>

namespace cairn::txn {

LockOwner::~LockOwner() {
  assert(held_ == nullptr);
  AwaitUnpinned();
}

void LockOwner::AwaitUnpinned() {
  std::unique_lock lock(sleep_mutex_);
  unpinned_.wait(lock, [this] { return pins_ == 0 && look_pins_ == 0; });
}

// Who pins it does so while it holds or waits for a lock, and was seen by who released that.
void LockOwner::AwaitObservers() {
  if (pins_.load(std::memory_order_acquire) == 0) return;
  std::unique_lock lock(sleep_mutex_);
  unpinned_.wait(lock, [this] { return pins_ == 0; });
}

void LockOwner::PinForLook() {
  std::lock_guard lock(sleep_mutex_);
  ++look_pins_;
}

void LockOwner::UnpinAfterLook() {
  std::lock_guard lock(sleep_mutex_);
  if (--look_pins_ == 0) unpinned_.notify_all();
}

void LockOwner::Pin() {
  std::lock_guard lock(sleep_mutex_);
  ++pins_;
}

void LockOwner::Unpin() {
  std::lock_guard lock(sleep_mutex_);
  if (--pins_ == 0) unpinned_.notify_all();
}

void LockOwner::SetUserData(void* user_data) {
  std::unique_lock lock(sleep_mutex_);
  unpinned_.wait(lock, [this] { return pins_ == 0; });
  user_data_ = user_data;
}

void LockOwner::Interrupt() {
  interrupted_.store(true);
  std::lock_guard lock(sleep_mutex_);
  sleep_.notify_all();
}

}  // namespace cairn::txn
