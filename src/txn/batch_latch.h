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
// then wait for its end, or come again later. So does the owner where it meets the mark of a look, which gives way to some of that. The two marks
// can be told apart: a look's says nothing of what becomes of the batch.
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
    if (__builtin_expect(IsAwaited(state_.exchange(kFree, std::memory_order_seq_cst)), false)) TellUnmarked();
  }

  // False: somebody is at something long, or the owner is about to be.
  [[nodiscard]] bool TryLook() {
    if (is_wanted()) return false;
    for (uint8_t expected = kFree;; expected = kFree) {
      if (state_.compare_exchange_weak(expected, kHeld, std::memory_order_acquire, std::memory_order_relaxed)) {
        return true;
      }
      if (IsMarked(expected)) return false;
      if (expected == kHeld) std::this_thread::yield();
    }
  }
  // During a look: it takes long from now on. Ask is_wanted() now and then.
  void MarkLook() { state_.store(kLooked, std::memory_order_relaxed); }
  bool is_wanted() const { return is_wanted_.load(std::memory_order_relaxed); }
  void EndLook() { Unmark(); }

  // Sleeps until what is marked ends, if something is, but not for long: who comes may have something else to notice, too. True: the
  // mark is a look's.
  bool AwaitUnmarked() {
    std::unique_lock lock(mutex_);
    for (uint8_t state = state_.load(); IsMarked(state);) {
      const uint8_t awaited = state | kAwaited;
      if (state != awaited && !state_.compare_exchange_weak(state, awaited)) continue;
      unmarked_.wait_for(lock, kSleepMax, [&] { return state_.load() != awaited; });
      return (awaited & kLooked) != 0;
    }
    // Of who is wanted to make room the owner may need the processor.
    lock.unlock();
    std::this_thread::yield();
    return false;
  }

  // Whether somebody sleeps so.
  bool is_awaited() const { return IsAwaited(state_.load(std::memory_order_acquire)); }

 private:
  static constexpr uint8_t kFree = 0, kHeld = 1, kMarked = 2, kLooked = 4;  // the last two: by the owner, by a look
  static constexpr uint8_t kAwaited = 8;                                    // with one of these two: somebody sleeps
  static bool IsMarked(uint8_t state) { return state >= kMarked; }
  static bool IsAwaited(uint8_t state) { return (state & kAwaited) != 0; }
  static constexpr std::chrono::milliseconds kSleepMax{10};

  void Acquire(uint8_t state) {
    uint8_t expected = kFree;
    while (!state_.compare_exchange_weak(expected, state, std::memory_order_acquire, std::memory_order_relaxed)) {
      if (expected == kHeld) std::this_thread::yield();
      if (IsMarked(expected)) (void)AwaitUnmarked();
      expected = kFree;
    }
  }

  // Who has added kAwaited to the state holds the mutex until it sleeps.
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
