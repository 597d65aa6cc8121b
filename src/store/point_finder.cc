// SPDX-License-Identifier: GPL-2.0-only
// From the newest to the oldest place a key can be in.
#include "store/point_finder.h"

#include "db/lookup_key.h"
#include "db/memtable.h"
#include "db/memtable_list.h"
#include "db/merge_context.h"
#include "db/version_set.h"
#include "table/block_based/block_based_table_reader.h"
#include "table/get_context.h"
#include "table/table_reader.h"

#include "store/held_table.h"
#include "store/rocks_status.h"
#include "store/version_files.h"

namespace cairn::store {

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
  for (Place& place : places_) ClosePlace(&place);
  Tick();
  source_.db->CleanupIteratorSuperVersion(version_, /*background_purge=*/false);
  version_ = nullptr;
}

void PointFinder::ClosePlace(Place* place) {
  place->file_number = 0;
  place->filter = nullptr;
  if (place->finder == nullptr) return;
  place->finder->Close();
  spare_ = std::move(place->finder);
}

// Of what most reads never do there is nothing to tick.
void PointFinder::Tick() {
  rocks::Statistics* const statistics = source_.family->ioptions().stats;
  const auto tick = [&](uint32_t ticker, uint64_t count) {
    if (count != 0) rocks::RecordTick(statistics, ticker, count);
  };
  tick(rocks::NUMBER_KEYS_READ, tally_.keys);
  tick(rocks::MEMTABLE_HIT, tally_.memtable_hits);
  tick(rocks::MEMTABLE_MISS, tally_.memtable_misses);
  tick(rocks::GET_HIT_L0, tally_.level_hits[0]);
  tick(rocks::GET_HIT_L1, tally_.level_hits[1]);
  tick(rocks::GET_HIT_L2_AND_UP, tally_.level_hits[2]);
  tick(rocks::BYTES_READ, tally_.value_bytes);
  tally_ = Tally();
}

void PointFinder::HoldCurrent(const FamilySource& source) {
  if (version_ != nullptr && source_.family == source.family &&
      version_->version_number == source.family->GetSuperVersionNumber()) {
    return;
  }
  Close();
  source_ = source;
  version_ = source.family->GetReferencedSuperVersion(source.db);
}

PointFinder::Answer PointFinder::Get(const FamilySource& source, ByteView key, const rocks::Snapshot* snapshot,
                                     rocks::PinnableSlice* slice, ByteView* view) {
  HoldCurrent(source);
  return Find(key, snapshot, /*once=*/false, slice, view);
}

// By the view that each thread has for itself: threads do not meet at its count of holders.
PointFinder::Answer PointFinder::GetOnce(const FamilySource& source, ByteView key, const rocks::Snapshot* snapshot,
                                         rocks::PinnableSlice* slice, ByteView* view) {
  source_ = source;
  version_ = source.db->GetAndRefSuperVersion(source.family);
  const Answer answer = Find(key, snapshot, /*once=*/true, slice, view);
  Tick();
  source.db->ReturnAndCleanupSuperVersion(source.family, std::exchange(version_, nullptr));
  return answer;
}

PointFinder::Answer PointFinder::Find(ByteView key, const rocks::Snapshot* snapshot, bool once,
                                      rocks::PinnableSlice* slice, ByteView* view) {
  // After the view: what a flush or a compaction in between drops is not missed then.
  const uint64_t sequence = snapshot == nullptr ? source_.db->GetLatestSequenceNumber() : snapshot->GetSequenceNumber();
  const rocks::LookupKey lookup(ToSlice(key), sequence);
  bool decided = false;
  Answer answer = AskMemtables(lookup, slice, view, &decided);
  if (!decided) answer = FindInFiles(lookup, once, slice, view);
  if (answer == Answer::kAskStore || answer == Answer::kDamaged) return answer;  // the store ticks
  ++tally_.keys;
  ++(decided ? tally_.memtable_hits : tally_.memtable_misses);
  if (answer == Answer::kFound) tally_.value_bytes += view->size();
  return answer;
}

PointFinder::Answer PointFinder::FindInFiles(const rocks::LookupKey& key, bool once, rocks::PinnableSlice* slice,
                                             ByteView* view) {
  Candidates candidates(*version_->current->storage_info(), ToView(key.user_key()));
  Candidate candidate;
  while (candidates.Next(&candidate)) {
    const uint64_t number = candidate.file->fd.GetNumber();
    Place& place = places_[number % kPlaceCount];
    if (place.file_number != number && !OpenPlace(candidate, &place)) return Answer::kAskStore;
    bool decided = false;
    const Answer answer = AskPlace(&place, candidate, !candidates.has_more(), once, key, slice, view, &decided);
    if (once && decided && answer == Answer::kFound && view->data() != slice->data()) {
      place.finder->PinTo(*view, slice);
      *view = ToView(*slice);
    }
    if (once) ClosePlace(&place);
    if (!decided) continue;
    if (answer == Answer::kFound) ++tally_.level_hits[std::min(candidate.level, 2)];
    return answer;
  }
  return Answer::kAbsent;
}

PointFinder::Answer PointFinder::AskPlace(Place* place, const Candidate& candidate, bool is_last, bool once,
                                          const rocks::LookupKey& key, rocks::PinnableSlice* slice, ByteView* view,
                                          bool* decided) {
  if (place->finder == nullptr) return AskFile(candidate, key, slice, view, decided);
  const bool by_filter = !is_last || MayMiss() || (once && found_count_ < kFoundCountTrusted);
  FileFinder::Answer found = FileFinder::Answer::kAbsent;
  if (!by_filter || place->MayHave(key, read_)) found = place->finder->Find(key, view);
  if (found == FileFinder::Answer::kAskTable) return AskFile(candidate, key, slice, view, decided);
  *decided = found != FileFinder::Answer::kAbsent;
  if (found == FileFinder::Answer::kDamaged) {
    damaged_file_ = place->file_number;
    return Answer::kDamaged;
  }
  if (is_last) {
    ++(*decided ? found_count_ : missed_count_);
    if (found_count_ + missed_count_ == kRememberedCountMax) {
      found_count_ /= 2;
      missed_count_ /= 2;
    }
  }
  return found == FileFinder::Answer::kFound ? Answer::kFound : Answer::kAbsent;
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

bool PointFinder::FindTable(const Candidate& candidate, HeldTable* table) {
  return table->FindWithoutRangeDeletions(source_.family, *version_, read_, candidate.level, *candidate.file->file_metadata);
}

// As RocksDB asks a file: its filter first.
PointFinder::Answer PointFinder::AskFile(const Candidate& candidate, const rocks::LookupKey& key,
                                         rocks::PinnableSlice* slice, ByteView* view, bool* decided) {
  *decided = true;
  HeldTable table;
  if (!FindTable(candidate, &table)) return Answer::kAskStore;
  rocks::MergeContext merges;
  rocks::SequenceNumber covering = 0;
  rocks::GetContext context(source_.family->user_comparator(), nullptr, nullptr, nullptr, rocks::GetContext::kNotFound,
                            key.user_key(), slice, nullptr, nullptr, &merges, /*do_merge=*/true, &covering, nullptr);
  const rocks::Status status =
      table.reader().Get(read_, key.internal_key(), &context, version_->mutable_cf_options.prefix_extractor.get(),
                         /*skip_filters=*/false);
  if (!status.ok()) return Answer::kAskStore;
  switch (context.State()) {
    case rocks::GetContext::kFound: *view = ToView(*slice); return Answer::kFound;
    case rocks::GetContext::kDeleted: return Answer::kAbsent;
    case rocks::GetContext::kNotFound: *decided = false; return Answer::kAbsent;
    default: return Answer::kAskStore;
  }
}

bool PointFinder::OpenPlace(const Candidate& candidate, Place* place) {
  ClosePlace(place);
  const HeldIndex* const index = source_.held->Of(*candidate.file->file_metadata, read_);
  HeldTable table;
  if (index == nullptr && !FindTable(candidate, &table)) return false;
  std::unique_ptr<FileFinder> finder = spare_ != nullptr ? std::move(spare_) : std::make_unique<FileFinder>();
  place->file_number = candidate.file->fd.GetNumber();
  const rocks::BlockBasedTable* const blocks = index != nullptr ? &index->table() : table.blocks();
  if (index != nullptr) {
    finder->Open(*index, read_);
  } else if (blocks != nullptr && finder->Open(*blocks, read_)) {
    table.HandTo(&finder->held());
  } else {
    spare_ = std::move(finder);
    return true;
  }
  place->finder = std::move(finder);
  if (blocks->get_rep()->whole_key_filtering) place->filter = blocks->get_rep()->filter.get();
  return true;
}

bool PointFinder::Place::MayHave(const rocks::LookupKey& key, const rocks::ReadOptions& read) const {
  if (filter == nullptr) return true;
  const rocks::Slice internal_key = key.internal_key();
  rocks::BlockCacheLookupContext lookup{rocks::TableReaderCaller::kUserGet};
  return filter->KeyMayMatch(key.user_key(), &internal_key, /*get_context=*/nullptr, &lookup, read);
}

}  // namespace cairn::store
