// SPDX-License-Identifier: GPL-2.0-only
// Lets a table's deleter follow its writers.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>

namespace cairn::bench::insert {

// Each committed insert asks for as many rows to be deleted. Writers wait while more than kDepth requests
// are open, so that both go at one rate.
//
// Thread rule: any thread.
class DeleteQueue {
 public:
  static constexpr size_t kDepth = 8;

  // Waits for room; does nothing once the queue is closed.
  void Push(uint64_t rows) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return requests_.size() < kDepth || closed_; });
    if (closed_) return;
    requests_.push_back(rows);
    changed_.notify_all();
  }

  // Waits for a request; nothing once the queue is closed and empty.
  std::optional<uint64_t> Pop() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return !requests_.empty() || closed_; });
    if (requests_.empty()) return std::nullopt;
    const uint64_t rows = requests_.front();
    requests_.pop_front();
    changed_.notify_all();
    return rows;
  }

  // No more requests. With `drop`, the open ones are forgotten.
  void Close(bool drop) {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    if (drop) requests_.clear();
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<uint64_t> requests_;
  bool closed_ = false;
};

}  // namespace cairn::bench::insert
