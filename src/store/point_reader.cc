// SPDX-License-Identifier: GPL-2.0-only
// The first read is the store's own, the others are the finder's.
#include "store/point_reader.h"

#include "store/point_finder.h"
#include "store/rocks_status.h"
#include "store/store.h"
#include "store/store_impl.h"

namespace cairn::store {

PointReader::PointReader() = default;
PointReader::~PointReader() = default;

Status PointReader::Get(const Store& store, ByteView key, const Snapshot* snapshot, PinnedValue* value) {
  if (is_first_) {
    is_first_ = false;
    return store.Get(Family::kData, key, snapshot, value);
  }
  PrepareThread();
  if (finder_ == nullptr) finder_ = std::make_unique<PointFinder>();
  rocks::PinnableSlice* const slice = value->Prepare();
  switch (finder_->Get(static_cast<rocks::DBImpl*>(store.impl_->root), store.Handle(Family::kData), key,
                       snapshot == nullptr ? nullptr : snapshot->rocks_, slice, &value->view_)) {
    case PointFinder::Answer::kFound: return Status::Ok();
    case PointFinder::Answer::kAbsent: return Status::NotFound();
    case PointFinder::Answer::kAskStore: break;
  }
  return store.Get(Family::kData, key, snapshot, value);
}

void PointReader::Close() {
  is_first_ = true;
  if (finder_ != nullptr) finder_->Close();
}

}  // namespace cairn::store
