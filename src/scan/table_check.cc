// SPDX-License-Identifier: GPL-2.0-only
// Two passes over one snapshot: rows to entries, entries to rows.
#include "scan/table_check.h"

#include "base/index_bounds.h"

namespace cairn::scan {
namespace {

using store::Family;

constexpr size_t kProblemsKept = 20;
constexpr uint64_t kRowsBetweenPolls = 256;

class Checker {
 public:
  Checker(store::Store& store, const catalog::TableAccess& table, const CheckOptions& options, CheckResult* result)
      : store_(store),
        table_(table),
        options_(options),
        result_(result),
        snapshot_(store.TakeSnapshot()),
        record_(table.layout().default_record.view()),
        plan_(table.rows().Plan(codec::ColumnSet::All(table.layout().columns.size()))) {
    record_.resize(table.layout().record_bytes);
  }

  Status Run() {
    CAIRN_RETURN_IF_ERROR(Walk(0, [this](ByteView key, ByteView value) { return CheckRow(key, value); }, &result_->rows));
    for (size_t index = 1; index < table_.indexes().size(); ++index) {
      uint64_t entries = 0;
      CAIRN_RETURN_IF_ERROR(
          Walk(index, [&](ByteView key, ByteView value) { return CheckEntry(index, key, value); }, &entries));
      if (entries != result_->rows) {
        Report("index " + NameOf(index) + " has " + std::to_string(entries) + " entries for " +
               std::to_string(result_->rows) + " rows");
      }
    }
    return Status::Ok();
  }

 private:
  const std::string& NameOf(size_t index) const { return table_.def().indexes[index].name; }

  void Report(std::string problem) {
    ++result_->problem_count;
    if (result_->problems.size() < kProblemsKept) result_->problems.push_back(std::move(problem));
  }

  Status Walk(size_t index, const std::function<Status(ByteView, ByteView)>& visit, uint64_t* count) {
    const IndexBounds bounds(table_.indexes()[index].id());
    store::CursorOptions cursor_options;
    cursor_options.snapshot = &snapshot_;
    cursor_options.lower_bound = bounds.lower();
    cursor_options.upper_bound = bounds.upper();
    cursor_options.fill_cache = false;
    cursor_options.interrupted = options_.interrupt_flag;
    store::Cursor cursor;
    CAIRN_RETURN_IF_ERROR(store_.OpenCursor(Family::kData, cursor_options, &cursor));
    for (cursor.SeekToFirst(); cursor.Valid(); cursor.Next()) {
      if (++*count % kRowsBetweenPolls == 0 && options_.interrupted && options_.interrupted()) {
        return Status::Of(Status::Code::kInterrupted);
      }
      CAIRN_RETURN_IF_ERROR(visit(cursor.key(), cursor.value()));
    }
    return cursor.status();
  }

  uint8_t* record() { return reinterpret_cast<uint8_t*>(record_.data()); }

  Status CheckRow(ByteView key, ByteView value) {
    const Status decoded = table_.rows().Decode(plan_, key, value, record());
    if (!decoded.ok()) {
      Report(decoded.ToString());
      return Status::Ok();
    }
    if (!options_.extended) return Status::Ok();
    if (options_.complete_record) options_.complete_record(record());
    for (size_t index = 1; index < table_.indexes().size(); ++index) {
      entry_key_.Clear();
      entry_value_.Clear();
      table_.indexes()[index].EncodeEntry(record(), key, &entry_key_, &entry_value_);
      Status found = store_.Get(Family::kData, entry_key_.view(), &snapshot_, &found_);
      if (found.Is(Status::Code::kNotFound)) {
        Report("a row has no entry in index " + NameOf(index));
        continue;
      }
      CAIRN_RETURN_IF_ERROR(std::move(found));
      if (found_.view() != entry_value_.view()) Report("an entry of index " + NameOf(index) + " differs from its row");
    }
    return Status::Ok();
  }

  Status CheckEntry(size_t index, ByteView key, ByteView value) {
    primary_key_.Clear();
    const Status decoded = table_.indexes()[index].PrimaryKeyOf(key, value, &primary_key_);
    if (!decoded.ok()) {
      Report(decoded.ToString());
      return Status::Ok();
    }
    if (!options_.extended) return Status::Ok();
    Status found = store_.Get(Family::kData, primary_key_.view(), &snapshot_, &found_);
    if (found.Is(Status::Code::kNotFound)) {
      Report("an entry of index " + NameOf(index) + " has no row");
      return Status::Ok();
    }
    return found;
  }

  store::Store& store_;
  const catalog::TableAccess& table_;
  const CheckOptions& options_;
  CheckResult* const result_;
  const store::Snapshot snapshot_;
  std::string record_;
  const codec::DecodePlan plan_;
  ByteBuffer entry_key_;
  ByteBuffer entry_value_;
  ByteBuffer primary_key_;
  store::PinnedValue found_;
};

}  // namespace

Status CheckTable(store::Store& store, const catalog::TableAccess& table, const CheckOptions& options,
                  CheckResult* result) {
  return Checker(store, table, options, result).Run();
}

}  // namespace cairn::scan
