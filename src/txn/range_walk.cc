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
  heeds_pending_ = heeds_pending;
  walk_.forward = forward;
  walk_.lower = lower;
  walk_.upper = upper;
  settled_ = known_ = walk_.locked_lower = walk_.locked_upper = forward ? lower : upper;
  tries_ = 0;
  return transaction->BeginRange(index, &walk_);
}

void RangeWalk::End() {
  if (is_active()) transaction_->EndRange(&walk_);
}

// What arrives after the first line is known to the next Extend().
Status RangeWalk::Look(const LockOptions& options) {
  transaction_->ranges().ForgetArrivals(&walk_);
  known_ = is_forward() ? walk_.upper : walk_.lower;
  if (!heeds_pending_) return Status::Ok();
  const ByteView lower = is_forward() ? settled_ : walk_.lower;
  const ByteView upper = is_forward() ? walk_.upper : settled_;
  if (lower >= upper) return Status::Ok();
  bool found;
  CAIRN_RETURN_IF_ERROR(
      transaction_->FindPending(walk_.holding->index, lower, upper, is_forward(), options, &found, &pending_));
  if (!found) return Status::Ok();
  known_ = pending_.key;
  // Behind a removal, but before what was put.
  if (is_forward() == pending_.is_removal) known_.push_back('\0');
  return Status::Ok();
}

// The cursor shows nothing before `end_`. So the walk is settled as far as is known, also where that ends at a removal.
bool RangeWalk::Grow() {
  const bool must = ++tries_ > kTriesMax;
  // Locking first would be a deadlock with whoever is waited for, if he inserts more.
  if (blocker() != nullptr && !must) return false;
  const ByteView end = IsKnown() ? end_ : known_;
  if (!transaction_->ranges().ExtendTo(&walk_, end, must)) return false;
  settled_ = end;
  tries_ = 0;
  return IsKnown();
}

void RangeWalk::Aim(ByteView key) {
  end_ = key;
  if (is_forward()) end_.push_back('\0');
}

bool RangeWalk::Extend(ByteView key) {
  Aim(key);
  return Grow();
}

bool RangeWalk::IsBlocked(ByteView key) {
  Aim(key);
  return blocker() != nullptr;
}

bool RangeWalk::MayExtend(ByteView key) {
  Aim(key);
  return (IsKnown() && !transaction_->ranges().HasArrival(walk_, end_)) || Grow();
}

bool RangeWalk::ExtendToEnd() {
  end_ = is_forward() ? walk_.upper : walk_.lower;
  return Grow();
}

const PendingEntry* RangeWalk::blocker() const { return IsKnown() || pending_.is_removal ? nullptr : &pending_; }

}  // namespace cairn::txn
