// SPDX-License-Identifier: GPL-2.0-only
// One connection's transaction: what it sees, what it locks, what it changes.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/ids.h"
#include "base/status.h"
#include "store/cursor.h"
#include "store/empty_ranges.h"
#include "store/point_reader.h"
#include "store/table_counters.h"
#include "store/types.h"
#include "store/write_transaction.h"
#include "txn/batch_latch.h"
#include "txn/index_claims.h"
#include "txn/range_locks.h"
#include "txn/range_walk.h"
#include "txn/row_locks.h"

namespace cairn::txn {

class TransactionManager;

enum class Isolation : uint8_t {
  kReadCommitted,   // each statement sees what was committed when it began to read
  kRepeatableRead,  // all consistent reads see what was committed at the first of them
  kSerializable,    // the same; whoever uses it makes all reads locking ones
};

// Which versions a read sees. Both see the transaction's own changes.
enum class View : uint8_t {
  kConsistent,  // through the read view: plain SELECT
  kNewest,      // the newest committed: locking reads and writes, after they have locked; a look that is the only one
};

// A savepoint of a transaction; 0 is none. Numbers are not reused within a transaction.
using SavepointId = uint64_t;

// A transaction object belongs to a connection and serves its transactions one after the other:
//
//   Begin; { StartStatement; reads, locks, changes; EndStatement or RollbackStatement }...;
//   [Prepare;] Commit or Rollback
//
// Rules of use:
// * Lock, then read with View::kNewest, then change. A row found by a cursor may have changed
//   before its lock was granted: read it again by Get(kNewest), unless nothing was committed
//   since the cursor was opened (manager's store().LatestSequence() is what it was).
// * A cursor shows the transaction's own changes in an index only if the transaction had written to
//   that index before the cursor was opened (HasWritten): open cursors after such a write anew
//   when they must see it.
// * Views of cursors: see store::Cursor. All cursors must be closed before Commit, Rollback,
//   RollbackStatement and RollbackToSavepoint; READ COMMITTED ones also at EndStatement.
// * Row and range locks are kept until Commit or Rollback, also when a savepoint is rolled back.
//
// Thread rule: one thread at a time; of LockOwner what it says there.
class Transaction final : public LockOwner {
 public:
  ~Transaction() override;  // rolls back, unless prepared: see TransactionManager::Detach

  // Precondition: not active.
  void Begin(Isolation isolation);
  bool is_active() const { return id() != 0; }
  Isolation isolation() const { return isolation_.load(std::memory_order_relaxed); }

  // Fails changes and exclusive locks of rows that changed after the read view was taken with
  // kSnapshotConflict, instead of showing them the newest version. Compares contents: a row that
  // was changed and changed back is not a conflict. Holds until the next Begin.
  void SetStrictSnapshot(bool strict) { strict_snapshot_ = strict; }
  bool is_strict_snapshot() const { return strict_snapshot_; }

  // Statement borders. Starting one while one is active does nothing; so does ending none. A
  // statement that changes nothing costs nothing. StartStatement forgets an old Interrupt().
  void StartStatement();
  void EndStatement();         // keeps its changes
  Status RollbackStatement();  // undoes its changes and ends it

  // The read view of consistent reads, taken now if there is none. REPEATABLE READ keeps it until
  // the end; READ COMMITTED until the statement's end (call it within one).
  const store::Snapshot* ReadView();
  bool has_read_view() const { return view_.taken(); }
  // Forgets it: the next consistent read takes one anew. All cursors must be closed.
  void DropReadView();

  // Locks a key of the data family (index id first). RowLocks::Lock tells the rest.
  Status Lock(ByteView key, const LockOptions& options, LockResult* result);
  void Unlock(LockRequest* handle);
  void Weaken(LockRequest* handle);
  // Takes back a lock that was newly acquired, under which nothing was changed: the key is as it was before, not held or shared. Exclusive it
  // stays if it was locked again since, as somebody else in the transaction may need it so. Else nothing.
  void GiveBack(const LockResult& lock);

  // Puts a key of the data family where there may have been none: first waits for those who hold a
  // range around it. Errors of a wait: RowLocks::Lock.
  Status Insert(ByteView key, ByteView value, const LockOptions& options);

  // Waits while others hold a range around the key, for who lets go of his own locks first: Insert() may find another one then.
  Status WaitForRanges(ByteView key, const LockOptions& options);

  // Range locks, by RangeWalk only.
  Status BeginRange(IndexId index, WalkedRange* walk);
  void EndRange(WalkedRange* walk);
  RangeLocks& ranges() const;

  // Waits while another transaction has claimed the index. Who walks over a range, and waits for what others have not
  // committed there, calls it once the range is begun.
  Status WaitForClaim(IndexId index, const LockOptions& options);

  // Whether nobody has committed an entry that is still there in any of the indexes. False also after an error: kInterrupted.
  bool AreEmpty(std::span<const IndexId> indexes, Status* status) const;

  // Claims all indexes of a table, that of its rows first, until the transaction ends: afterwards nobody else has a lock, a range or
  // an uncommitted entry in them, nor gets one. Never waits: it is not done if somebody has, or if an index has entries. kInterrupted.
  Status ClaimIndexes(std::span<const IndexId> indexes, bool* claimed);
  // Before the transaction's end; what it has claimed, if anything, is as before. Precondition: nothing is attached.
  void ReleaseClaims();

  // Makes files of entries part of the changes (store::WriteTransaction::AttachLoad). The statement must be the transaction's only
  // one, as its own reads do not see them. Precondition: the load's indexes are claimed, and own changes have nothing of them.
  Status AttachLoad(std::unique_ptr<store::PendingLoad> load);

  // Gives all entries that the transaction has put, in the order that was done in, and takes them back; its locks and the counters
  // stay. Not done if it has changed anything else, or if a savepoint lies in between. After an error of `visit` only Rollback
  // may follow.
  Status TakeBack(const std::function<Status(ByteView key, ByteView value)>& visit, bool* taken);

  // The first entry in [lower, upper) of an index, or the last when not `forward`, that another active
  // transaction has put and not committed. Waits for commits that are being written, and the like: `options` say for how long, but those
  // of small transactions are always waited for, and so are the looks of others. kInterrupted, kLockBusy, kLockTimeout.
  Status FindPending(IndexId index, ByteView lower, ByteView upper, bool forward, const LockOptions& options, bool* found,
                     PendingEntry* entry);

  // Changes. The caller holds the exclusive locks it needs. Contract of SingleDelete:
  // store::WriteTransaction.
  Status Put(store::Family family, ByteView key, ByteView value);
  Status Delete(store::Family family, ByteView key);
  Status SingleDelete(store::Family family, ByteView key);

  // Makes the changes of one row: all that `change` (returning a Status) makes, or none when it fails, as an insertion may wait in vain
  // after others were made, and not everybody then undoes the statement. Locks stay. `change` does not touch counters or savepoints.
  template <typename Change>
  Status ChangeRow(const Change& change) {
    BeginRow();
    return EndRow(change());
  }

  // Adds to the counters of a table when the transaction commits; undone with a savepoint. The commit's hook is told of the table also
  // when they are 0.
  void AddTableCounters(TableId table, const store::TableCounters& change);
  // A row was changed so that statistics may be others: the commit's hook is told how many were, nothing is stored. Undone with a
  // savepoint. Rows that AddTableCounters adds or takes away are counted there. After the change itself, in its statement.
  void NoteChangedRow(TableId table) { ++ChangeOf(table).changed_rows; }
  // A temporary table of this connection is gone: its counters are not written any more.
  void ForgetTableCounters(TableId table);
  // What AddTableCounters gathered so far for a table.
  store::TableCounters PendingTableCounters(TableId table) const;

  // Of the data family with own changes.
  Status Get(store::Family family, ByteView key, View view, store::PinnedValue* value);

  // The same of the data family by `points`: the value lives as long as that says. `is_newly_locked`: it is a row's key,
  // whose lock was acquired just now (LockResult::newly_acquired). As rows are changed by who holds their locks, own
  // changes need no look then.
  Status GetBy(store::PointReader* points, ByteView key, View view, bool is_newly_locked, store::PinnedValue* value);

  // The newest version of a key whose lock was acquired just now (LockResult::newly_acquired), if this transaction puts the
  // key only while it holds that lock: what is not committed is not there then, and own changes need no look. By `points`, as GetBy.
  // `empty` is what the caller keeps from one such look to the next, also of other transactions.
  Status GetNewlyLocked(store::PointReader* points, store::EmptyRanges* empty, ByteView key, store::PinnedValue* value);

  // Opens a cursor over one index of the data family: both bounds begin with its id, except that
  // the upper one may be the next id. options.snapshot is ignored: `view` decides; so is options.interrupted: Interrupt() does it.
  // options.shows_removed matters only to a consistent view that is behind what is committed.
  Status OpenCursor(const store::CursorOptions& options, View view, store::Cursor* cursor);

  // Whether this transaction changed the index; may be true for changes rolled back meanwhile.
  bool HasWritten(IndexId index) const;

  // Whether it has changed none but these.
  bool HasWrittenOnly(std::span<const IndexId> indexes) const;

  // Whether something was committed since the read view that it has, if any, was taken.
  bool IsViewBehind() const;

  // Whether this transaction has changed exactly this key of the data family.
  bool HasChanged(ByteView key);

  // About how many entries of an index it has put into [lower, upper), less those that it has removed from there: what it adds to what is
  // committed, where its puts are of new keys.
  int64_t CountOwn(ByteView lower, ByteView upper);

  // Named savepoints; the server keeps the names. They nest: rolling back to or releasing one
  // removes all newer ones; one that was rolled back to remains. Setting one costs nothing until
  // the next change.
  SavepointId SetSavepoint();
  Status RollbackToSavepoint(SavepointId savepoint);  // kNotFound: no such savepoint (any more)
  Status ReleaseSavepoint(SavepointId savepoint);     // the same
  // Forgets that one alone: newer ones can still be rolled back to.
  Status ForgetSavepoint(SavepointId savepoint);
  size_t savepoint_count() const { return savepoints_.size(); }  // the statement's included

  bool HasWrites() const;
  uint64_t write_bytes() const;

  // A number that the object has not had before whenever a change was made or undone, or a transaction has ended. While it stays, what was
  // read under a lock is still so.
  uint64_t change_mark() const { return write_count() + undone_count_; }

  // Any thread. Whether another transaction waits to look at the changes until they are committed, or what else is done to them.
  bool is_awaited() const { return latch_.is_awaited(); }

  // Whether Prepare and Commit will be let through (store::WriteTransaction::Admit), for who has others commit before. No changes may follow.
  Status Admit();

  // Two-phase commit. After an ok Prepare only Commit, Rollback or Detach may follow. On error the
  // transaction is as before: roll it back. A transaction without changes prepares to nothing.
  Status Prepare(ByteView name, store::Durability durability);
  bool is_prepared() const { return prepared_; }
  // What a transaction that has prepared need not keep for what it has changed: its ranges, and with `rows_too` also its locks on rows and
  // keys that it has not changed. It may end long after others have gone on.
  void GiveUpUnchanged(bool rows_too);
  const std::string& name() const { return name_; }  // given to Prepare

  // Ends the transaction: makes its changes visible, then releases its locks. On error, is_active()
  // tells: if it is, nothing was committed (the disk is full, writes are refused) or, for a prepared
  // one, not yet: roll back, or try again. If it is not, the write itself failed and the outcome is
  // unknown until the next start; the store's on_wal_failure has been called.
  Status Commit(store::Durability durability);
  // Fails only for a prepared transaction that cannot be marked as rolled back (writes are refused): it is still prepared then, with
  // its locks, as the next start would find it again. Try again, or detach it.
  Status Rollback();

 private:
  friend class TransactionManager;
  explicit Transaction(TransactionManager& manager);

  struct TableChange {
    TableId table;
    store::TableCounters counters;
    uint64_t changed_rows = 0;  // for the hook alone

    void Add(const store::TableCounters& change) {
      counters.Add(change);
      const auto rows = static_cast<uint64_t>(change.row_count);
      changed_rows += change.row_count < 0 ? 0 - rows : rows;
    }
  };
  // A savepoint costs nothing until a change comes after it: then it is `set` in the batch and
  // remembers the counters of that moment.
  struct Savepoint {
    SavepointId id = 0;
    bool set = false;
    bool at_start = false;  // nothing had been written: rolling back means emptying the batch
    size_t marker = 0;      // how many markers the batch had below its own
    bool has_marker() const { return set && !at_start; }
    std::vector<TableChange> tables;
  };

  // Makes `writes_` ready for a change and sets the savepoints that wait for one.
  void BeforeChange();
  void BeginRow();
  Status EndRow(Status status);
  void OpenWrites();
  void NoteWritten(IndexId index);
  static uint64_t BitOf(IndexId index) { return uint64_t{1} << (index.value % 64); }
  Status WaitForKey(ByteView key, const LockOptions& options);
  // Gives a new lock back while another transaction has claimed the index.
  Status YieldToClaims(ByteView key, const LockOptions& options, LockResult* got);
  Status ClaimRecovered();
  // Around what changes the batch and takes long; see BatchLatch.
  class LongChange;
  void OrderWrites();    // so that they can be read
  Status EmptyWrites();  // undoes all changes
  Status UndoWrites();   // undoes what came after the newest savepoint set in the batch
  Status AfterChange(store::Family family, ByteView key, Status status);
  const store::Snapshot* SnapshotOf(View view) { return view == View::kConsistent ? ReadView() : nullptr; }
  Status CheckUnchangedSinceView(ByteView key);
  size_t FindSavepoint(SavepointId id) const;
  Status UndoTo(size_t at);
  Status ForgetFrom(size_t at);
  Status DropMarkers();
  Status DropMarkersFrom(size_t kept);
  TableChange& ChangeOf(TableId table);
  // Whether Prepare or Commit has anything to write, if only counters.
  bool HasToWrite() const;
  // Precondition: in a LongChange.
  Status MergeTableCounters();
  void End();

  TransactionManager& manager_;
  // Others look at these, holding latch_; this transaction changes them, holding it, but for written_ while
  // writes_open_ is false: then others leave it alone.
  BatchLatch latch_;
  std::unique_ptr<store::WriteTransaction> writes_;  // created at the first change, then reused
  bool writes_open_ = false;                         // it has changes of the active transaction
  std::vector<IndexId> written_;                     // sorted
  // A bit for each index in written_, which others may read without the latch. It is set before the
  // first insertion into the index looks for range locks, in sequentially consistent order.
  std::atomic<uint64_t> written_bits_{0};
  RangeLocks::Holdings range_holdings_;
  bool has_claims_ = false;
  LockRequest* claim_key_ = nullptr;  // if has_claims_: of the lock that those who meet a claim wait for
  store::Snapshot view_;
  std::atomic<Isolation> isolation_{Isolation::kRepeatableRead};
  bool strict_snapshot_ = false;
  bool prepared_ = false;
  bool counters_merged_ = false;
  uint64_t undone_count_ = 0;  // what change_mark() has beside the changes of the active transaction
  std::string name_;  // given to Prepare
  SavepointId statement_ = 0;
  SavepointId last_savepoint_ = 0;
  std::vector<Savepoint> savepoints_;
  std::vector<TableChange> tables_;
  ByteBuffer counter_key_;

  // Read by TransactionManager::List from other threads.
  std::atomic<uint64_t> begun_us_{0};
  std::atomic<uint64_t> view_taken_us_{0};
  std::atomic<uint64_t> listed_bytes_{0};
  std::atomic<bool> listed_prepared_{false};

  // Guarded by the manager's mutex.
  Transaction* next_ = nullptr;
  Transaction* previous_ = nullptr;
};

}  // namespace cairn::txn
