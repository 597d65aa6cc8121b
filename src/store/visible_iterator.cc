// SPDX-License-Identifier: GPL-2.0-only
// The walk over versions, forward and backward.
#include "store/visible_iterator.h"

#include <algorithm>
#include <memory>

#include "db/column_family.h"
#include "db/memtable.h"
#include "db/version_set.h"

#include "store/cursor.h"
#include "store/memtable_access.h"
#include "store/prefix_filter.h"
#include "store/range_deletions.h"
#include "store/read_point.h"
#include "store/rocks_status.h"
#include "store/version_files.h"

namespace cairn::store {
namespace {

// So many versions of one key are stepped over before a seek is taken to be cheaper.
constexpr unsigned kStepsBeforeSeek = 8;

// An iterator that is opened again and again reports at least so often.
constexpr uint64_t kEntriesPerReport = 1024;

constexpr rocks::ValueType kFirstType = rocks::kTypeValuePreferredSeqno;  // sorts before all others
constexpr rocks::ValueType kLastType = rocks::kTypeDeletion;

ByteView Bound(const rocks::Slice* bound) { return bound == nullptr ? ByteView() : ToView(*bound); }

bool IsDeletion(uint8_t type) { return type == rocks::kTypeDeletion || type == rocks::kTypeSingleDeletion; }

}  // namespace

// Whether another opening would see the same entries with nothing but other bounds. RocksDB's
// iterators look at the bounds anew with each seek.
bool VisibleIterator::Serves(const FamilySource& source, const rocks::ReadOptions& read, RangeRuns* range) {
  if (stream_ == nullptr || was_interrupted_ || !refusal_.empty() || !stream_->status().ok()) {
    return false;
  }
  const uint64_t wanted = read.snapshot == nullptr ? source.db->GetLatestSequenceNumber() : read.snapshot->GetSequenceNumber();
  return wanted == snapshot_sequence_ && read.iterate_lower_bound == read_.iterate_lower_bound &&
         read.iterate_upper_bound == read_.iterate_upper_bound && read.readahead_size == read_.readahead_size &&
         read.fill_cache == read_.fill_cache &&
         ((!files_.has_value() && !merged_.has_value()) || FilesServe(source, read, range));
}

bool VisibleIterator::FilesServe(const FamilySource& source, const rocks::ReadOptions& read, RangeRuns* range) {
  FindRuns(source, read, range);
  if (!range->are_few) return false;
  if (merged_.has_value()) {
    return merged_->runs().Contain(range->runs) &&
           (!merged_->has_deletions_elsewhere() ||
            RangeDeletionsAbove(source, *version_, read, merged_->runs(), snapshot_sequence_) != RangeDeletions::kWithin);
  }
  return range->runs.count == 1 && files_->run().Contains(range->runs.runs[0]) &&
         IsActiveMemtableEmpty(Bound(read.iterate_lower_bound), Bound(read.iterate_upper_bound));
}

bool VisibleIterator::IsActiveMemtableEmpty(ByteView lower, ByteView upper) {
  return store::IsActiveMemtableEmpty(*version_, Target(lower, rocks::kMaxSequenceNumber, kFirstType), upper);
}

void VisibleIterator::Open(const FamilySource& source, const rocks::ReadOptions& read,
                           const std::atomic<bool>* interrupted, uint64_t hidden_max) {
  rocks::DBImpl* const db = source.db;
  RangeRuns range;
  const bool serves = Serves(source, read, &range);
  if (!serves) {
    Close();
  } else if (walked_.in_level0 >= kEntriesPerReport) {
    Report();
  }
  lower_ = Bound(read.iterate_lower_bound);
  upper_ = Bound(read.iterate_upper_bound);
  interrupted_ = interrupted;
  hidden_end_ = hidden_max == 0 ? UINT64_MAX : hidden_count_ + hidden_max;
  valid_ = false;
  if (serves) return;
  read_ = read;
  if (read_.io_activity == rocks::Env::IOActivity::kUnknown) read_.io_activity = rocks::Env::IOActivity::kDBIterator;
  const ReadPoint point = TakeReadPoint(source, read.snapshot);
  version_ = point.version;
  snapshot_sequence_ = point.sequence;
  hidden_in_memtable_max_ = version_->mutable_cf_options.memtable_op_scan_flush_trigger;
  // What has the sequence number 0 is settled; a new store's first memtable begins there.
  memtable_sequence_min_ = std::max<uint64_t>(version_->mem->GetEarliestSequenceNumber(), 1);
  CountLevel0();
  read_.total_order_seek = true;
  // While a version is the current one, what was found in it is there.
  if (range.version_number != version_->version_number) FindRuns(source, read_, &range);
  if (range.are_filtered) entries_per_seek_ = 0;  // files of level 0 are passed by unless they have something
  if (range.are_few && (OpenFiles(source, range.runs) || OpenMerge(source, range.runs))) return HoldVersion(stream_, db, version_);
  arena_.emplace();
  stream_ = db->NewInternalIterator(read_, source.family, version_, &*arena_, snapshot_sequence_,
                                    /*allow_unprepared_value=*/false);
}

// Filters are asked where there is more than one run without them.
void VisibleIterator::FindRuns(const FamilySource& source, const rocks::ReadOptions& read, RangeRuns* range) const {
  const ByteView lower = Bound(read.iterate_lower_bound), upper = Bound(read.iterate_upper_bound);
  range->version_number = version_->version_number;
  range->are_few = FindFileRuns(*version_, lower, upper, &range->runs);
  range->are_filtered = false;
  if (range->are_few && range->runs.count <= 1) return;
  const PrefixFilter filter(source, *version_, read);
  if (!filter.is_alike()) return;
  range->are_filtered = true;
  range->are_few = FilterFileRuns(*version_, lower, upper, filter, range->are_few, &range->runs);
}

// From one run of files, if there is nothing else between the bounds.
bool VisibleIterator::OpenFiles(const FamilySource& source, const FileRuns& runs) {
  if (runs.count != 1 || version_->imm->GetTotalNumEntries() != 0 || !IsActiveMemtableEmpty(lower_, upper_)) return false;
  // A file of level 0 with nothing beside it is read as fast as settled data.
  level0_sequence_min_ = memtable_sequence_min_ = UINT64_MAX;
  entries_per_seek_ = 0;
  stream_ = &files_.emplace(source, version_, read_, runs.runs[0], snapshot_sequence_);
  return true;
}

bool VisibleIterator::OpenMerge(const FamilySource& source, const FileRuns& runs) {
  stream_ = &merged_.emplace();
  if (merged_->Add(source, *version_, read_, runs, snapshot_sequence_)) return true;
  merged_.reset();
  return false;
}

void VisibleIterator::CountLevel0() {
  level0_sequence_min_ = memtable_sequence_min_;
  entries_per_seek_ = 0;
  for (const rocks::FileMetaData* file : version_->current->storage_info()->LevelFiles(0)) {
    level0_sequence_min_ = std::min<uint64_t>(level0_sequence_min_, file->fd.smallest_seqno);
    entries_per_seek_ += WalkedEntries::kEntriesPerSeek;
  }
  level0_sequence_min_ = std::max<uint64_t>(level0_sequence_min_, 1);
  if (__builtin_expect(account_->last_load() >= level0_sequence_min_, false)) PassOverLoad();
}

// What came as files lies in none of the memtables, and in level 0 only where its files do.
void VisibleIterator::PassOverLoad() {
  if (lower_.size() < sizeof(uint32_t)) return;
  const WalkAccount::Loaded load = account_->FindLoad(IndexId(LoadBe32(lower_.data())));
  memtable_sequence_min_ = std::max(memtable_sequence_min_, load.last + 1);
  for (const rocks::FileMetaData* file : version_->current->storage_info()->LevelFiles(0)) {
    if (file->fd.smallest_seqno == file->fd.largest_seqno && file->fd.smallest_seqno > load.before &&
        file->fd.smallest_seqno <= load.last) {
      return;
    }
  }
  level0_sequence_min_ = std::max(level0_sequence_min_, load.last + 1);
}

// Forgets the first entries that the walk since the last seek met in the memtable.
void VisibleIterator::EndCountedWalk() {
  const uint64_t free = std::min(walked_.in_memtable - ended_in_memtable_, WalkedEntries::kFreeInMemtable);
  walked_.in_memtable -= free;
  walked_.in_level0 -= free;
  ended_in_memtable_ = walked_.in_memtable;
}

void VisibleIterator::Report() {
  EndCountedWalk();
  ended_in_memtable_ = 0;
  walked_.in_level0 -= walked_.in_memtable;
  account_->Add(walked_);
  walked_ = WalkedEntries();
}

void VisibleIterator::Close() {
  if (stream_ == nullptr) return;
  Report();
  if (files_.has_value()) {
    files_.reset();
  } else if (merged_.has_value()) {
    merged_.reset();
  } else {
    std::destroy_at(stream_);
  }
  stream_ = nullptr;
  arena_.reset();
  valid_ = was_interrupted_ = false;
  refusal_.clear();
  skipped_.ShrinkAbove(4096);
  newest_value_.ShrinkAbove(64 << 10);
}

Status VisibleIterator::status() const {
  if (!refusal_.empty()) return Status::Corruption(refusal_);
  if (was_interrupted_) return Status::Of(Status::Code::kInterrupted);
  return stream_ == nullptr ? Status::Ok() : FromRocks(stream_->status());
}

inline VisibleIterator::Version VisibleIterator::Parse(const rocks::Slice& internal_key) {
  const size_t key_bytes = internal_key.size() - kTrailerBytes;
  const uint64_t trailer = LoadLe64(internal_key.data() + key_bytes);
  return {.key = ByteView(internal_key.data(), key_bytes),
          .sequence = trailer >> 8,
          .type = static_cast<uint8_t>(trailer)};
}

const rocks::Slice& VisibleIterator::Target(ByteView key, uint64_t sequence, rocks::ValueType type) {
  target_.Assign(key);
  target_.AppendLe64(sequence << 8 | type);
  target_slice_ = ToSlice(target_.view());
  return target_slice_;
}

// After a seek: the position as Advance() leaves it.
void VisibleIterator::LoadPosition() {
  has_entry_ = StreamIsValid();
  if (!has_entry_) return;
  entry_.key = stream_->key();
  entry_.bound_check_result = stream_->UpperBoundCheckResult();
}

void VisibleIterator::Refuse(const Version& version) {
  refusal_ = "an entry of type " + std::to_string(version.type) + " where only values and deletions are written";
  valid_ = false;
}

void VisibleIterator::RefuseShort(const rocks::Slice& key) {
  refusal_ = "an entry's key has " + std::to_string(key.size()) + " bytes, which are no key: " + key.ToString(/*hex=*/true);
  valid_ = false;
}

bool VisibleIterator::PassHidden() {
  if (++hidden_count_ % CursorOptions::kHiddenPerPoll != 0) return true;
  was_interrupted_ =
      hidden_count_ >= hidden_end_ || (interrupted_ != nullptr && interrupted_->load(std::memory_order_relaxed));
  if (was_interrupted_) valid_ = false;
  return !was_interrupted_;
}

void VisibleIterator::Seek(ByteView key) {
  forward_ = true;
  CountSeek();
  stream_->Seek(Target(std::max(key, lower_), snapshot_sequence_, kFirstType));
  LoadPosition();
  FindForward(false);
}

void VisibleIterator::SeekToFirst() {
  if (!lower_.empty()) return Seek(lower_);
  forward_ = true;
  CountSeek();
  stream_->SeekToFirst();
  LoadPosition();
  FindForward(false);
}

void VisibleIterator::Next() {
  if (__builtin_expect(!forward_, false)) {
    forward_ = true;
    skipped_.Assign(key_);
    stream_->Seek(Target(skipped_.view(), 0, kLastType));
    LoadPosition();
    return FindForward(true);
  }
  // A sequence number of 0 is given by compaction to the only version there is.
  const bool may_have_older = sequence_ != 0;
  if (may_have_older) skipped_.Assign(key_);
  Advance(/*hides_older=*/true);
  FindForward(may_have_older);
}

// Finds the first visible version of a live key from the stream's position on. `hides_skipped`:
// versions of skipped_ that come up are not to be seen.
void VisibleIterator::FindForward(bool hides_skipped) {
  unsigned hidden = 0;
  hidden_in_memtable_ = 0;
  while (has_entry_) {
    const Version version = Parse(entry_.key);
    Count(version);
    if (entry_.bound_check_result != rocks::IterBoundCheck::kInbound && !upper_.empty() && version.key >= upper_) break;
    const bool is_skipped = hides_skipped && version.key == skipped_.view();
    if (version.sequence <= snapshot_sequence_ && !is_skipped) {
      if (__builtin_expect(version.type == rocks::kTypeValue, true)) {
        key_ = version.key;
        value_ = ToView(StreamValue());
        sequence_ = version.sequence;
        valid_ = true;
        return;
      }
      if (!IsDeletion(version.type)) return Refuse(version);
      skipped_.Assign(version.key);
      hides_skipped = true;
      hidden = 0;
    }
    if (!PassHidden()) break;
    SkipHiddenForward(version, is_skipped, &hidden);
  }
  valid_ = false;
}

// Of entries that a move leaves: older versions, deletions, and what they hide.
void VisibleIterator::CountHidden(uint64_t in_memtable) {
  const bool were_few = hidden_in_memtable_ < hidden_in_memtable_max_;
  hidden_in_memtable_ += in_memtable;
  // As RocksDB's own iterator, which does so forward only: a flush drops what is hidden.
  if (were_few && hidden_in_memtable_ >= hidden_in_memtable_max_) version_->mem->MarkForFlush();
}

// Leaves a version that is not seen. Many of one key are left by a seek: to the key's version of the
// snapshot, or past all of them.
void VisibleIterator::SkipHiddenForward(const Version& version, bool is_skipped, unsigned* hidden) {
  // What came after this view others see, and a flush does not drop it.
  if (version.sequence >= memtable_sequence_min_ && version.sequence <= snapshot_sequence_) CountHidden(1);
  if (is_skipped) {
    if (++*hidden > kStepsBeforeSeek) {
      *hidden = 0;
      stream_->Seek(Target(skipped_.view(), 0, kLastType));
      return LoadPosition();
    }
  } else if (version.sequence > snapshot_sequence_) {
    if (*hidden == 0 || version.key != newest_key_.view()) {
      newest_key_.Assign(version.key);
      *hidden = 0;
    }
    if (++*hidden > kStepsBeforeSeek) {
      *hidden = 0;
      stream_->Seek(Target(newest_key_.view(), snapshot_sequence_, kFirstType));
      return LoadPosition();
    }
  }
  Advance(/*hides_older=*/version.sequence <= snapshot_sequence_);
}

void VisibleIterator::SeekForPrev(ByteView key) {
  if (!upper_.empty() && key >= upper_) return SeekToLast();
  forward_ = stands_on_current_ = false;
  CountSeek();
  stream_->SeekForPrev(Target(key, 0, kLastType));
  FindBackward();
}

void VisibleIterator::SeekToLast() {
  SeekStreamToLast();
  FindBackward();
}

ByteView VisibleIterator::FindLastVersion() {
  SeekStreamToLast();
  valid_ = false;
  if (!StreamIsValid()) return ByteView();
  const ByteView last = Parse(StreamKey()).key;
  return last < lower_ ? ByteView() : last;
}

void VisibleIterator::SeekStreamToLast() {
  forward_ = stands_on_current_ = false;
  CountSeek();
  if (upper_.empty()) {
    stream_->SeekToLast();
  } else {
    stream_->SeekForPrev(Target(upper_, rocks::kMaxSequenceNumber, kFirstType));
  }
}

void VisibleIterator::Prev() {
  if (forward_) {
    forward_ = stands_on_current_ = false;
    newest_key_.Assign(key_);
    StepOverKeyBackward(newest_key_.view());
  } else if (stands_on_current_) {
    stands_on_current_ = false;
    Retreat();
  }
  FindBackward();
}

// Moves the stream, which stands on a version of `key`, before all of them.
void VisibleIterator::StepOverKeyBackward(ByteView key) {
  for (unsigned steps = 0; StreamIsValid() && Parse(StreamKey()).key == key; ++steps) {
    if (steps == kStepsBeforeSeek) return stream_->SeekForPrev(Target(key, rocks::kMaxSequenceNumber, kFirstType));
    Retreat();
  }
}

// Precondition: the stream stands on the oldest version of a key, or before everything.
void VisibleIterator::FindBackward() {
  valid_ = false;
  hidden_in_memtable_ = 0;
  while (StreamIsValid()) {
    const Version oldest = Parse(StreamKey());
    if (oldest.key < lower_) return;
    if (files_.has_value() && files_->HasOtherKeyBefore() && oldest.type == rocks::kTypeValue &&
        oldest.sequence <= snapshot_sequence_) {
      Count(oldest);
      key_ = oldest.key;
      value_ = ToView(files_->value());
      valid_ = stands_on_current_ = true;
      return;
    }
    newest_key_.Assign(oldest.key);
    const uint64_t passed_before = walked_.in_memtable;
    const bool found = FindNewestBackward();
    if (!refusal_.empty() || (!StreamIsValid() && !stream_->status().ok())) return;
    // Of the key's entries one at most is seen. Where even the oldest came after this view, others see them.
    const uint64_t passed = walked_.in_memtable - passed_before, seen = found ? 1 : 0;
    if (passed > seen && oldest.sequence <= snapshot_sequence_) CountHidden(passed - seen);
    if (found) {
      key_ = newest_key_.view();
      value_ = newest_value_.view();
      valid_ = true;
      return;
    }
    if (!PassHidden()) return;
  }
}

// Goes from the oldest version of newest_key_ to before the newest. Whether the newest that the
// snapshot sees is a value, which then is in newest_value_.
bool VisibleIterator::FindNewestBackward() {
  bool found = false;
  for (unsigned steps = 0; StreamIsValid(); ++steps) {
    if (steps == kStepsBeforeSeek) stream_->Seek(Target(newest_key_.view(), snapshot_sequence_, kFirstType));
    const bool landed = StreamIsValid();
    const Version version = landed ? Parse(StreamKey()) : Version();
    if (landed && version.key == newest_key_.view() && version.sequence <= snapshot_sequence_) {
      found = version.type == rocks::kTypeValue;
      if (found) {
        newest_value_.Assign(ToView(StreamValue()));
      } else if (!IsDeletion(version.type)) {
        Refuse(version);
        return false;
      }
    }
    if (steps == kStepsBeforeSeek) {
      if (landed || stream_->status().ok()) {
        stream_->SeekForPrev(Target(newest_key_.view(), rocks::kMaxSequenceNumber, kFirstType));
      }
      return found;
    }
    if (version.key != newest_key_.view()) return found;
    Count(version);
    Retreat();
  }
  return found;
}

}  // namespace cairn::store
