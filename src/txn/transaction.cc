// SPDX-License-Identifier: GPL-2.0-only
// One connection's transaction: reading, locking, changing, ending. Savepoints: savepoints.cc.
#include "txn/transaction.h"

#include <algorithm>
#include <cassert>

#include "base/clock.h"
#include "base/endian.h"
#include "store/store.h"
#include "txn/number_key.h"
#include "txn/transaction_manager.h"

namespace cairn::txn {
namespace {

// Vectors that a rare large transaction grew beyond this are given back at its end.
constexpr size_t kReusedCountMax = 256;

IndexId IndexOf(ByteView key) { return IndexId(key.size() < 4 ? 0 : LoadBe32(key.data())); }

template <typename T>
void ClearForReuse(std::vector<T>* items) {
  items->clear();
  if (items->capacity() > kReusedCountMax) items->shrink_to_fit();
}

}  // namespace

// Around what changes the batch and takes long. Who came meanwhile to look is told of the end, by the latch
// or, if he has to look at all transactions at once, by the manager.
class Transaction::LongChange {
 public:
  // `hurries`: others may wait for this, and a look that puts the batch in order meanwhile does so in vain.
  LongChange(Transaction& transaction, bool hurries) : transaction_(transaction) {
    hurries ? transaction_.latch_.MarkSoon() : transaction_.latch_.Mark();
  }
  ~LongChange() {
    transaction_.latch_.Unmark();
    transaction_.manager_.TellLongChangeEnded();
  }
  LongChange(const LongChange&) = delete;
  LongChange& operator=(const LongChange&) = delete;

 private:
  Transaction& transaction_;
};

Transaction::Transaction(TransactionManager& manager) : manager_(manager) {}

Transaction::~Transaction() {
  if (is_active() && !prepared_) (void)Rollback();
  // A prepared one stays on disk; this process forgets it.
  if (prepared_) {
    LongChange change(*this, /*hurries=*/true);
    writes_.reset();
    writes_open_ = false;
  }
  End();
  manager_.Unregister(*this);
  // Those who found it before that may still look into its batch.
  AwaitUnpinned();
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

void Transaction::DropReadView() {
  if (!view_.taken()) return;
  view_.Release();
  view_taken_us_.store(0, std::memory_order_relaxed);
}

Status Transaction::Lock(ByteView key, const LockOptions& options, LockResult* result) {
  LockResult got;
  CAIRN_RETURN_IF_ERROR(manager_.locks_.Lock(*this, key, options, &got));
  if (manager_.claims_.HolderOf(*this, IndexOf(key)) != 0) CAIRN_RETURN_IF_ERROR(YieldToClaims(key, options, &got));
  if (strict_snapshot_ && options.is_row && got.newly_acquired && options.mode == LockMode::kExclusive && view_.taken()) {
    if (Status status = CheckUnchangedSinceView(key); !status.ok()) {
      manager_.locks_.Unlock(*this, got.handle);
      return status;
    }
  }
  if (result != nullptr) *result = got;
  return Status::Ok();
}

// Who has the key since before keeps it: the other gives his claim up.
Status Transaction::YieldToClaims(ByteView key, const LockOptions& options, LockResult* got) {
  uint64_t ends_us = 0;
  const LockOptions together = options.Together(&ends_us);
  while (got->newly_acquired && got->handle->count == 1) {
    const uint64_t claimer_id = manager_.claims_.HolderOf(*this, IndexOf(key));
    if (claimer_id == 0) break;
    manager_.locks_.Unlock(*this, got->handle);
    CAIRN_RETURN_IF_ERROR(WaitForKey(NumberKey(claimer_id).claims(), together));
    CAIRN_RETURN_IF_ERROR(manager_.locks_.Lock(*this, key, together, got));
    got->waited = true;
  }
  return Status::Ok();
}

void Transaction::Unlock(LockRequest* handle) { manager_.locks_.Unlock(*this, handle); }

void Transaction::Weaken(LockRequest* handle) { manager_.locks_.Weaken(*this, handle); }

void Transaction::GiveBack(const LockResult& lock) {
  if (!lock.newly_acquired) return;
  const bool was_held = lock.count > 1;
  if (was_held && lock.handle->count == lock.count) manager_.locks_.Weaken(*this, lock.handle);
  manager_.locks_.Unlock(*this, lock.handle);
}

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

// Statements write the same few indexes over and over.
void Transaction::NoteWritten(IndexId index) {
  const auto at = std::lower_bound(written_.begin(), written_.end(), index);
  if (at != written_.end() && *at == index) return;
  written_.insert(at, index);
  written_bits_.fetch_or(BitOf(index), std::memory_order_seq_cst);
}

Status Transaction::AfterChange(store::Family family, ByteView key, Status status) {
  write_count_.store(write_count() + 1, std::memory_order_relaxed);
  if (family == store::Family::kData) NoteWritten(IndexOf(key));
  return status;
}

Status Transaction::Insert(ByteView key, ByteView value, const LockOptions& options) {
  BeforeChange();
  const IndexId index = IndexOf(key);
  uint64_t ends_us = 0;
  for (;;) {
    uint64_t holder_id;
    {
      // One hold for the question and the change: see RangeLocks.
      BatchLatch::Hold hold(latch_);
      NoteWritten(index);
      holder_id = manager_.ranges_.MayHold(index) ? manager_.ranges_.FindHolder(*this, index, key) : 0;
      if (holder_id == 0) {
        write_count_.store(write_count() + 1, std::memory_order_relaxed);
        return writes_->Put(store::Family::kData, key, value);
      }
    }
    CAIRN_RETURN_IF_ERROR(WaitForKey(NumberKey(holder_id).view(), options.Together(&ends_us)));
  }
}

Status Transaction::WaitForRanges(ByteView key, const LockOptions& options) {
  uint64_t ends_us = 0;
  while (const uint64_t holder_id = manager_.ranges_.HolderOf(*this, IndexOf(key), key)) {
    CAIRN_RETURN_IF_ERROR(WaitForKey(NumberKey(holder_id).view(), options.Together(&ends_us)));
  }
  return Status::Ok();
}

// Who holds ranges also holds a lock on its own number, so that waiting for it is an ordinary wait. So it is with claims.
Status Transaction::WaitForKey(ByteView key, const LockOptions& options) {
  LockOptions shared = options;
  shared.mode = LockMode::kShared;
  LockResult got;
  CAIRN_RETURN_IF_ERROR(manager_.locks_.Lock(*this, key, shared, &got));
  manager_.locks_.Unlock(*this, got.handle);
  return Status::Ok();
}

RangeLocks& Transaction::ranges() const { return manager_.ranges_; }

Status Transaction::BeginRange(IndexId index, WalkedRange* walk) {
  if (range_holdings_.empty()) {
    // Nobody else locks this number before the range is there to be found.
    CAIRN_RETURN_IF_ERROR(manager_.locks_.Lock(*this, NumberKey(id()).view(), LockOptions{}, nullptr));
  }
  manager_.ranges_.Begin(*this, index, &range_holdings_, walk);
  return Status::Ok();
}

void Transaction::EndRange(WalkedRange* walk) { manager_.ranges_.End(walk); }

Status Transaction::Put(store::Family family, ByteView key, ByteView value) {
  BeforeChange();
  BatchLatch::Hold hold(latch_);
  return AfterChange(family, key, writes_->Put(family, key, value));
}

Status Transaction::Delete(store::Family family, ByteView key) {
  BeforeChange();
  BatchLatch::Hold hold(latch_);
  return AfterChange(family, key, writes_->Delete(family, key));
}

Status Transaction::SingleDelete(store::Family family, ByteView key) {
  BeforeChange();
  BatchLatch::Hold hold(latch_);
  return AfterChange(family, key, writes_->SingleDelete(family, key));
}

void Transaction::AddTableCounters(TableId table, const store::TableCounters& change) {
  BeforeChange();
  ChangeOf(table).Add(change);
}

Transaction::TableChange& Transaction::ChangeOf(TableId table) {
  for (TableChange& known : tables_) {
    if (known.table == table) return known;
  }
  tables_.push_back({.table = table, .counters = {}, .changed_rows = 0});
  return tables_.back();
}

void Transaction::ForgetTableCounters(TableId table) {
  const auto forget = [table](std::vector<TableChange>* tables) {
    std::erase_if(*tables, [table](const TableChange& known) { return known.table == table; });
  };
  forget(&tables_);
  for (Savepoint& savepoint : savepoints_) forget(&savepoint.tables);
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

bool Transaction::HasWrittenOnly(std::span<const IndexId> indexes) const {
  return std::ranges::all_of(written_, [&](IndexId index) { return std::ranges::find(indexes, index) != indexes.end(); });
}

bool Transaction::HasWrites() const { return writes_open_ && writes_->HasWrites(); }

Status Transaction::EmptyWrites() {
  LongChange change(*this, /*hurries=*/true);
  ++undone_count_;
  Status status = writes_->Rollback();
  writes_open_ = false;
  return status;
}

Status Transaction::UndoWrites() {
  LongChange change(*this, /*hurries=*/false);
  ++undone_count_;
  return writes_->RollbackToSavepoint();
}

// Others make the order too when they look.
void Transaction::OrderWrites() {
  if (writes_->is_ordered()) return;
  LongChange change(*this, /*hurries=*/false);
  writes_->Order();
}

uint64_t Transaction::write_bytes() const { return writes_open_ ? writes_->size_bytes() : 0; }

Status Transaction::Get(store::Family family, ByteView key, View view, store::PinnedValue* value) {
  const store::Snapshot* snapshot = SnapshotOf(view);
  if (family == store::Family::kData && writes_open_ && HasWritten(IndexOf(key))) {
    OrderWrites();
    return writes_->Get(key, snapshot, value);
  }
  return manager_.store_.Get(family, key, snapshot, value);
}

Status Transaction::GetBy(store::PointReader* points, ByteView key, View view, bool is_newly_locked,
                           store::PinnedValue* value) {
  const store::Snapshot* snapshot = SnapshotOf(view);
  if (!is_newly_locked && writes_open_ && HasWritten(IndexOf(key))) {
    OrderWrites();
    bool is_own;
    Status status = writes_->GetOwn(key, value, &is_own);
    if (is_own) return status;
  }
  return points->Get(manager_.store_, key, snapshot, value);
}

// It may have removed the key without the lock, as entries of unique indexes are.
Status Transaction::GetNewlyLocked(store::PointReader* points, store::EmptyRanges* empty, ByteView key,
                                   store::PinnedValue* value) {
  Status status = empty->Get(manager_.store_, points, key, value);
  if (!status.ok() || !HasChanged(key)) return status;
  return writes_->Get(key, nullptr, value);
}

Status Transaction::OpenCursor(const store::CursorOptions& options, View view, store::Cursor* cursor) {
  store::CursorOptions viewed = options;
  viewed.snapshot = SnapshotOf(view);
  viewed.interrupted = &interrupt_flag();
  if (writes_open_ && HasWritten(IndexOf(options.lower_bound))) {
    OrderWrites();
    viewed.shows_removed = options.shows_removed && view == View::kConsistent && IsViewBehind();
    return writes_->OpenCursor(viewed, cursor);
  }
  return manager_.store_.OpenCursor(store::Family::kData, viewed, cursor);
}

// At READ COMMITTED too: statements of a function or trigger write and read by the view of the statement that called it.
bool Transaction::IsViewBehind() const {
  return view_.taken() && view_.sequence() != manager_.store_.LatestSequence();
}

bool Transaction::HasChanged(ByteView key) {
  if (!writes_open_ || !HasWritten(IndexOf(key))) return false;
  OrderWrites();
  return writes_->HasChanged(key);
}

int64_t Transaction::CountOwn(ByteView lower, ByteView upper) {
  if (!writes_open_ || !HasWritten(IndexOf(lower))) return 0;
  OrderWrites();
  const store::ChangeIndex::Count count = writes_->CountChanges(lower, upper);
  return static_cast<int64_t>(count.puts) - static_cast<int64_t>(count.removals);
}

bool Transaction::HasToWrite() const {
  if (HasWrites()) return true;
  return !counters_merged_ && std::ranges::any_of(tables_, [](const TableChange& change) { return !change.counters.IsZero(); });
}

// Once: a commit that was refused may be tried again.
Status Transaction::MergeTableCounters() {
  if (std::exchange(counters_merged_, true)) return Status::Ok();
  for (const TableChange& change : tables_) {
    if (change.counters.IsZero()) continue;
    counter_key_.Clear();
    manager_.hooks_.counter_key(change.table, &counter_key_);
    if (!writes_open_) OpenWrites();  // all else was rolled back
    CAIRN_RETURN_IF_ERROR(writes_->MergeCounters(counter_key_.view(), change.counters));
  }
  return Status::Ok();
}

// Not for the few bytes of the counters, which come with the end.
Status Transaction::Admit() { return HasWrites() && !prepared_ ? writes_->Admit() : Status::Ok(); }

Status Transaction::Prepare(ByteView name, store::Durability durability) {
  assert(is_active() && !prepared_);
  if (HasToWrite()) {
    LongChange change(*this, /*hurries=*/true);
    CAIRN_RETURN_IF_ERROR(MergeTableCounters());
    CAIRN_RETURN_IF_ERROR(writes_->Prepare(name, durability));
  }
  name_ = name;
  prepared_ = true;
  listed_prepared_.store(true, std::memory_order_relaxed);
  return Status::Ok();
}

// Ranges first, as in End(). What is locked is a key that is changed, or the beginning of some (hashes of long columns), or was only read.
void Transaction::GiveUpUnchanged(bool rows_too) {
  assert(prepared_);
  manager_.ranges_.ReleaseAll(&range_holdings_);
  if (rows_too && writes_open_) OrderWrites();
  const NumberKey number(id());
  manager_.locks_.ReleaseSome(*this, [&](ByteView key) {
    if (key == number.view()) return true;
    if (!rows_too || key == number.claims()) return false;
    return !writes_open_ || !writes_->HasChangedUnder(key);
  });
}

Status Transaction::Commit(store::Durability durability) {
  Status status;
  if (HasToWrite()) {
    {
      LongChange change(*this, /*hurries=*/true);
      if (!prepared_) CAIRN_RETURN_IF_ERROR(MergeTableCounters());
      status = writes_->Commit(durability);
      if (!status.ok() && !writes_->is_finished()) return status;
      writes_open_ = false;
    }
  } else if (writes_open_) {
    (void)EmptyWrites();
  }
  if (status.ok() && manager_.hooks_.on_commit) {
    for (const TableChange& change : tables_) {
      manager_.hooks_.on_commit(change.table, change.counters, change.changed_rows);
    }
  }
  End();
  return status;
}

Status Transaction::Rollback() {
  if (writes_open_) {
    LongChange change(*this, /*hurries=*/true);
    // The next start finds what the log has prepared and not rolled back. Nobody may have changed its rows in between.
    CAIRN_RETURN_IF_ERROR(writes_->Rollback());
    writes_open_ = false;
  }
  End();
  return Status::Ok();
}

void Transaction::End() {
  assert(!writes_open_);
  // Ranges first: who waits for this transaction because of one finds it gone when it wakes.
  manager_.ranges_.ReleaseAll(&range_holdings_);
  if (std::exchange(has_claims_, false)) manager_.claims_.Release(*this);
  manager_.locks_.ReleaseAll(*this);
  AwaitObservers();
  DropReadView();
  prepared_ = false;
  counters_merged_ = false;
  name_.clear();
  statement_ = 0;
  last_savepoint_ = 0;
  ClearForReuse(&savepoints_);
  ClearForReuse(&written_);
  written_bits_.store(0, std::memory_order_release);
  ClearForReuse(&tables_);
  undone_count_ += write_count() + 1;
  write_count_.store(0, std::memory_order_relaxed);
  listed_bytes_.store(0, std::memory_order_relaxed);
  listed_prepared_.store(false, std::memory_order_relaxed);
  // Who sees this, or that it has written nothing, also sees what was committed: FindPending.
  id_.store(0, std::memory_order_release);
}

}  // namespace cairn::txn
