// SPDX-License-Identifier: GPL-2.0-only
// One open table of one connection, as the server sees it.
#pragma once

#include "server/server_headers.h"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bulk/sort_memory.h"
#include "bulk/statement_load.h"
#include "bulk/table_load.h"
#include "catalog/table_access.h"
#include "codec/column_set.h"
#include "codec/index_codec.h"
#include "codec/row_codec.h"
#include "dml/row_writer.h"
#include "foreign/referee.h"
#include "scan/index_scan.h"
#include "scan/row_reader.h"
#include "server/foreign_keys.h"
#include "server/quiet_computation.h"
#include "server/row_condition.h"
#include "server/session.h"

namespace cairn::server {

// Drops a table by the server's path; the server's error number.
int DropTableByPath(const char* path);

// Whether a prepared transaction has changed the table. Without a connection it has no metadata lock, and
// its rows would be lost with the ones a statement drops or copies.
bool HeldByPrepared(const catalog::TableDef& def);

// For the server's recovery of an interrupted ALTER TABLE: 0 when the dictionary has the new version.
int CheckTableVersion(handlerton* hton, const char* path, const LEX_CUSTRING* version, ulonglong create_id);

// What all handlers of one table definition share. Replaced as a whole by TRUNCATE.
class TableShare final : public Handler_share {
 public:
  std::shared_ptr<catalog::TableAccess> access() const { return access_.load(); }
  void set_access(std::shared_ptr<catalog::TableAccess> access) {
    access_.store(std::move(access));
    version_.fetch_add(1, std::memory_order_release);
  }

  // Another one after each set_access. Taking a share of the access writes to what all connections read; this does not.
  uint64_t version() const { return version_.load(std::memory_order_acquire); }

 private:
  std::atomic<std::shared_ptr<catalog::TableAccess>> access_;
  std::atomic<uint64_t> version_{0};
};

// Translates and does nothing else: the server's calls become calls of scan, dml and catalog. Its
// methods are in files by theme: handler_open, handler_lock, handler_scan, handler_point, handler_looks, handler_condition, handler_virtual,
// handler_write, handler_bulk, handler_statement_load, handler_auto_increment, handler_info, handler_ddl, handler_foreign.
//
// Thread rule: one thread at a time, as the server promises for handlers.
class Handler final : public handler, private CursorHolder, private scan::EntryFilter {
 public:
  Handler(handlerton* hton, TABLE_SHARE* share);
  ~Handler() override;

  // handler_open.cc: what the engine can do; opening and closing.
  Table_flags table_flags() const override;
  ulong index_flags(uint key, uint part, bool all_parts) const override;
  const char* index_type(uint) override { return "BTREE"; }
  uint max_supported_keys() const override { return MAX_KEY; }
  uint max_supported_key_parts() const override { return MAX_REF_PARTS; }
  uint max_supported_key_length() const override { return kKeyBytesMax; }
  uint max_supported_key_part_length() const override { return kKeyBytesMax; }
  uint max_supported_record_length() const override { return HA_MAX_REC_LENGTH; }
  const key_map* keys_to_use_for_scanning() override { return &key_map_full; }
  // The query cache does not ask an engine which versions a connection may see.
  uint8 table_cache_type() override { return HA_CACHE_TBL_NOCACHE; }
  int open(const char* name, int mode, uint test_if_locked) override;
  int close() override;
  int extra(ha_extra_function operation) override;
  int reset() override;
  void print_error(int error, myf flags) override;
  bool get_error_message(int error, String* text) override;

  // handler_lock.cc: statements and row locks.
  uint lock_count() const override { return 0; }
  THR_LOCK_DATA** store_lock(THD* thd, THR_LOCK_DATA** to, thr_lock_type lock_type) override;
  int external_lock(THD* thd, int lock_type) override;
  int start_stmt(THD* thd, thr_lock_type lock_type) override;
  void unlock_row() override;
  void try_semi_consistent_read(bool yes) override;
  bool was_semi_consistent_read() override { return scan_.gave_unlocked(); }

  // handler_scan.cc: reading.
  handler* clone(const char* name, MEM_ROOT* memory) override;
  int rnd_init(bool scan) override;
  int rnd_end() override;
  int rnd_next(uchar* record) override;
  int rnd_pos(uchar* record, uchar* position) override;
  void position(const uchar* record) override;
  int cmp_ref(const uchar* a, const uchar* b) override;
  int index_init(uint key, bool sorted) override;
  // The index that is opened next is read for the statement, which is a SELECT of this table alone that calls no stored function: one range of
  // it, in one direction and no further than its end, and nothing else.
  void OpenOnlyRangeNext() { opens_only_range_ = true; }
  int index_end() override;
  int prepare_range_scan(const key_range* begin, const key_range* end) override;
  int index_read_map(uchar* record, const uchar* key, key_part_map parts, ha_rkey_function find_flag) override;
  int index_read_last_map(uchar* record, const uchar* key, key_part_map parts) override;
  int index_next(uchar* record) override;
  int index_next_same(uchar* record, const uchar* key, uint key_length) override;
  int index_prev(uchar* record) override;
  int index_first(uchar* record) override;
  int index_last(uchar* record) override;
  void column_bitmaps_signal() override;

  // handler_point.cc: looks by whole unique keys.
  int index_read_idx_map(uchar* record, uint key, const uchar* tuple, key_part_map parts,
                         ha_rkey_function find_flag) override;
  int multi_range_read_next(range_id_t* range) override;

  // handler_condition.cc: conditions that are looked at while reading.
  Item* idx_cond_push(uint key, Item* condition) override;

  // handler_write.cc: changes.
  int write_row(const uchar* record) override;
  int update_row(const uchar* old_record, const uchar* new_record) override;
  int delete_row(const uchar* record) override;

  // handler_foreign.cc
  char* get_foreign_key_create_info() override;
  void free_foreign_key_create_info(char* text) override;
  int get_foreign_key_list(THD* thd, List<FOREIGN_KEY_INFO>* keys) override;
  int get_parent_foreign_key_list(THD* thd, List<FOREIGN_KEY_INFO>* keys) override;
  bool referenced_by_foreign_key() const noexcept override;
  bool can_switch_engines() override;
  bool is_fk_defined_on_table_or_index(uint index) override;
  bool get_foreign_dup_key(char* table_name, uint table_name_bytes, char* key_name, uint key_name_bytes) override;

  // handler_bulk.cc: rows of a new table.
  void start_bulk_insert(ha_rows rows, uint flags) override;

  // handler_statement_load.cc: many rows for an empty table.
  int end_bulk_insert() override;

  // handler_auto_increment.cc
  void get_auto_increment(ulonglong offset, ulonglong increment, ulonglong wanted, ulonglong* first,
                          ulonglong* reserved) override;
  int reset_auto_increment(ulonglong value) override;
  void update_create_info(HA_CREATE_INFO* create_info) override;
  bool autoinc_lock_mode_stmt_unsafe() const override;

  // handler_info.cc: what the optimizer asks, and the maintenance statements.
  int info(uint flags) override;
  ha_rows records_in_range(uint key, const key_range* min_key, const key_range* max_key, page_range* pages) override;
  ha_rows multi_range_read_info_const(uint key, RANGE_SEQ_IF* ranges, void* argument, uint count, uint* buffer_bytes,
                                      uint* flags, Cost_estimate* cost) override;
  ha_rows estimate_rows_upper_bound() override;
  double scan_time() override;
  double read_time(uint key, uint ranges, ha_rows rows) override;
  int check(THD* thd, HA_CHECK_OPT* options) override;
  int analyze(THD* thd, HA_CHECK_OPT* options) override;
  int optimize(THD* thd, HA_CHECK_OPT* options) override;

  // handler_ddl.cc
  int create(const char* name, TABLE* form, HA_CREATE_INFO* create_info) override;
  int rename_table(const char* from, const char* to) override;
  int delete_table(const char* name) override;
  int truncate() override;
  bool can_convert_nocopy(const Field& before, const Column_definition& after) const override;
  Compare_keys compare_key_parts(const Field& before, const Column_definition& after, const KEY_PART_INFO& old_part,
                                 const KEY_PART_INFO& new_part) const override;
  bool check_if_incompatible_data(HA_CREATE_INFO* create_info, uint table_changes) override;
  enum_alter_inplace_result check_if_supported_inplace_alter(TABLE* altered, Alter_inplace_info* changes) override;
  bool prepare_inplace_alter_table(TABLE* altered, Alter_inplace_info* changes) override;
  bool inplace_alter_table(TABLE* altered, Alter_inplace_info* changes) override;
  bool commit_inplace_alter_table(TABLE* altered, Alter_inplace_info* changes, bool commit) override;

 private:
  static constexpr uint kKeyBytesMax = 3072;
  static constexpr uint kCostedBlockBytes = 16384;  // what the server's cost model takes a block for

  // What the record position format of rnd_pos is.
  enum class PositionForm : uint8_t { kRowId, kEncodedKey, kServerKey };

  // What the scan's bounds were narrowed to. kToRange: what is below a key, from which it reads backward, perhaps no further than to the begin
  // of a range.
  enum class Narrowed : uint8_t { kNo, kToPrefix, kToPoint, kToRange };

  void DetachCursors() override;
  bool ReadsFrom(TableId id) const override { return access_->def().id == id; }
  void OnSessionEnd() override;
  void JoinSession();
  void LeaveSession();
  Verdict Check(ByteView key, ByteView value) override;

  int NoteErrorMessage(int error);
  int Fail(const Status& status);
  int FailForDefinition(const Status& status);
  int FailAtEnd(const Status& status, int end_error);
  Status BindAccess();
  void TakeAccess(const TableShare& share);
  Status AccessOf(const char* name, std::shared_ptr<catalog::TableAccess>* access);
  void ChoosePositionForm();
  unsigned IndexOf(uint key) const;

  txn::Transaction& ActiveTransaction();
  int EndAutonomous();
  int BeginStatement(THD* thd);
  int BeginUntold();
  void SetReadMode(bool locking, txn::LockMode mode, bool skip_locked);
  void BindReader();
  bool IsSequence() const;
  int CheckReadView(unsigned index);
  bool IsYoungTemporary();
  enum class Look : uint8_t { kNone, kMaybe, kForHash, kForOverlap };
  Look LookOf(uint key) const;
  bool IsPastOverlaps(const uchar* record) const;
  int LookWhereNothingIsRead();
  int LookForOverlap(uint key);
  Status LockHash();
  // Of this statement, which may be one of a function. So the server's get_lock_type() does not do: it is that of all the function, which
  // may also read; and for a temporary table it may be none, or that of another of its statements, which reads.
  bool WritesRows() const { return writes_rows_; }

  bool LacksVirtualColumns() const;
  void ReadVirtualColumns();
  int ComputeVirtualColumns(const uchar* record);
  void ComputeWanted(const MY_BITMAP& wanted, uchar* record, ComputedTexts* texts);
  void KeepStoredTexts(const uchar* record, ComputedTexts* texts);
  void ComputeOfNewRow(const uchar* record, ComputedTexts* texts);
  void ComputeOfOldRow(const uchar* record);
  bool IsOfPortion() const;
  bool LeavesPortion() const;
  bool EndsRow(const uchar* old_record, const uchar* new_record) const;
  bool MayHaveStoredAnew() const;
  Status RestoreStored(const uchar* old_record, const uchar* past_record);
  codec::ColumnSet WantedColumns() const;
  void PlanEntry(unsigned index);
  void PlanRow();
  void MakePlans(unsigned index, bool keyread);
  bool EntryGives(uint column) const;
  bool IsLookedAt(const Field& field) const;
  void PlanVirtualColumns(codec::ColumnSet* wanted);
  bool ServerComputes(const uchar* record) const;
  void ComputeForServer(uchar* record);
  int Deliver(uchar* record, const Status& status, const scan::FoundRow& row, int end_error);
  Status DecodeRow(uchar* record, const scan::FoundRow& row);
  bool MayLoseCursor() const;
  ByteView KeepValue(ByteView value);
  int OpenScan(unsigned index);
  int BeginRange(uchar* record, ByteView lower, ByteView upper, bool forward, int end_error);
  int MoveScan(uchar* record, bool forward);
  Item* ConditionOfWalk() const;
  bool GivesVirtualColumns() const;
  void BeginRowCondition();
  void CountPassedBy();
  void EndIdleRowCondition();
  unsigned PartCount(uint key, key_part_map parts) const;
  bool IsPointKey(const uchar* key, uint part_count) const;
  bool IsOnlyLook() const;
  bool MayReadPoint() const;
  int ReadPoint(uchar* record);
  bool GiveDuplicate(uchar* record, int* error);
  int ContinueFromPoint(uchar* record, bool forward);
  void IndexBounds(unsigned index, ByteBuffer* lower, ByteBuffer* upper) const;
  std::vector<uint32_t> SortedIndexNumbers() const;
  void UpperBoundOfRange(ByteBuffer* upper) const;
  void LowerBoundOfRange(ByteBuffer* lower);
  void EncodePosition(const uchar* position, ByteBuffer* key) const;

  // The row that was read last, in this record.
  dml::RowRef RowOf(const uchar* record) const { return {.record = record, .hidden_row_id = hidden_row_id_}; }
  dml::RowRef NewRowOf(const uchar* record) const;
  codec::ColumnSet TouchedColumns(const uchar* old_record, const uchar* new_record) const;
  void BindWriter();
  int FinishWrite(const Status& status);
  void NoteDuplicateKey(size_t index);
  int BeginForeignKeys(THD* thd);
  Status ChangeWithChildren(const std::function<Status()>& change);
  void NoteForeignKeyError(const Status& status);
  // Of other changes than this handler's own, in the statement.
  uint64_t ChangesBeside() const {
    return session_->cascades + (table_share->tmp_table != NO_TMP_TABLE ? access_->table().changes_in_functions() : 0);
  }
  bool MayHaveChangedSinceRead() const { return changes_when_read_ != ChangesBeside() && !IsSequence(); }
  void NoteChangeInFunction();
  bool KeysWouldBeStale(const uchar* current, const uchar* old_record) const;
  Status ReadAsStored(const uchar* record, const codec::ColumnSet& columns, ByteBuffer* value, std::vector<uchar>* stored);
  void KeepCaughtUp(ByteBuffer value);
  Status CatchUp(const uchar* old_record, const uchar* new_record);
  bool FillsCopy() const;
  Status CommitCopiedRows();
  bool MayLoad() const;
  Status BeginLoad();
  int LoadRow(const dml::RowRef& row);
  void ShowDuplicate(const bulk::LoadDuplicate& duplicate);
  int FailLoad(const Status& status);
  int FinishLoad();
  int FailUnseen(int error);
  bool IsLostAlready() const;
  void DropLoad();
  bool MayLoadStatement() const;
  Status TryStatementLoad();
  Status ConsiderStatementLoad();
  int AddToStatementLoad(const dml::RowRef& row);
  int FailStatementLoad(const Status& status);
  bool IsLoaded() const {
    return session_->loaded_index.has_value() && *session_->loaded_index == access_->primary().id();
  }
  int RefuseLoaded();
  int CheckLoadEnded();
  void EndCopy();
  bool IsUnchanged(const uchar* old_record, const uchar* new_record) const;
  bool RecordsAreEqual() const;
  void NoteAutoIncrement(const uchar* record);
  int MoveAutoIncrement(ulonglong wanted);
  void NoteChangedAutoIncrement(const uchar* old_record, const uchar* new_record);

  int64_t OwnRows() const;
  int64_t OwnRowsIn(unsigned index, ByteView lower, ByteView upper) const;
  void MeasureIndexes();
  Status SampleIndexes();
  Status UpdateIndexStatistics();
  void TellWhereLate();
  void ReportProblem(THD* thd, const std::string& problem);
  int AnswerMaintenance(THD* thd, const Status& status);
  bool IsForced(uint key) const;
  ha_rows RowsOfSharedValues(uint key, const key_range& min_key, const key_range& max_key) const;
  ha_rows RowsOfNumbers(uint key, const key_range& min_key, const key_range& max_key) const;

  Session* session_ = nullptr;
  std::shared_ptr<catalog::TableAccess> access_;
  uint64_t access_version_ = 0;  // of the share, before access_ was taken from it
  std::string name_;           // "database/table"
  std::string error_message_;  // for print_error, and the session's when there is none

  // How this statement reads.
  bool locking_ = false;
  bool skip_locked_ = false;
  bool called_by_plain_select_ = false;        // what store_lock saw
  bool reads_committed_in_functions_ = false;  // the same, at READ COMMITTED
  bool locked_for_writes_ = false;             // what external_lock was told
  bool writes_rows_ = false;
  txn::LockMode lock_mode_ = txn::LockMode::kShared;
  bool keyread_ = false;

  // A sequence's own transaction: its changes are never rolled back.
  std::unique_ptr<txn::Transaction> autonomous_;

  scan::RowReader reader_;
  scan::IndexScan scan_;
  dml::RowWriter writer_;
  bool writer_bound_ = false;
  std::unique_ptr<foreign::Referee> referee_;  // null unless the table ever had to do with foreign keys
  AffectedDefinitions affected_definitions_;
  bool is_refereed_ = false;                   // it has in this statement
  uint64_t changes_when_read_ = 0;             // ChangesBeside() when the last row was read
  ByteBuffer caught_up_value_;                 // blobs of a row that had changed since point into it
  ByteBuffer caught_up_before_;                // the same, of the time before

  // Of load_ or statement_load_.
  std::shared_ptr<const bulk::SortMemory::Share> sort_memory_;

  // Filling a new table; null unless its rows go past the transaction.
  std::unique_ptr<bulk::TableLoad> load_;
  bool copy_begun_ = false;
  bool copy_ignores_duplicates_ = false;
  bool bulk_insert_begun_ = false;
  bool load_decided_ = false;

  // Rows of a statement that wait for its end; null unless they go past the transaction.
  std::unique_ptr<bulk::StatementLoad> statement_load_;
  bool statement_load_decided_ = false;
  uint64_t bytes_without_sort_memory_ = 0;  // of changes, when none was left for a load
  bool tolerates_duplicates_ = false;  // IGNORE, REPLACE, ON DUPLICATE KEY UPDATE

  bool scan_started_ = false;
  bool opens_only_range_ = false;  // the next index_init
  Narrowed narrowed_ = Narrowed::kNo;
  // For estimates of one statement.
  uint key_of_one_row_ = MAX_KEY;  // a unique key that leaves the statement one row at most
  bool has_looked_ = false;        // whether records_in_range was asked of late

  ByteBuffer range_begin_;  // where the range that comes next begins; empty: not said
  bool covering_ = false;
  bool virtual_from_entry_ = false;  // the row is read, but virtual columns come from the entry
  // Virtual columns that do not, of rows of which the server computes none; and what those of the last such row point into.
  std::vector<Field*> computed_;
  ComputedTexts computed_texts_;
  // What those of the last row to be written, and of the last one to be changed, as it is to be and as it was, point into,
  // where they are computed here.
  ComputedTexts written_texts_;
  ComputedTexts changed_texts_;
  ComputedTexts old_texts_;
  bool is_registered_ = false;

  // Plans are kept from statement to statement; row_plan_ decodes planned_columns_ of planned_access_.
  const catalog::TableAccess* planned_access_ = nullptr;
  bool plans_are_current_ = false;  // made or confirmed in this statement
  bool row_plan_is_stale_ = false;  // the server has changed what it wants since; made anew when a row is decoded
  std::optional<codec::ColumnSet> planned_columns_;
  std::optional<codec::DecodePlan> row_plan_;
  std::optional<codec::EntryPlan> entry_plan_;
  std::optional<codec::EntryPlan> filter_plan_;
  std::optional<codec::DecodePlan> filter_row_plan_;
  const Item* inspected_condition_ = nullptr;  // of this statement, whether it serves or not
  std::optional<RowCondition> row_condition_;  // made of it, if it serves
  bool row_condition_in_use_ = false;          // by the walk that is open

  PositionForm position_form_ = PositionForm::kRowId;
  uint64_t hidden_row_id_ = 0;  // of the row that was read last
  bool has_blobs_ = false;
  Look look_ = Look::kNone;  // of the scan that is open
  ByteBuffer kept_value_;
  ByteBuffer search_key_;
  ByteBuffer lower_;
  ByteBuffer upper_;
};

}  // namespace cairn::server
