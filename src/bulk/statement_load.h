// SPDX-License-Identifier: GPL-2.0-only
// Takes a statement's many rows for an empty table past its transaction, until it commits.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/ids.h"
#include "base/status.h"
#include "bulk/table_load.h"
#include "catalog/table_access.h"
#include "dml/row_writer.h"
#include "store/store.h"
#include "txn/transaction.h"

namespace cairn::bulk {

// Usage: a statement inserts rows as ever, by a RowWriter. Once they have become many, Begin() takes them back out of the transaction;
// then Add() takes the rows, and Finish() sorts them, finds duplicates and makes the files a part of the transaction, which brings them
// into the store by its commit. If somebody else has put rows into the table meanwhile, or has locks there, or if the store
// has no place for the files, Finish() inserts the rows one by one instead, as they would have been without all this.
//
// The caller answers for it that the statement is all of its transaction: nothing in it reads the table before the commit; that nothing
// else must be done for a row than to write its entries (no foreign keys); and that no index of the table is being built.
//
// Lifetime: not longer than the store. Thread rule: the transaction's.
// Errors: those of TableLoad, PendingLoad and RowWriter. After one the statement must be rolled back.
class StatementLoad {
 public:
  StatementLoad(store::Store& store, std::shared_ptr<const catalog::TableAccess> table, LoadOptions options);

  // Not begun, and the transaction is as before, if it has changed anything but put entries of the table, or the table has
  // rows by now, or had some that are removed but have not been compacted yet.
  Status Begin(txn::Transaction* transaction, bool* begun);

  // Records must be complete, as for RowWriter.
  Status Add(const dml::RowRef& row) {
    ++added_count_;
    return load_.Add(row);
  }

  // `writer` is bound to the transaction and the table.
  Status Finish(txn::Transaction* transaction, dml::RowWriter* writer);

  // After Finish(): whether the rows are in files that wait for the commit.
  bool by_files() const { return by_files_; }

  // After kDuplicateKey.
  const LoadDuplicate& duplicate() const { return by_rows_ ? duplicate_ : load_.duplicate(); }

 private:
  size_t IndexOf(ByteView key) const;
  Status IsUntouched(bool* untouched) const;
  Status InsertAll(txn::Transaction* transaction, dml::RowWriter* writer);
  Status NoteDuplicate(txn::Transaction* transaction, size_t index, ByteView key, ByteView value);

  store::Store& store_;
  const std::shared_ptr<const catalog::TableAccess> table_;
  const std::function<bool()> interrupted_;
  std::vector<IndexId> indexes_;
  TableLoad load_;
  uint64_t added_count_ = 0;
  bool by_files_ = false;
  bool by_rows_ = false;
  LoadDuplicate duplicate_;
};

}  // namespace cairn::bulk
