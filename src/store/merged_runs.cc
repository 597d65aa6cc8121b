// SPDX-License-Identifier: GPL-2.0-only
// Which source a merged walk stands on, and which comes next.
#include "store/merged_runs.h"

#include <algorithm>
#include <cstring>

#include "db/memtable.h"
#include "util/coding.h"

#include "store/memtable_access.h"
#include "store/range_deletions.h"

namespace cairn::store {

rocks::Slice MergedRuns::Source::ValueInTree() const {
  return rocks::GetLengthPrefixedSlice(key.data + key.size + kTrailerBytes);
}

// By key, then from new to old.
int MergedRuns::CompareEntries(const EntryKey& left, const EntryKey& right) {
  if (const int order = std::memcmp(left.data, right.data, std::min(left.size, right.size))) return order;
  if (left.size != right.size) return left.size < right.size ? -1 : 1;
  const uint64_t left_sequence = left.sequence(), right_sequence = right.sequence();
  return left_sequence == right_sequence ? 0 : left_sequence > right_sequence ? -1 : 1;
}

bool MergedRuns::AddMemtable(const rocks::ReadOnlyMemTable& memtable) {
  if (memtable.IsEmpty()) return true;
  const MemtableTree* const tree = HasPlainEntries(memtable) ? TreeOf(memtable) : nullptr;
  if (tree == nullptr || count_ == kMemtablesMax) return false;
  sources_[count_++].tree = tree;
  return true;
}

bool MergedRuns::Add(const FamilySource& source, const rocks::SuperVersion& version, const rocks::ReadOptions& read,
                     const FileRuns& runs, uint64_t sequence) {
  if (!AddMemtable(*version.mem)) return false;
  for (const rocks::ReadOnlyMemTable* memtable : OlderMemtables(version)) {
    if (!AddMemtable(*memtable)) return false;
  }
  const RangeDeletions deletions = RangeDeletionsAbove(source, version, read, runs, sequence);
  if (deletions == RangeDeletions::kWithin) return false;
  has_deletions_elsewhere_ = deletions == RangeDeletions::kElsewhere;
  runs_ = runs;
  for (size_t run = 0; run < runs.count; ++run) {
    sources_[count_++].files = std::make_unique<FileRunStream>(source, &version, read, runs_.runs[run], sequence);
  }
  return true;
}

// Precondition: `source` is not valid. Damage in one source ends the walk: what it does not give may hide what others give.
bool MergedRuns::HasFailed(const Source& source) {
  if (source.files == nullptr) return false;
  status_ = source.files->status();
  if (status_.ok()) return false;
  current_ = kNone;
  return true;
}

// The source beside `but` whose entry comes first in the direction of the walk.
template <bool kForward>
size_t MergedRuns::FirstBeside(size_t but) const {
  size_t first = kNone;
  for (size_t i = 0; i < count_; ++i) {
    if (i == but || !sources_[i].Valid()) continue;
    if (first == kNone || (CompareEntries(sources_[i].Key(), sources_[first].Key()) < 0) == kForward) first = i;
  }
  return first;
}

template <bool kForward>
void MergedRuns::FindNext() {
  next_source_ = FirstBeside<kForward>(current_);
  if (next_source_ == kNone) return;
  next_key_ = sources_[next_source_].Key();
  for (size_t i = 0; i < next_words_.size(); ++i) next_words_[i] = next_key_.WordAt(8 * i);
}

// Stands on `source`, which has the first entry; kNone: none has any.
template <bool kForward>
void MergedRuns::Take(size_t source) {
  current_ = source;
  if (source != kNone) FindNext<kForward>();
}

template <bool kForward, typename Move>
void MergedRuns::MoveAll(const Move& move) {
  forward_ = kForward;
  status_ = rocks::Status::OK();
  for (size_t i = 0; i < count_; ++i) {
    Source& source = sources_[i];
    move(&source);
    if (!source.Valid() && HasFailed(source)) return;
  }
  Take<kForward>(FirstBeside<kForward>(kNone));
}

void MergedRuns::Seek(Source* source, const rocks::Slice& target) {
  if (source->files != nullptr) return source->files->Seek(target);
  source->tree->FindAtLeast(MemtableTarget(EntryKey::OfInternal(ToBytes(target))), &source->position);
  source->LoadKey();
}

void MergedRuns::SeekForPrev(Source* source, const rocks::Slice& target) {
  if (source->files != nullptr) return source->files->SeekForPrev(target);
  source->tree->FindBefore(MemtableTarget(EntryKey::OfInternal(ToBytes(target))), /*or_equal=*/true,
                           &source->position);
  source->LoadKey();
}

void MergedRuns::Seek(const rocks::Slice& target) {
  MoveAll<true>([&target](Source* source) { Seek(source, target); });
}

void MergedRuns::SeekForPrev(const rocks::Slice& target) {
  MoveAll<false>([&target](Source* source) { SeekForPrev(source, target); });
}

void MergedRuns::SeekToFirst() {
  MoveAll<true>([](Source* source) {
    if (source->files != nullptr) return source->files->SeekToFirst();
    source->tree->FindFirst(&source->position);
    source->LoadKey();
  });
}

void MergedRuns::SeekToLast() {
  MoveAll<false>([](Source* source) {
    if (source->files != nullptr) return source->files->SeekToLast();
    source->tree->FindLast(&source->position);
    source->LoadKey();
  });
}

// Brings all other sources to the other side of the current entry. Afterwards the walk may have failed.
template <bool kForward>
void MergedRuns::Turn() {
  forward_ = kForward;
  const rocks::Slice at = key();
  for (size_t i = 0; i < count_; ++i) {
    if (i == current_) continue;
    Source& source = sources_[i];
    kForward ? Seek(&source, at) : SeekForPrev(&source, at);
    if (!source.Valid() && HasFailed(source)) return;
  }
  FindNext<kForward>();
}

// Behind a step of the current source that ended it, or that brought it behind the next of the others.
bool MergedRuns::GoOnForward(rocks::IterateResult* result) {
  const Source& left = sources_[current_];
  if (!left.Valid() && HasFailed(left)) return false;
  Take<true>(next_source_);
  if (current_ == kNone) return false;
  result->key = key();
  result->bound_check_result = UpperBoundCheckResult();
  result->value_prepared = true;
  return true;
}

void MergedRuns::Prev() {
  if (forward_) Turn<false>();
  if (current_ == kNone) return;
  Source& at = sources_[current_];
  if (at.files != nullptr) {
    at.files->Prev();
  } else {
    at.tree->Prev(&at.position);
    at.LoadKey();
  }
  if (at.Valid()) {
    if (ComesFirst<false>(at.Key())) return;
  } else if (HasFailed(at)) {
    return;
  }
  Take<false>(next_source_);
}

// Called from the header.
template void MergedRuns::Turn<true>();

}  // namespace cairn::store
