// SPDX-License-Identifier: GPL-2.0-only
// Savepoints of a transaction, of which a statement's border is one.
#include <cassert>

#include "store/store.h"
#include "txn/transaction.h"
#include "txn/transaction_manager.h"

namespace cairn::txn {

// Savepoints that were set since the last change are the newest of all, so they are found at the end.
void Transaction::BeforeChange() {
  assert(is_active() && !prepared_);
  const bool has_new_savepoints = !savepoints_.empty() && !savepoints_.back().set;
  if (writes_open_ && !has_new_savepoints) return;
  BatchLatch::Hold hold(latch_);
  if (!writes_open_) OpenWrites();
  if (!has_new_savepoints) return;
  size_t first = savepoints_.size();
  while (first > 0 && !savepoints_[first - 1].set) --first;
  const bool at_start = !writes_->HasWrites();
  for (size_t i = first; i < savepoints_.size(); ++i) {
    Savepoint& savepoint = savepoints_[i];
    savepoint.set = true;
    savepoint.at_start = at_start;
    savepoint.tables = tables_;
    savepoint.marker = writes_->savepoint_count();
    if (!at_start) writes_->SetSavepoint();
  }
}

// The marker in the batch is nothing that others look at, so the latch is not needed for it.
void Transaction::BeginRow() {
  BeforeChange();
  writes_->SetSavepoint();
}

Status Transaction::EndRow(Status status) {
  if (status.ok()) return writes_->PopSavepoint();
  Status undone = UndoWrites();
  return undone.ok() ? std::move(status) : std::move(undone);
}

SavepointId Transaction::SetSavepoint() {
  Savepoint& savepoint = savepoints_.emplace_back();
  savepoint.id = ++last_savepoint_;
  return savepoint.id;
}

// savepoints_.size() when there is none. Who is looked for is mostly among the newest.
size_t Transaction::FindSavepoint(SavepointId id) const {
  for (size_t at = savepoints_.size(); at-- > 0;) {
    if (savepoints_[at].id == id) return at;
  }
  return savepoints_.size();
}

// Undoes what came after a savepoint, which remains; newer ones go. Only one of them costs a
// rollback in the batch: the markers of the newer ones are taken off first.
Status Transaction::UndoTo(size_t at) {
  Status status;
  const bool empties = savepoints_[at].set && savepoints_[at].at_start;
  if (empties && writes_open_) status = EmptyWrites();
  if (Status forgotten = ForgetFrom(at + 1); status.ok()) status = std::move(forgotten);
  Savepoint& savepoint = savepoints_[at];
  if (savepoint.set) {
    // A marker that was left, of a savepoint forgotten since, is not the one to go back to.
    if (!empties && status.ok()) status = DropMarkersFrom(savepoint.marker + 1);
    if (!empties && status.ok()) status = UndoWrites();
    tables_ = std::move(savepoint.tables);
  }
  savepoint.set = savepoint.at_start = false;
  savepoint.tables.clear();
  return status;
}

// Removes a savepoint and the newer ones, and keeps the changes.
Status Transaction::ForgetFrom(size_t at) {
  bool had_marker = false;
  while (savepoints_.size() > at) {
    const Savepoint& newest = savepoints_.back();
    had_marker |= newest.has_marker();
    if (newest.id == statement_) statement_ = 0;
    savepoints_.pop_back();
  }
  return had_marker ? DropMarkers() : Status::Ok();
}

// Takes the markers off the batch that no savepoint needs. One that lies below a savepoint's can only be taken off once that has gone:
// until then it stays, which is little beside the change that it was set for, and costs nobody a look.
Status Transaction::DropMarkers() {
  // Those that wait for a change are the newest, and those that were set before the first change the oldest.
  size_t count = savepoints_.size();
  while (count > 0 && !savepoints_[count - 1].set) --count;
  return DropMarkersFrom(count > 0 && savepoints_[count - 1].has_marker() ? savepoints_[count - 1].marker + 1 : 0);
}

// All but the oldest `kept`.
Status Transaction::DropMarkersFrom(size_t kept) {
  Status status;
  while (writes_open_ && status.ok() && writes_->savepoint_count() > kept) status = writes_->PopSavepoint();
  return status;
}

Status Transaction::RollbackToSavepoint(SavepointId savepoint) {
  const size_t at = FindSavepoint(savepoint);
  if (at == savepoints_.size()) return Status::NotFound();
  return UndoTo(at);
}

Status Transaction::ReleaseSavepoint(SavepointId savepoint) {
  const size_t at = FindSavepoint(savepoint);
  if (at == savepoints_.size()) return Status::NotFound();
  return ForgetFrom(at);
}

Status Transaction::ForgetSavepoint(SavepointId savepoint) {
  const size_t at = FindSavepoint(savepoint);
  if (at == savepoints_.size()) return Status::NotFound();
  const bool had_marker = savepoints_[at].has_marker();
  savepoints_.erase(savepoints_.begin() + static_cast<ptrdiff_t>(at));
  return had_marker ? DropMarkers() : Status::Ok();
}

void Transaction::StartStatement() {
  if (statement_ != 0) return;
  ClearInterrupt();
  statement_ = SetSavepoint();
}

void Transaction::EndStatement() {
  if (statement_ == 0) return;
  // Taking a marker off an existing savepoint cannot fail.
  const Status status = ReleaseSavepoint(statement_);
  assert(status.ok());
  (void)status;
  statement_ = 0;
  listed_bytes_.store(write_bytes(), std::memory_order_relaxed);
  if (isolation() == Isolation::kReadCommitted) DropReadView();
}

Status Transaction::RollbackStatement() {
  if (statement_ == 0) return Status::Ok();
  const size_t at = FindSavepoint(statement_);
  Status status = UndoTo(at);
  EndStatement();
  return status;
}

}  // namespace cairn::txn
