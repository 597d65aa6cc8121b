// SPDX-License-Identifier: GPL-2.0-only
// Threads that end together, and a clock that reports beside them.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "stop_flag.h"

namespace cairn::bench {

using Clock = std::chrono::steady_clock;

inline double SecondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// Runs the tasks, one thread each, until all have returned. The first exception of a task stops the others
// through `stop`; its message is returned, "" if there was none.
std::string RunThreads(const std::vector<std::function<void()>>& tasks, StopFlag* stop);

// Calls a function at regular intervals, on its own thread, from construction to destruction.
class Ticker {
 public:
  Ticker(std::chrono::milliseconds interval, std::function<void()> tick);
  ~Ticker();
  Ticker(const Ticker&) = delete;
  Ticker& operator=(const Ticker&) = delete;

 private:
  std::mutex mutex_;
  std::condition_variable ending_;
  bool ended_ = false;  // under mutex_
  std::thread thread_;
};

}  // namespace cairn::bench
