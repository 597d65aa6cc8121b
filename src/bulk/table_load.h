// SPDX-License-Identifier: GPL-2.0-only
// Fills a new table with rows, past transactions and memtables when they are many.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/status.h"
#include "bulk/external_sorter.h"
#include "bulk/interrupt_poll.h"
#include "catalog/table_access.h"
#include "dml/row_writer.h"
#include "store/sorted_load.h"
#include "store/store.h"

namespace cairn::bulk {

struct LoadOptions {
  // For sorting, shared by all indexes of the table. At least ExternalSorter::kMemoryBytesMin are used for each.
  uint64_t memory_bytes = uint64_t{32} << 20;
  // Asked now and then while rows are taken and sorted, and while their files wait for places; true ends it with kInterrupted. Optional.
  std::function<bool()> interrupted;
  // So many tables, this one included, are filled at the same time.
  unsigned tables_at_once = 1;
  // Rows go into files from the first on, which are for a PendingLoad.
  bool by_files = false;
  // Called once files have all entries, before these wait for places, or the caller for anybody: `memory_bytes` are free from then on. Optional.
  std::function<void()> sorted = nullptr;
};

// Where the entries of a load go that is too small for files of its own.
struct LoadTarget {
  std::function<Status(ByteView key, ByteView value)> put;
  std::function<Status(ByteView key, std::string* value)> get;  // what was put before
};

// Two rows have the same values in a unique index: the one that is reported.
struct LoadDuplicate {
  size_t index = 0;  // of the table's indexes; 0: primary
  std::string key;   // of the entry, with index id
  std::string value;
  std::string primary_key;  // of the row; empty when it is the one just given to Add
  std::string row_value;
};

// Takes the rows of a table in any order and puts them and their index entries into the store when
// Finish() is called; until then nothing is there. Rows are encoded once. Those that
// come in the order of their primary keys are written to sorted files at once; others, and the entries
// of secondary indexes, are sorted within bounded memory. Up to kSmallBytes of entries
// are given to a LoadTarget instead: files of few entries would cost more than they save. Before files of a temporary table come into the store
// the log is synced, as the table's definition may not have been.
//
// The caller answers for it that the table is empty, that nobody else can use it, that no
// read view older than Finish() will ever look at it, and that the table goes if Finish() fails, or a crash comes before
// that has ended (store/sorted_load.h).
//
// Lifetime: not longer than the store. Thread rule: one thread at a time.
// Errors: kDuplicateKey (see duplicate()), kInterrupted, those of SortedLoad and ExternalSorter. After an
// error only destruction may follow, and leaves nothing behind.
class TableLoad {
 public:
  static constexpr uint64_t kSmallBytes = uint64_t{4} << 20;

  TableLoad(store::Store& store, std::shared_ptr<const catalog::TableAccess> table, LoadOptions options);

  // Records must be complete, as for RowWriter.
  Status Add(const dml::RowRef& row);

  // An entry of a row, encoded elsewhere. Its row's comes in the primary index (0), which counts as the row.
  Status AddEntry(size_t index, ByteView key, ByteView value);

  Status Finish(const LoadTarget& target);

  // The same as far as files are written, which are left to the caller: rows first, then each index. Precondition: by_files().
  Status FinishFiles();
  store::SortedLoad& files() { return *load_; }

  // Whether there are more than kSmallBytes, so that Finish() ingests files.
  bool by_files() const { return load_ != nullptr; }
  uint64_t row_count() const { return row_count_; }

  // After kDuplicateKey.
  const LoadDuplicate& duplicate() const { return duplicate_; }

 private:
  std::unique_ptr<ExternalSorter> NewSorter() const;
  std::unique_ptr<store::SortedLoad> NewFiles() const;
  Status AddPrimary(ByteView key, ByteView value);
  Status AddSecondary(size_t index, ByteView key, ByteView value);
  Status SwitchToFiles();
  Status MergeLate();
  Status PutAll(const LoadTarget& target);
  Status SortIndex(size_t index, const ExternalSorter::Visit& visit,
                   const std::function<Status(ByteView key, std::string* value)>& get_row);
  Status SortRows(ExternalSorter* sorter, const ExternalSorter::Visit& visit);

  store::Store& store_;
  const std::shared_ptr<const catalog::TableAccess> table_;
  const LoadOptions options_;
  InterruptPoll row_poll_{options_.interrupted};
  std::unique_ptr<ExternalSorter> gathered_;            // the first rows, until load_ is there
  std::unique_ptr<store::SortedLoad> load_;             // rows in order
  std::unique_ptr<ExternalSorter> late_;                // rows that came after a greater one
  std::vector<std::unique_ptr<ExternalSorter>> sorters_;  // of secondary indexes, without index ids
  uint64_t bytes_ = 0;                                  // of all entries, until load_ is there
  uint64_t row_count_ = 0;
  ByteBuffer last_key_;  // of load_
  ByteBuffer primary_key_;
  ByteBuffer row_value_;
  ByteBuffer key_;
  ByteBuffer value_;
  LoadDuplicate duplicate_;
};

}  // namespace cairn::bulk
