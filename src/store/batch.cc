// SPDX-License-Identifier: GPL-2.0-only
// A set of changes applied all or not at all.
#include "store/batch.h"

#include <cassert>
#include <utility>

#include <rocksdb/write_batch.h>

#include "store/entry_limits.h"
#include "store/rocks_status.h"
#include "store/store_impl.h"

namespace cairn::store {
namespace {

// Adding to a batch fails only for keys or values of 4 GiB, which nobody has or Put() does not take.
void MustAdd(const rocks::Status& status) {
  assert(status.ok());
  status.PermitUncheckedError();
}

}  // namespace

Batch::Batch(const Store& store)
    : store_(&store),
      rocks_(std::make_unique<rocks::WriteBatch>(/*reserved_bytes=*/0, /*max_bytes=*/0,
                                                 store.impl_->protection_bytes_per_key,
                                                 /*default_cf_ts_sz=*/0)) {}
Batch::Batch(Batch&&) noexcept = default;
Batch& Batch::operator=(Batch&&) noexcept = default;
Batch::~Batch() = default;

void Batch::Put(Family family, ByteView key, ByteView value) {
  if (Status fits = CheckEntry(key, value); !fits.ok()) {
    if (refused_.ok()) refused_ = std::move(fits);
    return;
  }
  MustAdd(rocks_->Put(store_->Handle(family), ToSlice(key), ToSlice(value)));
}

void Batch::Delete(Family family, ByteView key) {
  MustAdd(rocks_->Delete(store_->Handle(family), ToSlice(key)));
}

void Batch::SingleDelete(Family family, ByteView key) {
  MustAdd(rocks_->SingleDelete(store_->Handle(family), ToSlice(key)));
}

void Batch::MergeCounters(ByteView dictionary_key, const TableCounters& delta) {
  ByteBuffer operand;
  EncodeTableCounters(delta, &operand);
  MustAdd(rocks_->Merge(store_->Handle(Family::kDictionary), ToSlice(dictionary_key), ToSlice(operand.view())));
}

void Batch::DeleteRange(Family family, ByteView begin, ByteView end) {
  MustAdd(rocks_->DeleteRange(store_->Handle(family), ToSlice(begin), ToSlice(end)));
}

void Batch::Clear() {
  rocks_->Clear();
  refused_ = Status::Ok();
}
bool Batch::empty() const { return rocks_->Count() == 0; }
size_t Batch::change_count() const { return rocks_->Count(); }
size_t Batch::size_bytes() const { return rocks_->GetDataSize(); }

}  // namespace cairn::store
