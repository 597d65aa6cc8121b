// SPDX-License-Identifier: GPL-2.0-only
// Which files a range meets, and the stream of those that lie side by side.
#include "store/file_run.h"

#include <algorithm>
#include <memory>

#include "db/column_family.h"
#include "db/memtable.h"
#include "db/range_del_aggregator.h"
#include "db/table_cache.h"
#include "file/filename.h"
#include "table/merging_iterator.h"

#include "store/version_files.h"

namespace cairn::store {
namespace {

// The files of one level that meet the bounds; an empty run when there are none, or several in level 0.
FileRun RunInLevel(const rocks::LevelFilesBrief& files, int level, ByteView lower, ByteView upper, bool* met) {
  const auto begins_below_upper = [upper](const rocks::FdWithKeyRange& file) {
    return upper.empty() || UserKey(file.smallest_key) < upper;
  };
  FileRun run{.level = level};
  const rocks::FdWithKeyRange* const begin = files.files;
  const rocks::FdWithKeyRange* const end = begin + files.num_files;
  *met = false;
  if (level == 0) {
    for (const rocks::FdWithKeyRange* file = begin; file != end; ++file) {
      if (!begins_below_upper(*file) || UserKey(file->largest_key) < lower) continue;
      run = *met ? FileRun() : FileRun{.level = 0, .files = file, .count = 1};
      if (std::exchange(*met, true)) break;
    }
    return run;
  }
  run.files = FirstFileFrom(files, lower);
  run.count = static_cast<size_t>(std::partition_point(run.files, end, begins_below_upper) - run.files);
  *met = run.count != 0;
  return run;
}

}  // namespace

FileRun FindFileRun(const rocks::SuperVersion& version, ByteView lower, ByteView upper) {
  if (version.imm->GetTotalNumEntries() != 0) return {};
  const rocks::VersionStorageInfo& storage = *version.current->storage_info();
  FileRun found;
  bool found_any = false;
  for (int level = 0; level < storage.num_non_empty_levels(); ++level) {
    bool met;
    const FileRun run = RunInLevel(storage.LevelFilesBrief(level), level, lower, upper, &met);
    if (!met) continue;
    if (found_any || run.count == 0) return {};
    found_any = true;
    found = run;
  }
  return found;
}

void MemtableProbe::Open(const rocks::SuperVersion& version, const rocks::ReadOptions& read) {
  Close();
  version_ = &version;
  read_ = &read;
}

void MemtableProbe::Close() {
  if (entries_ != nullptr) std::destroy_at(entries_);
  entries_ = nullptr;
  arena_.reset();
}

bool MemtableProbe::IsEmpty(ByteView lower, ByteView upper) {
  rocks::ReadOnlyMemTable& memtable = *version_->mem;
  if (memtable.IsEmpty()) return true;
  if (memtable.NumRangeDeletion() != 0) return false;
  if (entries_ == nullptr) {
    arena_.emplace();
    entries_ = memtable.NewIterator(*read_, version_->GetSeqnoToTimeMapping(), &*arena_, /*prefix_extractor=*/nullptr,
                                    /*for_flush=*/false);
  }
  target_.Assign(lower);
  target_.AppendLe64(rocks::PackSequenceAndType(rocks::kMaxSequenceNumber, rocks::kValueTypeForSeek));
  entries_->Seek(ToSlice(target_.view()));
  if (!entries_->Valid()) return entries_->status().ok();
  return !upper.empty() && UserKey(entries_->key()) >= upper;
}

FileRunStream::FileRunStream(rocks::DBImpl* db, rocks::ColumnFamilyData* family, rocks::SuperVersion* version,
                             const rocks::ReadOptions& read, const FileRun& run, uint64_t sequence)
    : family_(family), version_(version), read_(read), run_(run), sequence_(sequence) {
  HoldVersion(this, db, version);
}

FileRunStream::~FileRunStream() { CloseFile(); }

void FileRunStream::CloseFile() {
  steps_.Forget();
  if (entries_ != nullptr) std::destroy_at(entries_);
  entries_ = nullptr;
  table_ = nullptr;
  arena_.reset();
  index_ = kNone;
}

void FileRunStream::OpenFile(size_t index) {
  steps_.Forget();
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
      return;
    }
    OpenFile(index_ + 1);
    entries_->SeekToFirst();
  }
}

void FileRunStream::GoOnBackward() {
  while (IsAtEndOfFile() && index_ > 0) {
    OpenFile(index_ - 1);
    entries_->SeekToLast();
  }
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

void FileRunStream::EndByDamage() {
  damage_ = entries_->status();
  if (damage_.ok()) {
    damage_ = rocks::Status::Corruption(rocks::MakeTableFileName(run_.files[index_].fd.GetNumber()),
                                        "a block does not find its own entry");
  }
  CloseFile();
}

// Precondition: Valid().
bool FileRunStream::NextOfFiles(rocks::IterateResult* result) {
  if (steps_.is_inside() && !steps_.LeaveForNext(table_)) {
    EndByDamage();
    return false;
  }
  if (!entries_->NextAndGetResult(result)) {
    GoOnForward();
    if (!entries_->Valid()) return false;
    result->key = entries_->key();
    result->bound_check_result = entries_->UpperBoundCheckResult();
    result->value_prepared = true;
  }
  if (table_ != nullptr && steps_.Enter(table_)) {
    bound_of_block_ = result->bound_check_result;
    result->key = steps_.key();
  }
  return true;
}

}  // namespace cairn::store
