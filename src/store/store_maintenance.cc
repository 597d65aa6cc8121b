// SPDX-License-Identifier: GPL-2.0-only
// Looking after a store: flushing, compacting, dropping ranges, estimates and numbers.
#include <algorithm>
#include <vector>

#include "db/column_family.h"
#include "db/db_impl/db_impl.h"
#include <rocksdb/convenience.h>

#include "store/compaction_interrupt.h"
#include "store/current_version.h"
#include "store/cursor_bounds.h"
#include "store/rocks_status.h"
#include "store/store_impl.h"
#include "store/visible_iterator.h"

namespace cairn::store {
namespace {

// Properties that are numbers and of use to people.
constexpr const char* kNumberProperties[] = {
    "rocksdb.num-immutable-mem-table",
    "rocksdb.mem-table-flush-pending",
    "rocksdb.compaction-pending",
    "rocksdb.background-errors",
    "rocksdb.cur-size-all-mem-tables",
    "rocksdb.estimate-num-keys",
    "rocksdb.estimate-table-readers-mem",
    "rocksdb.num-snapshots",
    "rocksdb.oldest-snapshot-time",
    "rocksdb.num-live-versions",
    "rocksdb.estimate-live-data-size",
    "rocksdb.min-log-number-to-keep",
    "rocksdb.total-sst-files-size",
    "rocksdb.live-sst-files-size",
    "rocksdb.estimate-pending-compaction-bytes",
    "rocksdb.num-running-compactions",
    "rocksdb.num-running-flushes",
    "rocksdb.actual-delayed-write-rate",
    "rocksdb.is-write-stopped",
    "rocksdb.block-cache-capacity",
    "rocksdb.block-cache-usage",
    "rocksdb.block-cache-pinned-usage",
};

// A memtable is flushed with its hundredth deletion of a range, however little else it holds, so few rows are not worth one. Each leaves
// itself and its deletion, and a look that repeats the drop is to get past all of them.
constexpr size_t kFewRowsMax = CursorOptions::kHiddenPerPoll / 4;
// With a hundred times as much a memtable is on its way to be full anyhow.
constexpr uint64_t kFewRowsBytesMax = uint64_t{256} << 10;

// "rocksdb.block.cache.hit" -> "block_cache_hit".
std::string PlainName(std::string_view name) {
  constexpr std::string_view kPrefix = "rocksdb.";
  if (name.starts_with(kPrefix)) name.remove_prefix(kPrefix.size());
  std::string plain(name);
  std::replace_if(plain.begin(), plain.end(), [](char c) { return c == '.' || c == '-'; }, '_');
  return plain;
}

bool MeetsLevel0(rocks::DB* root, rocks::ColumnFamilyHandle* handle, ByteView begin, ByteView end) {
  const CurrentVersion version(root, handle);
  return std::ranges::any_of(version->current->storage_info()->LevelFiles(0), [&](const rocks::FileMetaData* file) {
    return ToView(file->largest.user_key()) >= begin && ToView(file->smallest.user_key()) < end;
  });
}

}  // namespace

Status Store::SyncWal() {
  return impl_->shared_sync.Run([this] { return SyncLogs(impl_->root, impl_->gate.get()); });
}

uint64_t Store::LogVersion() const {
  return LatestSequence() + impl_->log_writes_without_sequence.load(std::memory_order_relaxed);
}

void Store::StopForPromised(const Status& reason) {
  impl_->gate->StopForCommitted(Status(reason.code(), "a transaction that is committed elsewhere cannot be committed here: " +
                                                          std::string(reason.message())));
}

Status Store::LimitOpenFiles(uint64_t coming) { return impl_->open_files->MakeRoom(impl_->root, impl_->handles, coming); }

Status Store::FlushMemtables() {
  rocks::FlushOptions options;
  return FromRocks(impl_->root->Flush(options, {impl_->handles.begin(), impl_->handles.end()}));
}

Status Store::CompactRange(Family family, ByteView begin, ByteView end, CompactionInterrupt* interrupt) {
  rocks::CompactRangeOptions options;
  options.exclusive_manual_compaction = false;
  options.bottommost_level_compaction = rocks::BottommostLevelCompaction::kForceOptimized;
  const rocks::Slice first = ToSlice(begin);
  const rocks::Slice last = ToSlice(end);
  CompactionInterrupt nobodys;
  if (interrupt == nullptr) interrupt = &nobodys;
  rocks::Status status;
  bool ended_early;
  CAIRN_RETURN_IF_ERROR(impl_->gate->AdmitFiles());
  const DamagedFiles::AllTaken all(*impl_->damaged_files);
  // Level 0 may stand full behind damage: a flush of the range would wait for a place that does not come, and nobody could end that.
  options.allow_write_stall = !impl_->damaged_files->reason().ok();
  do {
    // While all compactions are being aborted another one would be aborted at once.
    { const std::lock_guard until_resumed(impl_->abort_mutex); }
    options.canceled = interrupt->Rearm();
    status = impl_->root->CompactRange(options, Handle(family), begin.empty() ? nullptr : &first,
                                       end.empty() ? nullptr : &last);
    ended_early = status.IsCompactionAborted() || status.IsManualCompactionPaused();
    // What ends the settling of a load ends this as well, for the moment, and what waits to begin.
  } while (ended_early && !interrupt->is_requested() && !impl_->relief_stopped.load());
  if (ended_early) return Status::Of(Status::Code::kInterrupted);
  if (status.IsCompactionTooLarge()) {  // RocksDB has no words for it
    return Status(Status::Code::kNoSpace, impl_->directory + " has too little free space for the compaction");
  }
  return FromRocks(status);
}

Status Store::HasVersions(ByteView begin, ByteView end, bool* has) const {
  rocks::ReadOptions read;
  read.total_order_seek = true;
  read.ignore_range_deletions = true;
  const rocks::Slice upper = ToSlice(end);
  read.iterate_upper_bound = &upper;
  rocks::Arena arena;
  const rocks::ScopedArenaPtr<rocks::InternalIterator> at(static_cast<rocks::DBImpl*>(impl_->root)->NewInternalIterator(
      read, &arena, rocks::kMaxSequenceNumber, Handle(Family::kData)));
  at->Seek(rocks::InternalKey(ToSlice(begin), rocks::kMaxSequenceNumber, rocks::kValueTypeForSeek).Encode());
  CAIRN_RETURN_IF_ERROR(FromRocks(at->status()));
  if (at->Valid() && at->key().size() < rocks::kNumInternalBytes) {
    return Status::Corruption("an entry's key has " + std::to_string(at->key().size()) + " bytes");
  }
  *has = at->Valid() && ToView(rocks::ExtractUserKey(at->key())) < end;
  return Status::Ok();
}

Status Store::FindLastVersion(ByteView begin, ByteView end, std::string* key) const {
  CursorBounds bounds;
  const rocks::ReadOptions read = bounds.MakeReadOptions({.lower_bound = begin, .upper_bound = end});
  VisibleIterator versions(&impl_->walked);
  versions.Open(impl_->SourceOf(Family::kData), read);
  key->assign(versions.FindLastVersion());
  return versions.status();
}

Status Store::EstimateRanges(Family family, std::span<const KeyRange> ranges,
                             std::span<RangeEstimate> estimates) const {
  std::vector<rocks::Range> wanted;
  wanted.reserve(ranges.size());
  for (const KeyRange& range : ranges) wanted.emplace_back(ToSlice(range.begin), ToSlice(range.end));
  std::vector<uint64_t> sizes(ranges.size());
  rocks::SizeApproximationOptions options;
  options.include_files = true;
  options.include_memtables = false;
  options.files_size_error_margin = 0.1;
  CAIRN_RETURN_IF_ERROR(FromRocks(impl_->root->GetApproximateSizes(
      options, Handle(family), wanted.data(), static_cast<int>(wanted.size()), sizes.data())));
  for (size_t i = 0; i < ranges.size(); ++i) {
    estimates[i].file_bytes = sizes[i];
    impl_->root->GetApproximateMemTableStats(Handle(family), wanted[i], &estimates[i].memory_entries,
                                             &estimates[i].memory_bytes);
  }
  return Status::Ok();
}

uint64_t Store::FilesVersion(Family family) const {
  return static_cast<rocks::ColumnFamilyHandleImpl*>(Handle(family))->cfd()->GetSuperVersionNumber();
}

// Nor is it known where the range cannot be read, or has so many removed rows that to look further would take long.
bool Store::DeleteRowsIfFew(Family family, ByteView begin, ByteView end, Batch* batch) const {
  Cursor cursor;
  const CursorOptions options{.lower_bound = begin, .upper_bound = end, .hidden_max = CursorOptions::kHiddenPerPoll};
  if (!OpenCursor(family, options, &cursor).ok()) return false;
  uint64_t bytes = 0;
  for (cursor.SeekToFirst(); cursor.Valid(); cursor.Next()) {
    bytes += cursor.key().size() + cursor.value().size();
    if (batch->change_count() == kFewRowsMax || bytes > kFewRowsBytesMax) return false;
    batch->Delete(family, cursor.key());
  }
  return cursor.status().ok();
}

Status Store::DropRange(Family family, ByteView begin, ByteView end) {
  const rocks::Slice first = ToSlice(begin);
  const rocks::Slice last = ToSlice(end);
  const rocks::RangeOpt range(first, last);
  impl_->damaged_files->LetGo();  // RocksDB removes none that it takes for one of a compaction's
  CAIRN_RETURN_IF_ERROR(FromRocks(rocks::DeleteFilesInRanges(impl_->root, Handle(family), &range, 1,
                                                             /*include_end=*/false)));
  // Files that are merged just now are not removed, and what they become would lie in the last level, where a deletion may
  // not come for a long time.
  if (impl_->settling.load()) return Status(Status::Code::kBusy, "all files are being merged");
  Batch batch(*this);
  if (!DeleteRowsIfFew(family, begin, end, &batch)) {
    batch.Clear();
    batch.DeleteRange(family, begin, end);
  }
  // A range that is empty by now needs no tombstone, so that repeating is free.
  if (!batch.empty()) CAIRN_RETURN_IF_ERROR(DeleteAtOnce(&batch));
  // What they become would lie below, where the deletion may not come for a long time: while the disk is full never, as nothing that is written
  // has it leave memory. Then what is in level 0 comes there, too.
  const bool is_full = impl_->gate->state() == WriteGate::kNoSpace;
  const bool comes_below = HasWholeFiles(family, begin, end) || (is_full && MeetsLevel0(impl_->root, Handle(family), begin, end));
  return comes_below ? Status(Status::Code::kBusy, "files of the range are being compacted, or will be") : Status::Ok();
}

Status Store::DeleteAtOnce(Batch* deletions) {
  CAIRN_RETURN_IF_ERROR(impl_->gate->Admit(Urgency::kReclaimsSpace, deletions->size_bytes()));
  rocks::WriteOptions write = impl_->MakeWriteOptions(Durability::kOs);
  write.no_slowdown = true;
  // No compaction is asked for: those of files do not know of what is in memory, and would only move the rows one level down.
  const rocks::Status written = impl_->Write(write, deletions->rocks_.get());
  if (written.IsIncomplete()) return Status(Status::Code::kBusy, "writers are held up until compactions have made room");
  return FromRocks(written);
}

// Files that RocksDB would remove with the range (DBImpl::DeleteFilesInRanges). There are some where they, or what they were made of, were being
// compacted when it did.
bool Store::HasWholeFiles(Family family, ByteView begin, ByteView end) const {
  const CurrentVersion version(impl_->root, Handle(family));
  const rocks::VersionStorageInfo& storage = *version->current->storage_info();
  rocks::InternalKey first, last;
  first.SetMinPossibleForUserKey(ToSlice(begin));
  last.SetMaxPossibleForUserKey(ToSlice(end));
  for (int level = 1; level < storage.num_non_empty_levels(); ++level) {
    std::vector<rocks::FileMetaData*> files;
    storage.GetCleanInputsWithinInterval(level, &first, &last, &files);
    if (std::ranges::any_of(files, [end](const rocks::FileMetaData* file) { return ToView(file->largest.user_key()) < end; })) return true;
  }
  return false;
}

std::vector<NamedNumber> Store::Statistics() const {
  std::vector<NamedNumber> rows;
  for (const auto& [ticker, name] : rocks::TickersNameMap) {
    rows.push_back({PlainName(name), impl_->statistics->getTickerCount(ticker)});
  }
  rows.push_back({"open_files", OpenFiles::Count(impl_->root, Handle(Family::kData))});
  rows.push_back({"held_indexes", impl_->held_indexes->held_count()});
  rows.push_back({"read_driven_flushes", impl_->relief_flushes.load(std::memory_order_relaxed)});
  rows.push_back({"read_driven_compactions", impl_->relief_compactions.load(std::memory_order_relaxed)});
  rows.push_back({"settled_loads", impl_->settlings.load(std::memory_order_relaxed)});
  rows.push_back({"stopped_settlings", impl_->stopped_settlings.load(std::memory_order_relaxed)});
  rows.push_back({"loads_to_settle", impl_->settling_owed.load() ? 1u : 0u});
  rows.push_back({"damaged_files_set_aside", impl_->damaged_files->count()});
  for (const char* name : kNumberProperties) {
    uint64_t value = 0;
    if (impl_->root->GetAggregatedIntProperty(name, &value)) rows.push_back({PlainName(name), value});
  }
  return rows;
}

std::string Store::TextProperty(Family family, const std::string& name) const {
  std::string text;
  if (!impl_->root->GetProperty(Handle(family), name, &text)) text.clear();
  return text;
}

Status Store::VerifyChecksums() { return FromRocks(impl_->root->VerifyChecksum()); }

}  // namespace cairn::store
