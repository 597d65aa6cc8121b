// SPDX-License-Identifier: GPL-2.0-only
// From the newest to the oldest place a key can be in.
#include "store/point_finder.h"

#include "db/lookup_key.h"
#include "db/memtable.h"
#include "db/memtable_list.h"
#include "db/merge_context.h"
#include "db/table_cache.h"
#include "db/version_set.h"
#include "table/block_based/block_based_table_reader.h"
#include "table/get_context.h"
#include "table/table_reader.h"

#include "store/rocks_status.h"
#include "store/version_files.h"

namespace cairn::store {
namespace {

// Keys that come in order are looked for next to the one before, until that was in vain this often.
constexpr int kCreditAtFirst = 1;
constexpr int kCreditMax = 4;

}  // namespace

// The files whose bounds have a key, from the newest to the oldest.
class PointFinder::Candidates {
 public:
  Candidates(const rocks::VersionStorageInfo& storage, ByteView key) : storage_(storage), key_(key) { Load(); }

  // False: there is none any more.
  bool Next(Candidate* candidate) {
    if (level_ >= storage_.num_non_empty_levels()) return false;
    *candidate = {at_, level_};
    const bool ends_here = UserKey(at_->largest_key) != key_;
    ++at_;
    if (level_ != 0 && ends_here) at_ = end_;
    FindFrom();
    return true;
  }
  bool has_more() const { return level_ < storage_.num_non_empty_levels(); }

 private:
  void Load() {
    if (level_ >= storage_.num_non_empty_levels()) return;
    const rocks::LevelFilesBrief& files = storage_.LevelFilesBrief(level_);
    at_ = files.files;
    end_ = files.files + files.num_files;
    if (level_ != 0) at_ = FirstFileFrom(files, key_);
    FindFrom();
  }
  void FindFrom() {
    for (; at_ != end_; ++at_) {
      if (UserKey(at_->smallest_key) <= key_ && key_ <= UserKey(at_->largest_key)) return;
      if (level_ != 0) break;
    }
    ++level_;
    Load();
  }

  const rocks::VersionStorageInfo& storage_;
  const ByteView key_;
  int level_ = 0;
  const rocks::FdWithKeyRange* at_ = nullptr;
  const rocks::FdWithKeyRange* end_ = nullptr;
};

PointFinder::PointFinder(bool asks_filters) : asks_filters_(asks_filters) {
  read_.total_order_seek = true;
  read_.io_activity = rocks::Env::IOActivity::kGet;
}

void PointFinder::Close() {
  if (version_ == nullptr) return;
  for (Place& place : places_) place = Place();
  found_count_ = missed_count_ = 0;
  db_->CleanupIteratorSuperVersion(version_, /*background_purge=*/false);
  version_ = nullptr;
}

void PointFinder::HoldCurrent(rocks::DBImpl* db, rocks::ColumnFamilyData* family) {
  if (version_ != nullptr && family_ == family && version_->version_number == family->GetSuperVersionNumber()) return;
  Close();
  db_ = db;
  family_ = family;
  version_ = family->GetReferencedSuperVersion(db);
}

PointFinder::Answer PointFinder::Get(rocks::DBImpl* db, rocks::ColumnFamilyHandle* family, ByteView key,
                                     const rocks::Snapshot* snapshot, rocks::PinnableSlice* slice, ByteView* view) {
  HoldCurrent(db, static_cast<rocks::ColumnFamilyHandleImpl*>(family)->cfd());
  return Find(key, snapshot, /*once=*/false, slice, view);
}

// By the view that each thread has for itself: threads do not meet at its count of holders.
PointFinder::Answer PointFinder::GetOnce(rocks::DBImpl* db, rocks::ColumnFamilyHandle* family, ByteView key,
                                         const rocks::Snapshot* snapshot, rocks::PinnableSlice* slice,
                                         ByteView* view) {
  db_ = db;
  family_ = static_cast<rocks::ColumnFamilyHandleImpl*>(family)->cfd();
  version_ = db->GetAndRefSuperVersion(family_);
  const Answer answer = Find(key, snapshot, /*once=*/true, slice, view);
  db->ReturnAndCleanupSuperVersion(family_, std::exchange(version_, nullptr));
  return answer;
}

PointFinder::Answer PointFinder::Find(ByteView key, const rocks::Snapshot* snapshot, bool once,
                                      rocks::PinnableSlice* slice, ByteView* view) {
  rocks::RecordTick(family_->ioptions().stats, rocks::NUMBER_KEYS_READ);
  // After the view: what a flush or a compaction in between drops is not missed then.
  const uint64_t sequence = snapshot == nullptr ? db_->GetLatestSequenceNumber() : snapshot->GetSequenceNumber();
  const rocks::LookupKey lookup(ToSlice(key), sequence);
  bool decided = false;
  Answer answer = AskMemtables(lookup, slice, view, &decided);
  if (decided) return answer;
  Candidates candidates(*version_->current->storage_info(), key);
  Candidate candidate;
  while (candidates.Next(&candidate)) {
    const uint64_t number = candidate.file->fd.GetNumber();
    Place& place = places_[number % kPlaceCount];
    if (!once && place.file_number == number) {
      if (place.entries == nullptr && !OpenPlace(candidate, &place)) return Answer::kAskStore;
      const bool by_filter = candidates.has_more() || MayMiss();
      if (by_filter && !place.MayHave(lookup, read_)) continue;
      answer = AskPlace(&place, lookup, sequence, view, &decided);
      if (!by_filter) ++(decided ? found_count_ : missed_count_);
    } else {
      if (!once) place = Place();
      if (!once) place.file_number = number;
      answer = AskFile(candidate, lookup, slice, view, &decided);
    }
    if (decided) return answer;
  }
  return Answer::kAbsent;
}

PointFinder::Answer PointFinder::AskMemtables(const rocks::LookupKey& key, rocks::PinnableSlice* slice, ByteView* view,
                                              bool* decided) {
  rocks::Status status;
  rocks::MergeContext merges;
  rocks::SequenceNumber covering = 0;
  std::string* const value = slice->GetSelf();
  *decided = version_->mem->Get(key, value, nullptr, nullptr, &status, &merges, &covering, read_,
                                /*immutable_memtable=*/false) ||
             version_->imm->Get(key, value, nullptr, nullptr, &status, &merges, &covering, read_);
  if (covering != 0 || !(status.ok() || status.IsNotFound())) {
    *decided = true;
    return Answer::kAskStore;
  }
  if (!*decided) return Answer::kAbsent;
  if (status.IsNotFound()) return Answer::kAbsent;
  *view = *value;
  return Answer::kFound;
}

bool PointFinder::FindTable(const Candidate& candidate, rocks::TableReader** table,
                            rocks::TableCache::TypedHandle** handle) {
  rocks::TableCache& tables = *family_->table_cache();
  const rocks::MutableCFOptions& options = version_->mutable_cf_options;
  const rocks::Status found = tables.FindTable(
      read_, tables.file_options(), family_->internal_comparator(), *candidate.file->file_metadata, handle, options,
      table, /*no_io=*/false, family_->internal_stats()->GetFileReadHist(candidate.level), /*skip_filters=*/false,
      candidate.level, /*prefetch_index_and_filter_in_cache=*/true, rocks::MaxFileSizeForL0MetaPin(options),
      candidate.file->file_metadata->temperature);
  if (!found.ok()) return false;
  // What the version knows of a file is filled in lazily, by another thread.
  if ((*table)->GetTableProperties()->num_range_deletions == 0) return true;
  if (*handle != nullptr) tables.get_cache().Release(*handle);
  return false;
}

// As RocksDB asks a file: its filter first.
PointFinder::Answer PointFinder::AskFile(const Candidate& candidate, const rocks::LookupKey& key,
                                         rocks::PinnableSlice* slice, ByteView* view, bool* decided) {
  *decided = true;
  rocks::TableReader* table = nullptr;
  rocks::TableCache::TypedHandle* handle = nullptr;
  if (!FindTable(candidate, &table, &handle)) return Answer::kAskStore;
  rocks::MergeContext merges;
  rocks::SequenceNumber covering = 0;
  rocks::GetContext context(family_->user_comparator(), nullptr, nullptr, nullptr, rocks::GetContext::kNotFound,
                            key.user_key(), slice, nullptr, nullptr, &merges, /*do_merge=*/true, &covering, nullptr);
  const rocks::Status status = table->Get(read_, key.internal_key(), &context,
                                          version_->mutable_cf_options.prefix_extractor.get(), /*skip_filters=*/false);
  if (handle != nullptr) family_->table_cache()->get_cache().Release(handle);
  if (!status.ok()) return Answer::kAskStore;
  switch (context.State()) {
    case rocks::GetContext::kFound: *view = ToView(*slice); return Answer::kFound;
    case rocks::GetContext::kDeleted: return Answer::kAbsent;
    case rocks::GetContext::kNotFound: *decided = false; return Answer::kAbsent;
    default: return Answer::kAskStore;
  }
}

bool PointFinder::OpenPlace(const Candidate& candidate, Place* place) {
  rocks::TableReader* table = nullptr;
  rocks::TableCache::TypedHandle* handle = nullptr;
  if (!FindTable(candidate, &table, &handle)) return false;
  rocks::TableCache& tables = *family_->table_cache();
  place->entries.reset(table->NewIterator(
      read_, version_->mutable_cf_options.prefix_extractor.get(), /*arena=*/nullptr, /*skip_filters=*/true,
      rocks::TableReaderCaller::kUserGet, tables.file_options().compaction_readahead_size,
      /*allow_unprepared_value=*/false));
  if (handle != nullptr) tables.get_cache().RegisterReleaseAsCleanup(handle, *place->entries);
  place->credit = kCreditAtFirst;
  const auto* const blocks = dynamic_cast<const rocks::BlockBasedTable*>(table);
  if (blocks != nullptr && blocks->get_rep()->whole_key_filtering) place->filter = blocks->get_rep()->filter.get();
  return true;
}

bool PointFinder::Place::MayHave(const rocks::LookupKey& key, const rocks::ReadOptions& read) const {
  if (filter == nullptr) return true;
  const rocks::Slice internal_key = key.internal_key();
  rocks::BlockCacheLookupContext lookup{rocks::TableReaderCaller::kUserGet};
  return filter->KeyMayMatch(key.user_key(), &internal_key, /*get_context=*/nullptr, &lookup, read);
}

PointFinder::Answer PointFinder::AskPlace(Place* place, const rocks::LookupKey& key, uint64_t sequence, ByteView* view,
                                          bool* decided) {
  rocks::InternalIterator& entries = *place->entries;
  const ByteView user_key = ToView(key.user_key());
  *decided = true;
  if (place->credit > 0 && entries.Valid() && UserKey(entries.key()) < user_key) {
    entries.Next();
    // The first version in order is the newest of the file.
    if (entries.Valid() && UserKey(entries.key()) == user_key && rocks::GetInternalKeySeqno(entries.key()) <= sequence) {
      place->credit = kCreditMax;
      return ReadEntry(entries, view);
    }
    --place->credit;
  }
  entries.Seek(key.internal_key());
  if (entries.Valid() && UserKey(entries.key()) == user_key) return ReadEntry(entries, view);
  if (!entries.Valid() && !entries.status().ok()) return Answer::kAskStore;
  *decided = false;
  return Answer::kAbsent;
}

PointFinder::Answer PointFinder::ReadEntry(const rocks::InternalIterator& entries, ByteView* view) {
  switch (rocks::ExtractValueType(entries.key())) {
    case rocks::kTypeValue: *view = ToView(entries.value()); return Answer::kFound;
    case rocks::kTypeDeletion:
    case rocks::kTypeSingleDeletion: return Answer::kAbsent;
    default: return Answer::kAskStore;
  }
}

}  // namespace cairn::store
