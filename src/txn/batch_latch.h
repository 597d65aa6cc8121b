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

// The owner holds it around each change of its batch; others hold it while they look. Holding takes far less than a
// microsecond, but for a first look, which puts a small batch in order, so who meets it spins. What takes longer is marked instead: what the
// owner does to the whole batch (commit, prepare, rollback, ordering), and a look that first has to put a large one in order. Others
// then wait for its end, or come again later. So does the owner where it meets the mark of a look, which gives way to some of that.
//
// Thread rule: Hold, Mark, MarkSoon and Unmark are the owner's, one at a time; all else is for any thread.
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
  // The same for what must not be held up: meanwhile nobody begins to look, and a look that has marked it is to end early.
  void MarkSoon() {
    is_wanted_.store(true, std::memory_order_relaxed);
    Acquire(kMarked);
    is_wanted_.store(false, std::memory_order_relaxed);
  }
  void Unmark() {
    if (__builtin_expect(state_.exchange(kFree, std::memory_order_seq_cst) == kAwaited, false)) TellUnmarked();
  }

  // False: somebody is at something long, or the owner is about to be.
  [[nodiscard]] bool TryLook() {
    if (is_wanted()) return false;
    for (uint8_t expected = kFree;; expected = kFree) {
      if (state_.compare_exchange_weak(expected, kHeld, std::memory_order_acquire, std::memory_order_relaxed)) {
        return true;
      }
      if (expected == kMarked || expected == kAwaited) return false;
      if (expected == kHeld) std::this_thread::yield();
    }
  }
  // During a look: it takes long from now on. Ask is_wanted() now and then.
  void MarkLook() { state_.store(kMarked, std::memory_order_relaxed); }
  bool is_wanted() const { return is_wanted_.load(std::memory_order_relaxed); }
  void EndLook() { Unmark(); }

  // Sleeps until what is marked ends, if something is, but not for long: who comes may have something else to notice, too.
  void AwaitUnmarked() {
    std::unique_lock lock(mutex_);
    uint8_t expected = kMarked;
    if (state_.compare_exchange_strong(expected, kAwaited) || expected == kAwaited) {
      unmarked_.wait_for(lock, kSleepMax, [this] { return state_.load() != kAwaited; });
      return;
    }
    // Of who is wanted to make room the owner may need the processor.
    lock.unlock();
    std::this_thread::yield();
  }

  // Whether somebody sleeps so.
  bool is_awaited() const { return state_.load(std::memory_order_acquire) == kAwaited; }

 private:
  static constexpr uint8_t kFree = 0, kHeld = 1, kMarked = 2, kAwaited = 3;  // the last: marked, and somebody sleeps
  static constexpr std::chrono::milliseconds kSleepMax{10};

  void Acquire(uint8_t state) {
    uint8_t expected = kFree;
    while (!state_.compare_exchange_weak(expected, state, std::memory_order_acquire, std::memory_order_relaxed)) {
      if (expected == kHeld) std::this_thread::yield();
      if (expected == kMarked || expected == kAwaited) AwaitUnmarked();
      expected = kFree;
    }
  }

  // Who has made the state kAwaited holds the mutex until it sleeps.
  void TellUnmarked() {
    { std::lock_guard lock(mutex_); }
    unmarked_.notify_all();
  }

  std::atomic<uint8_t> state_{kFree};
  std::atomic<bool> is_wanted_{false};  // the owner waits in MarkSoon()
  std::mutex mutex_;
  std::condition_variable unmarked_;  // with mutex_
};

}  // namespace cairn::txn
