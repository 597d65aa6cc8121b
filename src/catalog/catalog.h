// SPDX-License-Identifier: GPL-2.0-only
// The data dictionary: which tables and indexes exist (docs/formats/dictionary.md).
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <shared_mutex>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/log_sink.h"
#include "base/status.h"
#include "catalog/foreign_key_set.h"
#include "catalog/table.h"
#include "catalog/table_def.h"
#include "store/store.h"

namespace cairn::catalog {

class ForeignKeyChange;

// What ends the creation of a table: that it is in the dictionary, or the transaction of the statement that creates it, which removes the
// record at CreationKey().
enum class Creation { kEndsHere, kEndsWithStatement };

// The dictionary's key of a table's counters, for TableCounters merges.
std::string CountersKey(TableId id);
// That of the record of a creation that has not ended.
std::string CreationKey(TableId id);

// Every change is one atomic, synced write of the store, so it has happened wholly or not at
// all after a crash; what is not synced is said. The caller (the server's metadata locks) keeps others from using a
// table while it is renamed, truncated or dropped.
//
// Numbers of tables and indexes are never given twice. What needs more of them than are left is kInvalidArgument, and nothing is changed.
//
// Thread rule: all methods from any thread.
class Catalog {
 public:
  // Whether this program knows the format of the store's dictionary, if there is one yet: for store::StoreOptions::check. kFormatTooNew.
  static Status CheckFormat(const store::Store& store);

  // Reads the dictionary, creating an empty one in a new store, and drops the temporary
  // tables an earlier process left. kFormatTooNew changes nothing. `log` (may be null; stays as long as the catalog) is told when there
  // are rows of indexes that the dictionary does not know, when half of the numbers for indexes are gone, and of each definition that is
  // damaged, which makes only its table kCorruption.
  static Status Open(store::Store* store, std::unique_ptr<Catalog>* catalog, LogSink* log = nullptr);

  // Creates a table; ids in `def` are assigned here. kAlreadyExists when the name is taken, kDuplicateKey when that
  // of one of its foreign keys is; those of the table `original`, which this one is to replace, are not.
  Status Create(TableDef def, uint64_t auto_increment_next, std::shared_ptr<Table>* table,
                const std::vector<ForeignKeyDef>& foreign_keys = {}, const std::string& original = {},
                Creation creation = Creation::kEndsHere);

  // kNotFound when there is no such table, kCorruption when its name or definition is damaged. The object is shared by all who ask.
  Status Find(const std::string& name, std::shared_ptr<Table>* table);

  // Foreign keys of the table and to it follow (AfterRename in foreign_key_set.h). kAlreadyExists and kDuplicateKey as
  // of Create(). When `from` is a copy made by ALTER TABLE, its names may be those of the table `original`, which it
  // replaces.
  Status Rename(const std::string& from, const std::string& to, const std::string& original = {},
                const ShownRename& shown = {});
  // With its foreign keys; those that refer to it stay. One whose name or definition is damaged goes, too, but the space of its indexes stays
  // taken. Where the name leads to another table's definition, that table stays as it is.
  Status Drop(const std::string& name);

  // The tables that are partitions of the server's table `whole`, and the name of that of one; empty when it is no partition.
  Status PartitionNames(const std::string& whole, std::vector<std::string>* names);
  static std::string PartitionedTableOf(const std::string& name);

  // Renames partitions, which have no foreign keys, all at once. One that is under its new name already and not under the old stays.
  // kNotFound, kAlreadyExists.
  struct Renaming {
    std::string from;
    std::string to;
    bool operator==(const Renaming&) const = default;
  };
  Status RenamePartitions(const std::vector<Renaming>& renamings);

  // For the recovery of an interrupted statement: renames what there is of the partitions of `from`. Where these are a copy of ALTER
  // TABLE, the partitions under the new name that are of another version of the table go at once. kNotFound when neither has any.
  Status RenamePartitionsOf(const std::string& from, const std::string& to);

  // All partitions of a table at once, were it none.
  Status DropPartitionsOf(const std::string& whole);

  // For the recovery of an interrupted statement, which drops the table though foreign keys refer to it: whether that is what
  // became of it, and not that the drop was refused. So it is where the copy of ALTER TABLE is there that was made to replace this
  // table, and where its creation never ended.
  Status MayDropReferenced(const std::string& name, bool* may_drop);
  // Interrupted statements have been led to their ends, or undone, by now: copies that are left replace nobody, and tables that are there have been
  // created.
  Status EndRecovery();

  // The foreign keys that exist now. Who is to act on them by what he finds here must keep the tables' definitions
  // from changing.
  std::shared_ptr<const ForeignKeySet> foreign_keys() const { return foreign_keys_.load(std::memory_order_acquire); }
  // Another number whenever tables or foreign keys have been made, changed or have gone.
  uint64_t definitions_version() const { return definitions_version_.load(std::memory_order_acquire); }

  // Replaces the table's indexes by new, empty ones and resets the counters.
  Status Truncate(const std::string& name, std::shared_ptr<Table>* table);

  // Replaces the definitions of tables, all at once, by their successors (Succeed() in column_history.h), which
  // have the tables' names: other names, places and numbers of columns, but the same rows and index entries.
  // kInvalidArgument when one is no successor. Read views of any age may go on reading the tables.
  Status Redefine(std::vector<TableDef> defs);

  // A table and what it is to become.
  struct Replacement {
    std::string name;
    TableDef def;  // its indexes have the ids they have or were built with
  };

  // Replaces names and indexes of definitions, all at once: indexes that were built come in, those that are missing
  // in the new definitions are dropped. Columns (but for their names) and primary indexes stay as they are, else
  // kInvalidArgument.
  Status ReplaceIndexes(const std::vector<Replacement>& replacements);

  // Hands out ids for indexes that are to be built, and behind them as many for their deltas. Until ReplaceIndexes names them they count as dropped,
  // so that a crash leaves nothing of them; while this process builds them nobody removes their entries. Not synced: power that is lost takes the
  // ids, and with them whatever the log has of their entries.
  Status TakeIdsForBuild(std::span<const IndexDef> indexes, std::vector<IndexId>* ids);

  // Files come into the store without the log. Before those of a build do, this makes ids that were taken survive loss of power: else
  // others would be given the same ones, and find the files' entries. One call does it for all builds that have ids by then, as those of a
  // table's partitions; the next ones cost nothing.
  Status SyncIdsForBuild();

  // Nobody builds these any more. Those that no definition names are reclaimed: the indexes at once, the
  // deltas when all transactions with ids below `transaction_fence` have ended, as until then somebody
  // may still write to them.
  void EndBuild(std::span<const IndexId> indexes, std::span<const IndexId> deltas, uint64_t transaction_fence);

  // Told before space is reclaimed: no transaction with a lower id is active.
  void ReleaseEndedBuilds(uint64_t oldest_transaction);

  // Sets the stored and the live AUTO_INCREMENT counter, also downwards.
  Status SetAutoIncrementNext(Table& table, uint64_t next);

  // Before the first transaction of a process that brings files with it (store::PendingLoad): from then on the dictionary has a
  // format that makes an earlier program refuse it, which would not know of them.
  Status AllowLoads();

  // Writes the live counters of a table whose handed-out values are ahead of the committed ones, so
  // that a clean shutdown loses none.
  Status SaveCounters();

  // All table names that start with `prefix` ("database/" or empty), sorted.
  Status TableNames(const std::string& prefix, std::vector<std::string>* names);

  // Indexes of dropped and truncated tables whose entries still take space, without those that are being
  // built, and the end of that. In ascending order, added to `indexes`. Reads nothing. kCorruption, and those that could be read are
  // there, while records of some were damaged when the dictionary was opened.
  Status DroppedIndexes(std::vector<IndexId>* indexes);
  Status ForgetDropped(IndexId index);
  // Of how many indexes something is kept in memory only: those of tables in use, and dropped ones not forgotten yet. For tests.
  size_t RememberedIndexes();

  // The name of the table an index belongs to, for messages; empty when it is not in use.
  std::string TableNameOf(IndexId index);

  // A transaction has committed `change` to a table, and changed so many rows (Table::changed_rows): its live object learns it, if
  // there is one.
  void OnCommit(TableId id, const store::TableCounters& change, uint64_t changed_rows);

  // Notes what a transaction found prepared at start will add to a table's counters, so that its
  // AUTO_INCREMENT values are not handed out again. False for a key that is no counters'. Call
  // before the first table is used.
  bool NoteRecoveredCounters(ByteView dictionary_key, const store::TableCounters& change, TableId* table);

  // A transaction found prepared at start has changed this key. Its rows are not visible yet, but
  // their hidden row ids are taken. Call before any table is used.
  void NoteRecoveredKey(ByteView key);

 private:
  Catalog(store::Store* store, LogSink* log) : store_(store), log_(log) {}

  Status LoadFormat();
  Status LoadForeignKeys();
  void PutForeignKeys(const ForeignKeyChange& change, store::Batch* batch);
  void PublishForeignKeys(const ForeignKeyChange& change);
  Status LoadNextIds();
  Status PassUnknownIndexes();
  Status LoadDropped();
  Status DropTemporaryTables();
  void WarnOfIndexNumbers() const;
  Status TakeIndexNumbers(size_t count, uint32_t* first);
  static IndexId IndexIdOf(uint32_t number, IndexKind kind);
  Status AssignTableId(TableDef* def);
  Status AssignIndexIds(TableDef* def);
  void PutNextIds(store::Batch* batch);
  Status FindNextRowId(const TableDef& def, uint64_t* next) const;
  Status LoadDef(const std::string& name, TableDef* def);
  Status LoadTable(TableDef def, uint64_t visible_since, std::shared_ptr<Table>* table);
  void MergeLiveCounters(const TableDef& def, store::Batch* batch);
  void PutRenamed(const std::string& to, TableDef* def, store::Batch* batch);
  void NoteRenamed(const std::string& from, const TableDef& def);
  void PutGone(const TableDef& def, store::Batch* batch);
  void NoteDropped(const TableDef& def);
  Status PutUnreadableGone(TableId id, store::Batch* batch);
  Status PutGone(const std::string& name, TableDef* def, store::Batch* batch);
  Status WriteRenamed(store::Batch* batch, const std::vector<std::pair<std::string, TableDef>>& moved);
  void Publish(const std::string& name, std::shared_ptr<Table> table);
  void Unpublish(const std::string& name);

  store::Store* const store_;
  LogSink* const log_;
  std::mutex mutex_;  // guards all below and every change of the dictionary
  uint64_t format_version_ = 0;
  uint64_t next_table_id_ = 1;
  uint32_t next_index_id_ = 1;  // without kOnlyWalkedBit
  std::unordered_map<std::string, std::shared_ptr<Table>> tables_;  // those in use
  std::set<IndexId> dropped_;   // as the dictionary has them, those that are being built too
  std::string dropped_damage_;  // what is wrong with their records; empty: nothing
  std::unordered_set<IndexId> building_;
  uint64_t builds_ = 0;         // that have taken ids
  uint64_t synced_builds_ = 0;  // of these so many, the first ones, have ids that survive loss of power
  std::vector<std::pair<uint64_t, std::vector<IndexId>>> ended_builds_;  // with their fences
  std::unordered_map<IndexId, uint64_t> visible_since_;  // of indexes younger than this process
  // The greatest row id given out by a live object that is gone, or found in a prepared transaction.
  std::unordered_map<IndexId, uint64_t> taken_row_ids_;
  std::unordered_map<TableId, uint64_t> recovered_auto_increment_next_;  // likewise

  std::atomic<std::shared_ptr<const ForeignKeySet>> foreign_keys_{std::make_shared<const ForeignKeySet>()};
  std::atomic<uint64_t> definitions_version_{1};
  std::atomic<bool> allows_loads_{false};

  std::shared_mutex live_mutex_;  // taken after mutex_
  std::unordered_map<TableId, std::shared_ptr<Table>> live_;  // guarded by live_mutex_
};

}  // namespace cairn::catalog
