// SPDX-License-Identifier: GPL-2.0-only
// Snapshots and pinned values.
#include "store/types.h"

#include <rocksdb/snapshot.h>

#include "store/rocks_status.h"
#include "store/store_impl.h"

namespace cairn::store {

void Snapshot::Release() {
  if (rocks_ == nullptr) return;
  store_->impl_->root->ReleaseSnapshot(rocks_);
  rocks_ = nullptr;
  store_ = nullptr;
}

uint64_t Snapshot::sequence() const { return rocks_->GetSequenceNumber(); }

PinnedValue::PinnedValue() = default;
PinnedValue::PinnedValue(PinnedValue&&) noexcept = default;
PinnedValue& PinnedValue::operator=(PinnedValue&&) noexcept = default;
PinnedValue::~PinnedValue() = default;

void PinnedValue::Reset() {
  view_ = ByteView();
  if (slice_ != nullptr) slice_->Reset();
}

rocks::PinnableSlice* PinnedValue::Prepare() {
  if (slice_ == nullptr) slice_ = std::make_unique<rocks::PinnableSlice>();
  Reset();
  return slice_.get();
}

void PinnedValue::Publish() { view_ = ToView(*slice_); }

}  // namespace cairn::store
