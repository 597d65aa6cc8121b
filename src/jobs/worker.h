// SPDX-License-Identifier: GPL-2.0-only
// One background thread that runs named tasks, each again and again after a pause.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace cairn::jobs {

// Runs tasks one at a time on a thread of its own. A task says how long it wants to rest before
// its next run; Wake() makes it due before. Tasks must not throw and should be short: they share
// the thread.
//
// Thread rule: Add before Start; Wake, Stop from any thread; Stop (and the destructor) wait for
// the running task to end.
class Worker {
 public:
  using Task = std::function<void()>;

  Worker() = default;
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;
  ~Worker() { Stop(); }

  // Adds a task that first runs `period` after Start. The name is what Wake takes and what logs print. However often it is woken, its runs
  // begin at least `apart` after one another.
  void Add(std::string name, std::chrono::milliseconds period, Task task, std::chrono::milliseconds apart = {});

  void Start();

  // Makes the task due now, or as soon as it may run again; also while it runs. Unknown names are ignored.
  void Wake(const std::string& name);

  // Lets a running task end, then ends the thread. Idempotent.
  void Stop();

  // Whether Stop was asked for; long tasks poll it and return early.
  bool stopping();

 private:
  using Clock = std::chrono::steady_clock;
  struct Entry {
    std::string name;
    std::chrono::milliseconds period;
    Task task;
    std::chrono::milliseconds apart;
    Clock::time_point due;
    Clock::time_point woken_due;  // when it may run again
  };

  void Loop();
  Entry* EarliestDue();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Entry> entries_;  // guarded by mutex_; no additions after Start
  bool stop_ = false;           // guarded by mutex_
  std::thread thread_;
};

}  // namespace cairn::jobs
