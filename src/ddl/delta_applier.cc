// SPDX-License-Identifier: GPL-2.0-only
// Brings the changes that were noted for an index into it.
#include "ddl/delta_applier.h"

#include "base/index_bounds.h"

namespace cairn::ddl {

using store::Family;
using txn::View;

namespace {

// A writer that meets a locked delta waits for one transaction of the builder.
constexpr uint64_t kDeltasPerTransaction = 256;
constexpr size_t kIdBytes = 4;

std::string WithId(IndexId id, ByteView rest) {
  std::string key(kIdBytes, '\0');
  StoreBe32(key.data(), id.value);
  key += rest;
  return key;
}

}  // namespace

DeltaApplier::DeltaApplier(store::Store& store, txn::TransactionManager& transactions,
                           const catalog::IndexBuild& build, const codec::IndexCodec& codec, bool last,
                           const std::function<bool()>& interrupted, const std::atomic<bool>* interrupt_flag)
    : store_(store),
      build_(build),
      codec_(codec),
      last_(last),
      interrupted_(interrupted),
      interrupt_flag_(interrupt_flag),
      transaction_(transactions.NewTransaction()) {}

Status DeltaApplier::Run(IndexId primary) {
  primary_ = primary;
  const IndexBounds bounds(build_.delta);
  store::Cursor cursor;
  CAIRN_RETURN_IF_ERROR(store_.OpenCursor(
      Family::kData, {.lower_bound = bounds.lower(), .upper_bound = bounds.upper(), .interrupted = interrupt_flag_}, &cursor));
  std::string entry;
  for (cursor.SeekToFirst(); cursor.Valid(); cursor.Next()) {
    dml::IndexDelta delta;
    CAIRN_RETURN_IF_ERROR(dml::DecodeDelta(cursor.key(), cursor.value(), &delta));
    if (!group_.empty() && delta.entry_key_rest != entry) CAIRN_RETURN_IF_ERROR(ApplyGroup());
    entry = delta.entry_key_rest;
    group_.emplace_back(cursor.key());
  }
  CAIRN_RETURN_IF_ERROR(cursor.status());
  if (!group_.empty()) CAIRN_RETURN_IF_ERROR(ApplyGroup());
  return CommitBatch();
}

Status DeltaApplier::CommitBatch() {
  batch_count_ = 0;
  if (!transaction_->is_active()) return Status::Ok();
  if (interrupted_ && interrupted_()) return Status::Of(Status::Code::kInterrupted);
  transaction_->EndStatement();
  // A crash undoes the whole build, so nothing here needs to be durable by itself.
  return transaction_->Commit(store::Durability::kBuffered);
}

Status DeltaApplier::LockGroup(bool* all) {
  *all = true;
  for (const std::string& key : group_) {
    Status status =
        transaction_->Lock(key, {.mode = txn::LockMode::kExclusive, .wait = txn::LockWait::kNoWait}, nullptr);
    if (status.Is(Status::Code::kLockBusy)) {
      *all = false;
      return last_ ? Status(Status::Code::kLockTimeout, "a prepared transaction has changed the table") : Status::Ok();
    }
    CAIRN_RETURN_IF_ERROR(std::move(status));
  }
  return Status::Ok();
}

// Rows come and go; who has the entry in the end? A conflict is two rows.
Status DeltaApplier::Decide(ByteView entry_key, bool was_present, ByteView old_value, Outcome* outcome) {
  ByteBuffer owner;
  if (was_present && codec_.unique()) CAIRN_RETURN_IF_ERROR(codec_.PrimaryKeyOf(entry_key, old_value, &owner));
  const ByteView owner_rest = owner.empty() ? ByteView() : owner.view().substr(kIdBytes);
  bool owner_stays = was_present;
  store::PinnedValue found;
  for (const std::string& key : group_) {
    Status status = transaction_->Get(Family::kData, key, View::kNewest, &found);
    if (status.Is(Status::Code::kNotFound)) continue;
    CAIRN_RETURN_IF_ERROR(std::move(status));
    dml::IndexDelta delta;
    CAIRN_RETURN_IF_ERROR(dml::DecodeDelta(key, found.view(), &delta));
    if (was_present && delta.primary_key_rest == owner_rest) owner_stays = false;
    if (!delta.present) continue;
    outcome->conflict |= outcome->present;
    outcome->present = true;
    outcome->value = delta.value;
    if (outcome->conflict) duplicate_primary_key_ = WithId(primary_, delta.primary_key_rest);
  }
  if (!owner_stays) return Status::Ok();
  if (outcome->present) {
    outcome->conflict = true;
    duplicate_primary_key_ = owner.ToString();
  } else {
    outcome->present = true;
    outcome->value = old_value;
  }
  return Status::Ok();
}

// Only real changes are written, so that each entry is put once between two removals.
Status DeltaApplier::Write(ByteView entry_key, bool was_present, ByteView old_value, const Outcome& outcome) {
  if (outcome.present && !(was_present && old_value == outcome.value)) {
    return transaction_->Put(Family::kData, entry_key, outcome.value);
  }
  if (outcome.present || !was_present) return Status::Ok();
  return build_.removes_singly ? transaction_->SingleDelete(Family::kData, entry_key)
                               : transaction_->Delete(Family::kData, entry_key);
}

Status DeltaApplier::ApplyGroup() {
  if (!transaction_->is_active()) {
    transaction_->Begin(txn::Isolation::kReadCommitted);
    transaction_->StartStatement();
  }
  bool all;
  CAIRN_RETURN_IF_ERROR(LockGroup(&all));
  if (all) {
    store::PinnedValue found;
    dml::IndexDelta delta;
    Status status = transaction_->Get(Family::kData, group_.front(), View::kNewest, &found);
    CAIRN_RETURN_IF_ERROR(std::move(status));
    CAIRN_RETURN_IF_ERROR(dml::DecodeDelta(group_.front(), found.view(), &delta));
    const std::string entry_key = WithId(build_.def.id, delta.entry_key_rest);
    status = transaction_->Get(Family::kData, entry_key, View::kNewest, &found);
    const bool was_present = status.ok();
    if (!was_present && !status.Is(Status::Code::kNotFound)) return status;
    const std::string old_value(found.view());
    Outcome outcome;
    CAIRN_RETURN_IF_ERROR(Decide(entry_key, was_present, old_value, &outcome));
    if (outcome.conflict && last_) return Status::DuplicateKey();
    if (!outcome.conflict) {
      CAIRN_RETURN_IF_ERROR(Write(entry_key, was_present, old_value, outcome));
      for (const std::string& key : group_) CAIRN_RETURN_IF_ERROR(transaction_->Delete(Family::kData, key));
      applied_count_ += group_.size();
    }
  }
  batch_count_ += group_.size();
  group_.clear();
  return batch_count_ < kDeltasPerTransaction ? Status::Ok() : CommitBatch();
}

}  // namespace cairn::ddl
