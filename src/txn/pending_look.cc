// SPDX-License-Identifier: GPL-2.0-only
// One look for what other transactions have put into a range and not committed.
#include "txn/pending_look.h"

#include <algorithm>
#include <utility>

namespace cairn::txn {
namespace {

// A look into another's batch passes over so many removals at most, as it holds others up.
constexpr size_t kPassedRemovalsMax = 1000;

// Putting so many changes in order takes about as long.
constexpr uint64_t kQuicklyOrderedMax = 1000;

// The commit of a small transaction takes no longer on a slow disk. It holds no lock that is asked for, so it makes nobody fail who is not
// to wait for locks.
constexpr uint64_t kSmallCommitUs = 100'000;

}  // namespace

Status Transaction::FindPending(IndexId index, ByteView lower, ByteView upper, bool forward, const LockOptions& options,
                                bool* found, PendingEntry* entry) {
  return TransactionManager::PendingLook(*this, index, lower, upper, forward).Run(manager_, options, found, entry);
}

TransactionManager::PendingLook::~PendingLook() {
  for (const Other& other : others_) other.transaction->UnpinAfterLook();
}

// The bits come before the id: with this id, the bits cannot be those of a later transaction of the object. So what a later
// one puts comes after it has set its bit, and that after the range was announced.
void TransactionManager::PendingLook::PinWriters(TransactionManager& manager) {
  std::lock_guard lock(manager.mutex_);
  for (Transaction* one = manager.transactions_; one != nullptr; one = one->next_) {
    if (one == &asker_) continue;
    if ((one->written_bits_.load(std::memory_order_seq_cst) & Transaction::BitOf(index_)) == 0) continue;
    one->PinForLook();
    others_.push_back({one, one->id()});
  }
}

bool TransactionManager::PendingLook::LookAt(Transaction& other, bool* found, PendingEntry* entry) const {
  if (!other.latch_.TryLook()) return false;
  const bool looks = other.writes_open_ && other.HasWritten(index_);
  const bool can_look = !looks || Order(other);
  store::WriteTransaction::FoundPut put;
  if (looks && can_look && other.writes_->FindPut(lower_, upper_, forward_, kPassedRemovalsMax, &put) &&
      (!*found || (forward_ ? put.key < entry->key : put.key > entry->key))) {
    *found = true;
    entry->key = put.key;
    entry->value = put.value;
    entry->is_removal = put.is_removal;
  }
  other.latch_.EndLook();
  return can_look;
}

// Of a batch of many millions this takes seconds, in which the owner may want to commit, and others to look or to be killed.
bool TransactionManager::PendingLook::Order(Transaction& other) const {
  const store::WriteTransaction& writes = *other.writes_;
  if (writes.is_ordered() || writes.change_count() <= kQuicklyOrderedMax) return true;
  other.latch_.MarkLook();
  return writes.OrderUnless([&] { return asker_.is_interrupted() || other.latch_.is_wanted(); });
}

void TransactionManager::PendingLook::LookAtAll(bool* found, PendingEntry* entry) {
  std::erase_if(others_, [&](const Other& other) {
    if (other.transaction->id() == other.id && !LookAt(*other.transaction, found, entry)) return false;
    other.transaction->UnpinAfterLook();
    return true;
  });
}

Status TransactionManager::PendingLook::Run(TransactionManager& manager, const LockOptions& options, bool* found,
                                            PendingEntry* entry) {
  *found = false;
  PinWriters(manager);
  LookAtAll(found, entry);
  return others_.empty() ? Status::Ok() : AwaitAll(manager, options, found, entry);
}

Status TransactionManager::PendingLook::AwaitAll(TransactionManager& manager, const LockOptions& options, bool* found,
                                                 PendingEntry* entry) {
  const bool waits = options.wait == LockWait::kWait;
  uint64_t now_us = manager.locks_.NowUs();
  uint64_t end_us = std::max(now_us + kSmallCommitUs, waits ? options.EndOfWait(now_us) : 0);
  while (!others_.empty()) {
    if (asker_.is_interrupted()) return Status::Of(Status::Code::kInterrupted);
    if (now_us >= end_us) return Status::Of(waits ? Status::Code::kLockTimeout : Status::Code::kLockBusy);
    const bool is_look = others_.front().transaction->latch_.AwaitUnmarked();
    LookAtAll(found, entry);
    const uint64_t before_us = std::exchange(now_us, manager.locks_.NowUs());
    // Nobody commits meanwhile, and what another look does is spared to this one.
    if (is_look) end_us += now_us - before_us;
  }
  return Status::Ok();
}

}  // namespace cairn::txn
