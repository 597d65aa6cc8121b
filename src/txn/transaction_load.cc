// SPDX-License-Identifier: GPL-2.0-only
// One connection's transaction: claims of whole indexes, and loads that come with its commit.
#include <algorithm>
#include <cassert>

#include "base/index_bounds.h"
#include "store/store.h"
#include "txn/number_key.h"
#include "txn/transaction.h"
#include "txn/transaction_manager.h"

namespace cairn::txn {

Status Transaction::WaitForClaim(IndexId index, const LockOptions& options) {
  uint64_t ends_us = 0;
  while (const uint64_t claimer_id = manager_.claims_.HolderOf(*this, index)) {
    CAIRN_RETURN_IF_ERROR(WaitForKey(NumberKey(claimer_id).claims(), options.Together(&ends_us)));
  }
  return Status::Ok();
}

bool Transaction::AreEmpty(std::span<const IndexId> indexes, Status* status) const {
  store::Cursor cursor;
  for (const IndexId index : indexes) {
    if (is_interrupted()) {
      *status = Status::Of(Status::Code::kInterrupted);
      return false;
    }
    const IndexBounds bounds(index);
    const store::CursorOptions options{
        .lower_bound = bounds.lower(), .upper_bound = bounds.upper(), .interrupted = &interrupt_flag()};
    *status = manager_.store_.OpenCursor(store::Family::kData, options, &cursor);
    if (!status->ok()) return false;
    cursor.SeekToFirst();
    *status = cursor.status();
    if (!status->ok() || cursor.Valid()) return false;
  }
  return true;
}

Status Transaction::ClaimIndexes(std::span<const IndexId> indexes, bool* claimed) {
  assert(is_active() && !has_claims_);
  *claimed = false;
  Status status;
  // Entries that were deleted may be many, and nobody waits for this look at them.
  if (!AreEmpty(indexes.subspan(1), &status)) return status;
  const NumberKey number(id());
  const LockOptions own{.mode = LockMode::kExclusive, .wait = LockWait::kNoWait, .is_row = false};
  LockResult key;
  // Before the claim is there to be found. Only those who met an earlier one may have it still.
  if (!manager_.locks_.Lock(*this, number.claims(), own, &key).ok()) return Status::Ok();
  if (manager_.claims_.Claim(*this, indexes)) {
    const bool is_alone = !manager_.locks_.OthersHold(*this, indexes) &&
                          std::ranges::none_of(indexes, [this](IndexId index) { return manager_.ranges_.OthersHold(*this, index); });
    // Without a row there are no entries of one.
    has_claims_ = *claimed = is_alone && AreEmpty(indexes.first(1), &status);
    if (!has_claims_) manager_.claims_.Release(*this);
  }
  if (*claimed) {
    claim_key_ = key.handle;
  } else {
    manager_.locks_.Unlock(*this, key.handle);
  }
  return status;
}

void Transaction::ReleaseClaims() {
  if (!std::exchange(has_claims_, false)) return;
  manager_.claims_.Release(*this);
  manager_.locks_.Unlock(*this, claim_key_);
}

// Of one that was found prepared.
Status Transaction::ClaimRecovered() {
  if (writes_->load() == nullptr) return Status::Ok();
  const std::vector<IndexId>& indexes = writes_->load()->record().indexes;
  bool claimed;
  CAIRN_RETURN_IF_ERROR(ClaimIndexes(indexes, &claimed));
  if (!claimed) return Status::Corruption("the prepared transaction " + name_ + " loads an index in which others are");
  for (const IndexId index : indexes) NoteWritten(index);
  return Status::Ok();
}

Status Transaction::AttachLoad(std::unique_ptr<store::PendingLoad> load) {
  assert(has_claims_);
  BeforeChange();
  BatchLatch::Hold hold(latch_);
  for (const IndexId index : load->record().indexes) NoteWritten(index);
  write_count_.store(write_count() + 1, std::memory_order_relaxed);
  return writes_->AttachLoad(std::move(load));
}

Status Transaction::TakeBack(const std::function<Status(ByteView key, ByteView value)>& visit, bool* taken) {
  *taken = writes_open_ && writes_->HasOnlyPuts() &&
           std::ranges::all_of(savepoints_, [](const Savepoint& savepoint) { return savepoint.set && savepoint.at_start; });
  if (!*taken) return Status::Ok();
  CAIRN_RETURN_IF_ERROR(writes_->ForEachPut(visit));
  return EmptyWrites();
}

}  // namespace cairn::txn
