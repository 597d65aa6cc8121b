// SPDX-License-Identifier: GPL-2.0-only
// Uncommitted changes of one transaction: readable by itself, savepoints, two-phase commit.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/status.h"
#include "store/change_index.h"
#include "store/cursor.h"
#include "store/pending_load.h"
#include "store/table_counters.h"
#include "store/types.h"

namespace cairn::store {

// Changes that nobody else sees until Commit. It takes no locks: whoever uses it has made sure
// (txn/) that no two live transactions write the same key.
//
// States: open -> [named -> prepared ->] committed or rolled back; then Restart() makes it open
// again with its memory reused (or returned, when it had grown large).
//
// Changes are appended to a batch. Their order is made when it is first asked for, in time n log n, and kept up from
// then on: a transaction that never reads what it wrote never pays for it.
//
// Lifetime: must not outlive its store. Destroying an open one rolls it back; destroying a
// prepared one leaves it prepared on disk, to be found at the next open.
// Thread rule: one thread at a time; of looks by others what FindPut says.
class WriteTransaction {
 public:
  WriteTransaction(const WriteTransaction&) = delete;
  WriteTransaction& operator=(const WriteTransaction&) = delete;
  ~WriteTransaction();

  // Makes a finished transaction open and empty.
  void Restart();

  // Changes. They fail only when the transaction is past Prepare or out of memory, or when the entry, or the number of changes, is
  // too large to be stored (kTooLarge, store/entry_limits.h); then it is as it was.
  Status Put(Family family, ByteView key, ByteView value);
  Status Delete(Family family, ByteView key);
  // Removes a key that has been put at most once since it last was absent, never merged and
  // never mixed with Delete. It leaves no lasting tombstone. A second Put of the same key
  // before a SingleDelete breaks the contract: the older value may come back.
  Status SingleDelete(Family family, ByteView key);
  // Adds to a counter record of the dictionary.
  Status MergeCounters(ByteView dictionary_key, const TableCounters& delta);

  // Makes files of entries part of the transaction: they come into the store when it commits, or not at all. One load at
  // most; it is not seen by reads of own changes. A savepoint rolled back to takes it away again.
  Status AttachLoad(std::unique_ptr<PendingLoad> load);
  // Null: none.
  const PendingLoad* load() const { return load_.get(); }

  // Whether the order of the changes is there. Get, OpenCursor, CountChanges, HasChanged and FindPut make it, or Order() by itself.
  bool is_ordered() const { return ordered_.load(std::memory_order_acquire); }
  void Order() const {
    if (!is_ordered()) (void)OrderUnless({});
  }
  // The same for who has to end when `stops`, if there is one, says so, and is asked now and then. False: not done.
  bool OrderUnless(const std::function<bool()>& stops) const;

  // Reads of own changes serve the data family.
  //
  // Own changes over the snapshot, or over what is committed now when it is null. kNotFound when
  // there is none; `value` is then empty.
  Status Get(ByteView key, const Snapshot* snapshot, PinnedValue* value) const;

  // The same of own changes alone; `*found`: there is one, if only a removal (kNotFound).
  Status GetOwn(ByteView key, PinnedValue* value, bool* found) const;

  // Opens a cursor over own changes merged into the snapshot. It sees later changes of this
  // transaction too. Lifetime of its views: see Cursor.
  Status OpenCursor(const CursorOptions& options, Cursor* cursor) const;

  // A stack of savepoints. RollbackToSavepoint undoes what came after the newest one and removes
  // it, in time in proportion to that; PopSavepoint removes it and keeps the changes. Both need a savepoint.
  void SetSavepoint();
  Status RollbackToSavepoint();
  Status PopSavepoint();
  size_t savepoint_count() const { return savepoints_.size(); }

  bool HasWrites() const { return change_count() != 0; }
  uint64_t change_count() const;
  uint64_t size_bytes() const;

  // Asks whether the changes will be let through, for who has others commit before. Afterwards neither Prepare nor Commit is refused for want
  // of space, and only a background error in between may still close the store. Where nobody has asked, both do so by themselves.
  Status Admit();

  // Two-phase commit. After Prepare returned ok the changes survive a crash (given kSync) and only
  // Commit or Rollback may follow; `name` (1 to 512 bytes) finds them again. kAlreadyExists when
  // another live transaction has the name; kInvalidArgument for one that is prepared or ended.
  Status Prepare(ByteView name, Durability durability);

  // Makes the changes visible to all, atomically; what a load brings becomes visible after the other changes, before this
  // returns, and is synced at any durability. A prepared one whose load has lost files ends as a failing log does, with
  // options.on_wal_failure. Without Prepare it may be refused (kReadOnly, and unless
  // Admit has let it through kNoSpace) with nothing written: roll back then. Any other error of a write (kIoError)
  // leaves the outcome unknown; options.on_wal_failure has been called.
  Status Commit(Durability durability);
  // Fails only for a prepared one, which stays so: writes are refused, or the log cannot be written.
  Status Rollback();

  bool is_prepared() const { return state_ == State::kPrepared; }
  // Of the log that has what was prepared, and is kept with all later ones until this ends. 0 unless prepared.
  uint64_t prepare_log_number() const;
  bool is_finished() const { return state_ == State::kFinished; }
  const std::string& name() const { return name_; }

  // Of changes of the data family in [lower, upper). Makes the order.
  ChangeIndex::Count CountChanges(ByteView lower, ByteView upper) const {
    Order();
    return index_.CountBetween(lower, upper);
  }

  // Whether there is a change of this key.
  bool HasChanged(ByteView key) const;
  // The same of a key that begins so.
  bool HasChangedUnder(ByteView beginning) const;

  // The first key in [lower, upper), or the last one when not `forward`, into which a change puts a value, with the newest one;
  // false: none. A later removal of that key does not count, as a savepoint may undo it. After `deleted_count_max` removals it stops at the next removal, gives its key and
  // sets `is_removal`. The views are valid until the next change.
  // Of all methods this one, is_ordered(), change_count() and OrderUnless() alone may be called by other threads, one at a time, while no
  // other method that changes anything runs and none that makes the order.
  struct FoundPut {
    ByteView key;
    ByteView value;
    bool is_removal = false;
  };
  bool FindPut(ByteView lower, ByteView upper, bool forward, size_t deleted_count_max, FoundPut* found) const;

  // Whether nothing was removed, merged or loaded.
  bool HasOnlyPuts() const;
  // Visits the puts of the data family in the order they were made; an error of `visit` ends it and is returned.
  Status ForEachPut(const std::function<Status(ByteView key, ByteView value)>& visit) const;

  // Visits the keys of all changes in the order they were made.
  Status ForEachKey(const std::function<void(Family, ByteView)>& visit) const;

  // Visits the counter merges among them. kCorruption for a merge that is no counters'.
  Status ForEachCounters(const std::function<void(ByteView dictionary_key, const TableCounters&)>& visit) const;

 private:
  friend class Store;
  enum class State : uint8_t { kOpen, kPrepared, kFinished };
  explicit WriteTransaction(Store* store);  // open
  WriteTransaction(Store* store, std::unique_ptr<rocks::Transaction> prepared);
  // Before one.
  Status CheckChange() const;
  void Finish(bool reusable);
  void EmptyOpenBatch();
  // Of Commit: all changes but those of a load, into the log and the memtables.
  Status WriteAll(Durability durability);
  Status StageLoad();
  Status BringLoad(const Status& committed);
  void AddToOrder(ByteView key, bool is_put, size_t bytes_behind_key);

  Store* const store_;
  std::unique_ptr<rocks::WriteBatch> open_batch_;
  // Of a prepared one; then kept for the next Prepare. An open one needs none, and to begin and end it costs more than
  // half of writing a row.
  std::unique_ptr<rocks::Transaction> rocks_;
  rocks::WriteBatch* batch_ = nullptr;  // open_batch_, or that of rocks_ while prepared
  State state_;
  bool is_admitted_ = false;
  mutable std::atomic<bool> ordered_{false};
  mutable ChangeIndex index_;            // while ordered_
  std::vector<uint64_t> savepoints_;     // the batch's bytes at each
  std::string name_;
  ByteBuffer operand_;  // of the counters merged last
  std::unique_ptr<PendingLoad> load_;
  uint64_t load_offset_ = 0;  // the batch's bytes before its record
};

}  // namespace cairn::store
