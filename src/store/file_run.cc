// SPDX-License-Identifier: GPL-2.0-only
// Which files a range meets, and the stream of those that lie side by side.
#include "store/file_run.h"

#include <algorithm>
#include <memory>
#include <span>

#include "db/range_del_aggregator.h"
#include "db/table_cache.h"
#include "db/version_set.h"
#include "file/filename.h"
#include "table/merging_iterator.h"

#include "store/held_table.h"
#include "store/version_files.h"

namespace cairn::store {
namespace {

// Of a longer run it is not asked, file by file, what is in it.
constexpr size_t kAskedFilesMax = 32;

constexpr char kNotFound[] = "a block does not find its own entry";
constexpr char kMalformed[] = "an entry's key is too short, or its lengths reach out of its block";

bool Append(const FileRun& run, FileRuns* runs) {
  if (runs->count == FileRuns::kMax) return false;
  runs->runs[runs->count++] = run;
  return true;
}

}  // namespace

bool FileRuns::Contain(const FileRuns& other) const {
  const std::span<const FileRun> mine(runs.data(), count);
  return std::ranges::all_of(std::span<const FileRun>(other.runs.data(), other.count), [mine](const FileRun& run) {
    return std::ranges::any_of(mine, [&run](const FileRun& one) { return one.Contains(run); });
  });
}

bool FindFileRuns(const rocks::SuperVersion& version, ByteView lower, ByteView upper, FileRuns* found) {
  const auto begins_below_upper = [upper](const rocks::FdWithKeyRange& file) {
    return upper.empty() || UserKey(file.smallest_key) < upper;
  };
  const rocks::VersionStorageInfo& storage = *version.current->storage_info();
  found->count = 0;
  for (int level = 0; level < storage.num_non_empty_levels(); ++level) {
    const rocks::LevelFilesBrief& files = storage.LevelFilesBrief(level);
    const rocks::FdWithKeyRange* const end = files.files + files.num_files;
    if (level == 0) {
      for (const rocks::FdWithKeyRange* file = files.files; file != end; ++file) {
        if (!begins_below_upper(*file) || UserKey(file->largest_key) < lower) continue;
        if (!Append({.level = 0, .files = file, .count = 1}, found)) return false;
      }
      continue;
    }
    const rocks::FdWithKeyRange* const first = FirstFileFrom(files, lower);
    const auto count = static_cast<size_t>(std::partition_point(first, end, begins_below_upper) - first);
    if (count != 0 && !Append({.level = level, .files = first, .count = count}, found)) return false;
  }
  return true;
}

bool MayDeleteRanges(rocks::ColumnFamilyData* family, const rocks::SuperVersion& version,
                     const rocks::ReadOptions& read, const FileRun& run, uint64_t sequence) {
  if (run.count > kAskedFilesMax) return true;
  for (const rocks::FdWithKeyRange& file : std::span(run.files, run.count)) {
    HeldTable table;
    if (!table.Find(family, version, read, run.level, *file.file_metadata).ok()) return true;
    const std::unique_ptr<rocks::FragmentedRangeTombstoneIterator> deletions(
        table.reader().NewRangeTombstoneIterator(sequence, /*timestamp=*/nullptr));
    if (deletions != nullptr && !deletions->empty()) return true;
  }
  return false;
}

FileRunStream::~FileRunStream() { CloseFile(); }

void FileRunStream::CloseFile() {
  steps_.Forget();
  ahead_.Close();
  if (entries_ != nullptr) std::destroy_at(entries_);
  entries_ = nullptr;
  table_ = nullptr;
  arena_.reset();
  index_ = kNone;
}

void FileRunStream::OpenFile(size_t index) {
  steps_.Forget();
  ahead_.Close();
  may_look_ahead_ = true;
  if (index == index_) return;
  CloseFile();
  arena_.emplace();
  index_ = index;
  const rocks::FileMetaData& file = *run_.files[index].file_metadata;
  std::unique_ptr<rocks::TruncatedRangeDelIterator> deletions;
  rocks::TableCache& tables = *family_->table_cache();
  // A file opened without its filters would stay so for everyone; that a walk in total order does not ask them is said
  // by `read`.
  rocks::InternalIterator* const entries = tables.NewIterator(
      read_, tables.file_options(), family_->internal_comparator(), file, /*range_del_agg=*/nullptr,
      version_->mutable_cf_options, /*table_reader_ptr=*/nullptr, family_->internal_stats()->GetFileReadHist(run_.level),
      rocks::TableReaderCaller::kUserIterator, &*arena_, /*skip_filters=*/false, run_.level,
      rocks::MaxFileSizeForL0MetaPin(version_->mutable_cf_options), /*smallest_compaction_key=*/nullptr,
      /*largest_compaction_key=*/nullptr, /*allow_unprepared_value=*/false, &sequence_, &deletions);
  if (deletions == nullptr) {
    entries_ = entries;
    table_ = dynamic_cast<rocks::BlockBasedTableIterator*>(entries);
    return;
  }
  rocks::MergeIteratorBuilder sources(&family_->internal_comparator(), &*arena_, /*prefix_seek_mode=*/false,
                                      read_.iterate_upper_bound);
  sources.AddPointAndTombstoneIterator(entries, std::move(deletions));
  entries_ = sources.Finish();
}

// From the end of a file to the begin of the next, while there is one that begins below the upper bound.
void FileRunStream::GoOnForward() {
  while (IsAtEndOfFile() && index_ + 1 < run_.count) {
    if (read_.iterate_upper_bound != nullptr &&
        UserKey(run_.files[index_ + 1].smallest_key) >= ToView(*read_.iterate_upper_bound)) {
      break;
    }
    OpenFile(index_ + 1);
    entries_->SeekToFirst();
  }
  CheckEntry();
}

void FileRunStream::GoOnBackward() {
  while (IsAtEndOfFile() && index_ > 0) {
    OpenFile(index_ - 1);
    entries_->SeekToLast();
  }
  CheckEntry();
}

// A compaction may end a file between two versions of a key, so both seeks look for the version.
void FileRunStream::Seek(const rocks::Slice& target) {
  damage_ = rocks::Status::OK();
  const rocks::InternalKeyComparator& order = family_->internal_comparator();
  const rocks::FdWithKeyRange* const file = std::partition_point(
      run_.files, run_.files + run_.count, [&order, &target](const rocks::FdWithKeyRange& candidate) {
        return order.Compare(candidate.largest_key, target) < 0;
      });
  if (file == run_.files + run_.count) return CloseFile();
  OpenFile(static_cast<size_t>(file - run_.files));
  entries_->Seek(target);
  GoOnForward();
}

void FileRunStream::SeekForPrev(const rocks::Slice& target) {
  damage_ = rocks::Status::OK();
  const rocks::InternalKeyComparator& order = family_->internal_comparator();
  const rocks::FdWithKeyRange* const behind = std::partition_point(
      run_.files, run_.files + run_.count, [&order, &target](const rocks::FdWithKeyRange& candidate) {
        return order.Compare(candidate.smallest_key, target) <= 0;
      });
  if (behind == run_.files) return CloseFile();
  OpenFile(static_cast<size_t>(behind - run_.files) - 1);
  entries_->SeekForPrev(target);
  GoOnBackward();
}

void FileRunStream::SeekToFirst() {
  damage_ = rocks::Status::OK();
  OpenFile(0);
  entries_->SeekToFirst();
  GoOnForward();
}

void FileRunStream::SeekToLast() {
  damage_ = rocks::Status::OK();
  OpenFile(run_.count - 1);
  entries_->SeekToLast();
  GoOnBackward();
}

void FileRunStream::EndByDamage(const char* what) {
  damage_ = entries_->status();
  if (damage_.ok()) {
    damage_ = rocks::Status::Corruption(rocks::MakeTableFileName(run_.files[index_].fd.GetNumber()), what);
  }
  CloseFile();
}

// What RocksDB's iterator gives may be damage that no checksum has shown; nobody behind this one looks.
void FileRunStream::CheckEntry() {
  if (!entries_->Valid()) return;
  const bool is_entry = table_ != nullptr ? BlockSteps::IsEntry(*table_) : entries_->key().size() >= rocks::kNumInternalBytes;
  if (!is_entry) EndByDamage(kMalformed);
}

// Precondition: Valid().
bool FileRunStream::NextOfFiles(rocks::IterateResult* result) {
  if (steps_.is_inside()) {
    if (GoOnAhead(result)) return true;
    if (steps_.is_malformed()) {
      EndByDamage(kMalformed);
      return false;
    }
    if (ahead_.holds_current() ? !LeaveBlock() : !steps_.LeaveForNext(table_)) {
      EndByDamage(kNotFound);
      return false;
    }
    ahead_.Close();
  }
  if (!entries_->NextAndGetResult(result)) {
    GoOnForward();
    if (entries_ == nullptr || !entries_->Valid()) return false;
    result->key = entries_->key();
    result->bound_check_result = entries_->UpperBoundCheckResult();
    result->value_prepared = true;
  } else {
    CheckEntry();
    if (entries_ == nullptr) return false;
  }
  if (table_ != nullptr && steps_.Enter(table_)) {
    bound_of_block_ = result->bound_check_result;
    result->key = steps_.key();
    if (LooksAhead()) steps_.SetMarks();
  }
  return true;
}

// Inside a block Step() found no further entry: at a mark, at its end, or where it is not well-formed. False: RocksDB's
// iterator has to go on.
bool FileRunStream::GoOnAhead(rocks::IterateResult* result) {
  for (;;) {
    const int mark = steps_.PassMark();
    if (mark == 0 && (!steps_.is_at_end() || !LooksAhead())) return false;
    if (!ahead_.is_standing()) {
      const rocks::Slice key = steps_.key();
      may_look_ahead_ = ahead_.StandAt(table_, ToView(key), read_.iterate_upper_bound);
    }
    if (mark == 0) {
      CachedBlocks::Block next;
      may_look_ahead_ = may_look_ahead_ && ahead_.Peek(&next) && steps_.EnterNext(next);
      if (!may_look_ahead_) return false;
      ahead_.Advance();
      bound_of_block_ = ahead_.is_within_bound() ? rocks::IterBoundCheck::kInbound : rocks::IterBoundCheck::kUnknown;
      if (LooksAhead()) steps_.SetMarks();
      break;
    }
    if (may_look_ahead_) mark == 1 ? ahead_.LookUp() : ahead_.Fetch();
    if (steps_.Step()) break;
  }
  result->key = steps_.key();
  result->bound_check_result = bound_of_block_;
  result->value_prepared = true;
  return true;
}

// Brings the file's iterator from another block to the entry on which the walk stands. False: it is not found.
bool FileRunStream::LeaveBlock() {
  entries_->Seek(steps_.key());
  const bool found = entries_->Valid() && entries_->key() == steps_.key();
  steps_.Forget();
  ahead_.Close();
  return found;
}

// From where the file's iterator stands; the bound of the block is only known going forward.
bool FileRunStream::EnterBlock() {
  bound_of_block_ = rocks::IterBoundCheck::kUnknown;
  return table_ != nullptr && entries_->Valid() && steps_.Enter(table_);
}

// Precondition: Valid(). Inside a block there is nothing before the current entry, or it is not well-formed.
void FileRunStream::PrevOfFiles() {
  if (!steps_.is_inside() && EnterBlock() && steps_.StepBack()) return;
  if (steps_.is_inside() && steps_.is_malformed()) return EndByDamage(kMalformed);
  if (steps_.is_inside() && (ahead_.holds_current() ? !LeaveBlock() : !steps_.LeaveForPrev(table_))) return EndByDamage(kNotFound);
  ahead_.Close();
  entries_->Prev();
  GoOnBackward();
  EnterBlock();
}

}  // namespace cairn::store
