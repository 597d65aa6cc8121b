// SPDX-License-Identifier: GPL-2.0-only
// Walks one index within bounds, in both directions, and gives rows.
#pragma once

#include <cstdint>
#include <utility>

#include "base/bytes.h"
#include "base/status.h"
#include "catalog/table_access.h"
#include "scan/read_mode.h"
#include "scan/row_reader.h"
#include "store/cursor.h"
#include "txn/transaction.h"

namespace cairn::scan {

// Looks at index entries before their rows are locked or fetched.
class EntryFilter {
 public:
  enum class Verdict : uint8_t { kTake, kSkip, kEnd, kInterrupted, kFailed };
  EntryFilter() = default;
  EntryFilter(EntryFilter&&) = default;
  EntryFilter& operator=(EntryFilter&&) = default;
  virtual ~EntryFilter() = default;
  virtual Verdict Check(ByteView key, ByteView value) = 0;
  // Why the last Check() said kFailed.
  Status TakeFailure() { return std::move(failure_); }

 protected:
  Status failure_;
};

// What a scan found: an entry, and its row unless the scan is covering. The views are valid until
// the scan moves, the transaction writes, or the scan is closed.
struct FoundRow {
  ByteView key;    // the entry; for the primary index the row's primary key
  ByteView value;  // the entry's; for the primary index the row's
  StoredRow row;   // not set by a covering scan
};

// One scan of one index, reused for many.
//
// Consistent scans see the read view and the transaction's own changes. Locking scans walk what is
// committed now, lock each row they give and read its newest version; an entry whose row has
// gone or moved meanwhile is passed over, or leads to the row that has got it, and after a wait the walk goes on over what is
// committed then, as the server's users know it from locking engines. With ReadMode::ranges they also
// lock what they have walked over, entry by entry, against insertions, and first wait for those that
// have inserted there and not committed. While they wait for an entry's row, they have not come to the entry: whoever has locked the row may put
// it again, or another one before it, which is met.
//
// A semi-consistent one of the primary key does not wait at a row that others have locked, but gives its last committed version without
// a lock: only if that is wanted, the next move gives the same row again, as it is once it could be locked; when it has gone, the one behind
// it, which is looked at as any other. Others wait: who walks over a secondary index may not be able to ask for a row again, as one of several whose rows are
// intersected.
//
// Rows a statement itself writes in front of the scan may or may not be given: the server takes
// care (it collects row positions first when it must).
//
// Thread rule: one thread at a time. Must be closed before the transaction ends or rolls back.
class IndexScan {
 public:
  struct Options {
    size_t index = 0;       // in TableDef::indexes
    bool covering = false;  // entries are enough; honoured only by consistent scans
    EntryFilter* filter = nullptr;
    // Of locking scans: whether ReadMode::ranges says what it does.
    enum class Ranges : uint8_t { kByMode, kAlways, kNever } ranges = Ranges::kByMode;
  };

  // Begins to use an index. `reader` says transaction, table and mode; it must outlive the scan.
  void Open(RowReader* reader, const Options& options);
  void Close();
  bool is_open() const { return reader_ != nullptr; }
  void SetFilter(EntryFilter* filter) {
    options_.filter = filter;
    SetPlain();
  }

  // For locking scans whose rows need not stay as they are when they are passed over, and that may be asked for one again; stays so
  // until it is said otherwise.
  void SetSemiConsistent(bool semi_consistent) { semi_consistent_ = semi_consistent; }
  // Whether the row given last is not locked, and not one that PassUnlocked() says is not wanted.
  bool gave_unlocked() const { return gave_unlocked_; }
  void PassUnlocked() { gave_unlocked_ = false; }

  // Positions the walk between `lower` (inclusive) and `upper` (exclusive), both whole keys with
  // the index id, and gives the first row found from the lower end, or the last one from the
  // upper end. kNotFound: none. kInterrupted: the filter said so; it may end the walk with an error of its own, too.
  Status First(ByteView lower, ByteView upper, FoundRow* row);
  Status Last(ByteView lower, ByteView upper, FoundRow* row);

  // The neighbour of the row given last. kNotFound: the walk has ended at a bound, where it stands from then on: from there it can turn
  // round, or go on in bounds that were widened. So it is after First() or Last() have found nothing.
  Status Next(FoundRow* row) {
    if (!is_plain_ || must_refresh_ || !cursor_.Valid()) return Move(true, row);
    cursor_.Next();
    if (!cursor_.Valid()) return EndOrError(true);
    if (!is_primary() && reader_->ChangedByTransaction()) return Settle(true, row);
    *row = {.key = cursor_.key(), .value = cursor_.value(), .row = {}};
    if (is_primary()) row->row = {row->key, row->value};
    return Status::Ok();
  }
  Status Previous(FoundRow* row) { return Move(false, row); }

  // Lets go of the cursor but keeps the position: the next move opens a new cursor over what is
  // visible then. Does nothing when the scan is closed.
  void Detach();

  // Widens the bounds to the whole index, or its lower one to the index's begin, keeping the
  // position; for callers that walk on beyond what they asked for at first. The downward form
  // costs nothing when the bound is there already.
  void Widen();
  void WidenDownwards();

 private:
  Status OpenCursor();
  Status OpenBetweenBounds(bool forward);
  Status BeginRange(bool forward, ByteView lower, ByteView upper);
  Status Reach(bool* take);
  Status Extend(bool* complete);
  Status LookAgain();
  Status StandAtSettled();
  Status StandOn(ByteView key, bool* stands);
  Status LeadsToLocked(ByteView key, ByteView value, bool* leads);
  Status Move(bool forward, FoundRow* row);
  Status Settle(bool forward, FoundRow* row);
  Status Fetch(FoundRow* row, bool* take);
  Status LockEntry(bool* take);
  Status AwaitRow(bool* take);
  Status FetchLocked(FoundRow* row, bool* take);
  Status Confirm(ByteView key, FoundRow* row, bool* take);
  Status CheckAgain(ByteView key, ByteView value, bool* take);
  Status Refresh(bool forward, bool again = false);
  Status EndOrError(bool forward);
  void KeepPosition();
  bool LocksRanges() const {
    return options_.ranges == Options::Ranges::kByMode ? reader_->mode().ranges : options_.ranges == Options::Ranges::kAlways;
  }
  bool is_primary() const { return options_.index == 0; }
  void SetPlain() {
    is_plain_ = !reader_->mode().locking && options_.filter == nullptr && (is_primary() || options_.covering);
  }

  RowReader* reader_ = nullptr;
  Options options_;
  bool is_plain_ = false;  // entries are given as they come
  store::Cursor cursor_;
  ByteBuffer lower_;
  ByteBuffer upper_;
  // Where the walk stands when its cursor has to be opened again: at this key, given last, or, in a gap, right before where it would be.
  ByteBuffer position_;
  bool is_gap_ = false;
  enum class Edge : uint8_t { kNone, kLower, kUpper } edge_ = Edge::kNone;  // the bound that an invalid cursor has run into
  ByteBuffer primary_key_;
  ByteBuffer led_to_;  // of an entry looked at again: the primary key that it leads to now
  uint64_t opened_sequence_ = 0;
  bool must_refresh_ = false;
  bool semi_consistent_ = false;
  bool gave_unlocked_ = false;  // the row at position_
  bool waits_ = false;          // for the lock of the row at position_, although it is semi-consistent: the row was seen without one
  txn::RangeWalk range_;  // active in walks that lock ranges
  uint64_t ends_us_ = 0;  // of its waits until it gets on: txn::LockOptions::Together
  bool again_ = false;    // what comes next is where the walk stands, not its neighbour
};

}  // namespace cairn::scan
