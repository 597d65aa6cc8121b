// SPDX-License-Identifier: GPL-2.0-only
// Reading and writing a store.
#include "store/store.h"

#include "store/cursor_bounds.h"
#include "store/rocks_status.h"
#include "store/store_impl.h"
#include "store/visible_iterator.h"

namespace cairn::store {
namespace {

rocks::ReadOptions PointReadOptions(const rocks::Snapshot* snapshot) {
  rocks::ReadOptions read;
  read.snapshot = snapshot;
  return read;
}

}  // namespace

FamilySource Store::Impl::SourceOf(Family family) const {
  auto* const handle = static_cast<rocks::ColumnFamilyHandleImpl*>(handles[static_cast<size_t>(family)]);
  return {.db = static_cast<rocks::DBImpl*>(root), .family = handle->cfd(), .held = held_indexes.get()};
}

rocks::ColumnFamilyHandle* Store::Handle(Family family) const {
  return impl_->handles[static_cast<size_t>(family)];
}

const std::string& Store::directory() const { return impl_->directory; }

Status Store::Get(Family family, ByteView key, const Snapshot* snapshot, PinnedValue* value) const {
  rocks::PinnableSlice* slice = value->Prepare();
  const rocks::Status status =
      impl_->root->Get(PointReadOptions(snapshot == nullptr ? nullptr : snapshot->rocks_), Handle(family),
                       ToSlice(key), slice);
  if (status.ok()) value->Publish();
  return FromRocks(status);
}

void Store::MultiGet(Family family, std::span<const ByteView> keys, const Snapshot* snapshot, bool sorted,
                     std::span<PinnedValue> values, std::span<Status> statuses) const {
  // RocksDB works through a few dozen keys at a time; arrays of that size live on the stack.
  constexpr size_t kChunk = 32;
  const auto read = PointReadOptions(snapshot == nullptr ? nullptr : snapshot->rocks_);
  for (size_t begin = 0; begin < keys.size(); begin += kChunk) {
    const size_t count = std::min(kChunk, keys.size() - begin);
    rocks::Slice slices[kChunk];
    rocks::PinnableSlice found[kChunk];
    rocks::Status results[kChunk];
    for (size_t i = 0; i < count; ++i) slices[i] = ToSlice(keys[begin + i]);
    impl_->root->MultiGet(read, Handle(family), count, slices, found, results, sorted);
    for (size_t i = 0; i < count; ++i) {
      PinnedValue& value = values[begin + i];
      *value.Prepare() = std::move(found[i]);
      if (results[i].ok()) value.Publish();
      statuses[begin + i] = FromRocks(results[i]);
    }
  }
}

Status Store::OpenCursor(Family family, const CursorOptions& options, Cursor* cursor) const {
  const rocks::ReadOptions read = cursor->PrepareBounds()->MakeReadOptions(options);
  if (family == Family::kData) {
    if (cursor->visible_ == nullptr) cursor->visible_ = std::make_unique<VisibleIterator>(&impl_->walked);
    cursor->visible_->Open(impl_->SourceOf(family), read, options.interrupted, options.hidden_max);
  } else {
    if (cursor->visible_ != nullptr) cursor->visible_->Close();
    cursor->iterator_.reset(impl_->root->NewIterator(read, Handle(family)));
    cursor->source_ = Cursor::Source::kRocks;
  }
  cursor->open_ = true;
  return cursor->status();
}

Snapshot Store::TakeSnapshot() {
  Snapshot snapshot;
  snapshot.store_ = this;
  snapshot.rocks_ = impl_->root->GetSnapshot();
  return snapshot;
}

uint64_t Store::LatestSequence() const { return impl_->root->GetLatestSequenceNumber(); }

Status Store::Write(const Batch& batch, Durability durability, Urgency urgency) {
  if (!batch.refused_.ok()) return Status(batch.refused_.code(), std::string(batch.refused_.message()));
  if (batch.empty()) return Status::Ok();
  CAIRN_RETURN_IF_ERROR(impl_->gate->Admit(urgency, batch.size_bytes()));
  return FromRocks(impl_->Write(impl_->MakeWriteOptions(durability), batch.rocks_.get()));
}

std::unique_ptr<WriteTransaction> Store::BeginWrite() {
  return std::unique_ptr<WriteTransaction>(new WriteTransaction(this));
}

std::vector<std::unique_ptr<WriteTransaction>> Store::TakeRecovered() {
  std::vector<rocks::Transaction*> found;
  if (!impl_->recovered_taken.exchange(true)) impl_->db->GetAllPreparedTransactions(&found);
  std::vector<std::unique_ptr<WriteTransaction>> recovered;
  for (rocks::Transaction* transaction : found) {
    recovered.emplace_back(new WriteTransaction(this, std::unique_ptr<rocks::Transaction>(transaction)));
  }
  return recovered;
}

uint64_t Store::load_count() const { return impl_->load_count.load(std::memory_order_relaxed); }
WriteGate Store::write_gate() const { return impl_->gate->state(); }
Status Store::WriteGateStatus() const { return impl_->gate->Reason(); }
void Store::CheckFreeSpace() { impl_->gate->CheckFreeSpace(); }

}  // namespace cairn::store
