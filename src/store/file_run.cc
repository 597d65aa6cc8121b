// SPDX-License-Identifier: GPL-2.0-only
// Which files a range meets, and the stream of those that lie side by side.
#include "store/file_run.h"

#include <algorithm>
#include <memory>
#include <span>

#include "db/internal_stats.h"
#include "db/range_del_aggregator.h"
#include "db/table_cache.h"
#include "db/version_set.h"
#include "file/filename.h"
#include "table/merging_iterator.h"

#include "store/version_files.h"

namespace cairn::store {
namespace {

constexpr char kNotFound[] = "a block does not find its own entry";
constexpr char kMalformed[] = "an entry's key is too short, or its lengths reach out of its block";

// A range within which keys begin alike is rarely in more.
constexpr size_t kFilteredFilesMax = 2;

// Leaves out files at the ends of the run that have nothing, if there is a filter. Whether any is left.
bool Narrow(const PrefixFilter* filter, FileRun* run) {
  if (filter == nullptr || run->count > kFilteredFilesMax) return run->count != 0;
  while (run->count != 0 && !filter->MayHave(run->level, run->files[0])) {
    ++run->files;
    --run->count;
  }
  while (run->count > 1 && !filter->MayHave(run->level, run->files[run->count - 1])) --run->count;
  return run->count != 0;
}

bool Append(const FileRun& run, FileRuns* runs) {
  if (runs->count == FileRuns::kMax) return false;
  runs->runs[runs->count++] = run;
  return true;
}

// Without what `filter` leaves out, if there is one.
bool FindRuns(const rocks::SuperVersion& version, ByteView lower, ByteView upper, const PrefixFilter* filter, FileRuns* found) {
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
        FileRun run{.level = 0, .files = file, .count = 1};
        if (Narrow(filter, &run) && !Append(run, found)) return false;
      }
      continue;
    }
    const rocks::FdWithKeyRange* const first = FirstFileFrom(files, lower);
    FileRun run{.level = level,
                .files = first,
                .count = static_cast<size_t>(std::partition_point(first, end, begins_below_upper) - first)};
    if (Narrow(filter, &run) && !Append(run, found)) return false;
  }
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
  return FindRuns(version, lower, upper, /*filter=*/nullptr, found);
}

bool FilterFileRuns(const rocks::SuperVersion& version, ByteView lower, ByteView upper, const PrefixFilter& filter, bool are_few,
                    FileRuns* found) {
  if (!are_few) return FindRuns(version, lower, upper, &filter, found);
  size_t kept = 0;
  for (FileRun run : std::span<const FileRun>(found->runs.data(), found->count)) {
    if (Narrow(&filter, &run)) found->runs[kept++] = run;
  }
  found->count = kept;
  return true;
}

FileRunStream::~FileRunStream() { CloseFile(); }

void FileRunStream::CloseFile() {
  steps_.Forget();
  ahead_.Close();
  if (entries_ != nullptr) std::destroy_at(entries_);
  entries_ = nullptr;
  table_ = nullptr;
  by_entries_ = false;
  arena_.reset();
  index_ = kNone;
  held_ = nullptr;
}

void FileRunStream::OpenFile(size_t index) {
  steps_.Forget();
  ahead_.Close();
  may_look_ahead_ = true;
  by_entries_ = false;
  if (index == index_) return;
  CloseFile();
  index_ = index;
  held_ = source_.held->Of(*run_.files[index].file_metadata, read_);
}

void FileRunStream::OpenEntries() {
  by_entries_ = true;
  if (entries_ != nullptr) return;
  arena_.emplace();
  const rocks::FileMetaData& file = *run_.files[index_].file_metadata;
  rocks::ColumnFamilyData* const family = source_.family;
  std::unique_ptr<rocks::TruncatedRangeDelIterator> deletions;
  rocks::TableCache& tables = *family->table_cache();
  // A file opened without its filters would stay so for everyone; that a walk in total order does not ask them is said
  // by `read`.
  rocks::InternalIterator* const entries = tables.NewIterator(
      read_, tables.file_options(), family->internal_comparator(), file, /*range_del_agg=*/nullptr,
      version_->mutable_cf_options, /*table_reader_ptr=*/nullptr, family->internal_stats()->GetFileReadHist(run_.level),
      rocks::TableReaderCaller::kUserIterator, &*arena_, /*skip_filters=*/false, run_.level,
      rocks::MaxFileSizeForL0MetaPin(version_->mutable_cf_options), /*smallest_compaction_key=*/nullptr,
      /*largest_compaction_key=*/nullptr, /*allow_unprepared_value=*/false, &sequence_, &deletions);
  if (deletions == nullptr) {
    entries_ = entries;
    table_ = dynamic_cast<rocks::BlockBasedTableIterator*>(entries);
    return;
  }
  rocks::MergeIteratorBuilder sources(&family->internal_comparator(), &*arena_, /*prefix_seek_mode=*/false,
                                      read_.iterate_upper_bound);
  sources.AddPointAndTombstoneIterator(entries, std::move(deletions));
  entries_ = sources.Finish();
}

// To the first entry not before `target`, by the index that is held; there may be none in the file, or none below the
// upper bound. False: RocksDB's iterator has to do it. Precondition: the file is open, nothing else of the stream.
bool FileRunStream::SeekByIndex(const rocks::Slice& target) {
  if (held_ == nullptr) return false;
  CachedBlocks::Block block;
  switch (ahead_.Seek(*held_, ToView(target), &block)) {
    case CachedBlocks::Sought::kStands: break;
    case CachedBlocks::Sought::kBehindAll: return true;
    case CachedBlocks::Sought::kNotHere: return false;
  }
  bound_of_block_ = ahead_.is_within_bound() ? rocks::IterBoundCheck::kInbound : rocks::IterBoundCheck::kUnknown;
  switch (steps_.EnterAt(block, ToView(target))) {
    case BlockSteps::Entered::kFound:
      if (LooksAhead()) steps_.SetMarks();
      break;
    case BlockSteps::Entered::kBehind: NextOfFiles(&ignored_); break;
    case BlockSteps::Entered::kMalformed: EndByDamage(kMalformed); break;
  }
  return true;
}

// The same for the last entry at or before `target`.
bool FileRunStream::SeekForPrevByIndex(const rocks::Slice& target) {
  if (held_ == nullptr) return false;
  CachedBlocks::Block block;
  switch (ahead_.Seek(*held_, ToView(target), &block)) {
    case CachedBlocks::Sought::kStands: break;
    case CachedBlocks::Sought::kBehindAll:
      if (ahead_.SeekLast(*held_, &block)) break;
      return false;
    case CachedBlocks::Sought::kNotHere: return false;
  }
  bound_of_block_ = rocks::IterBoundCheck::kUnknown;
  switch (steps_.EnterAt(block, ToView(target))) {
    case BlockSteps::Entered::kFound:
      if (steps_.key() == target || steps_.StepBack()) return true;
      if (!steps_.is_malformed()) break;
      [[fallthrough]];
    case BlockSteps::Entered::kMalformed: EndByDamage(kMalformed); return true;
    case BlockSteps::Entered::kBehind: return true;
  }
  if (RetreatByIndex()) return true;
  // The entry may be above the upper bound, where RocksDB's iterator does not go.
  steps_.Forget();
  ahead_.Close();
  return false;
}

// From the first entry of a block that `ahead_` holds. False: the block before is not in the cache, and was not read.
bool FileRunStream::RetreatByIndex() {
  if (ahead_.is_first()) {
    steps_.Forget();
    ahead_.Close();
    by_entries_ = false;
    GoOnBackward();
    return true;
  }
  CachedBlocks::Block block;
  if (!ahead_.Retreat(&block)) return false;
  if (!steps_.EnterLast(block)) EndByDamage(kMalformed);
  return true;
}

// From the end of a file to the begin of the next, while there is one that begins below the upper bound.
void FileRunStream::GoOnForward() {
  while (IsAtEndOfFile() && index_ + 1 < run_.count) {
    const rocks::Slice& first = run_.files[index_ + 1].smallest_key;
    if (read_.iterate_upper_bound != nullptr && UserKey(first) >= ToView(*read_.iterate_upper_bound)) break;
    OpenFile(index_ + 1);
    if (SeekByIndex(first)) continue;
    OpenEntries();
    entries_->SeekToFirst();
  }
  CheckEntry();
}

void FileRunStream::GoOnBackward() {
  while (IsAtEndOfFile() && index_ > 0) {
    OpenFile(index_ - 1);
    if (SeekForPrevByIndex(run_.files[index_].largest_key)) continue;
    OpenEntries();
    entries_->SeekToLast();
  }
  CheckEntry();
}

// A compaction may end a file between two versions of a key, so both seeks look for the version.
void FileRunStream::Seek(const rocks::Slice& target) {
  BeginWalk();
  const rocks::InternalKeyComparator& order = source_.family->internal_comparator();
  const rocks::FdWithKeyRange* const file = std::partition_point(
      run_.files, run_.files + run_.count, [&order, &target](const rocks::FdWithKeyRange& candidate) {
        return order.Compare(candidate.largest_key, target) < 0;
      });
  if (file == run_.files + run_.count) return CloseFile();
  OpenFile(static_cast<size_t>(file - run_.files));
  if (!SeekByIndex(target)) {
    OpenEntries();
    entries_->Seek(target);
  }
  GoOnForward();
}

void FileRunStream::SeekForPrev(const rocks::Slice& target) {
  BeginWalk();
  const rocks::InternalKeyComparator& order = source_.family->internal_comparator();
  const rocks::FdWithKeyRange* const behind = std::partition_point(
      run_.files, run_.files + run_.count, [&order, &target](const rocks::FdWithKeyRange& candidate) {
        return order.Compare(candidate.smallest_key, target) <= 0;
      });
  if (behind == run_.files) return CloseFile();
  OpenFile(static_cast<size_t>(behind - run_.files) - 1);
  if (!SeekForPrevByIndex(target)) {
    OpenEntries();
    entries_->SeekForPrev(target);
  }
  GoOnBackward();
}

void FileRunStream::SeekToFirst() {
  BeginWalk();
  OpenFile(0);
  if (!SeekByIndex(run_.files[0].smallest_key)) {
    OpenEntries();
    entries_->SeekToFirst();
  }
  GoOnForward();
}

void FileRunStream::SeekToLast() {
  BeginWalk();
  OpenFile(run_.count - 1);
  if (!SeekForPrevByIndex(run_.files[index_].largest_key)) {
    OpenEntries();
    entries_->SeekToLast();
  }
  GoOnBackward();
}

void FileRunStream::EndByDamage(const char* what) {
  damage_ = status();
  if (damage_.ok()) {
    damage_ = rocks::Status::Corruption(rocks::MakeTableFileName(run_.files[index_].fd.GetNumber()), what);
  }
  CloseFile();
}

// What RocksDB's iterator gives may be damage that no checksum has shown; nobody behind this one looks.
void FileRunStream::CheckEntry() {
  if (!by_entries_ || !entries_->Valid()) return;
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
    if (IsLastBlock()) {
      steps_.Forget();
      ahead_.Close();
      by_entries_ = false;
      GoOnForward();
      return TellPosition(result);
    }
    if (ahead_.holds_current() ? !LeaveBlock() : !steps_.LeaveForNext(table_)) {
      EndByDamage(kNotFound);
      return false;
    }
    ahead_.Close();
  }
  if (!entries_->NextAndGetResult(result)) {
    GoOnForward();
    if (!TellPosition(result)) return false;
  } else {
    CheckEntry();
    if (!by_entries_) return false;
  }
  if (!steps_.is_inside() && table_ != nullptr && steps_.Enter(table_)) {
    bound_of_block_ = result->bound_check_result;
    result->key = steps_.key();
    if (LooksAhead()) steps_.SetMarks();
  }
  return true;
}

// What NextAndGetResult() answers.
bool FileRunStream::TellPosition(rocks::IterateResult* result) {
  if (!Valid()) return false;
  result->key = key();
  result->bound_check_result = UpperBoundCheckResult();
  result->value_prepared = true;
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
      may_look_ahead_ = ahead_.StandAt(table_, ToView(key));
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
  OpenEntries();
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
  if (steps_.is_inside() && ahead_.holds_current() && RetreatByIndex()) return;
  if (steps_.is_inside() && (ahead_.holds_current() ? !LeaveBlock() : !steps_.LeaveForPrev(table_))) return EndByDamage(kNotFound);
  ahead_.Close();
  entries_->Prev();
  GoOnBackward();
  EnterBlock();
}

}  // namespace cairn::store
