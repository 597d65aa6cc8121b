// SPDX-License-Identifier: GPL-2.0-only
// Savepoints of a transaction, of which a statement's border is one.
#include <cassert>

#include "store/store.h"
#include "txn/transaction.h"
#include "txn/transaction_manager.h"

namespace cairn::txn {

namespace {

constexpr SavepointId kForgotten = 0;  // no savepoint's

}  // namespace

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
  Savepoint& savepoint = savepoints_[at];
  Status status;
  if (savepoint.set && savepoint.at_start) {
    if (writes_open_) status = EmptyWrites();
    tables_ = std::move(savepoint.tables);
    savepoints_.resize(at + 1);
  } else {
    status = ForgetFrom(at + 1);
    if (savepoint.set) {
      if (status.ok()) status = UndoWrites();
      tables_ = std::move(savepoint.tables);
    }
  }
  savepoint.set = savepoint.at_start = false;
  savepoint.tables.clear();
  if (FindSavepoint(statement_) == savepoints_.size()) statement_ = 0;
  return status;
}

// Removes a savepoint and the newer ones, and keeps the changes; with them those below it that are forgotten already.
Status Transaction::ForgetFrom(size_t at) {
  Status status;
  while (at > 0 && savepoints_[at - 1].id == kForgotten) --at;
  while (savepoints_.size() > at) {
    const Savepoint& newest = savepoints_.back();
    if (newest.set && !newest.at_start && status.ok()) status = writes_->PopSavepoint();
    savepoints_.pop_back();
  }
  if (FindSavepoint(statement_) == savepoints_.size()) statement_ = 0;
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

// What it has set in the batch can only be taken off there once all newer ones have gone.
Status Transaction::ForgetSavepoint(SavepointId savepoint) {
  const size_t at = FindSavepoint(savepoint);
  if (at == savepoints_.size()) return Status::NotFound();
  Savepoint& forgotten = savepoints_[at];
  if (!forgotten.set || forgotten.at_start) {
    savepoints_.erase(savepoints_.begin() + static_cast<ptrdiff_t>(at));
    return Status::Ok();
  }
  forgotten.id = kForgotten;
  forgotten.tables = {};
  return ForgetFrom(savepoints_.size());
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
  if (isolation() == Isolation::kReadCommitted) DropView();
}

Status Transaction::RollbackStatement() {
  if (statement_ == 0) return Status::Ok();
  const size_t at = FindSavepoint(statement_);
  Status status = UndoTo(at);
  EndStatement();
  return status;
}

}  // namespace cairn::txn
