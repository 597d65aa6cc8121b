// SPDX-License-Identifier: GPL-2.0-only
// A table that exists: its definition and the numbers that change while it is used.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "catalog/index_build.h"
#include "catalog/table_def.h"
#include "store/table_counters.h"

namespace cairn::catalog {

// What sampling found about the indexes of a table. Immutable.
struct Statistics {
  uint64_t rows_then = 0;       // the table's rows when it was made
  uint64_t changed_then = 0;    // Table::changed_rows(), read before it was begun: what changed meanwhile counts
  // For each index, in the order of TableDef::indexes, and each prefix of its parts, those from the primary key behind its own
  // included if it is not unique: entries per distinct value.
  std::vector<std::vector<double>> rows_per_value;
};

// What an entry of an index takes in files, measured when the files had the version. Any thread; two
// who measure at once do the work twice and nothing else.
struct FileDensity {
  std::atomic<uint64_t> files_version{0};  // store::Store::FilesVersion
  std::atomic<double> bytes_per_entry{0};  // 0: no files
};

class TableAccess;

// Thread rule: all methods from any thread. The definition never changes; a table that is altered,
// renamed or truncated is another object.
class Table {
 public:
  // `visible_since`: the store's sequence number before which the table did not exist as it is.
  // `index_visible_since`: the same for its indexes, in the order of TableDef::indexes; empty for all 0.
  Table(TableDef def, const store::TableCounters& counters, uint64_t next_row_id, uint64_t visible_since,
        std::vector<uint64_t> index_visible_since = {})
      : def_(std::move(def)),
        visible_since_(visible_since),
        index_visible_since_(std::move(index_visible_since)),
        row_count_(counters.row_count),
        auto_increment_next_(counters.auto_increment_next),
        next_row_id_(next_row_id),
        densities_(std::make_unique<FileDensity[]>(def_.indexes.size())) {}

  const TableDef& def() const { return def_; }

  // Read views older than this sequence number must not read the table: they would miss rows that
  // came into it by copying. 0 when no such view can exist.
  uint64_t visible_since() const {
    return std::max(visible_since_, loaded_since_.load(std::memory_order_acquire));
  }

  // The same for one index, which may be younger than its table: what was deleted or changed before it was
  // built is not in it.
  uint64_t visible_since(size_t index) const {
    return index < index_visible_since_.size() ? std::max(visible_since(), index_visible_since_[index]) : visible_since();
  }

  // Rows are about to come into the table that every read view would see. Who commits next to the table,
  // which nobody else can use before, is told of it once and sets since when it is visible.
  void NoteLoad() { has_load_.store(true, std::memory_order_release); }
  bool TakeLoad() { return has_load_.load(std::memory_order_relaxed) && has_load_.exchange(false); }
  void SetLoadedSince(uint64_t sequence) { loaded_since_.store(sequence, std::memory_order_release); }

  // The indexes that are being built; null when there are none. Set and unset by who builds them, while no
  // statement uses the table (unset also when the build is given up, at any time).
  std::shared_ptr<const TableBuild> build() const {
    return has_build_.load(std::memory_order_acquire) ? build_.load() : nullptr;
  }
  void SetBuild(std::shared_ptr<const TableBuild> build) {
    const bool has = build != nullptr;
    build_.store(std::move(build));
    has_build_.store(has, std::memory_order_release);
  }

  // Committed rows. Never negative.
  uint64_t row_count() const {
    const int64_t rows = row_count_.load(std::memory_order_relaxed);
    return rows > 0 ? static_cast<uint64_t>(rows) : 0;
  }
  // Rows added, removed, or changed in an index's key, since the table was loaded into memory. An estimate, for statistics
  // alone: it is not stored, and what a prepared transaction had changed before a restart counts as the growth it makes.
  uint64_t changed_rows() const { return changed_rows_.load(std::memory_order_relaxed); }
  // Called after a commit with what the transaction changed.
  void AddRows(int64_t delta, uint64_t changed) {
    if (delta != 0) row_count_.fetch_add(delta, std::memory_order_relaxed);
    if (changed != 0) changed_rows_.fetch_add(changed, std::memory_order_relaxed);
  }

  // Of a temporary table: counts changes that functions and triggers have made, whose own statement may be reading it. A row that was read at
  // another count may have changed since.
  uint64_t changes_in_functions() const { return changes_in_functions_.load(std::memory_order_relaxed); }
  void NoteChangeInFunction() { changes_in_functions_.fetch_add(1, std::memory_order_relaxed); }

  // The lowest AUTO_INCREMENT value that was not handed out; 0 when none ever was.
  uint64_t auto_increment_next() const { return auto_increment_next_.load(std::memory_order_relaxed); }
  void SetAutoIncrementNext(uint64_t next) { auto_increment_next_.store(next, std::memory_order_relaxed); }

  // Makes sure that no value below `next` is handed out any more.
  void RaiseAutoIncrementNext(uint64_t next) {
    uint64_t current = auto_increment_next_.load(std::memory_order_relaxed);
    while (current < next &&
           !auto_increment_next_.compare_exchange_weak(current, next, std::memory_order_relaxed)) {
    }
  }

  // Replaces the counter by `next` if it is still `expected`; otherwise loads it into `expected`.
  bool ReplaceAutoIncrementNext(uint64_t* expected, uint64_t next) {
    return auto_increment_next_.compare_exchange_weak(*expected, next, std::memory_order_relaxed);
  }

  // A row id for a hidden primary key that no row of the table has or had.
  uint64_t next_row_id() const { return next_row_id_.load(std::memory_order_relaxed); }
  uint64_t TakeRowId() { return next_row_id_.fetch_add(1, std::memory_order_relaxed); }

  // The newest sample; null when there is none yet.
  std::shared_ptr<const Statistics> statistics() const { return statistics_.load(); }

  // Whether there is no sample, or the table has grown or shrunk by more than a half since, or more than a tenth of it, and
  // hundreds of rows, were changed: a small table that always changes is not sampled by each who opens it.
  bool StatisticsAreStale() const {
    const std::shared_ptr<const Statistics> newest = statistics();
    if (newest == nullptr) return true;
    const uint64_t rows = row_count();
    const uint64_t change = rows > newest->rows_then ? rows - newest->rows_then : newest->rows_then - rows;
    if (change > 16 + newest->rows_then / 2) return true;
    return changed_rows() - newest->changed_then > std::max<uint64_t>(kFewChangedRows, newest->rows_then / 10);
  }
  // `rows`, `changed`: row_count() and changed_rows() before the sample was begun.
  void SetStatistics(std::vector<std::vector<double>> rows_per_value, uint64_t rows, uint64_t changed) {
    statistics_.store(std::make_shared<const Statistics>(
        Statistics{.rows_then = rows, .changed_then = changed, .rows_per_value = std::move(rows_per_value)}));
  }
  // Whether nobody else is making a sample; if so, it is begun, until EndSample().
  bool BeginSample() { return !is_being_sampled_.exchange(true, std::memory_order_acquire); }
  void EndSample() { is_being_sampled_.store(false, std::memory_order_release); }

  // Of the index at this place in the definition.
  FileDensity& density(size_t index) const { return densities_[index]; }

  void InvalidateStatistics() { statistics_.store(nullptr); }

  // What PlainAccessOf() made last (plain_layout.h), as long as somebody keeps it; else null.
  std::shared_ptr<TableAccess> plain_access() const { return plain_access_.load().lock(); }
  void SetPlainAccess(const std::shared_ptr<TableAccess>& access) { plain_access_.store(access); }

 private:
  static constexpr uint64_t kFewChangedRows = 200;

  const TableDef def_;
  const uint64_t visible_since_;
  const std::vector<uint64_t> index_visible_since_;
  std::atomic<int64_t> row_count_;
  std::atomic<uint64_t> changed_rows_{0};
  std::atomic<uint64_t> changes_in_functions_{0};
  std::atomic<uint64_t> auto_increment_next_;
  std::atomic<uint64_t> next_row_id_;
  std::atomic<std::shared_ptr<const Statistics>> statistics_;
  std::atomic<bool> is_being_sampled_{false};
  const std::unique_ptr<FileDensity[]> densities_;
  std::atomic<bool> has_load_{false};
  std::atomic<uint64_t> loaded_since_{0};
  std::atomic<bool> has_build_{false};
  std::atomic<std::shared_ptr<const TableBuild>> build_;
  std::atomic<std::weak_ptr<TableAccess>> plain_access_;  // which keeps the table
};

}  // namespace cairn::catalog
