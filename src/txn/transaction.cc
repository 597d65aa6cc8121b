// SPDX-License-Identifier: GPL-2.0-only
// One connection's transaction: reading, locking, changing, ending. Savepoints: savepoints.cc.
#include "txn/transaction.h"

#include <algorithm>
#include <cassert>
#include <chrono>

#include "base/endian.h"
#include "store/store.h"
#include "txn/transaction_manager.h"

namespace cairn::txn {
namespace {

// Vectors that a rare large transaction grew beyond this are given back at its end.
constexpr size_t kReusedCountMax = 256;

uint64_t SteadyTimeUs() {
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::microseconds>(
                                   std::chrono::steady_clock::now().time_since_epoch())
                                   .count());
}

IndexId IndexOf(ByteView key) { return IndexId(key.size() < 4 ? 0 : LoadBe32(key.data())); }

template <typename T>
void ClearForReuse(std::vector<T>* items) {
  items->clear();
  if (items->capacity() > kReusedCountMax) items->shrink_to_fit();
}

}  // namespace

Transaction::Transaction(TransactionManager& manager) : manager_(manager) {}

Transaction::~Transaction() {
  if (is_active() && !prepared_) (void)Rollback();
  // A prepared one stays on disk; this process forgets it.
  if (prepared_) writes_.reset();
  End();
  manager_.Unregister(*this);
}

void Transaction::Begin(Isolation isolation) {
  assert(!is_active());
  isolation_.store(isolation, std::memory_order_relaxed);
  strict_snapshot_ = false;
  begun_us_.store(SteadyTimeUs(), std::memory_order_relaxed);
  id_.store(manager_.next_id_.fetch_add(1, std::memory_order_relaxed), std::memory_order_release);
}

const store::Snapshot* Transaction::ReadView() {
  if (!view_.taken()) {
    view_ = manager_.store_.TakeSnapshot();
    view_taken_us_.store(SteadyTimeUs(), std::memory_order_relaxed);
  }
  return &view_;
}

void Transaction::DropView() {
  if (!view_.taken()) return;
  view_.Release();
  view_taken_us_.store(0, std::memory_order_relaxed);
}

Status Transaction::Lock(ByteView key, const LockOptions& options, LockResult* result) {
  LockResult got;
  CAIRN_RETURN_IF_ERROR(manager_.locks_.Lock(*this, key, options, &got));
  if (strict_snapshot_ && got.newly_acquired && options.mode == LockMode::kExclusive && view_.taken()) {
    if (Status status = CheckUnchangedSinceView(key); !status.ok()) {
      manager_.locks_.Unlock(*this, got.handle);
      return status;
    }
  }
  if (result != nullptr) *result = got;
  return Status::Ok();
}

void Transaction::Unlock(LockRequest* handle) { manager_.locks_.Unlock(*this, handle); }

Status Transaction::CheckUnchangedSinceView(ByteView key) {
  store::PinnedValue then;
  store::PinnedValue now;
  const Status found_then = manager_.store_.Get(store::Family::kData, key, &view_, &then);
  const Status found_now = manager_.store_.Get(store::Family::kData, key, nullptr, &now);
  for (const Status* found : {&found_then, &found_now}) {
    if (!found->ok() && !found->Is(Status::Code::kNotFound)) {
      return Status(found->code(), std::string(found->message()));
    }
  }
  if (found_then.code() == found_now.code() && then.view() == now.view()) return Status::Ok();
  return Status::Of(Status::Code::kSnapshotConflict);
}

void Transaction::OpenWrites() {
  if (writes_ == nullptr) {
    writes_ = manager_.store_.BeginWrite();
  } else {
    writes_->Restart();
  }
  writes_open_ = true;
}

Status Transaction::AfterChange(store::Family family, ByteView key, Status status) {
  write_count_.store(write_count() + 1, std::memory_order_relaxed);
  if (family == store::Family::kData) {
    const IndexId index = IndexOf(key);
    // Statements write the same few indexes over and over.
    const auto at = std::lower_bound(written_.begin(), written_.end(), index);
    if (at == written_.end() || *at != index) written_.insert(at, index);
  }
  return status;
}

Status Transaction::Put(store::Family family, ByteView key, ByteView value) {
  BeforeChange();
  return AfterChange(family, key, writes_->Put(family, key, value));
}

Status Transaction::Delete(store::Family family, ByteView key) {
  BeforeChange();
  return AfterChange(family, key, writes_->Delete(family, key));
}

Status Transaction::SingleDelete(store::Family family, ByteView key) {
  BeforeChange();
  return AfterChange(family, key, writes_->SingleDelete(family, key));
}

void Transaction::AddTableCounters(TableId table, const store::TableCounters& change) {
  BeforeChange();
  for (TableChange& known : tables_) {
    if (known.table == table) return known.counters.Add(change);
  }
  tables_.push_back({table, change});
}

store::TableCounters Transaction::PendingTableCounters(TableId table) const {
  for (const TableChange& known : tables_) {
    if (known.table == table) return known.counters;
  }
  return {};
}

bool Transaction::HasWritten(IndexId index) const {
  return std::binary_search(written_.begin(), written_.end(), index);
}

bool Transaction::HasWrites() const { return writes_open_ && writes_->HasWrites(); }

uint64_t Transaction::write_bytes() const { return writes_open_ ? writes_->size_bytes() : 0; }

Status Transaction::Get(store::Family family, ByteView key, View view, store::PinnedValue* value) {
  const store::Snapshot* snapshot = SnapshotOf(view);
  if (writes_open_ && (family != store::Family::kData || HasWritten(IndexOf(key)))) {
    return writes_->Get(family, key, snapshot, value);
  }
  return manager_.store_.Get(family, key, snapshot, value);
}

Status Transaction::OpenCursor(const store::CursorOptions& options, View view, store::Cursor* cursor) {
  store::CursorOptions viewed = options;
  viewed.snapshot = SnapshotOf(view);
  if (writes_open_ && HasWritten(IndexOf(options.lower_bound))) {
    return writes_->OpenCursor(store::Family::kData, viewed, cursor);
  }
  return manager_.store_.OpenCursor(store::Family::kData, viewed, cursor);
}

bool Transaction::IsViewBehind() const {
  return isolation_ == Isolation::kRepeatableRead && view_.taken() &&
         view_.sequence() != manager_.store_.LatestSequence();
}

bool Transaction::HasChanged(ByteView key) const {
  return writes_open_ && writes_->HasChanged(store::Family::kData, key);
}

// Once: a commit that was refused may be tried again.
Status Transaction::MergeTableCounters() {
  if (std::exchange(counters_merged_, true)) return Status::Ok();
  ByteBuffer key;
  for (const TableChange& change : tables_) {
    if (change.counters.IsZero()) continue;
    if (!writes_open_) OpenWrites();  // all else was rolled back
    key.Clear();
    manager_.hooks_.counter_key(change.table, &key);
    CAIRN_RETURN_IF_ERROR(writes_->MergeCounters(key.view(), change.counters));
  }
  return Status::Ok();
}

Status Transaction::Prepare(ByteView name, store::Durability durability) {
  assert(is_active() && !prepared_);
  CAIRN_RETURN_IF_ERROR(MergeTableCounters());
  if (HasWrites()) CAIRN_RETURN_IF_ERROR(writes_->Prepare(name, durability));
  name_ = name;
  prepared_ = true;
  listed_prepared_.store(true, std::memory_order_relaxed);
  return Status::Ok();
}

Status Transaction::Commit(store::Durability durability) {
  Status status;
  if (!prepared_) CAIRN_RETURN_IF_ERROR(MergeTableCounters());
  if (HasWrites()) {
    status = writes_->Commit(durability);
    if (!status.ok() && !writes_->is_finished()) return status;
    if (status.ok() && manager_.hooks_.on_commit) {
      for (const TableChange& change : tables_) manager_.hooks_.on_commit(change.table, change.counters);
    }
  } else if (writes_open_) {
    (void)writes_->Rollback();
  }
  End();
  return status;
}

Status Transaction::Rollback() {
  Status status;
  if (writes_open_) {
    status = writes_->Rollback();
    if (!status.ok()) writes_.reset();
  }
  End();
  return status;
}

void Transaction::End() {
  writes_open_ = false;
  manager_.locks_.ReleaseAll(*this);
  DropView();
  prepared_ = false;
  counters_merged_ = false;
  name_.clear();
  statement_ = 0;
  last_savepoint_ = 0;
  ClearForReuse(&savepoints_);
  ClearForReuse(&written_);
  ClearForReuse(&tables_);
  write_count_.store(0, std::memory_order_relaxed);
  listed_bytes_.store(0, std::memory_order_relaxed);
  listed_prepared_.store(false, std::memory_order_relaxed);
  id_.store(0, std::memory_order_relaxed);
}

}  // namespace cairn::txn
