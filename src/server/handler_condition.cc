// SPDX-License-Identifier: GPL-2.0-only
// Conditions that the server hands down, on index entries, which then are ours alone to look at; and conditions on rows,
// which stay the server's.
#include "server/handler.h"

#include <sql_lex.h>
#include <sql_select.h>

namespace cairn::server {

using codec::ColumnSet;

Item* Handler::idx_cond_push(uint key, Item* condition) {
  pushed_idx_cond = condition;
  pushed_idx_cond_keyno = key;
  const unsigned index = IndexOf(key);
  // Entries do not give prefixes back, so with them the server compares the whole rows itself.
  in_range_check_pushed_down = !access_->HasPrefix(index);
  ColumnSet columns(access_->layout().columns.size());
  for (const size_t source : {size_t{index}, size_t{0}}) {
    for (const catalog::KeyPartDef& part : access_->def().indexes[source].parts) {
      if (index == 0 || access_->indexes()[index].Covers(part.column)) columns.Add(part.column);
    }
  }
  if (index == 0) {
    filter_row_plan_.emplace(access_->rows().Plan(columns));
  } else {
    filter_plan_.emplace(access_->indexes()[index].Plan(columns));
  }
  if (scan_.is_open() && active_index == key) scan_.SetFilter(this);
  return nullptr;
}

// An entry that cannot be decoded ends the walk: nobody else looks at the condition, and its row may be found and read all the same.
scan::EntryFilter::Verdict Handler::Check(ByteView key, ByteView value) {
  const unsigned index = IndexOf(active_index);
  Status status = index == 0 ? access_->rows().Decode(*filter_row_plan_, key, value, table->record[0])
                             : access_->indexes()[index].DecodeColumns(*filter_plan_, key, value, table->record[0]);
  if (!status.ok()) {
    failure_ = std::move(status);
    return Verdict::kFailed;
  }
  key_range* const range = end_range;
  if (!in_range_check_pushed_down) end_range = nullptr;
  const check_result_t result = handler_index_cond_check(this);
  end_range = range;
  switch (result) {
    case CHECK_POS: return Verdict::kTake;
    case CHECK_NEG: return Verdict::kSkip;
    case CHECK_OUT_OF_RANGE: return Verdict::kEnd;
    default: return Verdict::kInterrupted;
  }
}

// A join step that walks over a table from end to end, or its sort, evaluates this condition on each row; with one table,
// first of all. What the server hands down (handler::cond_push) is not the same: it comes before the condition is complete
// and lacks parts. Subqueries that were made look-ups, of other types, walk too, where what they look for is NULL.
Item* Handler::ConditionOfWalk() const {
  const JOIN_TAB* const step = table->reginfo.join_tab;
  if (step == nullptr || step->table != table || step->type != JT_ALL) return nullptr;
  if (step->join->table_count != 1) return nullptr;
  if (step->filesort == nullptr) return step->select_cond;
  return step->filesort->select != nullptr ? step->filesort->select->cond : nullptr;
}

// Whether the server computes virtual columns of each row it is given, which may warn.
bool Handler::GivesVirtualColumns() const {
  if (table->vfield == nullptr) return false;
  for (Field** field = table->vfield; *field != nullptr; ++field) {
    if (!(*field)->stored_in_db() && bitmap_is_set(table->read_set, (*field)->field_index)) return true;
  }
  return false;
}

// A locking walk gives, and locks, each row. What is reported row by row, or stops at a number of
// rows, is given whole too. Partitions have handlers of their own, whose rows are counted twice.
void Handler::BeginRowCondition() {
  Item* const condition = ConditionOfWalk();
  if (condition == nullptr || reader_.mode().locking || WritesRows()) return;
  const LEX* const lex = ha_thd()->lex;
  if (lex->analyze_stmt || lex->limit_rows_examined != nullptr || table->part_info != nullptr) return;
  if ((ha_thd()->variables.log_slow_verbosity & LOG_SLOW_VERBOSITY_EXPLAIN) != 0) return;
  if (condition != inspected_condition_) {
    inspected_condition_ = condition;
    row_condition_ = RowCondition::Make(condition, table, access_);
  }
  if (!row_condition_.has_value() || row_condition_->is_idle() || GivesVirtualColumns()) return;
  row_condition_in_use_ = true;
  scan_.SetFilter(&*row_condition_);
}

// Before a row is given, or none: rows that were passed by have been read like any other, and the
// server would have counted them. A sort counts no rows for warnings.
void Handler::CountPassedBy() {
  const uint64_t rows = row_condition_->TakePassedBy();
  if (rows == 0) return;
  THD* const thd = ha_thd();
  const JOIN_TAB* const step = table->reginfo.join_tab;
  rows_read += rows;
  thd->status_var.ha_read_rnd_next_count += rows;
  thd->accessed_rows_and_keys += rows;
  step->join->join_examined_rows += rows;
  if (step->filesort != nullptr) return;
  step->tracker->r_rows += rows;
  Diagnostics_area* const area = thd->get_stmt_da();
  area->set_current_row_for_warning(static_cast<long>(area->current_row_for_warning() + rows));
}

void Handler::EndIdleRowCondition() {
  if (!row_condition_->is_idle()) return;
  row_condition_in_use_ = false;
  if (scan_.is_open()) scan_.SetFilter(nullptr);
}

}  // namespace cairn::server
