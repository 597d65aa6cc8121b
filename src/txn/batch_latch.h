// SPDX-License-Identifier: GPL-2.0-only
// Keeps other threads' looks into a transaction's batch apart from its changes.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>

namespace cairn::txn {

// The owner holds it around each change of its batch; others hold it while they look. Holding takes
// far less than a microsecond, but for a first look that puts the batch in order, so who meets it spins. What
// takes the owner longer (commit, prepare, rollback, ordering) is marked instead, and others then come again later.
//
// Thread rule: Hold and Mark are the owner's, one at a time; TryLook and EndLook are for any thread.
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
  void Unmark() { state_.store(kFree, std::memory_order_seq_cst); }

  // False: the owner is at something long.
  [[nodiscard]] bool TryLook() {
    for (uint8_t expected = kFree;; expected = kFree) {
      if (state_.compare_exchange_weak(expected, kHeld, std::memory_order_acquire, std::memory_order_relaxed)) {
        return true;
      }
      if (expected == kMarked) return false;
      if (expected == kHeld) std::this_thread::yield();
    }
  }
  void EndLook() { state_.store(kFree, std::memory_order_release); }

 private:
  static constexpr uint8_t kFree = 0, kHeld = 1, kMarked = 2;

  void Acquire(uint8_t state) {
    uint8_t expected = kFree;
    while (!state_.compare_exchange_weak(expected, state, std::memory_order_acquire, std::memory_order_relaxed)) {
      if (expected != kFree) std::this_thread::yield();
      expected = kFree;
    }
  }

  std::atomic<uint8_t> state_{kFree};
};

}  // namespace cairn::txn
