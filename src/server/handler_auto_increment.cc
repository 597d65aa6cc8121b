// SPDX-License-Identifier: GPL-2.0-only
// AUTO_INCREMENT: values are handed out from the table's live counter and remembered with the rows.
#include "server/handler.h"

#include <algorithm>

#include "server/errors.h"

namespace cairn::server {
namespace {

// The least value >= `from` of the form offset + k * increment; 0 when there is none in 64 bits. An
// offset above the increment does not count, as the server documents.
ulonglong AlignUp(ulonglong from, ulonglong offset, ulonglong increment) {
  if (increment <= 1) return from;
  if (offset > increment) offset = 0;
  if (from <= offset) return offset == 0 ? increment : offset;
  const ulonglong steps = (from - offset) / increment + ((from - offset) % increment != 0 ? 1 : 0);
  ulonglong aligned;
  if (__builtin_mul_overflow(steps, increment, &aligned) || __builtin_add_overflow(aligned, offset, &aligned)) return 0;
  return aligned;
}

// Of FLOAT and DOUBLE: greater than any number that is given, as from there on not every number has a value of its own.
bool IsBeyondNumbers(Field& field) {
  return field.result_type() == REAL_RESULT && field.val_real() > static_cast<double>(field.get_max_int_value());
}

// The number that comes after that of the record; 0 where any may.
ulonglong NextOf(Field& field) {
  if (field.is_null() || IsBeyondNumbers(field)) return 0;
  const bool is_unsigned = field.flags & UNSIGNED_FLAG;
  const double least = -0x1p63;
  const longlong value =
      field.result_type() == REAL_RESULT ? static_cast<longlong>(std::max(field.val_real(), least)) : field.val_int();
  if (!is_unsigned && value <= 0) return 0;
  const ulonglong next = static_cast<ulonglong>(value);
  return next == ULONGLONG_MAX ? next : next + 1;
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
  if (field == nullptr || record != table->record[0]) return;
  const ulonglong next = NextOf(*field);
  if (next == 0) return;
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
    case SQLCOM_UPDATE:
    case SQLCOM_DELETE:
      // FOR PORTION OF: what lies outside of the portion becomes rows of its own.
      return IsOfPortion();
    default:
      return false;
  }
}

// TRUNCATE.
int Handler::reset_auto_increment(ulonglong value) {
  return Fail(GlobalEngine()->catalog().SetAutoIncrementNext(access_->table(), value));
}

// ALTER TABLE ... AUTO_INCREMENT = n, while nobody else uses the table: not below what comes after the rows' numbers, but below those
// that were handed out.
int Handler::MoveAutoIncrement(ulonglong wanted) {
  ulonglong next = std::max<ulonglong>(wanted, 1);
  if (next < access_->table().auto_increment_next()) {
    const uint key = table_share->next_number_index;
    const bool is_descending = table->key_info[key].key_part[0].key_part_flag & HA_REVERSE_SORT;
    MY_BITMAP* const old_read_set = table->read_set;
    MY_BITMAP* const old_write_set = table->write_set;
    table->use_all_columns();
    int error = ha_index_init(key, true);
    if (error == 0) {
      error = is_descending ? ha_index_first(table->record[0]) : ha_index_last(table->record[0]);
      if (error == 0) {
        Field& last = *table->found_next_number_field;
        next = IsBeyondNumbers(last) ? access_->table().auto_increment_next() : std::max(next, NextOf(last));
      }
      ha_index_end();
    }
    table->column_bitmaps_set(old_read_set, old_write_set);
    if (error != 0 && error != HA_ERR_END_OF_FILE) return error;
  }
  return reset_auto_increment(next);
}

// What SHOW CREATE TABLE prints and ALTER TABLE copies.
void Handler::update_create_info(HA_CREATE_INFO* create_info) {
  if (!(create_info->used_fields & HA_CREATE_USED_AUTO)) {
    info(HA_STATUS_AUTO);
    create_info->auto_increment_value = stats.auto_increment_value;
  }
}

}  // namespace cairn::server
