// SPDX-License-Identifier: GPL-2.0-only
// Uncommitted changes of one transaction, as a RocksDB transaction without its locks.
#include "store/write_transaction.h"

#include <rocksdb/utilities/transaction.h>
#include <rocksdb/utilities/write_batch_with_index.h>
#include <rocksdb/write_batch.h>

#include "store/cursor_bounds.h"
#include "store/rocks_status.h"
#include "store/store_impl.h"
#include "store/visible_iterator.h"

namespace cairn::store {
namespace {

// A transaction object that grew beyond this is given back instead of reused.
constexpr uint64_t kReusedBytesMax = uint64_t{1} << 20;

Urgency UrgencyOf(const rocks::Transaction& transaction) {
  return transaction.GetNumPuts() == 0 ? Urgency::kRemovesRows : Urgency::kNormal;
}

// Walks a batch, passing over the marks of two-phase commit.
class BatchVisitor : public rocks::WriteBatch::Handler {
 public:
  rocks::Status MarkBeginPrepare(bool) override { return rocks::Status::OK(); }
  rocks::Status MarkEndPrepare(const rocks::Slice&) override { return rocks::Status::OK(); }
  rocks::Status MarkNoop(bool) override { return rocks::Status::OK(); }
  rocks::Status MarkCommit(const rocks::Slice&) override { return rocks::Status::OK(); }
  rocks::Status MarkRollback(const rocks::Slice&) override { return rocks::Status::OK(); }
};

// Tells the counter merges alone.
class CountersVisitor final : public BatchVisitor {
 public:
  explicit CountersVisitor(const std::function<void(ByteView, const TableCounters&)>& visit) : visit_(visit) {}

  rocks::Status PutCF(uint32_t, const rocks::Slice&, const rocks::Slice&) override { return rocks::Status::OK(); }
  rocks::Status DeleteCF(uint32_t, const rocks::Slice&) override { return rocks::Status::OK(); }
  rocks::Status SingleDeleteCF(uint32_t, const rocks::Slice&) override { return rocks::Status::OK(); }
  rocks::Status MergeCF(uint32_t, const rocks::Slice& key, const rocks::Slice& operand) override {
    TableCounters counters;
    if (!DecodeTableCounters(ToView(operand), &counters).ok()) return rocks::Status::Corruption("malformed counters");
    visit_(ToView(key), counters);
    return rocks::Status::OK();
  }

 private:
  const std::function<void(ByteView, const TableCounters&)>& visit_;
};

// Tells the keys.
class KeyVisitor final : public BatchVisitor {
 public:
  explicit KeyVisitor(const std::function<void(Family, ByteView)>& visit) : visit_(visit) {}

  rocks::Status PutCF(uint32_t family, const rocks::Slice& key, const rocks::Slice&) override {
    return Tell(family, key);
  }
  rocks::Status DeleteCF(uint32_t family, const rocks::Slice& key) override { return Tell(family, key); }
  rocks::Status SingleDeleteCF(uint32_t family, const rocks::Slice& key) override { return Tell(family, key); }
  rocks::Status MergeCF(uint32_t family, const rocks::Slice& key, const rocks::Slice&) override {
    return Tell(family, key);
  }

 private:
  rocks::Status Tell(uint32_t family, const rocks::Slice& key) {
    if (family >= kFamilyCount) return rocks::Status::Corruption("change of an unknown column family");
    visit_(static_cast<Family>(family), ToView(key));
    return rocks::Status::OK();
  }

  const std::function<void(Family, ByteView)>& visit_;
};

}  // namespace

WriteTransaction::WriteTransaction(Store* store, std::unique_ptr<rocks::Transaction> rocks, State state)
    : store_(store), rocks_(std::move(rocks)), state_(state) {
  if (state_ == State::kPrepared) name_ = rocks_->GetName();
}

WriteTransaction::~WriteTransaction() = default;

void WriteTransaction::Restart() {
  PrepareThread();
  auto& impl = *store_->impl_;
  rocks::Transaction* old = rocks_.release();
  rocks_.reset(impl.db->BeginTransaction(impl.MakeWriteOptions(Durability::kOs),
                                         Store::Impl::MakeTransactionOptions(), old));
  state_ = State::kOpen;
  name_.clear();
}

Status WriteTransaction::Put(Family family, ByteView key, ByteView value) {
  return FromRocks(rocks_->Put(store_->Handle(family), ToSlice(key), ToSlice(value)));
}

Status WriteTransaction::Delete(Family family, ByteView key) {
  return FromRocks(rocks_->Delete(store_->Handle(family), ToSlice(key)));
}

Status WriteTransaction::SingleDelete(Family family, ByteView key) {
  return FromRocks(rocks_->SingleDelete(store_->Handle(family), ToSlice(key)));
}

Status WriteTransaction::MergeCounters(ByteView dictionary_key, const TableCounters& delta) {
  ByteBuffer operand;
  EncodeTableCounters(delta, &operand);
  return FromRocks(rocks_->Merge(store_->Handle(Family::kDictionary), ToSlice(dictionary_key),
                                 ToSlice(operand.view())));
}

Status WriteTransaction::Get(Family family, ByteView key, const Snapshot* snapshot, PinnedValue* value) const {
  rocks::ReadOptions read;
  if (snapshot != nullptr) read.snapshot = snapshot->rocks_;
  rocks::PinnableSlice* slice = value->Prepare();
  const rocks::Status status = rocks_->Get(read, store_->Handle(family), ToSlice(key), slice);
  if (status.ok()) value->Publish();
  return FromRocks(status);
}

Status WriteTransaction::OpenCursor(Family family, const CursorOptions& options, Cursor* cursor) const {
  const rocks::ReadOptions read = cursor->PrepareBounds()->MakeReadOptions(options);
  if (cursor->visible_ != nullptr) cursor->visible_->Close();
  cursor->iterator_.reset(rocks_->GetIterator(read, store_->Handle(family)));
  cursor->open_ = true;
  return cursor->status();
}

void WriteTransaction::SetSavepoint() { rocks_->SetSavePoint(); }
Status WriteTransaction::RollbackToSavepoint() { return FromRocks(rocks_->RollbackToSavePoint()); }
Status WriteTransaction::PopSavepoint() { return FromRocks(rocks_->PopSavePoint()); }

uint64_t WriteTransaction::change_count() const {
  return rocks_ == nullptr ? 0 : rocks_->GetWriteBatch()->GetWriteBatch()->Count();
}

uint64_t WriteTransaction::size_bytes() const {
  return rocks_ == nullptr ? 0 : rocks_->GetWriteBatch()->GetDataSize();
}

void WriteTransaction::SetDurability(Durability durability) {
  rocks_->GetWriteOptions()->sync = durability == Durability::kSync;
}

void WriteTransaction::Finish(bool reusable) {
  if (!reusable || size_bytes_max_ > kReusedBytesMax) rocks_.reset();
  size_bytes_max_ = 0;
  state_ = State::kFinished;
}

Status WriteTransaction::Prepare(ByteView name, Durability durability) {
  CAIRN_RETURN_IF_ERROR(store_->impl_->gate->Admit(UrgencyOf(*rocks_), size_bytes()));
  const rocks::Status named = rocks_->SetName(std::string(name));
  if (!named.ok()) {
    if (name.empty() || name.size() > 512) return FromRocks(named);
    return Status(Status::Code::kAlreadyExists, "a prepared transaction has the same name");
  }
  SetDurability(durability);
  CAIRN_RETURN_IF_ERROR(FromRocks(rocks_->Prepare()));
  name_ = name;
  state_ = State::kPrepared;
  return Status::Ok();
}

Status WriteTransaction::Commit(Durability durability) {
  size_bytes_max_ = size_bytes();
  // What is prepared must be able to end, whatever little space there is.
  const bool prepared = state_ == State::kPrepared;
  if (prepared || HasWrites()) {
    CAIRN_RETURN_IF_ERROR(
        store_->impl_->gate->Admit(prepared ? Urgency::kReclaimsSpace : UrgencyOf(*rocks_), size_bytes_max_));
  }
  if (!prepared && !HasWrites()) return Rollback();
  SetDurability(durability);
  const rocks::Status status = rocks_->Commit();
  if (status.ok() || !prepared) Finish(status.ok());
  return FromRocks(status);
}

Status WriteTransaction::Rollback() {
  size_bytes_max_ = size_bytes();
  const rocks::Status status = rocks_->Rollback();
  if (!status.ok() && state_ == State::kPrepared) return FromRocks(status);
  // An open one has nothing on disk: forgetting it is rolling it back, also after a failed Prepare.
  Finish(status.ok());
  return Status::Ok();
}

Status WriteTransaction::ForEachKey(const std::function<void(Family, ByteView)>& visit) const {
  KeyVisitor visitor(visit);
  return FromRocks(rocks_->GetWriteBatch()->GetWriteBatch()->Iterate(&visitor));
}

bool WriteTransaction::HasChanged(Family family, ByteView key) const {
  const std::unique_ptr<rocks::WBWIIterator> at(rocks_->GetWriteBatch()->NewIterator(store_->Handle(family)));
  at->Seek(ToSlice(key));
  return at->Valid() && at->Entry().key == ToSlice(key);
}

bool WriteTransaction::FindPut(Family family, ByteView lower, ByteView upper, bool forward, size_t deleted_count_max,
                               FoundPut* found) const {
  const std::unique_ptr<rocks::WBWIIterator> at(rocks_->GetWriteBatch()->NewIterator(store_->Handle(family)));
  if (forward) {
    at->Seek(ToSlice(lower));
  } else {
    at->SeekForPrev(ToSlice(upper));
    if (at->Valid() && at->Entry().key == ToSlice(upper)) at->Prev();
  }
  for (size_t deleted_count = 0; at->Valid(); forward ? at->Next() : at->Prev()) {
    const rocks::WriteEntry entry = at->Entry();
    const ByteView key = ToView(entry.key);
    if (forward ? key >= upper : key < lower) return false;
    const bool is_removal = entry.type != rocks::kPutRecord;
    if (is_removal && deleted_count++ < deleted_count_max) continue;
    *found = {.key = key, .value = is_removal ? ByteView() : ToView(entry.value), .is_removal = is_removal};
    return true;
  }
  return false;
}

Status WriteTransaction::ForEachCounters(const std::function<void(ByteView, const TableCounters&)>& visit) const {
  CountersVisitor visitor(visit);
  return FromRocks(rocks_->GetWriteBatch()->GetWriteBatch()->Iterate(&visitor));
}

}  // namespace cairn::store
