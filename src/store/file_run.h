// SPDX-License-Identifier: GPL-2.0-only
// A range whose entries lie one file after the other is read from those files, without a merge.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "db/column_family.h"
#include "memory/arena.h"
#include <rocksdb/options.h>
#include "table/internal_iterator.h"

#include "base/bytes.h"
#include "store/block_steps.h"
#include "store/cached_blocks.h"
#include "store/family_source.h"
#include "store/held_indexes.h"
#include "store/prefix_filter.h"
#include "store/rocksdb_fwd.h"

namespace cairn::store {

// Files of a version that lie side by side in one level; or none.
struct FileRun {
  int level = 0;
  const rocks::FdWithKeyRange* files = nullptr;
  size_t count = 0;

  bool Contains(const FileRun& other) const {
    return other.files >= files && other.files + other.count <= files + count;
  }
};

// All files of a version that have entries between two bounds, in runs; from the newest to the oldest, so that of
// versions of one key the newer ones are in earlier runs. A file of level 0 is a run of its own.
struct FileRuns {
  static constexpr size_t kMax = 8;

  // Whether all of `other` is within these.
  bool Contain(const FileRuns& other) const;

  std::array<FileRun, kMax> runs;
  size_t count = 0;
};

// The runs of `version` between the bounds (empty: none), memtables left out. False when there are more than kMax.
bool FindFileRuns(const rocks::SuperVersion& version, ByteView lower, ByteView upper, FileRuns* found);

// Of what that has found and answered, `are_few`: without files that `filter`, which is of these bounds, tells to have nothing
// there. Of many files of one level it is not asked.
bool FilterFileRuns(const rocks::SuperVersion& version, ByteView lower, ByteView upper, const PrefixFilter& filter, bool are_few,
                    FileRuns* found);

// The stream of a run, for any bounds whose run is contained in it. Deletions of ranges apply: each file's
// reach no further than the file.
//
// Where the index of a file is held (HeldIndexes) and its blocks are in the cache, but one of a walk that is read for it, it goes
// without RocksDB's iterator, which is made where it is needed first: half of a short range was making it (decision 43).
//
// From an entry at or above the upper bound only a seek may go on: RocksDB's iterator does not stand there.
//
// Lifetime: whoever makes it has `version` referenced until it dies; `read` must outlive it.
// Thread rule: one thread at a time.
class FileRunStream final : public rocks::InternalIterator {
 public:
  FileRunStream(const FamilySource& source, const rocks::SuperVersion* version, const rocks::ReadOptions& read,
                const FileRun& run, uint64_t sequence)
      : source_(source), version_(version), read_(read), run_(run), sequence_(sequence), ahead_(read) {}
  ~FileRunStream() override;

  const FileRun& run() const { return run_; }

  void Seek(const rocks::Slice& target) override;
  void SeekForPrev(const rocks::Slice& target) override;
  void SeekToFirst() override;
  void SeekToLast() override;
  void Next() override { NextAndGetResult(&ignored_); }
  void Prev() override {
    if (__builtin_expect(!steps_.is_inside() || !steps_.StepBack(), false)) PrevOfFiles();
  }
  bool NextAndGetResult(rocks::IterateResult* result) override {
    if (__builtin_expect(steps_.is_inside() && steps_.Step(), true)) {
      result->key = steps_.key();
      result->bound_check_result = bound_of_block_;
      result->value_prepared = true;
      return true;
    }
    return NextOfFiles(result);
  }

  bool Valid() const override { return steps_.is_inside() || (by_entries_ && entries_->Valid()); }
  rocks::Slice key() const override { return steps_.is_inside() ? steps_.key() : entries_->key(); }
  rocks::Slice value() const override { return steps_.is_inside() ? steps_.value() : entries_->value(); }
  // After Prev(): whether the entry before is known, and of another key than the current one.
  bool HasOtherKeyBefore() const { return steps_.is_inside() && steps_.HasOtherKeyBefore(); }
  rocks::Status status() const override { return by_entries_ ? entries_->status() : damage_; }
  rocks::IterBoundCheck UpperBoundCheckResult() override {
    return steps_.is_inside() ? bound_of_block_ : entries_->UpperBoundCheckResult();
  }

 private:
  static constexpr size_t kNone = SIZE_MAX;

  [[gnu::noinline]] bool NextOfFiles(rocks::IterateResult* result);
  [[gnu::noinline]] void PrevOfFiles();
  void BeginWalk() {
    damage_ = rocks::Status::OK();
    ahead_.BeginWalk();
  }
  bool EnterBlock();
  bool GoOnAhead(rocks::IterateResult* result);
  bool LeaveBlock();
  bool TellPosition(rocks::IterateResult* result);
  void OpenFile(size_t index);
  void OpenEntries();
  void CloseFile();
  bool SeekByIndex(const rocks::Slice& target);
  bool SeekForPrevByIndex(const rocks::Slice& target);
  bool RetreatByIndex();
  void GoOnForward();
  void GoOnBackward();
  void EndByDamage(const char* what);
  void CheckEntry();
  // Whether a block follows that is below the upper bound, as far as is known, and may be in the cache.
  bool LooksAhead() const {
    return may_look_ahead_ && (bound_of_block_ == rocks::IterBoundCheck::kInbound || read_.iterate_upper_bound == nullptr);
  }
  // Nothing of the file follows below the upper bound, or before what was gone back over.
  bool IsAtEndOfFile() const { return !Valid() && status().ok(); }
  // At the last entry of a block, whether no further block has entries below the upper bound.
  bool IsLastBlock() const {
    return steps_.is_at_end() && ahead_.is_standing() && (!ahead_.is_within_bound() || ahead_.IsLast());
  }

  const FamilySource source_;
  const rocks::SuperVersion* const version_;
  const rocks::ReadOptions& read_;
  const FileRun run_;
  const uint64_t sequence_;
  std::optional<rocks::Arena> arena_;
  size_t index_ = kNone;                        // of the file that is open
  const HeldIndex* held_ = nullptr;             // of that file
  rocks::InternalIterator* entries_ = nullptr;  // of that file, in the arena; null: not yet made
  rocks::BlockBasedTableIterator* table_ = nullptr;  // the same, unless deletions of ranges are merged in
  bool by_entries_ = false;  // outside of a block, entries_ has the position; else there is none
  BlockSteps steps_;
  CachedBlocks ahead_;    // standing: on the block that steps_ is inside
  bool may_look_ahead_ = true;  // until a block was not in the cache
  rocks::IterBoundCheck bound_of_block_ = rocks::IterBoundCheck::kUnknown;
  rocks::IterateResult ignored_;
  rocks::Status damage_;  // why there is no position, since the last seek
};

}  // namespace cairn::store
