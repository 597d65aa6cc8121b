// SPDX-License-Identifier: GPL-2.0-only
// Uncommitted changes of one transaction, as a batch of RocksDB, which is made a transaction to be prepared.
#include "store/write_transaction.h"

#include <cassert>
#include <utility>

#include "db/write_batch_internal.h"
#include <rocksdb/utilities/transaction.h>
#include <rocksdb/utilities/write_batch_with_index.h>
#include <rocksdb/write_batch.h>
#include "util/coding.h"

#include "store/cursor_bounds.h"
#include "store/entry_limits.h"
#include "store/insert_ahead.h"
#include "store/overlay_iterator.h"
#include "store/rocks_status.h"
#include "store/store_impl.h"
#include "store/visible_iterator.h"

namespace cairn::store {
namespace {

// A batch that takes more memory than this is given back instead of reused.
constexpr uint64_t kReusedBytesMax = uint64_t{1} << 20;

// Not by its size: what was undone has left it, and its memory has not.
bool IsLarge(const rocks::WriteBatch& batch) { return batch.Data().capacity() > kReusedBytesMax; }

Urgency UrgencyOf(const rocks::WriteBatch& batch) {
  return batch.HasPut() ? Urgency::kNormal : Urgency::kRemovesRows;
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

// Gathers where the changes of the data family lie, unless `stops` says at one of them that it is enough.
class PlaceVisitor final : public BatchVisitor {
 public:
  PlaceVisitor(const rocks::WriteBatch& batch, std::vector<ChangeIndex::Place>* places,
               std::function<bool()> stops = {})
      : begin_(batch.Data().data()), places_(places), stops_(std::move(stops)) {}

  bool is_stopped() const { return is_stopped_; }

  bool Continue() override {
    if (places_->size() % kPlacesPerPoll == 0 && stops_) is_stopped_ = stops_();
    return !is_stopped_;
  }

  rocks::Status PutCF(uint32_t family, const rocks::Slice& key, const rocks::Slice&) override {
    return Add(family, key, true);
  }
  rocks::Status DeleteCF(uint32_t family, const rocks::Slice& key) override { return Add(family, key, false); }
  rocks::Status SingleDeleteCF(uint32_t family, const rocks::Slice& key) override { return Add(family, key, false); }
  rocks::Status MergeCF(uint32_t, const rocks::Slice&, const rocks::Slice&) override { return rocks::Status::OK(); }

 private:
  rocks::Status Add(uint32_t family, const rocks::Slice& key, bool is_put) {
    if (family == static_cast<uint32_t>(Family::kData)) {
      places_->push_back({.key_offset = static_cast<uint64_t>(key.data() - begin_),
                          .key_bytes = static_cast<uint32_t>(key.size()),
                          .is_put = is_put});
    }
    return rocks::Status::OK();
  }

  static constexpr size_t kPlacesPerPoll = 4096;

  const char* begin_;
  std::vector<ChangeIndex::Place>* places_;
  const std::function<bool()> stops_;
  bool is_stopped_ = false;
};

Status PastPrepare() { return Status(Status::Code::kInvalidArgument, "a change of a transaction that is prepared or ended"); }

// The batch of a transaction beneath the index that RocksDB would keep over it.
rocks::WriteBatch* PlainBatch(rocks::Transaction& transaction) { return transaction.GetWriteBatch()->GetWriteBatch(); }

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

// Tells puts of the data family, until somebody has enough.
class PutVisitor final : public BatchVisitor {
 public:
  explicit PutVisitor(const std::function<Status(ByteView key, ByteView value)>& visit) : visit_(visit) {}

  Status TakeStatus() { return std::move(status_); }

  rocks::Status PutCF(uint32_t family, const rocks::Slice& key, const rocks::Slice& value) override {
    if (family == static_cast<uint32_t>(Family::kData)) status_ = visit_(ToView(key), ToView(value));
    return rocks::Status::OK();
  }
  rocks::Status DeleteCF(uint32_t, const rocks::Slice&) override { return rocks::Status::OK(); }
  rocks::Status SingleDeleteCF(uint32_t, const rocks::Slice&) override { return rocks::Status::OK(); }
  rocks::Status MergeCF(uint32_t, const rocks::Slice&, const rocks::Slice&) override { return rocks::Status::OK(); }
  bool Continue() override { return status_.ok(); }

 private:
  const std::function<Status(ByteView key, ByteView value)>& visit_;
  Status status_;
};

}  // namespace

WriteTransaction::WriteTransaction(Store* store) : store_(store), state_(State::kFinished) { Restart(); }

WriteTransaction::WriteTransaction(Store* store, std::unique_ptr<rocks::Transaction> prepared)
    : store_(store), rocks_(std::move(prepared)), batch_(PlainBatch(*rocks_)), state_(State::kPrepared) {
  name_ = rocks_->GetName();
  // Opening the store has read the same record.
  std::vector<LoadRecord> records;
  if (ReadLoadRecords(*batch_, &records).ok() && !records.empty()) {
    load_ = std::make_unique<PendingLoad>(*store, std::move(records.front()));
  }
}

WriteTransaction::~WriteTransaction() {
  if (load_ != nullptr && state_ == State::kPrepared) load_->Keep();
}

void WriteTransaction::Restart() {
  if (open_batch_ == nullptr) {
    open_batch_ = std::make_unique<rocks::WriteBatch>(/*reserved_bytes=*/0, /*max_bytes=*/0,
                                                      store_->impl_->protection_bytes_per_key,
                                                      /*default_cf_ts_sz=*/0);
  }
  batch_ = open_batch_.get();
  state_ = State::kOpen;
  is_admitted_ = false;
  name_.clear();
}

inline Status WriteTransaction::CheckChange() const {
  return state_ == State::kOpen ? CheckBatch(batch_->Count()) : PastPrepare();
}

Status WriteTransaction::Put(Family family, ByteView key, ByteView value) {
  CAIRN_RETURN_IF_ERROR(CheckChange());
  CAIRN_RETURN_IF_ERROR(CheckEntry(key, value));
  CAIRN_RETURN_IF_ERROR(FromRocks(
      rocks::WriteBatchInternal::Put(batch_, static_cast<uint32_t>(family), ToSlice(key), ToSlice(value))));
  if (family == Family::kData) AddToOrder(key, true, rocks::VarintLength(value.size()) + value.size());
  return Status::Ok();
}

Status WriteTransaction::Delete(Family family, ByteView key) {
  CAIRN_RETURN_IF_ERROR(CheckChange());
  CAIRN_RETURN_IF_ERROR(
      FromRocks(rocks::WriteBatchInternal::Delete(batch_, static_cast<uint32_t>(family), ToSlice(key))));
  if (family == Family::kData) AddToOrder(key, false, 0);
  return Status::Ok();
}

Status WriteTransaction::SingleDelete(Family family, ByteView key) {
  CAIRN_RETURN_IF_ERROR(CheckChange());
  CAIRN_RETURN_IF_ERROR(
      FromRocks(rocks::WriteBatchInternal::SingleDelete(batch_, static_cast<uint32_t>(family), ToSlice(key))));
  if (family == Family::kData) AddToOrder(key, false, 0);
  return Status::Ok();
}

Status WriteTransaction::MergeCounters(ByteView dictionary_key, const TableCounters& delta) {
  CAIRN_RETURN_IF_ERROR(CheckChange());
  operand_.Clear();
  EncodeTableCounters(delta, &operand_);
  return FromRocks(rocks::WriteBatchInternal::Merge(batch_, static_cast<uint32_t>(Family::kDictionary),
                                                    ToSlice(dictionary_key), ToSlice(operand_.view())));
}

Status WriteTransaction::AttachLoad(std::unique_ptr<PendingLoad> load) {
  if (state_ != State::kOpen) return PastPrepare();
  if (load_ != nullptr) return Status::InvalidArgument("a second load of a transaction");
  ByteBuffer value;
  EncodeLoadRecord(load->record(), &value);
  load_offset_ = batch_->GetDataSize();
  CAIRN_RETURN_IF_ERROR(Put(Family::kDictionary, LoadRecordKey(load->record().number), value.view()));
  load_ = std::move(load);
  return Status::Ok();
}

// A change is appended, so its key ends `bytes_behind_key` before the batch does.
inline void WriteTransaction::AddToOrder(ByteView key, bool is_put, size_t bytes_behind_key) {
  if (!ordered_.load(std::memory_order_relaxed)) return;
  index_.Add({.key_offset = batch_->GetDataSize() - bytes_behind_key - key.size(),
              .key_bytes = static_cast<uint32_t>(key.size()),
              .is_put = is_put});
}

bool WriteTransaction::OrderUnless(const std::function<bool()>& stops) const {
  if (is_ordered()) return true;
  std::vector<ChangeIndex::Place> places;
  places.reserve(batch_->Count());
  PlaceVisitor visitor(*batch_, &places, stops);
  const rocks::Status visited = batch_->Iterate(&visitor);
  assert(visited.ok());  // these are bytes in memory that only this class has written
  visited.PermitUncheckedError();
  if (visitor.is_stopped()) return false;
  index_.Clear(&batch_->Data());
  if (!index_.AddAll(places, stops)) {
    index_.Clear(nullptr);
    return false;
  }
  ordered_.store(true, std::memory_order_release);
  return true;
}

Status WriteTransaction::Get(ByteView key, const Snapshot* snapshot, PinnedValue* value) const {
  bool found;
  Status status = GetOwn(key, value, &found);
  return found ? std::move(status) : store_->Get(Family::kData, key, snapshot, value);
}

Status WriteTransaction::GetOwn(ByteView key, PinnedValue* value, bool* found) const {
  Order();
  const ChangeIndex::Node* own = index_.Find(key);
  *found = own != nullptr;
  if (own == nullptr) return Status::NotFound();
  rocks::PinnableSlice* slice = value->Prepare();
  if (!index_.IsPut(own)) return Status::NotFound();
  slice->PinSelf(ToSlice(index_.ValueOf(own)));
  value->Publish();
  return Status::Ok();
}

Status WriteTransaction::OpenCursor(const CursorOptions& options, Cursor* cursor) const {
  Order();
  CAIRN_RETURN_IF_ERROR(store_->OpenCursor(Family::kData, options, cursor));
  cursor->OverlayWith(index_, options.shows_removed);
  return Status::Ok();
}

void WriteTransaction::SetSavepoint() {
  savepoints_.push_back(batch_->GetDataSize());
  batch_->SetSavePoint();
}

Status WriteTransaction::RollbackToSavepoint() {
  if (savepoints_.empty()) return Status::NotFound();
  const uint64_t bytes = savepoints_.back();
  savepoints_.pop_back();
  if (load_ != nullptr && load_offset_ >= bytes) load_.reset();
  if (ordered_.load(std::memory_order_relaxed)) {
    std::vector<ChangeIndex::Place> places;
    PlaceVisitor visitor(*batch_, &places);
    CAIRN_RETURN_IF_ERROR(
        FromRocks(rocks::WriteBatchInternal::Iterate(batch_, &visitor, bytes, batch_->GetDataSize())));
    for (const ChangeIndex::Place& place : places) {
      index_.Undo(ByteView(batch_->Data().data() + place.key_offset, place.key_bytes), bytes);
    }
  }
  return FromRocks(batch_->RollbackToSavePoint());
}

Status WriteTransaction::PopSavepoint() {
  if (savepoints_.empty()) return Status::NotFound();
  savepoints_.pop_back();
  return FromRocks(batch_->PopSavePoint());
}

uint64_t WriteTransaction::change_count() const {
  return batch_ == nullptr ? 0 : batch_->Count();
}

uint64_t WriteTransaction::size_bytes() const {
  return batch_ == nullptr ? 0 : batch_->GetDataSize();
}

uint64_t WriteTransaction::prepare_log_number() const { return is_prepared() ? rocks_->GetLogNumber() : 0; }

void WriteTransaction::Finish(bool reusable) {
  if (ordered_.load(std::memory_order_relaxed)) index_.Clear(nullptr);
  ordered_.store(false, std::memory_order_relaxed);
  savepoints_.clear();
  load_.reset();
  EmptyOpenBatch();
  if (rocks_ != nullptr && (!reusable || IsLarge(*PlainBatch(*rocks_)))) rocks_.reset();
  batch_ = open_batch_.get();
  state_ = State::kFinished;
}

void WriteTransaction::EmptyOpenBatch() {
  if (open_batch_ != nullptr && IsLarge(*open_batch_)) open_batch_.reset();
  if (open_batch_ != nullptr) open_batch_->Clear();
}

Status WriteTransaction::Admit() {
  if (state_ != State::kOpen) return PastPrepare();
  WriteGateKeeper& gate = *store_->impl_->gate;
  if (is_admitted_) return gate.AdmitPromised(0);
  CAIRN_RETURN_IF_ERROR(gate.Admit(UrgencyOf(*batch_), size_bytes()));
  if (load_ != nullptr) CAIRN_RETURN_IF_ERROR(load_->Stage());
  is_admitted_ = true;
  return Status::Ok();
}

// RocksDB's transaction comes to be here, and takes the changes over.
Status WriteTransaction::Prepare(ByteView name, Durability durability) {
  auto& impl = *store_->impl_;
  CAIRN_RETURN_IF_ERROR(Admit());  // not what is prepared: a second one would hide the first, whose log would never be released
  rocks::Transaction* const old = rocks_.release();
  rocks_.reset(impl.db->BeginTransaction(impl.MakeWriteOptions(durability), Store::Impl::MakeTransactionOptions(), old));
  const rocks::Status named = rocks_->SetName(std::string(name));
  if (!named.ok()) {
    rocks_.reset();
    if (name.empty() || name.size() > 512) return FromRocks(named);
    return Status(Status::Code::kAlreadyExists, "a prepared transaction has the same name");
  }
  // The order names places in the other batch, and its memory is needed for that. Whoever needs it makes it again.
  if (ordered_.load(std::memory_order_relaxed)) index_.Clear(nullptr);
  ordered_.store(false, std::memory_order_relaxed);
  rocks::Status status = rocks::WriteBatchInternal::Append(PlainBatch(*rocks_), batch_);
  if (status.ok()) status = rocks_->Prepare();
  if (!status.ok()) {
    rocks_.reset();
    return FromRocks(status);
  }
  batch_ = PlainBatch(*rocks_);
  EmptyOpenBatch();
  if (durability != Durability::kSync) impl.log_writes_without_sequence.fetch_add(1, std::memory_order_relaxed);
  name_ = name;
  state_ = State::kPrepared;
  return Status::Ok();
}

Status WriteTransaction::WriteAll(Durability durability) {
  auto& impl = *store_->impl_;
  const InsertAhead ahead(*batch_, impl.handles[static_cast<size_t>(Family::kData)]->GetID());
  if (state_ != State::kPrepared) return FromRocks(impl.root->Write(impl.MakeWriteOptions(durability), batch_));
  rocks_->GetWriteOptions()->sync = durability == Durability::kSync;
  // A commit that failed has left its changes there, and another try would append them again.
  rocks_->GetCommitTimeWriteBatch()->Clear();
  return FromRocks(rocks_->Commit());
}

Status WriteTransaction::Commit(Durability durability) {
  // What is prepared must be able to end, whatever little space there is.
  const bool prepared = state_ == State::kPrepared;
  if (!prepared && !HasWrites()) return Rollback();
  CAIRN_RETURN_IF_ERROR(prepared ? store_->impl_->gate->AdmitPromised(size_bytes()) : Admit());
  if (load_ != nullptr) {
    CAIRN_RETURN_IF_ERROR(StageLoad());
    // What is taken over is there for good, so the commit must be.
    durability = Durability::kSync;
  }
  Status status = WriteAll(durability);
  Status brought;
  if (load_ != nullptr) brought = BringLoad(status);
  if (status.ok() || !prepared) Finish(status.ok());
  return brought.ok() ? std::move(status) : std::move(brought);
}

// What is prepared is promised, maybe committed elsewhere. Told of an error only, the server would advise to roll it back.
Status WriteTransaction::StageLoad() {
  Status status = load_->Stage();
  if (status.ok() || state_ != State::kPrepared) return status;
  Status stuck(status.code(), "the prepared transaction " + name_ + " cannot be committed before this is mended, and must not be rolled back: " +
                                  std::string(status.message()));
  store_->impl_->gate->StopForCommitted(stuck);
  return stuck;
}

// After the commit was written, or may have been.
Status WriteTransaction::BringLoad(const Status& committed) {
  if (!committed.ok()) {
    if (committed.Is(Status::Code::kIoError) || store_->impl_->gate->has_stopped()) load_->Keep();
    return Status::Ok();
  }
  Status status = load_->HandOver();
  if (status.ok()) return status;
  load_->Keep();
  Status lost(Status::Code::kIoError, "rows that are committed cannot be taken over before the next start: " + status.ToString());
  store_->impl_->gate->StopForCommitted(lost);
  return lost;
}

Status WriteTransaction::Rollback() {
  rocks::Status status;
  // An open one has nothing on disk: forgetting it is rolling it back, also after a failed Prepare.
  const bool prepared = state_ == State::kPrepared;
  if (prepared) {
    CAIRN_RETURN_IF_ERROR(store_->impl_->gate->AdmitPromised(0));
    status = rocks_->Rollback();
  }
  if (!status.ok()) return FromRocks(status);
  if (prepared) store_->impl_->log_writes_without_sequence.fetch_add(1, std::memory_order_relaxed);
  // RocksDB keeps the name of what it rolled back taken until the object ends.
  Finish(/*reusable=*/!prepared);
  return Status::Ok();
}

Status WriteTransaction::ForEachKey(const std::function<void(Family, ByteView)>& visit) const {
  KeyVisitor visitor(visit);
  return FromRocks(batch_->Iterate(&visitor));
}

bool WriteTransaction::HasChanged(ByteView key) const {
  Order();
  return index_.Find(key) != nullptr;
}

bool WriteTransaction::HasChangedUnder(ByteView beginning) const {
  Order();
  const ChangeIndex::Node* at = index_.FirstFrom(beginning);
  return at != nullptr && index_.KeyOf(at).starts_with(beginning);
}

bool WriteTransaction::FindPut(ByteView lower, ByteView upper, bool forward, size_t deleted_count_max,
                               FoundPut* found) const {
  Order();
  const ChangeIndex::Node* at = forward ? index_.FirstFrom(lower) : index_.LastBefore(upper);
  for (size_t deleted_count = 0; at != nullptr; at = forward ? index_.Next(at) : index_.Previous(at)) {
    const ByteView key = index_.KeyOf(at);
    if (forward ? key >= upper : key < lower) return false;
    ByteView value;
    const bool is_removal = !index_.FindNewestPut(at, &value);
    if (is_removal && deleted_count++ < deleted_count_max) continue;
    *found = {.key = key, .value = value, .is_removal = is_removal};
    return true;
  }
  return false;
}

bool WriteTransaction::HasOnlyPuts() const {
  return load_ == nullptr && !batch_->HasDelete() && !batch_->HasSingleDelete() && !batch_->HasDeleteRange() &&
         !batch_->HasMerge();
}

Status WriteTransaction::ForEachPut(const std::function<Status(ByteView key, ByteView value)>& visit) const {
  PutVisitor visitor(visit);
  const rocks::Status walked = batch_->Iterate(&visitor);
  CAIRN_RETURN_IF_ERROR(visitor.TakeStatus());
  return FromRocks(walked);
}

Status WriteTransaction::ForEachCounters(const std::function<void(ByteView, const TableCounters&)>& visit) const {
  CountersVisitor visitor(visit);
  return FromRocks(batch_->Iterate(&visitor));
}

}  // namespace cairn::store
