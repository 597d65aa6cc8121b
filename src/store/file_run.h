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

// Whether a file of the run deletes ranges, which then may reach into older runs; true also when that is not known. Asks
// few files only: of many it is not known.
bool MayDeleteRanges(rocks::ColumnFamilyData* family, const rocks::SuperVersion& version,
                     const rocks::ReadOptions& read, const FileRun& run, uint64_t sequence);

// The stream of a run, for any bounds whose run is contained in it. Deletions of ranges apply: each file's
// reach no further than the file.
//
// Lifetime: whoever makes it has `version` referenced until it dies; `read` must outlive it.
// Thread rule: one thread at a time.
class FileRunStream final : public rocks::InternalIterator {
 public:
  FileRunStream(rocks::ColumnFamilyData* family, const rocks::SuperVersion* version, const rocks::ReadOptions& read,
                const FileRun& run, uint64_t sequence)
      : family_(family), version_(version), read_(read), run_(run), sequence_(sequence) {}
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

  bool Valid() const override { return steps_.is_inside() || (entries_ != nullptr && entries_->Valid()); }
  rocks::Slice key() const override { return steps_.is_inside() ? steps_.key() : entries_->key(); }
  rocks::Slice value() const override { return steps_.is_inside() ? steps_.value() : entries_->value(); }
  // After Prev(): whether the entry before is known, and of another key than the current one.
  bool HasOtherKeyBefore() const { return steps_.is_inside() && steps_.HasOtherKeyBefore(); }
  rocks::Status status() const override { return entries_ == nullptr ? damage_ : entries_->status(); }
  rocks::IterBoundCheck UpperBoundCheckResult() override {
    return steps_.is_inside() ? bound_of_block_ : entries_->UpperBoundCheckResult();
  }

 private:
  static constexpr size_t kNone = SIZE_MAX;

  [[gnu::noinline]] bool NextOfFiles(rocks::IterateResult* result);
  [[gnu::noinline]] void PrevOfFiles();
  bool EnterBlock();
  bool GoOnAhead(rocks::IterateResult* result);
  bool LeaveBlock();
  void OpenFile(size_t index);
  void CloseFile();
  void GoOnForward();
  void GoOnBackward();
  void EndByDamage(const char* what);
  void CheckEntry();
  // Whether a block follows that is below the upper bound, as far as is known, and may be in the cache.
  bool LooksAhead() const {
    return may_look_ahead_ && (bound_of_block_ == rocks::IterBoundCheck::kInbound || read_.iterate_upper_bound == nullptr);
  }
  bool IsAtEndOfFile() const { return !entries_->Valid() && entries_->status().ok(); }

  rocks::ColumnFamilyData* const family_;
  const rocks::SuperVersion* const version_;
  const rocks::ReadOptions& read_;
  const FileRun run_;
  const uint64_t sequence_;
  std::optional<rocks::Arena> arena_;
  size_t index_ = kNone;                        // of the file that is open
  rocks::InternalIterator* entries_ = nullptr;  // of that file, in the arena
  rocks::BlockBasedTableIterator* table_ = nullptr;  // the same, unless deletions of ranges are merged in
  BlockSteps steps_;
  CachedBlocks ahead_;    // standing: on the block that steps_ is inside
  bool may_look_ahead_ = true;  // until a block was not in the cache
  rocks::IterBoundCheck bound_of_block_ = rocks::IterBoundCheck::kUnknown;
  rocks::IterateResult ignored_;
  rocks::Status damage_;  // why no file is open, since the last seek
};

}  // namespace cairn::store
