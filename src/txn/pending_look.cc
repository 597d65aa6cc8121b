// SPDX-License-Identifier: GPL-2.0-only
// One look for what other transactions have put into a range and not committed.
#include "txn/pending_look.h"

#include <chrono>

namespace cairn::txn {
namespace {

// A look into another's batch passes over so many removals at most, as it holds others up.
constexpr size_t kPassedRemovalsMax = 1000;

// The end of a long change wakes at once; the time is for noticing an interrupt.
constexpr std::chrono::milliseconds kSleepMax(10);

}  // namespace

Status Transaction::FindPending(IndexId index, ByteView lower, ByteView upper, bool forward, bool* found,
                                PendingEntry* entry) {
  return TransactionManager::PendingLook(*this, index, lower, upper, forward).Run(manager_, found, entry);
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
  store::WriteTransaction::FoundPut put;
  if (other.writes_open_ && other.HasWritten(index_) &&
      other.writes_->FindPut(lower_, upper_, forward_, kPassedRemovalsMax, &put) &&
      (!*found || (forward_ ? put.key < entry->key : put.key > entry->key))) {
    *found = true;
    entry->key = put.key;
    entry->value = put.value;
    entry->is_removal = put.is_removal;
  }
  other.latch_.EndLook();
  return true;
}

void TransactionManager::PendingLook::LookAtAll(bool* found, PendingEntry* entry) {
  std::erase_if(others_, [&](const Other& other) {
    if (other.transaction->id() == other.id && !LookAt(*other.transaction, found, entry)) return false;
    other.transaction->UnpinAfterLook();
    return true;
  });
}

Status TransactionManager::PendingLook::Run(TransactionManager& manager, bool* found, PendingEntry* entry) {
  *found = false;
  PinWriters(manager);
  for (LookAtAll(found, entry); !others_.empty(); LookAtAll(found, entry)) {
    if (asker_.is_interrupted()) return Status::Of(Status::Code::kInterrupted);
    others_.front().transaction->latch_.AwaitUnmarked(kSleepMax);
  }
  return Status::Ok();
}

}  // namespace cairn::txn
