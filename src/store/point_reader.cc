// SPDX-License-Identifier: GPL-2.0-only
// Reads are the finder's: the first holds nothing.
#include "store/point_reader.h"

#include "file/filename.h"

#include "store/point_finder.h"
#include "store/rocks_status.h"
#include "store/store.h"
#include "store/store_impl.h"

namespace cairn::store {

PointReader::PointReader(Expects expects) : expects_(expects) {}
PointReader::~PointReader() = default;

Status PointReader::Get(const Store& store, ByteView key, const Snapshot* snapshot, PinnedValue* value) {
  if (finder_ == nullptr) finder_ = std::make_unique<PointFinder>(/*asks_filters=*/expects_ == Expects::kAbsent);
  rocks::PinnableSlice* const slice = value->Prepare();
  const FamilySource source = store.impl_->SourceOf(Family::kData);
  const rocks::Snapshot* const seen = snapshot == nullptr ? nullptr : snapshot->rocks_;
  switch (std::exchange(is_first_, false) ? finder_->GetOnce(source, key, seen, slice, &value->view_)
                                          : finder_->Get(source, key, seen, slice, &value->view_)) {
    case PointFinder::Answer::kFound: return Status::Ok();
    case PointFinder::Answer::kAbsent: return Status::NotFound();
    case PointFinder::Answer::kAskStore: break;
    case PointFinder::Answer::kDamaged:
      return Status::Corruption(rocks::MakeTableFileName(finder_->damaged_file()) + ": a block is malformed");
  }
  return store.Get(Family::kData, key, snapshot, value);
}

void PointReader::Close() {
  is_first_ = true;
  if (finder_ != nullptr) finder_->Close();
}

}  // namespace cairn::store
