// SPDX-License-Identifier: GPL-2.0-only
// What the engine keeps for one connection: its transaction and the scans open in it.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/status.h"
#include "bulk/sort_memory.h"
#include "engine/engine.h"
#include "server/table_of_statement.h"
#include "store/compaction_interrupt.h"
#include "txn/transaction.h"

class THD;
struct handlerton;

namespace cairn::server {

// Someone with cursors in the transaction, who must let go of them when it ends or rolls back.
class CursorHolder {
 public:
  virtual ~CursorHolder() = default;
  // Closes cursors but keeps the position, so that a later move continues from it.
  virtual void DetachCursors() = 0;
  // Whether its cursors, if it has any, are over this table.
  virtual bool ReadsFrom(TableId id) const = 0;
  // The session goes away before its holder (a temporary table outlives its connection's session):
  // forget it and close everything.
  virtual void OnSessionEnd() = 0;
};

// Thread rule: the connection's thread, or one that it waits for (HandOver); Interrupt() from any.
class Session {
 public:
  explicit Session(THD* thd);
  ~Session();

  // The session of a connection, made at first use.
  static Session* Of(THD* thd);
  // The same, but null when there is none.
  static Session* Existing(THD* thd);

  txn::Transaction& transaction() { return *transaction_; }
  // The statement is killed: ends a wait for a lock or for a compaction.
  void Interrupt() {
    compaction_interrupt_.Request();
    transaction_->Interrupt();
  }
  // Requested by Interrupt(). A kill from before is not seen here: look at the connection's state afterwards.
  store::CompactionInterrupt* AwaitInterrupt() {
    compaction_interrupt_.Clear();
    return &compaction_interrupt_;
  }
  THD* thd() const { return thd_; }

  // Begins a transaction if none is active and a statement in it, and tells the server that this
  // engine takes part.
  Status BeginStatement();

  void AddHolder(CursorHolder* holder) { holders_.push_back(holder); }
  void RemoveHolder(CursorHolder* holder);

  // Whether the transaction will not be refused at its end, before anybody else has any of it. No changes may follow.
  Status Admit();

  // Ends of statements and transactions; each detaches all cursors first.
  void EndStatement();
  Status RollbackStatement();
  // If what is prepared cannot be committed, the server stops: others have it committed, and the next start asks them.
  Status Commit(store::Durability durability);
  Status CheckNoOpenLoad() const;
  // After an error the engine has taken the transaction over, which was prepared, and rolls it back once it can.
  Status Rollback();

  // For a commit that the server decides on, together with others.
  Status Prepare(const std::string& name, store::Durability durability);
  // XA PREPARE. The transaction is the engine's from then on, for who ends it by its name: the server may let go of it at any time,
  // without a word to an engine, for the connection to go on with others (a change of user).
  Status PrepareXa(const std::string& name, store::Durability durability);
  // Whether the server still has the transaction that was prepared so, to end it next.
  bool EndsXa() const;
  // Its name, for who ends it, or goes on with something else: the connection has it no more.
  std::string TakeXa();

  // Commits what was changed so far and goes on in a new transaction of the same statement. Only for
  // tables nobody can see yet.
  Status CommitAndContinue(store::Durability durability);
  Status RollbackToSavepoint(txn::SavepointId savepoint);

  // The next consistent read of the transaction takes its view anew. Scans go on through that one, where there are any.
  void DropReadView();

  // For sorting what the statement fills, shared by all partitions that it fills; given back when the last of them lets go of it. Empty, if
  // there is less than `bytes_min`.
  std::shared_ptr<const bulk::SortMemory::Share> TakeSortMemory(uint64_t bytes_min);

  // Lets scans go on over what the transaction has written meanwhile.
  void DetachCursors();
  // Of scans of one table, but for those of who is going to write there: as in any statement, the server keeps these from meeting their own rows.
  void DetachCursorsOf(TableId id, const CursorHolder* writer);

  // The transaction fills a table that the server puts in another's place once it is committed, or ends the creation of one, and the server
  // says so in a log of its own that it syncs; or its rows are in the store already, as files, and their counters are to come with it. Then the
  // changes must be durable, whatever the flush setting.
  bool syncs_commit = false;

  // Rows of a statement are gathered and not yet a part of the transaction, which must not be committed so.
  bool has_open_load = false;

  // The primary index whose rows wait in files for the commit of the active transaction, which cannot read or change them.
  std::optional<IndexId> loaded_index;

  // The leader of a group commits for those who wait, and may find them by a plain pointer of the server's (wait_for_commit::opaque_pointer),
  // which they set under their own mutex and it reads under another's. So that it finds all else that they have set before: the
  // connection says HandOver() once it has prepared, and who commits says TakeOver() before it looks at anything here.
  void HandOver() { handed_over_.store(true, std::memory_order_release); }
  void TakeOver() const { (void)handed_over_.load(std::memory_order_acquire); }

  // Of a replica's worker: until LetNextOn(), no engine's commit lets on who waits for this transaction. Another one that has its part committed
  // first would, and what comes next could be seen and be durable before this engine's part. Precondition: it is committed or rolled back here next.
  void KeepNextWaiting() { turn_ = thd_->suspend_subsequent_commits(); }
  // From here on engines let on who waits; does not do so itself.
  void LetNextOn();

  // The outcome of a commit that was made in commit_ordered, told to commit() later; and where the server forgets it, the other engines
  // whose changes were committed so.
  bool committed_in_order = false;
  Status ordered_outcome;
  std::vector<handlerton*> committed_beside;

  // The server's number of the key on which the last change met a duplicate. Kept here, because the
  // server may ask a handler for it that is not the one whose change failed (another partition's).
  unsigned duplicate_key = ~0u;

  // What a statement has created.
  TableOfStatement created_table;

  // Partitioned tables of which a statement asks for one partition after the other, once the first has been asked for: none of those that it
  // empties is held by a prepared transaction; it has dropped all there were.
  TableOfStatement emptied_partitions;
  TableOfStatement dropped_partitions;

  // Of a partitioned table that is being renamed: what has been asked for and not been done yet.
  std::vector<catalog::Catalog::Renaming> partition_renames;

  // The text of the last error that has one of its own; kept here for the same reason.
  std::string error_message;

  // Counts changes of rows that may have led to changes of others by foreign keys: a row that was read at another count may have
  // changed since, under a statement whose function or trigger has changed its parent.
  uint64_t cascades = 0;

  // Gives the prepared transaction to the engine and takes a fresh one.
  void DetachPrepared();

 private:
  THD* const thd_;
  std::unique_ptr<txn::Transaction> transaction_;
  store::CompactionInterrupt compaction_interrupt_;
  std::vector<CursorHolder*> holders_;
  std::weak_ptr<const bulk::SortMemory::Share> sort_memory_;
  std::atomic<bool> handed_over_{false};
  wait_for_commit* turn_ = nullptr;  // the server's, from KeepNextWaiting() to LetNextOn()
  std::string xa_name_;      // of what PrepareXa() has prepared, until TakeXa()
  int64_t xa_query_id_ = 0;  // the server's number of the statement that has
};

// An XA COMMIT that did not come into the binary log leaves its engines in the server's list for the connection's next transaction, and its
// savepoints. Lets go of them. Precondition: autocommit mode, in which that list is to be empty, or an end by name. `thd` may be null.
//
// A statement that found them would not be a transaction by itself: no Xid event in the binary log, nor a rollback if that cannot be written.
// To write an end by name there, the server takes itself out of the midst of the list, without a look, and does not survive the next walk of it.
void ForgetEngines(THD* thd);

// The engine of this process, and its handlerton. Null before start and after shutdown.
engine::Engine* GlobalEngine();
handlerton* GlobalHandlerton();
void SetGlobals(std::unique_ptr<engine::Engine> engine, handlerton* hton);

}  // namespace cairn::server
