// SPDX-License-Identifier: GPL-2.0-only
// One flag that asks every thread to finish what it is doing and stop.
#pragma once

#include <atomic>

namespace cairn::bench {

// Set by a signal handler or by a thread that met an error it cannot go on after. Any thread may call it.
class StopFlag {
 public:
  void Interrupt() {
    interrupted_.store(true, std::memory_order_relaxed);
    Stop();
  }
  void Stop() { stop_.store(true, std::memory_order_relaxed); }
  bool stopped() const { return stop_.load(std::memory_order_relaxed); }
  bool interrupted() const { return interrupted_.load(std::memory_order_relaxed); }

 private:
  static_assert(std::atomic<bool>::is_always_lock_free, "the signal handler needs it");
  std::atomic<bool> stop_{false};
  std::atomic<bool> interrupted_{false};
};

}  // namespace cairn::bench
