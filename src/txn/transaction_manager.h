// SPDX-License-Identifier: GPL-2.0-only
// Makes transactions, lists them, and keeps those that are prepared for who ends them by name.
#pragma once

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/ids.h"
#include "base/status.h"
#include "store/store.h"
#include "txn/point_locks.h"
#include "txn/range_locks.h"
#include "txn/transaction.h"

namespace cairn::txn {

// What the layers above know and transactions need.
struct TransactionHooks {
  // Appends the dictionary key of a table's counter record. Required once counters are changed.
  std::function<void(TableId table, ByteBuffer* key)> counter_key;

  // Told after a commit, on its thread and before its locks are released, what each table gained, and of how many
  // changed rows (Transaction::NoteChangedRow). Optional.
  std::function<void(TableId table, const store::TableCounters& change, uint64_t changed_rows)> on_commit;

  // The keys to lock again for a change of a transaction found prepared at start; calls `lock` for
  // each. Null locks the changed key itself, which is right only if nothing else stands for a row.
  std::function<void(ByteView changed_key, const std::function<void(ByteView)>& lock)> recovered_lock_keys;

  // Told what a transaction found prepared at start adds to the counters of a table once it commits;
  // says which table that is, and false for a key that is no table's. Optional.
  std::function<bool(ByteView counter_key, const store::TableCounters& change, TableId* table)> recovered_counters;
};

// One transaction, for people to read.
struct TransactionRow {
  uint64_t id = 0;
  uint64_t connection_id = 0;  // 0: it has none (any more)
  Isolation isolation = Isolation::kRepeatableRead;
  uint64_t age_us = 0;
  uint64_t view_age_us = 0;  // 0: no read view
  uint64_t lock_count = 0;
  uint64_t write_count = 0;
  uint64_t write_bytes = 0;
  bool waiting = false;
  bool prepared = false;
  // Of one that was taken over, see Detach(): its name, and the log it keeps with all later ones; 0 if it has changed nothing.
  std::string name;
  uint64_t prepare_log_number = 0;
};

// Thread rule: all methods are safe from any thread. Lifetime: outlives its transactions; the
// store outlives it.
class TransactionManager {
 public:
  TransactionManager(store::Store& store, const PointLocks::Options& lock_options, TransactionHooks hooks);
  ~TransactionManager();

  // A new, inactive transaction for one connection; `user_data`, `connection_id`: see LockOwner.
  std::unique_ptr<Transaction> NewTransaction(void* user_data = nullptr, uint64_t connection_id = 0);

  // Takes over the transactions that the store found prepared and locks their keys again. Call
  // once, after the dictionary is loaded and before any other transaction begins.
  Status RecoverPrepared();

  // Takes over a prepared transaction, for who ends it by its name. Afterwards nobody looks at its user data, and it has no connection. If there is one of the
  // name, the one that has changed something is kept, and the other one is rolled back.
  void Detach(std::unique_ptr<Transaction> transaction);

  // Prepared transactions that were taken over (users' all are): their names, and ending them by name. kNotFound
  // when there is none of the name. When ending fails it stays in the list.
  std::vector<std::string> ListPrepared() const;
  // Shows each name in turn. It stays prepared until `visit` returns, which must not call back.
  void VisitPrepared(const std::function<void(const std::string& name)>& visit) const;
  bool IsPrepared(const std::string& name) const;
  Status CommitPrepared(ByteView name, store::Durability durability);
  Status RollbackPrepared(ByteView name);

  // For one of them whose rollback has failed, where nobody will ask for it again: RetryRollbacks(), to be called from time to time,
  // rolls it back once writes are accepted again. It has no name any more: the user who gave it that may give it to another transaction.
  void RollBackLater(ByteView name);
  void RetryRollbacks();

  // Whether one of them has changed the index; also when it has ended since. What it had locked before the start that is no key it
  // changed is forgotten. Costs nothing where none was found.
  bool FoundPrepared(IndexId index) const { return std::ranges::binary_search(found_prepared_, index); }

  // Whether a prepared transaction has changed an index, with a connection or without; also while it is
  // being committed or rolled back. Others' commits are waited for where it can't be told at once.
  bool PreparedHaveWritten(IndexId index);
  // Takes out of `indexes` those that an active transaction has changed, in one look at all. Never waits: also those of which it can't be told
  // at once.
  void EraseMaybeWritten(std::vector<IndexId>* indexes);

  // Every transaction that begins from now on has this id or a higher one.
  uint64_t next_transaction_id() const { return next_id_.load(std::memory_order_relaxed); }
  // The lowest id of an active transaction; what next_transaction_id() is when there is none.
  uint64_t oldest_transaction_id() const;

  // All active transactions, oldest first.
  std::vector<TransactionRow> List() const;
  // 0 when no read view is held.
  uint64_t oldest_view_age_us() const;
  uint64_t active_count() const;

  store::Store& store() { return store_; }
  RowLocks& locks() { return locks_; }
  const RowLocks& locks() const { return locks_; }
  const RangeLocks& ranges() const { return ranges_; }

 private:
  friend class Transaction;

  // The indexes that a prepared transaction has changed, while it ends.
  using Ending = std::list<std::vector<IndexId>>::iterator;
  std::unique_ptr<Transaction> TakePrepared(ByteView name, Ending* ending);
  void EndEnding(Ending ending);
  Status LockRecovered(Transaction& transaction);
  Status CountRecovered(Transaction& transaction);
  void Unregister(Transaction& transaction);
  // Looks for what others have not committed in a range: see Transaction::FindPending.
  class PendingLook;
  // One look at all that are prepared; mutex_ is held. False: one is in the middle of a long change.
  bool LookForPreparedWriter(IndexId index, bool* found);
  void TellLongChangeEnded();

  store::Store& store_;
  PointLocks locks_;
  RangeLocks ranges_;
  IndexClaims claims_;
  const TransactionHooks hooks_;
  std::vector<IndexId> found_prepared_;  // sorted; as RecoverPrepared() left it
  std::atomic<uint64_t> next_id_{1};

  // Of PreparedHaveWritten's callers; the ends of long changes tell them, those of long looks do not: they look again by themselves.
  std::atomic<uint32_t> long_change_waiters_{0};
  std::condition_variable long_change_ended_;  // with mutex_

  mutable std::mutex mutex_;
  Transaction* transactions_ = nullptr;                                // guarded by mutex_
  std::map<std::string, std::unique_ptr<Transaction>> prepared_;       // guarded by mutex_
  std::list<std::vector<IndexId>> ending_;                             // guarded by mutex_
  std::vector<std::unique_ptr<Transaction>> to_roll_back_;             // guarded by mutex_
};

}  // namespace cairn::txn
