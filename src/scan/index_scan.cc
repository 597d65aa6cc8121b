// SPDX-License-Identifier: GPL-2.0-only
// The walk: move, filter, lock, fetch, until a row is found or the bounds end.
#include "scan/index_scan.h"

#include <cassert>
#include <utility>

#include "base/index_bounds.h"

namespace cairn::scan {

void IndexScan::Open(RowReader* reader, const Options& options) {
  Close();
  reader_ = reader;
  options_ = options;
  if (reader->mode().locking) options_.covering = false;
  SetPlain();
}

void IndexScan::Close() {
  range_.End();
  cursor_.Close();
  reader_ = nullptr;
  is_plain_ = false;
  gave_unlocked_ = waits_ = false;
}

Status IndexScan::OpenCursor() {
  store::CursorOptions options;
  options.lower_bound = lower_.view();
  options.upper_bound = upper_.view();
  // The key that the transaction has removed may have been another row's in the view: see RowReader::EntryIsCurrent().
  options.shows_removed = !is_primary() && reader_->table().indexes()[options_.index].unique();
  must_refresh_ = false;
  // Taken before the cursor's own moment: what is committed in between only costs a second look.
  opened_sequence_ = reader_->mode().locking ? reader_->store_sequence() : 0;
  return reader_->transaction().OpenCursor(options, reader_->view(), &cursor_);
}

Status IndexScan::BeginRange(bool forward, ByteView lower, ByteView upper) {
  const IndexId index = reader_->table().indexes()[options_.index].id();
  CAIRN_RETURN_IF_ERROR(
      range_.Begin(&reader_->transaction(), index, lower, upper, forward, !reader_->mode().skip_locked));
  if (!reader_->mode().skip_locked) CAIRN_RETURN_IF_ERROR(reader_->transaction().WaitForClaim(index, reader_->mode().lock));
  return range_.Look(reader_->mode().lock);
}

Status IndexScan::OpenBetweenBounds(bool forward) {
  range_.End();
  gave_unlocked_ = waits_ = false;
  edge_ = Edge::kNone;
  if (LocksRanges()) CAIRN_RETURN_IF_ERROR(BeginRange(forward, lower_.view(), upper_.view()));
  CAIRN_RETURN_IF_ERROR(OpenCursor());
  forward ? cursor_.SeekToFirst() : cursor_.SeekToLast();
  return Status::Ok();
}

Status IndexScan::First(ByteView lower, ByteView upper, FoundRow* row) {
  lower_.Assign(lower);
  upper_.Assign(upper);
  CAIRN_RETURN_IF_ERROR(OpenBetweenBounds(true));
  return Settle(true, row);
}

Status IndexScan::Last(ByteView lower, ByteView upper, FoundRow* row) {
  lower_.Assign(lower);
  upper_.Assign(upper);
  CAIRN_RETURN_IF_ERROR(OpenBetweenBounds(false));
  return Settle(false, row);
}

Status IndexScan::EndOrError(bool forward) {
  edge_ = Edge::kNone;
  CAIRN_RETURN_IF_ERROR(cursor_.status());
  edge_ = forward ? Edge::kUpper : Edge::kLower;
  return Status::NotFound();
}

// Locks the row of the entry, if it is wanted, and then the range up to where the cursor stands. The row comes first: while it is waited for, who has
// locked it may put the entry again, or another one before it. What others have put in front comes first, so the walk stands before that then.
Status IndexScan::Reach(bool* take) {
  // Not of an entry behind one that has to be waited for first: a row that is not next is nobody's meanwhile.
  const bool locks = *take && reader_->mode().locking && !(range_.is_active() && range_.IsBlocked(cursor_.key()));
  if (locks) CAIRN_RETURN_IF_ERROR(LockEntry(take));
  if (again_ || !range_.is_active()) return Status::Ok();
  bool complete;
  CAIRN_RETURN_IF_ERROR(Extend(&complete));
  if (complete) return Status::Ok();
  if (locks && *take) reader_->UnlockLast();
  return LookAgain();
}

Status IndexScan::Extend(bool* complete) {
  if (cursor_.Valid()) {
    *complete = range_.Extend(cursor_.key());
  } else {
    CAIRN_RETURN_IF_ERROR(cursor_.status());
    *complete = range_.ExtendToEnd();
  }
  return Status::Ok();
}

// Sees what others have put in front of the walk, once that is not pending any more.
Status IndexScan::LookAgain() {
  if (const txn::PendingEntry* pending = range_.blocker(); pending != nullptr) {
    // Its transaction holds the row's lock until it ends.
    primary_key_.Clear();
    CAIRN_RETURN_IF_ERROR(
        reader_->table().indexes()[options_.index].PrimaryKeyOf(pending->key, pending->value, &primary_key_));
    CAIRN_RETURN_IF_ERROR(reader_->WaitForRow(primary_key_.view(), &ends_us_));
  }
  CAIRN_RETURN_IF_ERROR(range_.Look(reader_->mode().lock.Together(&ends_us_)));
  if (reader_->transaction().is_interrupted()) return Status::Of(Status::Code::kInterrupted);
  again_ = true;
  return StandAtSettled();
}

// Opens the cursor over what is committed now, right behind what is covered.
Status IndexScan::StandAtSettled() {
  position_.Assign(range_.settled());
  is_gap_ = true;
  return Refresh(range_.is_forward());
}

Status IndexScan::Move(bool forward, FoundRow* row) {
  if (range_.is_active() && range_.is_forward() != forward) {
    // What was walked over stays locked; the way back is another range.
    KeepPosition();
    range_.End();
  }
  waits_ = std::exchange(gave_unlocked_, false);
  if (must_refresh_ || waits_) {
    CAIRN_RETURN_IF_ERROR(Refresh(forward, /*again=*/waits_));
  } else {
    if (!cursor_.is_open()) return Status::NotFound();
    if (cursor_.Valid()) {
      forward ? cursor_.Next() : cursor_.Prev();
    } else {
      if (edge_ != (forward ? Edge::kLower : Edge::kUpper)) return EndOrError(forward);
      KeepPosition();
      CAIRN_RETURN_IF_ERROR(Refresh(forward));
    }
  }
  return Settle(forward, row);
}

// Finds the next entry, from where the cursor stands, that passes the filter and still has its row.
Status IndexScan::Settle(bool forward, FoundRow* row) {
  again_ = false;
  ends_us_ = 0;
  for (;;) {
    bool take = cursor_.Valid(), ends = !take;
    if (take && options_.filter != nullptr) {
      switch (options_.filter->Check(cursor_.key(), cursor_.value())) {
        case EntryFilter::Verdict::kTake: break;
        case EntryFilter::Verdict::kSkip: take = false; break;
        case EntryFilter::Verdict::kEnd: ends = true; break;
        case EntryFilter::Verdict::kInterrupted: return Status::Of(Status::Code::kInterrupted);
        case EntryFilter::Verdict::kFailed: return options_.filter->TakeFailure();
      }
    }
    take = take && !ends;
    CAIRN_RETURN_IF_ERROR(Reach(&take));
    if (!again_) {
      if (ends) return cursor_.Valid() ? Status::NotFound() : EndOrError(forward);
      if (take) CAIRN_RETURN_IF_ERROR(Fetch(row, &take));
      if (take) return Status::Ok();
    }
    gave_unlocked_ = false;
    const bool again = std::exchange(again_, false);
    if (!again) ends_us_ = 0;
    if (must_refresh_) {
      CAIRN_RETURN_IF_ERROR(Refresh(forward, again));
    } else if (!again) {
      forward ? cursor_.Next() : cursor_.Prev();
    }
  }
}

Status IndexScan::Fetch(FoundRow* row, bool* take) {
  if (reader_->mode().locking) return FetchLocked(row, take);
  const ByteView key = cursor_.key();
  const ByteView value = cursor_.value();
  row->key = key;
  row->value = value;
  if (is_primary()) {
    row->row = {key, value};
    return Status::Ok();
  }
  const bool changed_here = reader_->ChangedByTransaction();
  if (options_.covering && !changed_here) return Status::Ok();
  primary_key_.Clear();
  CAIRN_RETURN_IF_ERROR(reader_->table().indexes()[options_.index].PrimaryKeyOf(key, value, &primary_key_));
  if (changed_here) {
    CAIRN_RETURN_IF_ERROR(reader_->EntryIsCurrent(options_.index, key, primary_key_.view(), take));
    if (!*take) return reader_->transaction().is_interrupted() ? Status::Of(Status::Code::kInterrupted) : Status::Ok();
  }
  if (options_.covering) return Status::Ok();
  Status status = reader_->ByPrimaryKey(primary_key_.view(), &row->row);
  if (status.Is(Status::Code::kNotFound)) {
    // The transaction itself may have deleted the row since the cursor was opened.
    *take = false;
    if (reader_->transaction().HasWrites()) return Status::Ok();
    return Status::Corruption("an entry of index " + reader_->table().def().indexes[options_.index].name +
                              " of table " + reader_->table().def().name + " has no row");
  }
  return status;
}

// Locks the row of the entry, if it may wait or need not.
Status IndexScan::LockEntry(bool* take) {
  primary_key_.Clear();
  CAIRN_RETURN_IF_ERROR(
      reader_->table().indexes()[options_.index].PrimaryKeyOf(cursor_.key(), cursor_.value(), &primary_key_));
  // When the row seen without a lock has gone, this is a neighbour, which nobody has looked at.
  const bool waits = std::exchange(waits_, false) && cursor_.key() == position_.view();
  const bool looks = semi_consistent_ && is_primary() && !LocksRanges() && !waits;
  const bool tries = looks || range_.is_active();
  Status status = tries ? reader_->TryLockRow(primary_key_.view()) : reader_->LockRow(primary_key_.view());
  if (status.Is(Status::Code::kLockBusy)) {
    *take = !reader_->mode().skip_locked;
    if (!*take) return Status::Ok();
    gave_unlocked_ = looks;
    if (looks) return Status::Ok();
    if (range_.is_active()) return range_.MayExtend(cursor_.key()) ? AwaitRow(take) : LookAgain();
  }
  if (reader_->waited()) must_refresh_ = true;
  return status;
}

// Of a walk that locks ranges: waits for the row of the entry, which others have locked. What they have put meanwhile is seen.
Status IndexScan::AwaitRow(bool* take) {
  ByteBuffer key;
  key.Assign(cursor_.key());
  CAIRN_RETURN_IF_ERROR(reader_->LockRow(primary_key_.view(), &ends_us_));
  CAIRN_RETURN_IF_ERROR(StandOn(key.view(), take));
  again_ = !*take;
  if (*take) CAIRN_RETURN_IF_ERROR(CheckAgain(cursor_.key(), cursor_.value(), take));
  if (!*take) reader_->UnlockLast();
  return Status::Ok();
}

// Whether the walk comes to the entry next, and it still leads to the locked row of primary_key_. Waits for no other row.
Status IndexScan::StandOn(ByteView key, bool* stands) {
  CAIRN_RETURN_IF_ERROR(StandAtSettled());
  for (bool has_looked = false;; has_looked = true) {
    *stands = cursor_.Valid() && cursor_.key() == key;
    if (*stands) CAIRN_RETURN_IF_ERROR(LeadsToLocked(key, cursor_.value(), stands));
    if (!*stands) {
      ends_us_ = 0;
      return cursor_.status();
    }
    *stands = range_.MayExtend(key);
    // What has come in between is most often the entry itself, committed by now.
    if (*stands || has_looked || range_.blocker() != nullptr) return Status::Ok();
    CAIRN_RETURN_IF_ERROR(LookAgain());
  }
}

// Whether an entry is of the locked row, primary_key_.
Status IndexScan::LeadsToLocked(ByteView key, ByteView value, bool* leads) {
  led_to_.Clear();
  CAIRN_RETURN_IF_ERROR(reader_->table().indexes()[options_.index].PrimaryKeyOf(key, value, &led_to_));
  *leads = led_to_.view() == primary_key_.view();
  return Status::Ok();
}

// Reads the row that was locked, and looks whether it is still there.
Status IndexScan::FetchLocked(FoundRow* row, bool* take) {
  const ByteView key = cursor_.key();
  if (must_refresh_ || gave_unlocked_) {
    position_.Assign(key);
    is_gap_ = false;
  }
  const bool unchanged = !gave_unlocked_ && !must_refresh_ && reader_->store_sequence() == opened_sequence_;
  row->key = key;
  row->value = cursor_.value();
  if (unchanged && is_primary()) {
    row->row = {row->key, row->value};
    return Status::Ok();
  }
  Status status = reader_->ReadLocked(primary_key_.view(), &row->row);
  *take = !status.Is(Status::Code::kNotFound);
  if (*take) CAIRN_RETURN_IF_ERROR(std::move(status));
  if (!*take && unchanged && !reader_->transaction().HasWrites()) {
    return Status::Corruption("an entry of index " + reader_->table().def().indexes[options_.index].name + " has no row");
  }
  if (!is_primary()) return *take && unchanged ? Status::Ok() : Confirm(key, row, take);
  if (*take) {
    row->key = row->row.primary_key;
    row->value = row->row.value;
  } else {
    reader_->UnlockLast();
  }
  return Status::Ok();
}

// Whether the row, if it is there, still has the entry that led to it.
Status IndexScan::Confirm(ByteView key, FoundRow* row, bool* take) {
  ByteView entry_now;
  Status status = reader_->ReadEntryOfLocked(options_.index, key, &entry_now);
  if (status.ok()) {
    bool is_same = false;
    CAIRN_RETURN_IF_ERROR(LeadsToLocked(key, entry_now, &is_same));
    if (!is_same) {
      // It is another row's by now, which comes next.
      position_.Assign(key);
      is_gap_ = false;
      must_refresh_ = again_ = true;
    } else if (*take) {
      row->value = entry_now;
      CAIRN_RETURN_IF_ERROR(CheckAgain(key, row->value, take));
      if (*take) return Status::Ok();
    }
  } else if (!status.Is(Status::Code::kNotFound)) {
    return status;
  }
  reader_->UnlockLast();
  *take = false;
  return Status::Ok();
}

// Equal keys may be spelt otherwise since the filter saw the entry.
Status IndexScan::CheckAgain(ByteView key, ByteView value, bool* take) {
  if (options_.filter == nullptr) return Status::Ok();
  const EntryFilter::Verdict verdict = options_.filter->Check(key, value);
  *take = verdict == EntryFilter::Verdict::kTake;
  if (verdict == EntryFilter::Verdict::kFailed) return options_.filter->TakeFailure();
  return verdict == EntryFilter::Verdict::kInterrupted ? Status::Of(Status::Code::kInterrupted) : Status::Ok();
}

// Opens the cursor over what is committed now and moves it past the position, or to it `again`.
Status IndexScan::Refresh(bool forward, bool again) {
  assert(!reader_->mode().only_look);  // it would be another moment
  if (LocksRanges() && !range_.is_active()) {
    ByteBuffer above;
    above.Assign(position_.view());
    if (!is_gap_) above.AppendU8(0);
    // Not from the position itself: it is in the range before, and this one may have to be covered anew.
    CAIRN_RETURN_IF_ERROR(forward ? BeginRange(true, above.view(), upper_.view())
                                  : BeginRange(false, lower_.view(), position_.view()));
  }
  CAIRN_RETURN_IF_ERROR(OpenCursor());
  if (forward) {
    cursor_.Seek(position_.view());
  } else {
    cursor_.SeekForPrev(position_.view());
  }
  const bool takes_equal = again || (is_gap_ && forward);
  if (!takes_equal && cursor_.Valid() && cursor_.key() == position_.view()) forward ? cursor_.Next() : cursor_.Prev();
  return cursor_.Valid() ? Status::Ok() : cursor_.status();
}

// From now on the position is in position_ and the cursor has to be opened again.
void IndexScan::KeepPosition() {
  if (must_refresh_ || !cursor_.is_open()) return;
  if (cursor_.Valid()) {
    position_.Assign(cursor_.PositionNow());
    is_gap_ = false;
  } else if (edge_ != Edge::kNone) {
    position_.Assign(edge_ == Edge::kUpper ? upper_.view() : lower_.view());
    is_gap_ = true;
  } else {
    return;
  }
  must_refresh_ = true;
}

void IndexScan::Detach() {
  range_.End();
  if (!is_open() || !cursor_.is_open()) return;
  KeepPosition();
  cursor_.Close();
}

void IndexScan::Widen() {
  const IndexBounds bounds(reader_->table().indexes()[options_.index].id());
  KeepPosition();
  range_.End();
  lower_.Assign(bounds.lower());
  upper_.Assign(bounds.upper());
}

void IndexScan::WidenDownwards() {
  const IndexBounds bounds(reader_->table().indexes()[options_.index].id());
  if (lower_.view() != bounds.lower()) Widen();
}

}  // namespace cairn::scan
