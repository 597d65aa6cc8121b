// SPDX-License-Identifier: GPL-2.0-only
// Keys that the server itself keeps unique, by looking before each row that it writes: those of long columns, and those WITHOUT OVERLAPS.
#include "server/handler.h"

#include <partition_info.h>

#include <algorithm>

#include "server/commands.h"
#include "server/partitions.h"

namespace cairn::server {
namespace {

// Whether a handler that writes rows reads nothing behind a key for the statement itself; so does a replica, which finds rows by
// whole keys.
bool ReadsNothingBehindKeys(THD* thd) {
  const int command = thd_sql_command(thd);
  return AddsRows(command) || command == SQLCOM_BINLOG_BASE64_EVENT || command == SQLCOM_END;
}

}  // namespace

// How the server looks by this key. What was not there must then stay away, and what others have not committed be waited for, at any
// isolation level.
Handler::Look Handler::LookOf(uint key) const {
  if (key >= table_share->keys || !WritesRows() || table_share->tmp_table != NO_TMP_TABLE) return Look::kNone;
  const KEY& info = table->key_info[key];
  if (info.algorithm == HA_KEY_ALG_LONG_HASH) return Look::kForHash;
  if (!info.without_overlaps) return Look::kNone;
  if (table->file->ht != ht) return Look::kMaybe;  // a partition cannot tell yet who asks
  // A handler that only inserts serves for the looks as well; for other statements there is one of their own.
  const bool looks = table->file->lookup_handler == this && (table->file != this || ReadsNothingBehindKeys(ha_thd()));
  return looks ? Look::kForOverlap : Look::kNone;
}

// Before a look for a hash. All who write the key look for it first, so that a lock on it is as good as one on what may lie there; and
// nothing else is held up.
Status Handler::LockHash() {
  txn::LockOptions lock = reader_.mode().lock;
  lock.mode = txn::LockMode::kExclusive;
  lock.is_row = false;
  return ActiveTransaction().Lock(search_key_.view(), lock, nullptr);
}

// Whether this is a look for what overlaps the row to be written, and `record` begins only when that has ended, as does all behind it. Of a
// partitioned table the server looks at the first row that any partition gives, in no order: so none may give one that does not overlap.
bool Handler::IsPastOverlaps(const uchar* record) const {
  if (look_ != Look::kForOverlap) return false;
  const KEY& key = table->key_info[active_index];  // its last parts are the end of the period and the begin
  const Field* const end = key.key_part[key.user_defined_key_parts - 2].field;
  const Field* const begin = key.key_part[key.user_defined_key_parts - 1].field;
  return begin->cmp(end->ptr_in_record(table->record[0]), begin->ptr_in_record(record)) <= 0;
}

// An UPDATE reads only the partitions where its WHERE may find rows, and the server looks only there, wherever the row goes. Here are the looks
// into the others, by the server's own handler for looks.
int Handler::LookWhereNothingIsRead() {
  if (table_share->period.unique_keys == 0 || table->part_info == nullptr) return 0;
  const int command = thd_sql_command(ha_thd());
  if (command != SQLCOM_UPDATE && command != SQLCOM_UPDATE_MULTI) return 0;
  if (table->versioned() && !table->vers_end_field()->is_max()) return 0;
  int error = 0;
  const uint8 status = table->status;
  SwapReadPartitions(table);
  if (!bitmap_is_clear_all(&table->part_info->read_partitions)) {
    for (uint key = 0; key < table_share->keys && error == 0; ++key) error = LookForOverlap(key);
  }
  SwapReadPartitions(table);
  table->status = status;
  return error;
}

int Handler::LookForOverlap(uint key) {
  const KEY& info = table->key_info[key];
  if (!info.without_overlaps) return 0;
  const uint part_count = info.user_defined_key_parts;
  const auto is_written = [&](const KEY_PART_INFO& part) { return bitmap_is_set(table->write_set, part.fieldnr - 1); };
  if (std::none_of(info.key_part, info.key_part + part_count, is_written)) return 0;
  // Of room that the server has made for this, what it uses itself.
  uchar* const tuple = table->file->lookup_buffer;
  uchar* const found = tuple + table_share->max_unique_length + table_share->null_fields;
  key_copy(tuple, table->record[0], &info, 0);
  // What ends after the begin, which comes last.
  const uint time_bytes = info.key_part[part_count - 1].store_length;
  uchar* const end = tuple + info.key_length - 2 * time_bytes;
  std::memcpy(end, end + time_bytes, time_bytes);
  handler* const looker = table->file->lookup_handler;
  if (const int error = looker->ha_index_init(key, false); error != 0) return error;
  looker->ha_start_keyread(key);  // by which partitions know what is looked for
  int error = looker->ha_index_read_map(found, tuple, make_prev_keypart_map(part_count - 1), HA_READ_AFTER_KEY);
  looker->ha_end_keyread();
  looker->ha_index_end();
  if (error == HA_ERR_KEY_NOT_FOUND || error == HA_ERR_END_OF_FILE) return 0;
  if (error != 0 || !table->check_period_overlaps(info, table->record[0], found)) return error;
  table->file->lookup_errkey = key;
  return HA_ERR_FOUND_DUPP_KEY;
}

}  // namespace cairn::server
