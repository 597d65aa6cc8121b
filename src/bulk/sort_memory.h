// SPDX-License-Identifier: GPL-2.0-only
// Shares memory for sorting among statements that run at the same time.
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

namespace cairn::bulk {

// Thread rule: any thread. Lifetime: outlives its shares.
class SortMemory {
 public:
  // What one statement may take; given back by the destructor. Moves with its statement.
  class Share {
   public:
    Share() = default;
    Share(Share&& other) noexcept : of_(std::exchange(other.of_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
    Share& operator=(Share&& other) noexcept {
      std::swap(of_, other.of_);
      std::swap(bytes_, other.bytes_);
      return *this;
    }
    ~Share() {
      if (of_ != nullptr) of_->left_bytes_.fetch_add(bytes_, std::memory_order_relaxed);
    }
    uint64_t bytes() const { return bytes_; }

   private:
    friend class SortMemory;
    Share(SortMemory* of, uint64_t bytes) : of_(of), bytes_(bytes) {}
    SortMemory* of_ = nullptr;
    uint64_t bytes_ = 0;
  };

  explicit SortMemory(uint64_t bytes) : total_bytes_(bytes), left_bytes_(bytes) {}
  SortMemory(const SortMemory&) = delete;
  SortMemory& operator=(const SortMemory&) = delete;

  // Half of what is left, so that others find some, but at least so much; an empty share when that is not there.
  Share Take(uint64_t bytes_min) {
    uint64_t left = left_bytes_.load(std::memory_order_relaxed);
    for (;;) {
      if (left < bytes_min) return Share();
      const uint64_t bytes = left / 2 > bytes_min ? left / 2 : bytes_min;
      if (left_bytes_.compare_exchange_weak(left, left - bytes, std::memory_order_relaxed)) return Share(this, bytes);
    }
  }

  // All there is, whoever has it.
  uint64_t total_bytes() const { return total_bytes_; }

 private:
  const uint64_t total_bytes_;
  std::atomic<uint64_t> left_bytes_;
};

}  // namespace cairn::bulk
