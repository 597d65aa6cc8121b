// SPDX-License-Identifier: GPL-2.0-only
// Point reads: lock first, then the newest version; or the version of the read view.
#include "scan/row_reader.h"

#include <utility>

namespace cairn::scan {

void RowReader::Bind(const store::Store* store, txn::Transaction* transaction, const catalog::TableAccess* table,
                     const ReadMode& mode) {
  store_ = store;
  transaction_ = transaction;
  table_ = table;
  mode_ = mode;
  lock_ = txn::LockResult();
}

Status RowReader::LockRow(ByteView primary_key, uint64_t* ends_us) {
  lock_ = txn::LockResult();
  if (!mode_.locking) return Status::Ok();
  return transaction_->Lock(primary_key, mode_.lock.Together(ends_us), &lock_);
}

Status RowReader::TryLockRow(ByteView primary_key) {
  lock_ = txn::LockResult();
  txn::LockOptions options = mode_.lock;
  options.wait = txn::LockWait::kNoWait;
  return transaction_->Lock(primary_key, options, &lock_);
}

Status RowReader::WaitForRow(ByteView primary_key, uint64_t* ends_us) {
  txn::LockOptions options = mode_.lock.Together(ends_us);
  options.mode = txn::LockMode::kShared;
  txn::LockResult got;
  CAIRN_RETURN_IF_ERROR(transaction_->Lock(primary_key, options, &got));
  transaction_->Unlock(got.handle);
  return Status::Ok();
}

void RowReader::UnlockLast() {
  transaction_->GiveBack(lock_);
  lock_ = txn::LockResult();
}

Status RowReader::ByPrimaryKey(ByteView primary_key, StoredRow* row) {
  if (primary_key.data() != reinterpret_cast<const char*>(primary_key_.data())) primary_key_.Assign(primary_key);
  Status status = LockAndRead(row);
  if (status.Is(Status::Code::kNotFound) && LeavesAbsentUnlocked()) UnlockLast();
  return status;
}

// The row of primary_key_, which stays locked also if there is none.
Status RowReader::LockAndRead(StoredRow* row) {
  CAIRN_RETURN_IF_ERROR(LockRow(primary_key_.view()));
  CAIRN_RETURN_IF_ERROR(transaction_->GetBy(&points_, primary_key_.view(), view(), lock_.newly_acquired, &row_));
  *row = {primary_key_.view(), row_.view()};
  return Status::Ok();
}

Status RowReader::ReadLocked(ByteView primary_key, StoredRow* row) {
  primary_key_.Assign(primary_key);
  CAIRN_RETURN_IF_ERROR(
      transaction_->GetBy(&points_, primary_key_.view(), view(), lock_.newly_acquired, &row_));
  *row = {primary_key_.view(), row_.view()};
  return Status::Ok();
}

// Entries are changed without their own lock, so own changes are looked at, but of an entry that only one row can have, just locked.
Status RowReader::ReadEntry(ByteView key, txn::View view, bool is_of_newly_locked) {
  return transaction_->GetBy(&entry_points_, key, view, is_of_newly_locked, &entry_);
}

// In an index that is not unique the entry's key has the row's in it.
Status RowReader::ReadEntryOfLocked(size_t index, ByteView key, ByteView* value) {
  CAIRN_RETURN_IF_ERROR(ReadEntry(key, view(), lock_.newly_acquired && !table_->indexes()[index].unique()));
  *value = entry_.view();
  return Status::Ok();
}

// Finds the entry. One that is absent is locked, as who inserts it locks it first, and looked for again.
Status RowReader::FindEntry(ByteView key) {
  Status status = ReadEntry(key, view());
  if (!status.Is(Status::Code::kNotFound) || !mode_.ranges) return status;
  CAIRN_RETURN_IF_ERROR(LockRow(key));
  return ReadEntry(key, view());
}

Status RowReader::ByUniqueKey(size_t index, ByteView key, StoredRow* row) {
  const codec::IndexCodec& codec = table_->indexes()[index];
  Status status = FindEntry(key);
  // What the transaction has removed may be another row's entry than the one of the view; which it is, is looked at below.
  if (status.Is(Status::Code::kNotFound) && view() == txn::View::kConsistent && transaction_->HasChanged(key)) {
    status = transaction_->GetBy(&entry_points_, key, view(), /*is_newly_locked=*/true, &entry_);
  }
  CAIRN_RETURN_IF_ERROR(std::move(status));
  primary_key_.Clear();
  CAIRN_RETURN_IF_ERROR(codec.PrimaryKeyOf(key, entry_.view(), &primary_key_));
  if (!mode_.locking && ChangedByTransaction()) {
    bool current;
    CAIRN_RETURN_IF_ERROR(EntryIsCurrent(index, key, primary_key_.view(), &current));
    if (!current) return Status::NotFound();
  }
  // Until the row is locked its key may move to another row, or away; its old row may be gone then.
  for (;;) {
    Status found = LockAndRead(row);
    if (!found.ok() && !found.Is(Status::Code::kNotFound)) return found;
    if (found.ok() && !mode_.locking) return found;
    // The row's lock is not given back before, absent or not: it could come again with its entry, which would seem to have none.
    Status entry = ReadEntry(key, view());
    const bool is_same_moment = entry.ok();
    if (entry.Is(Status::Code::kNotFound)) {
      // A row that has left the key is not the reader's any more.
      if (LeavesAbsentUnlocked()) UnlockLast();
      entry = FindEntry(key);
    }
    CAIRN_RETURN_IF_ERROR(std::move(entry));
    primary_key_now_.Clear();
    CAIRN_RETURN_IF_ERROR(codec.PrimaryKeyOf(key, entry_.view(), &primary_key_now_));
    if (is_same_moment && primary_key_now_.view() == primary_key_.view()) {
      if (found.ok()) return found;
      return Status::Corruption("an entry of index " + table_->def().indexes[index].name + " of table " +
                                table_->def().name + " has no row");
    }
    UnlockLast();
    primary_key_.Assign(primary_key_now_.view());
  }
}

Status RowReader::EntryByUniqueKey(ByteView key, ByteView* value) {
  CAIRN_RETURN_IF_ERROR(ReadEntry(key, view()));
  *value = entry_.view();
  return Status::Ok();
}

Status RowReader::EntryIsCurrent(size_t index, ByteView key, ByteView primary_key, bool* current) {
  *current = true;
  if (!transaction_->HasChanged(primary_key)) return Status::Ok();
  Status status = ReadEntry(key, txn::View::kNewest);
  if (status.Is(Status::Code::kNotFound)) {
    *current = false;
    return Status::Ok();
  }
  CAIRN_RETURN_IF_ERROR(std::move(status));
  primary_key_now_.Clear();
  CAIRN_RETURN_IF_ERROR(table_->indexes()[index].PrimaryKeyOf(key, entry_.view(), &primary_key_now_));
  *current = primary_key_now_.view() == primary_key;
  return Status::Ok();
}

void RowReader::Reset() {
  row_.Reset();
  entry_.Reset();
  points_.Close();
  entry_points_.Close();
}

}  // namespace cairn::scan
