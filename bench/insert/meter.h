// SPDX-License-Identifier: GPL-2.0-only
// Times the statements of one thread, for itself and for a clock that looks on.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>

#include "histogram.h"
#include "threads.h"

namespace cairn::bench::insert {

// Response times of one kind of statement: finely, and in the classes the benchmark reports.
struct ResponseTimes {
  static constexpr std::array<uint64_t, 9> kBoundsNs = {256'000,     1'000'000,     4'000'000,
                                                        16'000'000,  64'000'000,    256'000'000,
                                                        1000'000'000, 4000'000'000, 16000'000'000};

  Histogram latency_ns;
  std::array<uint64_t, kBoundsNs.size() + 1> classes{};  // at most the bound; the last is above all

  void Add(uint64_t ns) {
    latency_ns.Add(ns);
    size_t i = 0;
    while (i < kBoundsNs.size() && ns > kBoundsNs[i]) ++i;
    ++classes[i];
  }

  void Merge(const ResponseTimes& other) {
    latency_ns.Merge(other.latency_ns);
    for (size_t i = 0; i < classes.size(); ++i) classes[i] += other.classes[i];
  }
};

// Thread rule: one thread measures; Take() and done() may be called from one other.
class Meter {
 public:
  struct Sample {
    uint64_t max_ns = 0;    // longest statement that ended since the last sample
    uint64_t stall_ns = 0;  // the same, but the one under way counts too, with its time so far
  };

  void Begin() { start_ns_.store(NowNs(), std::memory_order_relaxed); }

  // The statement begun last ended well, and did `amount` of work.
  void End(uint64_t amount) {
    const uint64_t ns = NowNs() - start_ns_.load(std::memory_order_relaxed);
    times_->Add(ns);
    if (ns > max_ns_.load(std::memory_order_relaxed)) max_ns_.store(ns, std::memory_order_relaxed);
    done_.fetch_add(amount, std::memory_order_relaxed);
    start_ns_.store(0, std::memory_order_relaxed);
  }

  Sample Take() {
    Sample sample;
    sample.max_ns = max_ns_.exchange(0, std::memory_order_relaxed);
    sample.stall_ns = sample.max_ns;
    const uint64_t start_ns = start_ns_.load(std::memory_order_relaxed);
    const uint64_t now_ns = NowNs();
    if (start_ns != 0 && now_ns > start_ns) sample.stall_ns = std::max(sample.stall_ns, now_ns - start_ns);
    return sample;
  }

  uint64_t done() const { return done_.load(std::memory_order_relaxed); }
  const ResponseTimes& times() const { return *times_; }  // after the thread has ended

 private:
  static uint64_t NowNs() {
    return static_cast<uint64_t>(std::chrono::nanoseconds(Clock::now().time_since_epoch()).count());
  }

  std::atomic<uint64_t> start_ns_{0};  // 0: nothing is under way
  std::atomic<uint64_t> max_ns_{0};
  std::atomic<uint64_t> done_{0};
  std::unique_ptr<ResponseTimes> times_ = std::make_unique<ResponseTimes>();
};

}  // namespace cairn::bench::insert
