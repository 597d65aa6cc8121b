// SPDX-License-Identifier: GPL-2.0-only
// The range lock of one scan: grows with it, and tells when its cursor is no longer to be trusted.
#include "txn/range_walk.h"

#include "txn/transaction.h"
#include "txn/transaction_manager.h"

namespace cairn::txn {

Status RangeWalk::Begin(Transaction* transaction, IndexId index, ByteView lower, ByteView upper, bool forward,
                        bool heeds_pending) {
  End();
  transaction_ = transaction;
  forward_ = forward;
  heeds_pending_ = heeds_pending;
  walk_.lower = lower;
  walk_.upper = upper;
  settled_ = look_from_ = walk_.locked_lower = walk_.locked_upper = forward ? lower : upper;
  looked_arrival_count_ = 0;
  has_pending_ = false;
  return transaction->BeginRange(index, &walk_);
}

void RangeWalk::End() {
  if (is_active()) transaction_->EndRange(&walk_);
}

// The arrivals are counted first: what comes after that is found by the next Extend().
Status RangeWalk::Look() {
  looked_arrival_count_ = transaction_->ranges().ArrivalCount(walk_);
  frozen_ = forward_ ? walk_.locked_upper : walk_.locked_lower;
  has_pending_ = false;
  if (!heeds_pending_) return Status::Ok();
  const ByteView lower = forward_ ? ByteView(look_from_) : ByteView(walk_.lower);
  const ByteView upper = forward_ ? ByteView(walk_.upper) : ByteView(look_from_);
  if (lower >= upper) return Status::Ok();
  return transaction_->FindPending(walk_.holding->index, lower, upper, forward_, &has_pending_, &pending_);
}

bool RangeWalk::IsPendingBefore(ByteView end) const {
  return has_pending_ && (forward_ ? pending_.key < end : pending_.key >= end);
}

bool RangeWalk::GrowTo(ByteView end) {
  const uint64_t arrival_count = transaction_->ranges().ExtendTo(&walk_, forward_ ? walk_.locked_lower : end,
                                                                 forward_ ? end : walk_.locked_upper);
  // Without this an unending stream of arrivals far ahead could keep the walk from moving.
  const bool is_frozen = forward_ ? end <= frozen_ : end >= frozen_;
  if (arrival_count != looked_arrival_count_ && !is_frozen) {
    look_from_ = settled_;
    return false;
  }
  if (IsPendingBefore(end)) {
    look_from_ = settled_;
    if (pending_.is_removal) {
      // Others have nothing before it, so the look goes on from here.
      look_from_ = pending_.key;
      if (forward_) look_from_.push_back('\0');
    }
    return false;
  }
  settled_ = look_from_ = end;
  return true;
}

bool RangeWalk::Extend(ByteView key) {
  end_ = key;
  if (forward_) end_.push_back('\0');
  return GrowTo(end_);
}

bool RangeWalk::ExtendToEnd() {
  end_ = forward_ ? walk_.upper : walk_.lower;
  return GrowTo(end_);
}

const PendingEntry* RangeWalk::blocker() const {
  return IsPendingBefore(end_) && !pending_.is_removal ? &pending_ : nullptr;
}

}  // namespace cairn::txn
