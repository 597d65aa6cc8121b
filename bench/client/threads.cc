// SPDX-License-Identifier: GPL-2.0-only
// Threads that end together, and a clock that reports beside them.
#include "threads.h"

#include <exception>
#include <utility>

namespace cairn::bench {

std::string RunThreads(const std::vector<std::function<void()>>& tasks, StopFlag* stop) {
  std::mutex mutex;
  std::string first_error;
  std::vector<std::thread> threads;
  for (const auto& task : tasks) {
    threads.emplace_back([&task, &mutex, &first_error, stop] {
      try {
        task();
      } catch (const std::exception& error) {
        const std::lock_guard lock(mutex);
        if (first_error.empty()) first_error = error.what();
        stop->Stop();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  return first_error;
}

Ticker::Ticker(std::chrono::milliseconds interval, std::function<void()> tick)
    : thread_([this, interval, tick = std::move(tick)] {
        std::unique_lock lock(mutex_);
        auto next = Clock::now() + interval;
        while (!ending_.wait_until(lock, next, [this] { return ended_; })) {
          tick();
          next += interval;
        }
      }) {}

Ticker::~Ticker() {
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
  }
  ending_.notify_one();
  thread_.join();
}

}  // namespace cairn::bench
