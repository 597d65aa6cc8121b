// SPDX-License-Identifier: GPL-2.0-only
// AUTO_INCREMENT: values are handed out from the table's live counter and remembered with the rows.
#include "server/handler.h"

#include "server/errors.h"

namespace cairn::server {
namespace {

// The least value >= `from` of the form offset + k * increment; 0 when there is none in 64 bits. An
// offset above the increment does not count, as the server documents.
ulonglong AlignUp(ulonglong from, ulonglong offset, ulonglong increment) {
  if (increment <= 1) return from;
  if (offset > increment) offset = 0;
  if (from <= offset) return offset == 0 ? increment : offset;
  const ulonglong steps = (from - offset + increment - 1) / increment;
  ulonglong aligned;
  if (__builtin_mul_overflow(steps, increment, &aligned) || __builtin_add_overflow(aligned, offset, &aligned)) return 0;
  return aligned;
}

}  // namespace

// Reserves `wanted` values in one step, so that rows of one statement are numbered without gaps
// while other connections reserve theirs.
void Handler::get_auto_increment(ulonglong offset, ulonglong increment, ulonglong wanted, ulonglong* first,
                                 ulonglong* reserved) {
  catalog::Table& live = access_->table();
  const ulonglong value_max = table->next_number_field->get_max_int_value();
  uint64_t next = live.auto_increment_next();
  for (;;) {
    const ulonglong begin = AlignUp(next == 0 ? 1 : next, offset, increment);
    if (begin == 0 || next == ULONGLONG_MAX) {
      *first = ULONGLONG_MAX;
      return;
    }
    // At the end of the type's range the last value is given again and again: the insert fails on
    // it as a duplicate or as out of range, and no counter wraps around.
    const ulonglong count = wanted == 0 ? 1 : wanted;
    ulonglong end;
    if (begin >= value_max || __builtin_mul_overflow(count, increment, &end) ||
        __builtin_add_overflow(end, begin, &end) || end > value_max) {
      end = value_max == ULONGLONG_MAX ? ULONGLONG_MAX : value_max + 1;
    }
    if (end <= next || live.ReplaceAutoIncrementNext(&next, end)) {
      *first = begin;
      *reserved = end > begin ? (end - begin + increment - 1) / increment : 1;
      return;
    }
  }
}

// A row with the value of the counter column was written: what comes next must be above it.
void Handler::NoteAutoIncrement(const uchar* record) {
  Field* field = table->found_next_number_field;
  if (field == nullptr || record != table->record[0] || field->is_null()) return;
  const bool is_unsigned = field->flags & UNSIGNED_FLAG;
  const bool is_real = field->result_type() == REAL_RESULT;
  const double real = is_real ? field->val_real() : 0;
  const longlong value = is_real ? static_cast<longlong>(real) : field->val_int();
  if (!is_unsigned && value <= 0) return;
  ulonglong next = static_cast<ulonglong>(value);
  if (next != ULONGLONG_MAX) ++next;
  access_->table().RaiseAutoIncrementNext(next);
  ActiveTransaction().AddTableCounters(access_->def().id, {.row_count = 0, .auto_increment_next = next});
}

// Whoever gave the row the number it keeps has noted that; a counter that every UPDATE raised anew would be a
// second entry in the log and the memtables.
void Handler::NoteChangedAutoIncrement(const uchar* old_record, const uchar* new_record) {
  Field* field = table->found_next_number_field;
  if (field == nullptr || new_record != table->record[0] || field->cmp_offset(old_record - new_record) == 0) return;
  NoteAutoIncrement(new_record);
}

// Whether replaying the statement may number its rows otherwise. The binary log keeps the first number
// only. The rest follow it as long as all were reserved at once: so if the count of rows is known.
bool Handler::autoinc_lock_mode_stmt_unsafe() const {
  switch (thd_sql_command(ha_thd())) {
    case SQLCOM_LOAD:
    case SQLCOM_INSERT_SELECT:
    case SQLCOM_REPLACE_SELECT:
    case SQLCOM_CREATE_TABLE:
      return true;
    default:
      return false;
  }
}

// ALTER TABLE ... AUTO_INCREMENT = n, and TRUNCATE.
int Handler::reset_auto_increment(ulonglong value) {
  return Fail(GlobalEngine()->catalog().SetAutoIncrementNext(access_->table(), value));
}

// What SHOW CREATE TABLE prints and ALTER TABLE copies.
void Handler::update_create_info(HA_CREATE_INFO* create_info) {
  if (!(create_info->used_fields & HA_CREATE_USED_AUTO)) {
    info(HA_STATUS_AUTO);
    create_info->auto_increment_value = stats.auto_increment_value;
  }
}

}  // namespace cairn::server
