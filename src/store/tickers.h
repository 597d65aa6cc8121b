// SPDX-License-Identifier: GPL-2.0-only
// RocksDB's counters of events, cheap enough for each read.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include <rocksdb/statistics.h>

#include "base/thread_shard.h"
#include "store/rocksdb_fwd.h"

namespace cairn::store {

// Tickers alone: histograms are neither kept nor asked for. A point read ticks some ten times, and RocksDB's own
// implementation asks the system each time which core it runs on. Here a thread keeps the shard
// it was given at its first tick.
//
// Thread rule: any thread. Sums are not of one moment.
class Tickers final : public rocks::Statistics {
 public:
  Tickers();

  const char* Name() const override { return "CairnTickers"; }
  uint64_t getTickerCount(uint32_t ticker) const override;
  void recordTick(uint32_t ticker, uint64_t count) override;
  void setTickerCount(uint32_t ticker, uint64_t count) override;
  uint64_t getAndResetTickerCount(uint32_t ticker) override;
  void histogramData(uint32_t histogram, rocks::HistogramData* data) const override;
  void recordInHistogram(uint32_t, uint64_t) override {}
  bool HistEnabledForType(uint32_t) const override { return false; }
  rocks::Status Reset() override;

 private:
  struct alignas(64) Shard {
    std::array<std::atomic<uint64_t>, rocks::TICKER_ENUM_MAX> counts{};
  };
  std::array<Shard, kThreadShards> shards_;
};

}  // namespace cairn::store
