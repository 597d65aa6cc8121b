// SPDX-License-Identifier: GPL-2.0-only
// The background thread's loop: sleep until the earliest task is due, run it, repeat.
#include "jobs/worker.h"

#include <algorithm>

namespace cairn::jobs {

void Worker::Add(std::string name, std::chrono::milliseconds period, Task task, std::chrono::milliseconds apart) {
  entries_.push_back({std::move(name), period, std::move(task), apart, Clock::time_point(), Clock::time_point()});
}

void Worker::Start() {
  const Clock::time_point now = Clock::now();
  for (Entry& entry : entries_) entry.due = now + entry.period;
  thread_ = std::thread([this] { Loop(); });
}

void Worker::Wake(const std::string& name) {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (Entry& entry : entries_) {
    if (entry.name == name) entry.due = std::min(entry.due, entry.woken_due);
  }
  changed_.notify_one();
}

void Worker::Stop() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stop_ = true;
    changed_.notify_one();
  }
  if (thread_.joinable()) thread_.join();
}

bool Worker::stopping() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return stop_;
}

Worker::Entry* Worker::EarliestDue() {
  const auto earliest =
      std::min_element(entries_.begin(), entries_.end(), [](const Entry& a, const Entry& b) { return a.due < b.due; });
  return earliest == entries_.end() ? nullptr : &*earliest;
}

void Worker::Loop() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (!stop_) {
    Entry* entry = EarliestDue();
    if (entry == nullptr) {
      changed_.wait(lock);
      continue;
    }
    const Clock::time_point now = Clock::now();
    if (now < entry->due) {
      const Clock::time_point due = entry->due;
      changed_.wait_until(lock, due);
      continue;
    }
    entry->due = now + entry->period;
    entry->woken_due = now + entry->apart;
    lock.unlock();
    entry->task();
    lock.lock();
  }
}

}  // namespace cairn::jobs
