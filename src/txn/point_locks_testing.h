// SPDX-License-Identifier: GPL-2.0-only
// For tests: owners of locks without transactions, and threads that wait for locks.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <thread>
#include <utility>

#include "txn/row_locks.h"

namespace cairn::txn {

class Owner final : public LockOwner {
 public:
  explicit Owner(uint64_t id, uint64_t writes = 0) {
    id_ = id;
    write_count_ = writes;
  }
};

inline constexpr LockOptions kX{.mode = LockMode::kExclusive};
inline constexpr LockOptions kS{.mode = LockMode::kShared};
inline constexpr LockOptions kXNow{.mode = LockMode::kExclusive, .wait = LockWait::kNoWait};
inline constexpr LockOptions kSNow{.mode = LockMode::kShared, .wait = LockWait::kNoWait};

// A request on a thread of its own.
class Waiter {
 public:
  Waiter(RowLocks& locks, LockOwner& owner, std::string key, const LockOptions& options)
      : thread_([this, &locks, &owner, key = std::move(key), options] {
          status_ = locks.Lock(owner, key, options, &result_);
          done_ = true;
        }) {}
  ~Waiter() {
    if (thread_.joinable()) thread_.join();
  }
  Status::Code Join() {
    thread_.join();
    return status_.code();
  }
  bool done() const { return done_; }
  const LockResult& result() const { return result_; }

 private:
  Status status_;
  LockResult result_;
  std::atomic<bool> done_{false};
  std::thread thread_;
};

inline void AwaitWaiting(const RowLocks& locks, uint64_t count) {
  while (locks.waiting_count() != count) std::this_thread::yield();
}

}  // namespace cairn::txn
