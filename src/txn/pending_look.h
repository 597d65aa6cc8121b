// SPDX-License-Identifier: GPL-2.0-only
// One look for what other transactions have put into a range and not committed.
#pragma once

#include <vector>

#include "txn/transaction.h"
#include "txn/transaction_manager.h"

namespace cairn::txn {

// Looks once into the batch of each transaction that may have put something into the index since before the look. The looks are one
// after the other, not at one moment: what a batch gets after its look counts as an arrival (range_locks.h), as the range was
// announced before. No mutex of the manager is held meanwhile; the transactions are pinned.
//
// Who is in the middle of a long change is left for the end, and waited for until that change is over, if it may be. If its transaction is
// over by then, there is nothing to look for: what it committed is seen by cursors opened from now on.
//
// Thread rule: the asker's thread.
class TransactionManager::PendingLook {
 public:
  // `lower` and `upper` must live as long as this.
  PendingLook(const Transaction& asker, IndexId index, ByteView lower, ByteView upper, bool forward)
      : asker_(asker), index_(index), lower_(lower), upper_(upper), forward_(forward) {}
  PendingLook(const PendingLook&) = delete;
  PendingLook& operator=(const PendingLook&) = delete;
  ~PendingLook();

  // Transaction::FindPending. Call once.
  Status Run(TransactionManager& manager, const LockOptions& options, bool* found, PendingEntry* entry);

 private:
  struct Other {
    Transaction* transaction;  // pinned
    uint64_t id;               // its id() when it was pinned
  };
  void PinWriters(TransactionManager& manager);
  // False: somebody is at something long there, or the look itself was and has given way.
  bool LookAt(Transaction& other, bool* found, PendingEntry* entry) const;
  // During a look: sees to it that FindPut does not take long. False: given way.
  bool Order(Transaction& other) const;
  // Takes those out that were looked at.
  void LookAtAll(bool* found, PendingEntry* entry);
  // The same until none is left.
  Status AwaitAll(TransactionManager& manager, const LockOptions& options, bool* found, PendingEntry* entry);

  const Transaction& asker_;
  const IndexId index_;
  const ByteView lower_;
  const ByteView upper_;
  const bool forward_;
  std::vector<Other> others_;  // not looked at yet
};

}  // namespace cairn::txn
