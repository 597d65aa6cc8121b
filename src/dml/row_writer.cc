// SPDX-License-Identifier: GPL-2.0-only
// A row's changes: first every claim that may fail, then the writes.
#include "dml/row_writer.h"

#include <cassert>
#include <utility>

#include "dml/index_delta.h"

namespace cairn::dml {

using catalog::IndexKind;
using store::Family;
using txn::View;

namespace {

// Buffers keep their memory between rows, but not that of a rare huge row.
constexpr size_t kKeptBufferBytes = size_t{1} << 20;

}  // namespace

void RowWriter::Bind(txn::Transaction* transaction, const catalog::TableAccess* table,
                     const txn::LockOptions& lock_options) {
  transaction_ = transaction;
  table_ = table;
  guard_ = nullptr;
  lock_options_ = lock_options;
  lock_options_.mode = txn::LockMode::kExclusive;
  try_options_ = lock_options_;
  try_options_.wait = txn::LockWait::kNoWait;
  changes_duplicates_ = false;
  has_duplicate_ = false;
  row_value_.ShrinkAbove(kKeptBufferBytes);
  build_ = table->table().build();
  if (build_ != nullptr) BindBuild();
}

void RowWriter::BindBuild() {
  build_codecs_.clear();
  for (const catalog::IndexBuild& build : build_->indexes) build_codecs_.push_back(table_->CodecOf(build.def));
}

void RowWriter::EncodePrimary(const RowRef& row, ByteBuffer* key) const {
  key->Clear();
  table_->primary().EncodePrimaryKey(row.record, row.hidden_row_id, key);
}

// Of an update: old_primary_, new_primary_ and primary_changed_.
void RowWriter::EncodePrimaries(const RowRef& old_row, const RowRef& new_row, const codec::ColumnSet& touched) {
  EncodePrimary(old_row, &old_primary_);
  if (table_->columns_of(0).Intersects(touched)) {
    EncodePrimary(new_row, &new_primary_);
    primary_changed_ = old_primary_.view() != new_primary_.view();
  } else {
    assert(KeepsPrimary(new_row));
    new_primary_.Assign(old_primary_.view());
    primary_changed_ = false;
  }
}

bool RowWriter::KeepsPrimary(const RowRef& new_row) const {
  ByteBuffer key;
  EncodePrimary(new_row, &key);
  return key.view() == old_primary_.view();
}

// Whether the key is there is told by kNotFound, or found_.
Status RowWriter::LockAndFind(ByteView key, txn::LockResult* lock) {
  Status status = transaction_->Lock(key, try_options_, lock);
  if (status.Is(Status::Code::kLockBusy)) return AwaitAndFind(key, lock);
  CAIRN_RETURN_IF_ERROR(std::move(status));
  return lock->newly_acquired ? transaction_->GetNewlyLocked(&points_, &empty_, key, &found_)
                              : transaction_->GetBy(&points_, key, View::kNewest, /*is_newly_locked=*/false, &found_);
}

// The same of a key that others have locked. If it is there, they may want it to stay as much as this transaction does, so it is looked for
// under a shared lock first. A strict read view compares only what is locked exclusively.
Status RowWriter::AwaitAndFind(ByteView key, txn::LockResult* lock) {
  const auto find = [&] { return transaction_->GetBy(&points_, key, View::kNewest, /*is_newly_locked=*/false, &found_); };
  uint64_t ends_us = 0;
  const txn::LockOptions exclusive = lock_options_.Together(&ends_us);
  if (!changes_duplicates_ && !transaction_->is_strict_snapshot()) {
    txn::LockOptions shared = exclusive;
    shared.mode = txn::LockMode::kShared;
    CAIRN_RETURN_IF_ERROR(transaction_->Lock(key, shared, lock));
    Status status = find();
    if (!status.Is(Status::Code::kNotFound)) return status;
    // Two who kept it would wait for each other.
    transaction_->GiveBack(*lock);
  }
  CAIRN_RETURN_IF_ERROR(transaction_->Lock(key, exclusive, lock));
  return find();
}

// Makes a change that begins with claims, again each time that it has met a range and waited. If it has waited for something else in
// between, that had its own time, and so has the next range.
template <typename Change>
Status RowWriter::ClaimAndChange(const Change& change) {
  uint64_t ends_us = 0;
  for (;;) {
    claims_.clear();
    range_key_.Clear();
    const uint64_t wait_count = transaction_->wait_count();
    Status status = change();
    if (status.ok()) return status;
    if (transaction_->wait_count() != wait_count) ends_us = 0;
    CAIRN_RETURN_IF_ERROR(PrepareAgain(std::move(status), &ends_us));
  }
}

// Whether the change that failed can be made again. It has come to nothing if its error is an expected one, so nobody need wait for the keys
// that it would have written: neither while this transaction waits for who holds a range there, and may want them, nor afterwards.
Status RowWriter::PrepareAgain(Status status, uint64_t* ends_us) {
  switch (status.code()) {
    case Status::Code::kDuplicateKey:
      if (changes_duplicates_) return status;
      break;
    case Status::Code::kLockBusy:
    case Status::Code::kLockTimeout:
    case Status::Code::kInterrupted:
    case Status::Code::kNoReferencedRow:
    case Status::Code::kRowIsReferenced:
      break;
    default:
      return status;
  }
  for (const txn::LockResult& claim : claims_) transaction_->GiveBack(claim);
  if (range_key_.view().empty()) return status;
  return transaction_->WaitForRanges(range_key_.view(), lock_options_.Together(ends_us));
}

// Locks the new primary key and makes sure that no row has it. A new hidden row id is nobody's, but a scan
// that meets the uncommitted row must have a lock to wait for.
Status RowWriter::ClaimPrimary() {
  txn::LockResult lock;
  if (table_->primary().has_hidden_row_id()) {
    CAIRN_RETURN_IF_ERROR(transaction_->Lock(new_primary_.view(), lock_options_, &lock));
    NoteClaim(lock);
    return Status::Ok();
  }
  Status status = LockAndFind(new_primary_.view(), &lock);
  if (status.Is(Status::Code::kNotFound)) {
    NoteClaim(lock);
    return Status::Ok();
  }
  CAIRN_RETURN_IF_ERROR(std::move(status));
  if (lock.newly_acquired && !changes_duplicates_) transaction_->Weaken(lock.handle);
  duplicate_index_ = 0;
  duplicate_primary_key_.Assign(new_primary_.view());
  has_duplicate_ = changes_duplicates_;
  duplicate_mark_ = transaction_->change_mark();
  return Status::DuplicateKey();
}

bool RowWriter::TakeDuplicate(ByteView key, ByteView* value) {
  if (!std::exchange(has_duplicate_, false) || key != duplicate_primary_key_.view()) return false;
  if (transaction_->change_mark() != duplicate_mark_) return false;
  *value = found_.view();
  return true;
}

// The same for a unique index. Rows with a NULL part never collide.
Status RowWriter::ClaimUnique(size_t index, const uint8_t* record) {
  const codec::IndexCodec& codec = table_->indexes()[index];
  if (codec.HasNullPart(record)) return Status::Ok();
  new_entry_.key.Clear();
  codec.EncodeTupleFromRecord(record, codec.own_part_count(), &new_entry_.key);
  return ClaimUniqueKey(index);
}

// The key is new_entry_'s. Of an entry that is there the row's lock is enough, as the entry goes with a change of the row. Who is changing
// it may put another entry of this key, so its own lock is not kept while that one is waited for. If there is nobody to wait for, who is to
// change the row keeps both: others queue for the entry then, and each end lets in one of them instead of all.
Status RowWriter::ClaimUniqueKey(size_t index) {
  uint64_t ends_us = 0;
  for (;;) {
    txn::LockResult lock;
    Status status = LockAndFind(new_entry_.key.view(), &lock);
    if (status.Is(Status::Code::kNotFound)) {
      NoteClaim(lock);
      return Status::Ok();
    }
    CAIRN_RETURN_IF_ERROR(std::move(status));
    status = LockDuplicate(index, try_options_);
    const bool is_kept = changes_duplicates_ && status.Is(Status::Code::kDuplicateKey);
    if (!is_kept) transaction_->GiveBack(lock);
    if (status.Is(Status::Code::kLockBusy)) status = LockDuplicate(index, lock_options_.Together(&ends_us));
    if (!status.Is(Status::Code::kNotFound)) return status;
  }
}

// Locks the row of the entry that was found. Who is deleting or changing the row has locked it: the outcome decides, so the entry counts
// (kDuplicateKey) only if it is still there, and the row's, once the lock was got. Else it is to be looked for again: kNotFound.
Status RowWriter::LockDuplicate(size_t index, txn::LockOptions options) {
  const codec::IndexCodec& codec = table_->indexes()[index];
  duplicate_index_ = index;
  // Copied, as what was found is valid until the next read.
  duplicate_primary_key_.Clear();
  CAIRN_RETURN_IF_ERROR(codec.PrimaryKeyOf(new_entry_.key.view(), found_.view(), &duplicate_primary_key_));
  if (!changes_duplicates_) options.mode = txn::LockMode::kShared;
  txn::LockResult lock;
  CAIRN_RETURN_IF_ERROR(transaction_->Lock(duplicate_primary_key_.view(), options, &lock));
  Status status = transaction_->GetBy(&points_, new_entry_.key.view(), View::kNewest, /*is_newly_locked=*/false, &found_);
  if (status.ok()) {
    primary_key_now_.Clear();
    CAIRN_RETURN_IF_ERROR(codec.PrimaryKeyOf(new_entry_.key.view(), found_.view(), &primary_key_now_));
    if (primary_key_now_.view() == duplicate_primary_key_.view()) return Status::DuplicateKey();
    status = Status::NotFound();
  }
  if (status.Is(Status::Code::kNotFound)) transaction_->GiveBack(lock);
  return status;
}

// What may not have been there. Waits for nobody.
Status RowWriter::InsertKey(ByteView key, ByteView value) {
  Status status = transaction_->Insert(key, value, try_options_);
  if (status.Is(Status::Code::kLockBusy)) range_key_.Assign(key);
  return status;
}

// Also for an entry that keeps its key and changes its value: that may make it match where it did not.
Status RowWriter::InsertEntry(const Entry& entry) { return InsertKey(entry.key.view(), entry.value.view()); }

Status RowWriter::RemoveEntry(size_t index, ByteView key) {
  return table_->RemovesSingly(index) ? transaction_->SingleDelete(Family::kData, key)
                                      : transaction_->Delete(Family::kData, key);
}

Status RowWriter::Insert(const RowRef& row) {
  has_duplicate_ = false;
  EncodePrimary(row, &new_primary_);
  CAIRN_RETURN_IF_ERROR(ClaimAndChange([&] { return InsertClaimed(row); }));
  transaction_->AddTableCounters(table_->def().id, {.row_count = 1, .auto_increment_next = 0});
  return Status::Ok();
}

// The primary key is new_primary_'s. A hidden one comes last: nobody else wants it, and the next attempt after a duplicate has another.
Status RowWriter::InsertClaimed(const RowRef& row) {
  const bool is_hidden = table_->primary().has_hidden_row_id();
  if (!is_hidden) CAIRN_RETURN_IF_ERROR(ClaimPrimary());
  const size_t index_count = table_->indexes().size();
  for (size_t index = 1; index < index_count; ++index) {
    if (table_->indexes()[index].unique()) CAIRN_RETURN_IF_ERROR(ClaimUnique(index, row.record));
  }
  if (guard_ != nullptr) CAIRN_RETURN_IF_ERROR(guard_->BeforeInsert(row));
  if (is_hidden) CAIRN_RETURN_IF_ERROR(ClaimPrimary());
  return transaction_->ChangeRow([&] { return PutRow(row); });
}

// With its entries; the primary key is new_primary_'s.
Status RowWriter::PutRow(const RowRef& row) {
  EncodeValue(row);
  CAIRN_RETURN_IF_ERROR(InsertKey(new_primary_.view(), row_value_.view()));
  for (size_t index = 1; index < table_->indexes().size(); ++index) {
    new_entry_.key.Clear();
    new_entry_.value.Clear();
    table_->indexes()[index].EncodeEntry(row.record, new_primary_.view(), &new_entry_.key, &new_entry_.value);
    CAIRN_RETURN_IF_ERROR(InsertEntry(new_entry_));
  }
  return NoteInBuilds(row, new_primary_.view(), true);
}

Status RowWriter::InsertEncoded(size_t index, ByteView key, ByteView value) {
  has_duplicate_ = false;
  return ClaimAndChange([&] {
    if (index == 0) {
      new_primary_.Assign(key);
      CAIRN_RETURN_IF_ERROR(ClaimPrimary());
    } else if (table_->indexes()[index].unique()) {
      // One with a NULL has its row's key in it, and is nobody else's.
      new_entry_.key.Assign(key);
      CAIRN_RETURN_IF_ERROR(ClaimUniqueKey(index));
    }
    return InsertKey(key, value);
  });
}

bool RowWriter::Affected(size_t index, const codec::ColumnSet& touched) const {
  return primary_changed_ || newer_than_view_ || table_->HasVirtualColumn(index) || table_->columns_of(index).Intersects(touched);
}

// Whether an update has the row to put and nothing else: no entry, and no delta.
bool RowWriter::ChangesRowAlone(const codec::ColumnSet& touched) const {
  if (build_ != nullptr || table_->columns_of(0).Intersects(touched)) return false;
  for (size_t index = 1; index < table_->indexes().size(); ++index) {
    if (Affected(index, touched)) return false;
  }
  return true;
}

// Claims the new keys of unique indexes whose key changes, before anything is written.
Status RowWriter::ClaimChangedUniques(const RowRef& old_row, const RowRef& new_row, const codec::ColumnSet& touched) {
  for (size_t index = 1; index < table_->indexes().size(); ++index) {
    const codec::IndexCodec& codec = table_->indexes()[index];
    if (!codec.unique() || !Affected(index, touched)) continue;
    old_entry_.key.Clear();
    new_entry_.key.Clear();
    codec.EncodeTupleFromRecord(old_row.record, codec.own_part_count(), &old_entry_.key);
    codec.EncodeTupleFromRecord(new_row.record, codec.own_part_count(), &new_entry_.key);
    if (old_entry_.key.view() == new_entry_.key.view()) continue;
    CAIRN_RETURN_IF_ERROR(ClaimUnique(index, new_row.record));
  }
  return Status::Ok();
}

Status RowWriter::UpdateEntry(size_t index, const RowRef& old_row, const RowRef& new_row) {
  const codec::IndexCodec& codec = table_->indexes()[index];
  old_entry_.key.Clear();
  old_entry_.value.Clear();
  new_entry_.key.Clear();
  new_entry_.value.Clear();
  codec.EncodeEntry(old_row.record, old_primary_.view(), &old_entry_.key, &old_entry_.value);
  codec.EncodeEntry(new_row.record, new_primary_.view(), &new_entry_.key, &new_entry_.value);
  if (old_entry_.key.view() == new_entry_.key.view()) {
    if (newer_than_view_) CAIRN_RETURN_IF_ERROR(RemoveEntry(index, old_entry_.key.view()));
    if (old_entry_.value.view() != new_entry_.value.view()) return InsertEntry(new_entry_);
    return newer_than_view_ ? transaction_->Put(Family::kData, new_entry_.key.view(), new_entry_.value.view())
                            : Status::Ok();
  }
  key_changed_ = true;
  CAIRN_RETURN_IF_ERROR(RemoveEntry(index, old_entry_.key.view()));
  return InsertEntry(new_entry_);
}

// A row that others changed after the read view was taken: its entries are not in the view, but the
// transaction sees the row as its own from now on, so all of its entries must be its own too.
Status RowWriter::CompareWithView(const RowRef& old_row) {
  newer_than_view_ = false;
  if (!transaction_->IsViewBehind() || transaction_->HasChanged(old_primary_.view())) return Status::Ok();
  Status status = transaction_->Get(Family::kData, old_primary_.view(), View::kConsistent, &found_);
  if (!status.ok() && !status.Is(Status::Code::kNotFound)) return status;
  EncodeValue(old_row);
  newer_than_view_ = !status.ok() || found_.view() != row_value_.view();
  return Status::Ok();
}

// Whether a primary key that keeps its bytes may be spelled differently now: to those who look at the
// spelling it is another key.
bool RowWriter::MayRespellPrimary(const codec::ColumnSet& touched) const {
  if (!table_->columns_of(0).Intersects(touched)) return false;
  for (const catalog::KeyPartDef& part : table_->def().indexes[0].parts) {
    if (!table_->primary().Covers(part.column)) return true;
  }
  return false;
}

Status RowWriter::Update(const RowRef& old_row, const RowRef& new_row, const codec::ColumnSet& touched) {
  has_duplicate_ = false;
  EncodePrimaries(old_row, new_row, touched);
  key_changed_ = primary_changed_;
  CAIRN_RETURN_IF_ERROR(CompareWithView(old_row));
  const bool is_row_alone = ChangesRowAlone(touched);
  Status status = ClaimAndChange([&] {
    if (primary_changed_) CAIRN_RETURN_IF_ERROR(ClaimPrimary());
    if (!is_row_alone) CAIRN_RETURN_IF_ERROR(ClaimChangedUniques(old_row, new_row, touched));
    if (guard_ != nullptr) CAIRN_RETURN_IF_ERROR(guard_->BeforeUpdate(old_row, new_row, touched));
    // One change is made or not: there is nothing to undo.
    if (is_row_alone) return PutChangedRow(new_row);
    return transaction_->ChangeRow([&] { return ReplaceRow(old_row, new_row, touched); });
  });
  if (status.ok() && key_changed_) transaction_->NoteChangedRow(table_->def().id);
  return status;
}

// Without its entries; the primary key is new_primary_'s, and stays, in its spelling also.
Status RowWriter::PutChangedRow(const RowRef& row) {
  EncodeValue(row);
  return transaction_->Put(Family::kData, new_primary_.view(), row_value_.view());
}

// With its entries; the primary keys are old_primary_'s and new_primary_'s.
Status RowWriter::ReplaceRow(const RowRef& old_row, const RowRef& new_row, const codec::ColumnSet& touched) {
  if (primary_changed_ || MayRespellPrimary(touched)) {
    EncodeValue(new_row);
    if (primary_changed_) CAIRN_RETURN_IF_ERROR(transaction_->Delete(Family::kData, old_primary_.view()));
    CAIRN_RETURN_IF_ERROR(InsertKey(new_primary_.view(), row_value_.view()));
  } else {
    CAIRN_RETURN_IF_ERROR(PutChangedRow(new_row));
  }
  for (size_t index = 1; index < table_->indexes().size(); ++index) {
    // A primary key that only changed its spelling under the collation keeps its bytes, but an
    // entry holds the spelling beside them.
    if (Affected(index, touched) || table_->columns_of(0).Intersects(touched)) {
      CAIRN_RETURN_IF_ERROR(UpdateEntry(index, old_row, new_row));
    }
  }
  return NoteChangeInBuilds(old_row, new_row, touched);
}

Status RowWriter::Delete(const RowRef& row) {
  has_duplicate_ = false;
  EncodePrimary(row, &old_primary_);
  CAIRN_RETURN_IF_ERROR(transaction_->ChangeRow([&] { return RemoveRow(row); }));
  transaction_->AddTableCounters(table_->def().id, {.row_count = -1, .auto_increment_next = 0});
  return Status::Ok();
}

// With its entries; the primary key is old_primary_'s.
Status RowWriter::RemoveRow(const RowRef& row) {
  CAIRN_RETURN_IF_ERROR(transaction_->Delete(Family::kData, old_primary_.view()));
  for (size_t index = 1; index < table_->indexes().size(); ++index) {
    old_entry_.key.Clear();
    old_entry_.value.Clear();
    table_->indexes()[index].EncodeEntry(row.record, old_primary_.view(), &old_entry_.key, &old_entry_.value);
    CAIRN_RETURN_IF_ERROR(RemoveEntry(index, old_entry_.key.view()));
  }
  return NoteInBuilds(row, old_primary_.view(), false);
}

// The builder locks a delta while it applies and removes it, for a moment and never waiting for anybody.
Status RowWriter::NoteDelta(const catalog::IndexBuild& build, bool present, const Entry& entry, ByteView primary_key) {
  delta_.key.Clear();
  delta_.value.Clear();
  EncodeDelta(build, present, entry.key.view(), entry.value.view(), primary_key, &delta_.key, &delta_.value);
  CAIRN_RETURN_IF_ERROR(
      transaction_->Lock(delta_.key.view(), {.mode = txn::LockMode::kExclusive, .is_row = false}, nullptr));
  return transaction_->Put(Family::kData, delta_.key.view(), delta_.value.view());
}

Status RowWriter::NoteInBuilds(const RowRef& row, ByteView primary_key, bool present) {
  if (build_ == nullptr) return Status::Ok();
  for (size_t i = 0; i < build_codecs_.size(); ++i) {
    new_entry_.key.Clear();
    new_entry_.value.Clear();
    build_codecs_[i].EncodeEntry(row.record, primary_key, &new_entry_.key, &new_entry_.value);
    CAIRN_RETURN_IF_ERROR(NoteDelta(build_->indexes[i], present, new_entry_, primary_key));
  }
  return Status::Ok();
}

Status RowWriter::NoteChangeInBuilds(const RowRef& old_row, const RowRef& new_row, const codec::ColumnSet& touched) {
  if (build_ == nullptr) return Status::Ok();
  for (size_t i = 0; i < build_codecs_.size(); ++i) {
    const catalog::IndexBuild& build = build_->indexes[i];
    if (!primary_changed_ && !build.columns.Intersects(touched) && !table_->columns_of(0).Intersects(touched)) continue;
    old_entry_.key.Clear();
    old_entry_.value.Clear();
    new_entry_.key.Clear();
    new_entry_.value.Clear();
    build_codecs_[i].EncodeEntry(old_row.record, old_primary_.view(), &old_entry_.key, &old_entry_.value);
    build_codecs_[i].EncodeEntry(new_row.record, new_primary_.view(), &new_entry_.key, &new_entry_.value);
    const bool same_entry = old_entry_.key.view() == new_entry_.key.view() && !primary_changed_;
    if (same_entry && old_entry_.value.view() == new_entry_.value.view()) continue;
    if (!same_entry) CAIRN_RETURN_IF_ERROR(NoteDelta(build, false, old_entry_, old_primary_.view()));
    CAIRN_RETURN_IF_ERROR(NoteDelta(build, true, new_entry_, new_primary_.view()));
  }
  return Status::Ok();
}

}  // namespace cairn::dml
