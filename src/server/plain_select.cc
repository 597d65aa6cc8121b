// SPDX-License-Identifier: GPL-2.0-only
#include "server/plain_select.h"

#include <sql_lex.h>
#include <sql_select.h>

#include <array>
#include <atomic>
#include <new>
#include <utility>

#include "base/thread_shard.h"
#include "server/handler.h"
#include "server/select_shape.h"
#include "server/session.h"
#include "server/sysvars.h"

namespace cairn::server {
namespace {

using Kind = SelectShape::Kind;

// On a line of its own for each shard of threads, as each statement counts.
struct alignas(64) Counter {
  std::atomic<uint64_t> count{0};
};
std::array<Counter, kThreadShards> counters;

// The server's protocol for it: init_scan, next_row until the end, end_scan whatever happens; each row is sent from the table's own record,
// so that there is no temporary table.
class PlainSelect final : public select_handler {
 public:
  PlainSelect(THD* thd, SELECT_LEX* statement, const SelectShape& shape)
      : select_handler(thd, shape.table->file->ht), shape_(shape), file_(shape.table->file) {
    select = statement;
  }
  // Of a statement that breaks off between init_scan and the first row the server does not call end_scan.
  ~PlainSelect() override { static_cast<void>(Close()); }

  bool prepare() override {
    result_columns = select->item_list;
    return false;
  }

 private:
  int init_scan() override;
  int next_row() override;
  int end_scan() override;
  void print_error(int error, myf flags) override;

  int Close();
  int FirstRow();
  int FollowingRow();
  int NextPoint();
  // Of more than one row, the optimizer's name for it; errors are told apart by it as well.
  bool IsRange() const { return shape_.kind == Kind::kRange || shape_.kind == Kind::kPoints; }
  key_range FirstKey() const { return {shape_.first_key, shape_.key_bytes, shape_.parts, HA_READ_KEY_OR_NEXT}; }
  key_range LastKey() const { return {shape_.last_key, shape_.key_bytes, shape_.parts, HA_READ_AFTER_KEY}; }
  uchar* record() const { return shape_.table->record[0]; }

  SelectShape shape_;
  handler* const file_;
  int first_error_ = 0;  // of the first read
  bool is_first_ = true;
  uint next_value_ = 0;  // of the list of points
  ha_rows examined_ = 0;
  ha_rows found_ = 0;  // of which the first are skipped, if the statement says so
};

// A row that is not there ends the statement before it has begun to answer, as what goes wrong should.
int PlainSelect::init_scan() {
  THD_STAGE_INFO(thd, stage_sending_data);
  counters[ThreadShard()].count.fetch_add(1, std::memory_order_relaxed);
  if (thd->check_killed()) return HA_ERR_ABORTED_BY_USER;
  if (shape_.from_entries) file_->ha_start_keyread(shape_.key);
  if (IsRange()) thd->inc_status_select_range();
  if (shape_.kind == Kind::kPrefix || shape_.kind == Kind::kRange) static_cast<Handler*>(file_)->OpenOnlyRangeNext();
  if (shape_.kind != Kind::kPoint) return file_->ha_index_init(shape_.key, true);
  first_error_ = file_->ha_index_read_idx_map(record(), shape_.key, shape_.first_key, shape_.parts, HA_READ_KEY_EXACT);
  return first_error_ == HA_ERR_KEY_NOT_FOUND || first_error_ == HA_ERR_END_OF_FILE ? 0 : first_error_;
}

int PlainSelect::FirstRow() {
  if (shape_.kind == Kind::kPoint) return first_error_;
  if (shape_.kind == Kind::kPoints) return NextPoint();
  const key_range first = FirstKey(), last = LastKey();
  if (shape_.backward) {
    if (const int error = file_->prepare_range_scan(&first, &last); error != 0) return error;
    return file_->ha_index_read_map(record(), shape_.last_key, shape_.parts, HA_READ_PREFIX_LAST_OR_PREV);
  }
  if (shape_.kind == Kind::kPrefix) return file_->ha_index_read_map(record(), shape_.first_key, shape_.parts, HA_READ_KEY_EXACT);
  file_->set_end_range(&last);
  return file_->ha_index_read_map(record(), shape_.first_key, shape_.parts, HA_READ_KEY_OR_NEXT);
}

// The engine ends at the bounds by itself (Handler::index_read_map), so that no row need be compared with them.
int PlainSelect::FollowingRow() {
  if (shape_.kind == Kind::kPoint) return HA_ERR_END_OF_FILE;
  if (shape_.kind == Kind::kPoints) return NextPoint();
  if (shape_.backward) return file_->ha_index_prev(record());
  if (shape_.kind == Kind::kPrefix) return file_->ha_index_next_same(record(), shape_.first_key, shape_.key_bytes);
  return file_->ha_index_next(record());
}

int PlainSelect::NextPoint() {
  while (next_value_ < shape_.list_count) {
    shape_.SetListValue(next_value_++);
    const int error = file_->ha_index_read_map(record(), shape_.first_key, shape_.parts, HA_READ_KEY_EXACT);
    if (error != HA_ERR_KEY_NOT_FOUND) return error;
  }
  return HA_ERR_END_OF_FILE;
}

int PlainSelect::next_row() {
  const Select_limit_counters& limit = select->join->unit->lim;
  while (found_ < limit.get_select_limit()) {
    const bool is_first = std::exchange(is_first_, false);
    if (!is_first) thd->get_stmt_da()->inc_current_row_for_warning();
    const int error = is_first ? FirstRow() : FollowingRow();
    if (error != 0) return error == HA_ERR_KEY_NOT_FOUND ? HA_ERR_END_OF_FILE : error;
    if (shape_.condition != nullptr && !shape_.condition->val_bool()) return HA_ERR_END_OF_FILE;  // the only row
    ++examined_;
    if (found_++ >= limit.get_offset_limit()) return 0;
    if (thd->check_killed()) return HA_ERR_ABORTED_BY_USER;
  }
  return HA_ERR_END_OF_FILE;
}

int PlainSelect::end_scan() {
  thd->inc_examined_row_count(examined_);
  thd->limit_found_rows = found_;
  return Close();
}

int PlainSelect::Close() {
  if (file_->keyread_enabled()) file_->ha_end_keyread();
  return file_->inited == handler::NONE ? 0 : file_->ha_index_end();
}

// As the server does of rows that it looks up by values, and of a range.
void PlainSelect::print_error(int error, myf flags) {
  if (thd->is_error()) return;
  if (!IsRange()) {
    report_error(shape_.table, error);
  } else {
    file_->print_error(error, flags);
  }
}

}  // namespace

uint64_t PlainSelectCount() {
  uint64_t all = 0;
  for (const Counter& counter : counters) all += counter.count.load(std::memory_order_relaxed);
  return all;
}

select_handler* CreateSelect(THD* thd, SELECT_LEX* select) {
  SelectShape shape;
  if (!TakesPlainSelects(thd) || !FindSelectShape(thd, select, GlobalHandlerton(), &shape)) return nullptr;
  return new (std::nothrow) PlainSelect(thd, select, shape);
}

}  // namespace cairn::server
