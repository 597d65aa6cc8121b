// SPDX-License-Identifier: GPL-2.0-only
// Keeps other threads' looks into a transaction's batch apart from its changes.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>

namespace cairn::txn {

// The owner holds it around each change of its batch; others hold it while they look. Holding takes
// far less than a microsecond, but for a first look that puts the batch in order, so who meets it spins. What
// takes the owner longer (commit, prepare, rollback, ordering) is marked instead, and others then wait for its end, or come again later.
//
// Thread rule: Hold, Mark and Unmark are the owner's, one at a time; all else is for any thread.
class BatchLatch {
 public:
  class Hold {
   public:
    explicit Hold(BatchLatch& latch) : latch_(latch) { latch_.Acquire(kHeld); }
    ~Hold() { latch_.state_.store(kFree, std::memory_order_release); }
    Hold(const Hold&) = delete;
    Hold& operator=(const Hold&) = delete;

   private:
    BatchLatch& latch_;
  };

  void Mark() { Acquire(kMarked); }
  void Unmark() {
    if (__builtin_expect(state_.exchange(kFree, std::memory_order_seq_cst) == kAwaited, false)) TellUnmarked();
  }

  // False: the owner is at something long.
  [[nodiscard]] bool TryLook() {
    for (uint8_t expected = kFree;; expected = kFree) {
      if (state_.compare_exchange_weak(expected, kHeld, std::memory_order_acquire, std::memory_order_relaxed)) {
        return true;
      }
      if (expected == kMarked || expected == kAwaited) return false;
      if (expected == kHeld) std::this_thread::yield();
    }
  }
  void EndLook() { state_.store(kFree, std::memory_order_release); }

  // Sleeps until the long change that is under way ends, if one is, but no longer than this.
  void AwaitUnmarked(std::chrono::milliseconds time_max) {
    std::unique_lock lock(mutex_);
    uint8_t expected = kMarked;
    if (!state_.compare_exchange_strong(expected, kAwaited) && expected != kAwaited) return;
    unmarked_.wait_for(lock, time_max, [this] { return state_.load() != kAwaited; });
  }

  // Whether somebody sleeps so.
  bool is_awaited() const { return state_.load(std::memory_order_acquire) == kAwaited; }

 private:
  static constexpr uint8_t kFree = 0, kHeld = 1, kMarked = 2, kAwaited = 3;  // the last: marked, and somebody sleeps

  void Acquire(uint8_t state) {
    uint8_t expected = kFree;
    while (!state_.compare_exchange_weak(expected, state, std::memory_order_acquire, std::memory_order_relaxed)) {
      if (expected != kFree) std::this_thread::yield();
      expected = kFree;
    }
  }

  // Who has made the state kAwaited holds the mutex until it sleeps.
  void TellUnmarked() {
    { std::lock_guard lock(mutex_); }
    unmarked_.notify_all();
  }

  std::atomic<uint8_t> state_{kFree};
  std::mutex mutex_;
  std::condition_variable unmarked_;  // with mutex_
};

}  // namespace cairn::txn
