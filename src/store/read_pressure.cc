// SPDX-License-Identifier: GPL-2.0-only
// The account of walks, and the price of ending what they lose.
#include "store/read_pressure.h"

#include <algorithm>

namespace cairn::store {
namespace {

// Of `bytes` the share by which the memtable is not full.
uint64_t MissingOf(const ReadPressureSample& sample, uint64_t bytes) {
  const uint64_t full_bytes = std::max<uint64_t>(sample.memtable_bytes_max, 1);
  const uint64_t missing_bytes = full_bytes - std::min(sample.memtable_bytes, full_bytes);
  return static_cast<uint64_t>(static_cast<double>(bytes) * (static_cast<double>(missing_bytes) / static_cast<double>(full_bytes)));
}

}  // namespace

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

void WalkAccount::NoteLoad(std::span<const IndexId> indexes, uint64_t before, uint64_t last) {
  std::lock_guard lock(mutex_);
  for (const IndexId index : indexes) loads_.push_back({.index = index, .before = before, .last = last});
  while (loads_.size() > kLoadsKnown) loads_.pop_front();
  last_load_.store(last, std::memory_order_release);
}

WalkAccount::Loaded WalkAccount::FindLoad(IndexId index) const {
  std::lock_guard lock(mutex_);
  const auto found = std::find_if(loads_.rbegin(), loads_.rend(), [index](const Loaded& load) { return load.index == index; });
  return found == loads_.rend() ? Loaded{.index = index} : *found;
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

// Whether nobody has written or walked for a while.
bool ReadPressurePolicy::IsIdle(const ReadPressureSample& sample) {
  const bool busy = sample.user_bytes != last_user_bytes_ || sample.walked != last_walked_;
  last_user_bytes_ = sample.user_bytes;
  last_walked_ = sample.walked;
  if (busy || busy_at_us_ == 0) busy_at_us_ = sample.now_us;
  return sample.now_us - busy_at_us_ >= kIdleUs;
}

uint64_t ReadPressurePolicy::FlushPriceNs(const ReadPressureSample& sample) {
  // Of what is added, what is flushed twice costs but half.
  const uint64_t flushed_twice = MissingOf(sample, sample.memtable_bytes / kOverwrittenShare);
  const uint64_t adds_ns = kNsPerCompactedByte * (FlushAddsBytes(sample) - flushed_twice) + kNsPerFlushedByte * flushed_twice;
  return kNsPerRewrite + adds_ns + (sample.cores_are_busy ? kNsPerFlushedByte * sample.memtable_bytes : 0);
}

uint64_t ReadPressurePolicy::FlushAddsBytes(const ReadPressureSample& sample) {
  return MissingOf(sample, 2 * (sample.memtable_bytes / kOverwrittenShare) + sample.base_bytes / sample.level0_files_max);
}

uint64_t ReadPressurePolicy::CompactionPriceNs(const ReadPressureSample& sample) {
  return kNsPerRewrite + kNsPerCompactedByte * CompactionAddsBytes(sample);
}

uint64_t ReadPressurePolicy::CompactionAddsBytes(const ReadPressureSample& sample) {
  const uint64_t missing_files = sample.level0_files_max - std::min(sample.level0_files, sample.level0_files_max);
  return (sample.base_bytes + sample.level0_bytes / kOverwrittenShare) / sample.level0_files_max * missing_files;
}

uint64_t ReadPressurePolicy::LostInLevel0Ns(const ReadPressureSample& sample) const {
  const uint64_t lost_ns = (sample.walked.in_level0 - counted_from_.in_level0) * kNsPerLevel0Entry;
  return sample.base_is_last ? lost_ns : lost_ns / sample.level0_files * (sample.level0_files - 1);
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
  const uint64_t price_share = IsIdle(sample) ? kIdleShare : 1;
  // Where compactions run already, another file is no relief and another compaction would only meet them. While
  // memtables wait, another would bring the writers nearer to a stop, and a compaction would do without them.
  if (sample.level0_files >= sample.level0_files_max || sample.memtables_waiting != 0) return Relief::kNone;

  const uint64_t lost_in_memtable = (sample.walked.in_memtable - counted_from_.in_memtable) * kNsPerMemtableEntry;
  if (sample.base_is_last && sample.memtable_bytes >= sample.memtable_bytes_min && lost_in_memtable >= FlushPriceNs(sample) / price_share &&
      Spend(FlushAddsBytes(sample))) {
    counted_from_.in_memtable = sample.walked.in_memtable;
    return Relief::kFlush;
  }
  if (sample.level0_files != 0 && LostInLevel0Ns(sample) >= CompactionPriceNs(sample) / price_share &&
      Spend(CompactionAddsBytes(sample))) {
    counted_from_.in_level0 = sample.walked.in_level0;
    return Relief::kCompactLevel0;
  }
  return Relief::kNone;
}

}  // namespace cairn::store
