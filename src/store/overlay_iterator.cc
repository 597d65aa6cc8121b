// SPDX-License-Identifier: GPL-2.0-only
// The merge of own changes and committed values, in both directions.
#include "store/overlay_iterator.h"

#include <algorithm>

#include "store/visible_iterator.h"

namespace cairn::store {

void OverlayIterator::Open(VisibleIterator* base, const ChangeIndex* changes, ByteView lower, ByteView upper,
                           bool shows_removed) {
  base_ = base;
  changes_ = changes;
  lower_ = lower;
  upper_ = upper;
  shows_removed_ = shows_removed;
  valid_ = base_valid_ = base_failed_ = false;
}

void OverlayIterator::Close() {
  valid_ = false;
  changes_ = nullptr;
  turning_key_.ShrinkAbove(4096);
}

Status OverlayIterator::status() const { return base_->status(); }

void OverlayIterator::LoadBase() {
  base_valid_ = base_->Valid();
  base_failed_ = !base_valid_ && !base_->status().ok();
  if (base_valid_) base_key_ = base_->key();
}

// One that is out of the bounds is none.
inline void OverlayIterator::LoadOwn(const ChangeIndex::Node* own) {
  own_ = own;
  own_version_ = changes_->version();
  if (own == nullptr) return;
  own_key_ = changes_->KeyOf(own);
  if ((!upper_.empty() && own_key_ >= upper_) || own_key_ < lower_) own_ = nullptr;
}

void OverlayIterator::Seek(ByteView key) {
  const ByteView from = std::max(key, lower_);
  base_->Seek(from);
  LoadBase();
  LoadOwn(changes_->FirstFrom(from));
  Settle<true>();
}

void OverlayIterator::SeekToFirst() {
  base_->SeekToFirst();
  LoadBase();
  LoadOwn(changes_->FirstFrom(lower_));
  Settle<true>();
}

void OverlayIterator::SeekForPrev(ByteView key) {
  if (!upper_.empty() && key >= upper_) return SeekToLast();
  base_->SeekForPrev(key);
  LoadBase();
  LoadOwn(changes_->LastUpTo(key));
  Settle<false>();
}

void OverlayIterator::SeekToLast() {
  base_->SeekToLast();
  LoadBase();
  LoadOwn(upper_.empty() ? changes_->Last() : changes_->LastBefore(upper_));
  Settle<false>();
}

template <bool kForward>
inline void OverlayIterator::MoveBase() {
  kForward ? base_->Next() : base_->Prev();
  LoadBase();
}

// Puts both sides behind the current key in the other direction than before.
template <bool kForward>
void OverlayIterator::Turn() {
  turning_key_.Assign(at_own_ ? changes_->KeyOf(own_) : base_key_);
  const ByteView key = turning_key_.view();
  kForward ? base_->Seek(key) : base_->SeekForPrev(key);
  LoadBase();
  if (base_valid_ && base_key_ == key) MoveBase<kForward>();
  LoadOwn(kForward ? changes_->FirstAfter(key) : changes_->LastBefore(key));
}

template <bool kForward>
void OverlayIterator::Step() {
  if (__builtin_expect(forward_ != kForward, false)) {
    Turn<kForward>();
    return Settle<kForward>();
  }
  if (at_own_) {
    LoadOwn(kForward ? changes_->Next(own_) : changes_->Previous(own_));
  } else if (own_version_ != changes_->version()) {
    LoadOwn(kForward ? changes_->FirstAfter(base_key_) : changes_->LastBefore(base_key_));
  }
  if (at_base_) MoveBase<kForward>();
  Settle<kForward>();
}

// Takes the nearer side; a removal takes the other side's entry of its key away with it, unless that is to be shown.
template <bool kForward>
void OverlayIterator::Settle() {
  forward_ = kForward;
  while (!base_failed_) {
    int order = -1;  // negative: the own change comes first
    if (own_ == nullptr) {
      if (!base_valid_) break;
      order = 1;
    } else if (base_valid_) {
      order = own_key_.compare(base_key_);
      if (!kForward) order = -order;
    }
    at_own_ = order <= 0;
    at_base_ = order >= 0;
    if (at_own_ && at_base_ && shows_removed_ && !changes_->IsPut(own_)) at_own_ = false;
    if (!at_own_ || changes_->IsPut(own_)) {
      valid_ = true;
      value_ = at_own_ ? changes_->ValueOf(own_) : base_->value();
      return;
    }
    if (!base_->PassHidden()) break;
    LoadOwn(kForward ? changes_->Next(own_) : changes_->Previous(own_));
    if (at_base_) MoveBase<kForward>();
  }
  valid_ = false;
}

void OverlayIterator::Next() { Step<true>(); }
void OverlayIterator::Prev() { Step<false>(); }

}  // namespace cairn::store
