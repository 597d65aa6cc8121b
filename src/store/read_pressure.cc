// SPDX-License-Identifier: GPL-2.0-only
// The account of walks, and the price of ending what they lose.
#include "store/read_pressure.h"

#include <algorithm>

namespace cairn::store {

void WalkAccount::Add(const WalkedEntries& walked) {
  Shard& shard = shards_[ThreadShard()];
  if (walked.in_memtable != 0) shard.in_memtable.fetch_add(walked.in_memtable, std::memory_order_relaxed);
  if (walked.in_level0 != 0) shard.in_level0.fetch_add(walked.in_level0, std::memory_order_relaxed);
}

WalkedEntries WalkAccount::Sum() const {
  WalkedEntries sum;
  for (const Shard& shard : shards_) {
    sum.in_memtable += shard.in_memtable.load(std::memory_order_relaxed);
    sum.in_level0 += shard.in_level0.load(std::memory_order_relaxed);
  }
  return sum;
}

void ReadPressurePolicy::Earn(const ReadPressureSample& sample) {
  if (earned_at_us_ == 0) earned_at_us_ = sample.now_us;
  // Whole seconds only, the rest stays for the next time.
  const uint64_t seconds = (sample.now_us - earned_at_us_) / 1'000'000;
  earned_at_us_ += seconds * 1'000'000;
  credit_bytes_ += seconds * kCreditBytesPerSecond + (sample.user_bytes - earned_for_user_bytes_);
  credit_bytes_ = std::min(credit_bytes_, kCreditBytesMax);
  earned_for_user_bytes_ = sample.user_bytes;
}

bool ReadPressurePolicy::Spend(uint64_t bytes) {
  if (bytes > credit_bytes_) return false;
  credit_bytes_ -= bytes;
  return true;
}

uint64_t ReadPressurePolicy::FlushPriceNs(const ReadPressureSample& sample) {
  const uint64_t compacted = sample.memtable_bytes / kOverwrittenShare + sample.base_bytes / sample.level0_files_max;
  const uint64_t ns =
      kNsPerFlushedByte * (sample.memtable_bytes / kOverwrittenShare) + kNsPerCompactedByte * compacted;
  const uint64_t full_bytes = std::max<uint64_t>(sample.memtable_bytes_max, 1);
  const double missing = 1 - static_cast<double>(std::min(sample.memtable_bytes, full_bytes)) / static_cast<double>(full_bytes);
  return kNsPerRewrite + static_cast<uint64_t>(missing * static_cast<double>(ns));
}

uint64_t ReadPressurePolicy::CompactionPriceNs(const ReadPressureSample& sample) {
  const uint64_t missing_files = sample.level0_files_max - std::min(sample.level0_files, sample.level0_files_max);
  const uint64_t compacted = sample.base_bytes + sample.level0_bytes / kOverwrittenShare;
  return kNsPerRewrite + kNsPerCompactedByte * compacted / sample.level0_files_max * missing_files;
}

Relief ReadPressurePolicy::Decide(const ReadPressureSample& sample) {
  Earn(sample);
  if (sample.memtable_id != memtable_id_) {
    memtable_id_ = sample.memtable_id;
    counted_from_.in_memtable = sample.walked.in_memtable;
  }
  if (sample.oldest_level0_id != oldest_level0_id_) {
    oldest_level0_id_ = sample.oldest_level0_id;
    counted_from_.in_level0 = sample.walked.in_level0;
  }
  // Where compactions run already, another file is no relief and another compaction would only meet them.
  if (sample.level0_files >= sample.level0_files_max) return Relief::kNone;

  const uint64_t lost_in_memtable = (sample.walked.in_memtable - counted_from_.in_memtable) * kNsPerMemtableEntry;
  // While full memtables wait, another would bring the writers nearer to a stop.
  if (sample.memtable_bytes >= sample.memtable_bytes_min && sample.memtables_waiting == 0 &&
      lost_in_memtable >= FlushPriceNs(sample) &&
      Spend(sample.memtable_bytes + sample.base_bytes / sample.level0_files_max)) {
    counted_from_.in_memtable = sample.walked.in_memtable;
    return Relief::kFlush;
  }
  const uint64_t lost_in_level0 = (sample.walked.in_level0 - counted_from_.in_level0) * kNsPerLevel0Entry;
  const uint64_t compacted = sample.level0_bytes + sample.base_bytes;
  if (sample.level0_files != 0 && lost_in_level0 >= CompactionPriceNs(sample) && Spend(compacted)) {
    counted_from_.in_level0 = sample.walked.in_level0;
    return Relief::kCompactLevel0;
  }
  return Relief::kNone;
}

}  // namespace cairn::store
