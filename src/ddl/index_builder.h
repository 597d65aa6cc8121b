// SPDX-License-Identifier: GPL-2.0-only
// Builds indexes of a table while its rows are read and written.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "catalog/catalog.h"
#include "catalog/table_access.h"
#include "store/store.h"
#include "txn/transaction_manager.h"

namespace cairn::ddl {

// A row that has the same unique values as another.
struct DuplicateRow {
  size_t index = 0;  // of the indexes given to the builder
  std::string primary_key;
  std::string value;
};

// One build: Begin, Fill, CatchUp, Finish, and then Catalog::ReplaceIndexes with the definitions in
// indexes(), followed by Complete(). Destroyed before that, it leaves the table as it was; so does a crash.
// How it works, and why nothing is missed: docs/decisions/0017-online-index-build.md.
//
// Who calls it keeps the table's definition as it is and, where it says so, all users away from the
// table, transactions with uncommitted changes included.
//
// Thread rule: one thread at a time. Lifetime: all that is given to it outlives it.
// Errors: kDuplicateKey (see duplicate()), kInterrupted, kNoSpace, kLockTimeout when a transaction that is
// prepared without a connection has changed the table; others are not expected.
class IndexBuilder {
 public:
  // `indexes` have no ids yet. `table` is the table as it is. `interrupted` is asked between rows, and while files wait
  // for places; true ends the call with kInterrupted. It may be empty. So does `interrupt_flag`, which another thread sets, where many entries
  // are passed over that are not to be seen, as they were removed. It may be null.
  IndexBuilder(store::Store& store, catalog::Catalog& catalog, txn::TransactionManager& transactions,
               std::shared_ptr<const catalog::TableAccess> table, std::vector<catalog::IndexDef> indexes,
               std::function<bool()> interrupted, const std::atomic<bool>* interrupt_flag = nullptr);
  IndexBuilder(const IndexBuilder&) = delete;
  IndexBuilder& operator=(const IndexBuilder&) = delete;
  ~IndexBuilder();

  // Precondition: nobody uses the table. From now on writers note their changes.
  Status Begin();

  // Fills the indexes with the rows of the moment of Begin. The indexes share the memory for sorting. `sorted` is called once none of it is
  // needed any more, before the last index's files wait for places. It may be empty.
  Status Fill(uint64_t sort_memory_bytes, const std::function<void()>& sorted = {});

  // Applies what was noted meanwhile, until little is left.
  Status CatchUp();

  // Applies the rest. Precondition: nobody uses the table from here to Complete() or destruction.
  Status Finish();

  // The definition that has the indexes is committed.
  void Complete();

  // With their ids, once Begin returned ok.
  const std::vector<catalog::IndexDef>& indexes() const { return indexes_; }

  // After kDuplicateKey.
  const DuplicateRow& duplicate() const { return duplicate_; }

  uint64_t applied_delta_count() const { return applied_delta_count_; }

 private:
  struct Sorting;
  Status CheckInterrupted() const;
  Status ScanRows(std::vector<Sorting>* sortings);
  Status Load(size_t index, Sorting* sorting, const std::function<void()>& sorted);
  Status NoteDuplicate(size_t index, ByteView primary_key, const store::Snapshot* snapshot);
  Status ApplyDeltas(bool last, uint64_t* applied);
  void Leave();

  store::Store& store_;
  catalog::Catalog& catalog_;
  txn::TransactionManager& transactions_;
  const std::shared_ptr<const catalog::TableAccess> table_;
  std::vector<catalog::IndexDef> indexes_;
  const std::function<bool()> interrupted_;
  const std::atomic<bool>* const interrupt_flag_;
  std::vector<IndexId> ids_;  // all that were taken
  std::shared_ptr<const catalog::TableBuild> build_;
  std::vector<codec::IndexCodec> codecs_;  // of indexes_, for records of table_
  store::Snapshot snapshot_;
  DuplicateRow duplicate_;
  uint64_t applied_delta_count_ = 0;
};

}  // namespace cairn::ddl
