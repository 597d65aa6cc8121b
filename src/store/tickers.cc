// SPDX-License-Identifier: GPL-2.0-only
// Counting in shards of threads, and their sums.
#include "store/tickers.h"

namespace cairn::store {

Tickers::Tickers() { set_stats_level(rocks::StatsLevel::kExceptHistogramOrTimers); }

void Tickers::recordTick(uint32_t ticker, uint64_t count) {
  if (ticker < rocks::TICKER_ENUM_MAX) shards_[ThreadShard()].counts[ticker].fetch_add(count, std::memory_order_relaxed);
}

uint64_t Tickers::getTickerCount(uint32_t ticker) const {
  uint64_t sum = 0;
  for (const Shard& shard : shards_) sum += shard.counts[ticker].load(std::memory_order_relaxed);
  return sum;
}

uint64_t Tickers::getAndResetTickerCount(uint32_t ticker) {
  uint64_t sum = 0;
  for (Shard& shard : shards_) sum += shard.counts[ticker].exchange(0, std::memory_order_relaxed);
  return sum;
}

void Tickers::setTickerCount(uint32_t ticker, uint64_t count) {
  getAndResetTickerCount(ticker);
  shards_[0].counts[ticker].store(count, std::memory_order_relaxed);
}

void Tickers::histogramData(uint32_t, rocks::HistogramData* data) const { *data = rocks::HistogramData(); }

rocks::Status Tickers::Reset() {
  for (uint32_t ticker = 0; ticker < rocks::TICKER_ENUM_MAX; ++ticker) getAndResetTickerCount(ticker);
  return rocks::Status::OK();
}

}  // namespace cairn::store
