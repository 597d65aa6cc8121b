// SPDX-License-Identifier: GPL-2.0-only
// Keeps a row and its index entries consistent: insert, update, delete within a transaction.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/bytes.h"
#include "base/status.h"
#include "catalog/index_build.h"
#include "catalog/table_access.h"
#include "codec/column_set.h"
#include "store/empty_ranges.h"
#include "store/point_reader.h"
#include "store/types.h"
#include "txn/transaction.h"

namespace cairn::dml {

// A record in the server's format and, for a table with a hidden primary key, its row id.
struct RowRef {
  const uint8_t* record = nullptr;
  uint64_t hidden_row_id = 0;
};

// Asked for leave before a row's changes are written, when no duplicate is in their way.
class RowGuard {
 public:
  virtual ~RowGuard() = default;
  virtual Status BeforeInsert(const RowRef& row) = 0;
  virtual Status BeforeUpdate(const RowRef& old_row, const RowRef& new_row, const codec::ColumnSet& touched) = 0;
};

// Writes rows of one table. All changes go into the transaction; a failed call may have added some
// of its changes, so the caller rolls its statement back or, after kDuplicateKey, goes on: a
// duplicate is found before anything is changed.
//
// Locks: exclusive ones on the primary key and on every unique entry that is written. What is inserted
// into a range that another transaction has locked waits for its end, without them. After kDuplicateKey the row in the way is locked, shared unless
// SetChangesDuplicates() was called, and what was locked for the row that was not written is not locked any more.
//
// While indexes of the table are being built (Table::build()), each change of their entries is noted as
// a delta in the same transaction, under an exclusive lock on the delta's key.
//
// Thread rule: one thread at a time. Records must be complete (all stored columns and all columns
// of indexes valid).
class RowWriter {
 public:
  // Both must outlive its use; called when a statement begins to use the table.
  void Bind(txn::Transaction* transaction, const catalog::TableAccess* table, const txn::LockOptions& lock_options);

  // Until the next Bind(); null: nobody is asked.
  void SetGuard(RowGuard* guard) { guard_ = guard; }

  // Until the next Bind(): a row in the way is removed or changed next, so it is locked exclusively, and the other locks are kept for
  // the next attempt; that of the row's own unique entry only if the row was not waited for.
  void SetChangesDuplicates() { changes_duplicates_ = true; }

  // Adds a row. On kDuplicateKey duplicate_index() is the index (0: primary) and
  // duplicate_primary_key() the row in the way.
  Status Insert(const RowRef& row);

  // Adds one entry of a row that is encoded already; the row (index 0) comes before its other entries, each once. No
  // guard is asked, nothing is counted, and no index may be in the making. Duplicates: as Insert.
  Status InsertEncoded(size_t index, ByteView key, ByteView value);

  // Replaces `old_row` by `new_row`, which may have another primary key, but for a hidden one. `touched` are all
  // columns whose values may differ; indexes without any of them are left alone, the primary one among them. The
  // caller holds the exclusive lock of the old row.
  Status Update(const RowRef& old_row, const RowRef& new_row, const codec::ColumnSet& touched);

  // Removes a row. The caller holds its exclusive lock.
  Status Delete(const RowRef& row);

  // The value of the row that the last call has met by its primary key (kDuplicateKey, after SetChangesDuplicates()), for who looks for the
  // row by `key` to change it: it is locked exclusively. Given once, and only if `key` is the row's and the transaction has changed nothing
  // since; false: the row is to be read. Valid until the next call that changes rows, Bind(), Reset(), or the transaction's next change.
  bool TakeDuplicate(ByteView key, ByteView* value);

  // Gives back pinned memory; at the end of a statement, and before the store is closed.
  void Reset() {
    has_duplicate_ = false;
    found_.Reset();
    points_.Close();
    build_.reset();
    build_codecs_.clear();
  }

  size_t duplicate_index() const { return duplicate_index_; }
  ByteView duplicate_primary_key() const { return duplicate_primary_key_.view(); }

 private:
  struct Entry {
    ByteBuffer key;
    ByteBuffer value;
  };

  void EncodePrimary(const RowRef& row, ByteBuffer* key) const;
  void EncodeValue(const RowRef& row) {
    row_value_.Clear();
    table_->rows().Encode(row.record, &row_value_);
  }
  void EncodePrimaries(const RowRef& old_row, const RowRef& new_row, const codec::ColumnSet& touched);
  bool KeepsPrimary(const RowRef& new_row) const;
  Status LockAndFind(ByteView key, txn::LockResult* lock);
  Status AwaitAndFind(ByteView key, txn::LockResult* lock);
  void NoteClaim(const txn::LockResult& lock) {
    if (lock.newly_acquired) claims_.push_back(lock);
  }
  Status PrepareAgain(Status status, uint64_t* ends_us);
  template <typename Change>
  Status ClaimAndChange(const Change& change);
  Status ClaimPrimary();
  Status ClaimUnique(size_t index, const uint8_t* record);
  Status ClaimUniqueKey(size_t index);
  Status LockDuplicate(size_t index, txn::LockOptions options);
  Status InsertClaimed(const RowRef& row);
  Status PutRow(const RowRef& row);
  Status ReplaceRow(const RowRef& old_row, const RowRef& new_row, const codec::ColumnSet& touched);
  Status RemoveRow(const RowRef& row);
  Status RemoveEntry(size_t index, ByteView key);
  Status InsertKey(ByteView key, ByteView value);
  Status InsertEntry(const Entry& entry);
  Status UpdateEntry(size_t index, const RowRef& old_row, const RowRef& new_row);
  Status CompareWithView(const RowRef& old_row);
  Status ClaimChangedUniques(const RowRef& old_row, const RowRef& new_row, const codec::ColumnSet& touched);
  bool MayRespellPrimary(const codec::ColumnSet& touched) const;
  void BindBuild();
  Status NoteDelta(const catalog::IndexBuild& build, bool present, const Entry& entry, ByteView primary_key);
  Status NoteInBuilds(const RowRef& row, ByteView primary_key, bool present);
  Status NoteChangeInBuilds(const RowRef& old_row, const RowRef& new_row, const codec::ColumnSet& touched);
  bool Affected(size_t index, const codec::ColumnSet& touched) const;
  bool ChangesRowAlone(const codec::ColumnSet& touched) const;
  Status PutChangedRow(const RowRef& row);

  txn::Transaction* transaction_ = nullptr;
  const catalog::TableAccess* table_ = nullptr;
  RowGuard* guard_ = nullptr;
  std::shared_ptr<const catalog::TableBuild> build_;  // null unless indexes are being built
  std::vector<codec::IndexCodec> build_codecs_;       // of these indexes, for records of table_
  txn::LockOptions lock_options_;
  txn::LockOptions try_options_;  // the same without waiting
  bool changes_duplicates_ = false;
  std::vector<txn::LockResult> claims_;  // locks of keys that the change under way is to write, acquired by it
  ByteBuffer range_key_;  // what it could not put, as others hold a range around it

  ByteBuffer old_primary_;
  ByteBuffer new_primary_;
  ByteBuffer row_value_;
  Entry old_entry_;
  Entry new_entry_;
  Entry delta_;
  bool primary_changed_ = false;
  bool key_changed_ = false;  // that of the row or of an entry: statistics may be others
  bool newer_than_view_ = false;  // the row changed after the transaction's read view was taken
  store::PointReader points_{store::PointReader::Expects::kAbsent};  // of keys that are to be new
  store::EmptyRanges empty_;  // around keys inserted of late
  store::PinnedValue found_;
  size_t duplicate_index_ = 0;
  ByteBuffer duplicate_primary_key_;
  ByteBuffer primary_key_now_;   // of the entry in the way, once the row that it led to is locked
  bool has_duplicate_ = false;   // found_ is its row
  uint64_t duplicate_mark_ = 0;  // the transaction's change_mark() then
};

}  // namespace cairn::dml
