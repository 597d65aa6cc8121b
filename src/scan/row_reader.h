// SPDX-License-Identifier: GPL-2.0-only
// Reads single rows by primary or unique key, locking them if asked to.
#pragma once

#include <cstdint>

#include "base/bytes.h"
#include "base/status.h"
#include "catalog/table_access.h"
#include "scan/read_mode.h"
#include "store/point_reader.h"
#include "store/store.h"
#include "txn/transaction.h"

namespace cairn::scan {

// A row as stored: its primary key and its value. The views are valid until the next read by the
// same reader, its Reset(), or the next write of the transaction.
struct StoredRow {
  ByteView primary_key;
  ByteView value;
};

// Thread rule: one thread at a time.
class RowReader {
 public:
  // All must outlive its use.
  void Bind(const store::Store* store, txn::Transaction* transaction, const catalog::TableAccess* table,
            const ReadMode& mode);

  // The row of a primary key; kNotFound when there is none (when locking, its key stays locked, but
  // not at READ COMMITTED), kLockBusy when skipping locked rows met one.
  Status ByPrimaryKey(ByteView primary_key, StoredRow* row);

  // The row of a whole key of a unique index that has no NULL part. With ReadMode::ranges the key of
  // an absent entry stays locked.
  Status ByUniqueKey(size_t index, ByteView key, StoredRow* row);

  // The entry of such a key, for who wants nothing else of its row. Only of consistent reads, while the transaction has not changed the table
  // (ChangedByTransaction). The view is valid as a StoredRow's.
  Status EntryByUniqueKey(ByteView key, ByteView* value);

  // The next look, or walk between its bounds in one direction, is the only one through its view (ReadMode::only_look), and so are all until
  // Bind().
  void SetOnlyLook() { mode_.only_look = true; }

  // Gives back the lock of the last call, if it was taken or made exclusive by that, for rows that a READ COMMITTED statement finds not to
  // match, or a walk not to be next: Transaction::GiveBack.
  void UnlockLast();

  // Whether the last call waited for a lock, so that others have committed in between.
  bool waited() const { return lock_.waited; }

  txn::Transaction& transaction() const { return *transaction_; }
  const catalog::TableAccess& table() const { return *table_; }
  const ReadMode& mode() const { return mode_; }
  txn::View view() const { return mode_.locking || mode_.only_look ? txn::View::kNewest : txn::View::kConsistent; }

  // Locks a primary key as the mode says. Does nothing for consistent reads. `ends_us`: txn::LockOptions::Together.
  Status LockRow(ByteView primary_key, uint64_t* ends_us = nullptr);

  // The same, but does not wait: kLockBusy.
  Status TryLockRow(ByteView primary_key);

  // Waits until nobody else has the row locked exclusively, if it may wait. `ends_us`: as above.
  Status WaitForRow(ByteView primary_key, uint64_t* ends_us);

  // The newest version of a row whose primary key the last call has locked, or the last committed one if it could not;
  // kNotFound when it has gone.
  Status ReadLocked(ByteView primary_key, StoredRow* row);

  // The newest version of an entry that has led to the row which the last call has locked, or could not lock; kNotFound when it has
  // gone. The view is valid as a StoredRow's.
  Status ReadEntryOfLocked(size_t index, ByteView key, ByteView* value);

  // The sequence number of the newest commit of anybody.
  uint64_t store_sequence() const { return store_->LatestSequence(); }

  // Whether the transaction has changed rows of the table: then EntryIsCurrent() must be asked.
  bool ChangedByTransaction() const { return transaction_->HasWritten(table_->primary().id()); }

  // Whether an entry that a consistent read found is its row's. The read view's entry of a row is not
  // when this transaction has changed the row since, starting from a newer version than the
  // view's: then it counts if it is there also in what is newest. Of a unique index that tells also whether what the transaction
  // has removed is this entry: it may be that of another row, which had got the key from this one after the view was taken.
  Status EntryIsCurrent(size_t index, ByteView key, ByteView primary_key, bool* current);

  // Gives back pinned memory; at the end of a statement.
  void Reset();

 private:
  Status LockAndRead(StoredRow* row);
  Status ReadEntry(ByteView key, txn::View view, bool is_of_newly_locked = false);
  Status FindEntry(ByteView key);
  bool LeavesAbsentUnlocked() const { return transaction_->isolation() == txn::Isolation::kReadCommitted; }

  const store::Store* store_ = nullptr;
  txn::Transaction* transaction_ = nullptr;
  const catalog::TableAccess* table_ = nullptr;
  ReadMode mode_;
  txn::LockResult lock_;
  ByteBuffer primary_key_;
  ByteBuffer primary_key_now_;  // of the entry looked at last, to compare; nobody gets a view of it
  store::PointReader points_;
  store::PointReader entry_points_;
  store::PinnedValue row_;
  store::PinnedValue entry_;
};

}  // namespace cairn::scan
