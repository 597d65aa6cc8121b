// SPDX-License-Identifier: GPL-2.0-only
// Sorting in memory, spilling, merging.
#include "bulk/external_sorter.h"

#include <algorithm>
#include <utility>

#include "bulk/loser_tree.h"
#include "store/entry_limits.h"

namespace cairn::bulk {
namespace {

constexpr size_t kChunkBytes = size_t{1} << 20;
constexpr size_t kMergedRunsMin = 2;
constexpr size_t kMergedRunsMax = 128;  // each is an open file

uint64_t PrefixOf(ByteView key) {
  char bytes[8] = {};
  std::memcpy(bytes, key.data(), std::min<size_t>(key.size(), sizeof bytes));
  return LoadBe64(bytes);
}

}  // namespace

ExternalSorter::ExternalSorter(store::Store& store, SorterOptions options)
    : store_(store), options_(std::move(options)) {}

bool ExternalSorter::Before(const Ref& a, const Ref& b) {
  return a.prefix != b.prefix ? a.prefix < b.prefix : KeyOf(a) < KeyOf(b);
}

char* ExternalSorter::Allocate(size_t bytes) {
  if (chunk_left_ < bytes) {
    const size_t size = std::max(bytes, kChunkBytes);
    chunks_.push_back(std::make_unique_for_overwrite<char[]>(size));
    chunk_bytes_ += size;
    chunk_at_ = chunks_.back().get();
    chunk_left_ = size;
  }
  char* at = chunk_at_;
  chunk_at_ += bytes;
  chunk_left_ -= bytes;
  return at;
}

uint64_t ExternalSorter::MemoryBytes() const { return std::max(options_.memory_bytes, kMemoryBytesMin); }

uint64_t ExternalSorter::UsedBytes() const { return chunk_bytes_ + refs_.capacity() * sizeof(Ref); }

Status ExternalSorter::Add(ByteView key, ByteView value) {
  CAIRN_RETURN_IF_ERROR(store::CheckEntry(key, value));
  const size_t bytes = 8 + key.size() + value.size();
  const bool refs_grow = refs_.size() == refs_.capacity();
  const uint64_t growth = (refs_grow ? refs_.capacity() * sizeof(Ref) : 0) + (chunk_left_ < bytes ? std::max(bytes, kChunkBytes) : 0);
  if (!refs_.empty() && UsedBytes() + growth > MemoryBytes()) CAIRN_RETURN_IF_ERROR(SpillMemory());
  char* entry = Allocate(bytes);
  StoreLe32(entry, static_cast<uint32_t>(key.size()));
  StoreLe32(entry + 4, static_cast<uint32_t>(value.size()));
  std::memcpy(entry + 8, key.data(), key.size());
  if (!value.empty()) std::memcpy(entry + 8 + key.size(), value.data(), value.size());
  refs_.push_back({PrefixOf(key), entry});
  if (arrived_sorted_) {
    arrived_sorted_ = entry_count_ == 0 || newest_key_.view() <= key;
    newest_key_.Assign(key);
  }
  ++entry_count_;
  return Status::Ok();
}

void ExternalSorter::SortMemory() {
  if (!arrived_sorted_) std::sort(refs_.begin(), refs_.end(), Before);
}

void ExternalSorter::ClearMemory() {
  refs_.clear();
  // One chunk is kept for what comes next.
  if (chunks_.size() > 1) chunks_.resize(1);
  if (chunks_.empty()) return;
  chunks_.front() = std::make_unique_for_overwrite<char[]>(kChunkBytes);
  chunk_bytes_ = kChunkBytes;
  chunk_at_ = chunks_.front().get();
  chunk_left_ = kChunkBytes;
}

Status ExternalSorter::SpillMemory() {
  SortMemory();
  std::unique_ptr<SortRun> run;
  CAIRN_RETURN_IF_ERROR(SortRun::Create(store_, &run));
  for (const Ref& ref : refs_) CAIRN_RETURN_IF_ERROR(run->Append(KeyOf(ref), ValueOf(ref)));
  CAIRN_RETURN_IF_ERROR(run->FinishWriting());
  runs_.push_back(std::move(run));
  ++spilled_run_count_;
  ClearMemory();
  return Status::Ok();
}

Status ExternalSorter::Emit(ByteView key, ByteView value, const Visit& visit) {
  CAIRN_RETURN_IF_ERROR(emit_poll_.Count(key.size() + value.size()));
  if (std::exchange(has_emitted_, true) && key == last_key_.view()) {
    duplicate_ = {std::string(key), last_value_.ToString(), std::string(value)};
    return Status::DuplicateKey();
  }
  last_key_.Assign(key);
  last_value_.Assign(value);
  return visit(key, value);
}

// Visits the entries of the first runs in order, and drops these runs.
Status ExternalSorter::MergeRuns(size_t run_count, const Visit& visit) {
  std::vector<SortRun*> sources;
  for (size_t i = 0; i < run_count; ++i) {
    CAIRN_RETURN_IF_ERROR(runs_[i]->StartReading());
    sources.push_back(runs_[i].get());
  }
  // Of equal keys the earlier run's comes first, so that the outcome does not depend on the tree.
  const auto before = [&sources](size_t a, size_t b) {
    if (!sources[a]->Valid() || !sources[b]->Valid()) return sources[a]->Valid();
    const int order = sources[a]->key().compare(sources[b]->key());
    return order != 0 ? order < 0 : a < b;
  };
  for (LoserTree tree(run_count, before); sources[tree.winner()]->Valid(); tree.Replay()) {
    SortRun& first = *sources[tree.winner()];
    CAIRN_RETURN_IF_ERROR(visit(first.key(), first.value()));
    CAIRN_RETURN_IF_ERROR(first.Next());
  }
  runs_.erase(runs_.begin(), runs_.begin() + static_cast<ptrdiff_t>(run_count));
  return Status::Ok();
}

// How many of the first runs can be merged at once: a block of each is in memory, and one more on its way, which may be as large as any.
size_t ExternalSorter::CountMergeable() const {
  const size_t count_max = std::min(runs_.size(), kMergedRunsMax);
  uint64_t bytes = 0, largest = 0;
  size_t count = 0;
  for (; count < count_max; ++count) {
    const uint64_t block_bytes = runs_[count]->block_bytes_max();
    bytes += block_bytes;
    largest = std::max(largest, block_bytes);
    if (count >= kMergedRunsMin && bytes + largest > MemoryBytes()) break;
  }
  return count;
}

// Merges runs into longer ones until all that are left can be read at once.
Status ExternalSorter::ReduceRuns() {
  for (size_t count = CountMergeable(); count < runs_.size(); count = CountMergeable()) {
    // No more than must be, so that the rest can be read at once.
    const size_t merged_count = std::min(count, runs_.size() - count + 1);
    std::unique_ptr<SortRun> merged;
    CAIRN_RETURN_IF_ERROR(SortRun::Create(store_, &merged));
    InterruptPoll poll(options_.interrupted);
    CAIRN_RETURN_IF_ERROR(MergeRuns(merged_count, [&](ByteView key, ByteView value) {
      CAIRN_RETURN_IF_ERROR(poll.Count(key.size() + value.size()));
      return merged->Append(key, value);
    }));
    CAIRN_RETURN_IF_ERROR(merged->FinishWriting());
    runs_.push_back(std::move(merged));
  }
  return Status::Ok();
}

Status ExternalSorter::Finish(const Visit& visit) {
  const Visit emit = [&](ByteView key, ByteView value) { return Emit(key, value, visit); };
  if (runs_.empty()) {
    SortMemory();
    for (const Ref& ref : refs_) CAIRN_RETURN_IF_ERROR(emit(KeyOf(ref), ValueOf(ref)));
    return Status::Ok();
  }
  if (!refs_.empty()) CAIRN_RETURN_IF_ERROR(SpillMemory());
  chunks_.clear();
  refs_.shrink_to_fit();
  if (arrived_sorted_) {
    while (!runs_.empty()) CAIRN_RETURN_IF_ERROR(MergeRuns(1, emit));
    return Status::Ok();
  }
  CAIRN_RETURN_IF_ERROR(ReduceRuns());
  return MergeRuns(runs_.size(), emit);
}

}  // namespace cairn::bulk
