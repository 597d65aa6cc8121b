// SPDX-License-Identifier: GPL-2.0-only
// Looks at single rows by their whole unique keys.
#include "server/handler.h"

#include <sql_lex.h>

namespace cairn::server {

using scan::FoundRow;

// Whether the key names at most one row: all parts of a unique key, none of them NULL.
bool Handler::IsPointKey(const uchar* key, uint part_count) const {
  const KEY& info = table->key_info[active_index];
  if (!(info.flags & HA_NOSAME) || part_count != info.user_defined_key_parts) return false;
  for (uint part = 0; part < part_count; ++part) {
    if (info.key_part[part].null_bit != 0 && *key != 0) return false;
    key += info.key_part[part].store_length;
  }
  return true;
}

// Whether a key that names at most one row is looked for without a walk. Where its entry is enough, the entry of a row that the transaction
// has changed takes more to be told from that of the view.
bool Handler::MayReadPoint() const { return !virtual_from_entry_ && (!covering_ || !reader_.ChangedByTransaction()); }

int Handler::ReadPoint(uchar* record) {
  const unsigned index = IndexOf(active_index);
  narrowed_ = Narrowed::kToPoint;
  scan_.PassUnlocked();  // the server may have dropped a walk's last row without a word
  FoundRow row;
  Status status;
  if (covering_) {
    row.key = search_key_.view();
    status = reader_.EntryByUniqueKey(row.key, &row.value);
  } else {
    status = index == 0 ? reader_.ByPrimaryKey(search_key_.view(), &row.row)
                        : reader_.ByUniqueKey(index, search_key_.view(), &row.row);
  }
  if (status.Is(Status::Code::kLockBusy) && skip_locked_) status = Status::NotFound();
  return Deliver(record, status, row, HA_ERR_KEY_NOT_FOUND);
}

// ON DUPLICATE KEY UPDATE and REPLACE look for the row that their insertion has met by its primary key. It is locked, and was read then: both
// need not be done again. False: it is not that row.
bool Handler::GiveDuplicate(uchar* record, int* error) {
  FoundRow row;
  if (!writer_bound_ || !reader_.mode().locking) return false;
  if (!writer_.TakeDuplicate(search_key_.view(), &row.row.value)) return false;
  narrowed_ = Narrowed::kToPoint;
  scan_.PassUnlocked();
  row.row.primary_key = search_key_.view();
  *error = Deliver(record, Status::Ok(), row, HA_ERR_KEY_NOT_FOUND);
  return true;
}

// Reads on from a row that was looked for without a scan, and may not have been there.
int Handler::ContinueFromPoint(uchar* record, bool forward) {
  JoinSession();
  IndexBounds(IndexOf(active_index), &lower_, &upper_);
  ByteBuffer bound;
  bound.Assign(search_key_.view());
  narrowed_ = forward ? Narrowed::kNo : Narrowed::kToRange;
  if (!forward) return BeginRange(record, lower_.view(), bound.view(), false, HA_ERR_END_OF_FILE);
  if (!codec::AdvancePastPrefix(&bound)) return HA_ERR_END_OF_FILE;
  return BeginRange(record, bound.view(), upper_.view(), true, HA_ERR_END_OF_FILE);
}

// Whether nothing else is read through the statement's view, nor through that of its transaction: a SELECT of one table, which
// appears once (functions and triggers would have added theirs to the list), and of which nothing was read before, as the
// optimizer reads MIN and MAX.
bool Handler::IsOnlyLook() const {
  THD* const thd = ha_thd();
  const TABLE_LIST* const tables = thd->lex->query_tables;
  if (tables == nullptr || tables != table->pos_in_table_list || tables->next_global != nullptr) return false;
  if (thd->lex->sql_command != SQLCOM_SELECT || locking_ || IsSequence() || table->part_info != nullptr) return false;
  if (thd->in_sub_stmt != 0 || thd->locked_tables_mode != LTM_NONE) return false;
  if (session_->transaction().has_read_view()) return false;
  return session_->transaction().isolation() == txn::Isolation::kReadCommitted ||
         thd_test_options(thd, OPTION_NOT_AUTOCOMMIT | OPTION_BEGIN) == 0;
}

// How the optimizer reads a table of which one row at most is wanted: one look, without a scan around it.
int Handler::index_read_idx_map(uchar* record, uint key, const uchar* tuple, key_part_map parts, ha_rkey_function find_flag) {
  active_index = key;
  const unsigned index = IndexOf(key);
  const uint part_count = PartCount(key, parts);
  const bool is_point = find_flag == HA_READ_KEY_EXACT && IsPointKey(tuple, part_count);
  if (is_point) {
    BindReader();
    MakePlans(index, keyread_);
  }
  if (!is_point || !MayReadPoint()) {
    active_index = MAX_KEY;
    return handler::index_read_idx_map(record, key, tuple, parts, find_flag);
  }
  // By another unique key it is two looks, at the entry and at the row, unless the entry is enough.
  if ((index == 0 || covering_) && IsOnlyLook()) reader_.SetOnlyLook();
  int error = CheckReadView(index);
  if (error == 0) {
    search_key_.Clear();
    access_->indexes()[index].EncodeSearchKey(tuple, part_count, &search_key_);
    if (index != 0 || !GiveDuplicate(record, &error)) error = ReadPoint(record);
  }
  active_index = MAX_KEY;
  covering_ = false;
  return error;
}

// As the server's own, but that for a point, as an IN list of a unique key has many, it sets no range up and compares
// no row with its end.
int Handler::multi_range_read_next(range_id_t* range) {
  constexpr uint kPoint = UNIQUE_RANGE | EQ_RANGE;
  if (mrr_have_range && mrr_cur_range.range_flag != kPoint) return handler::multi_range_read_next(range);
  for (;;) {
    if (mrr_funcs.next(mrr_iter, &mrr_cur_range)) return HA_ERR_END_OF_FILE;
    mrr_have_range = true;
    const key_range& first = mrr_cur_range.start_key;
    const key_range& last = mrr_cur_range.end_key;
    int error;
    if (mrr_cur_range.range_flag == kPoint) {
      end_range = nullptr;
      error = ha_index_read_map(table->record[0], first.key, first.keypart_map, first.flag);
      if (error == HA_ERR_KEY_NOT_FOUND) continue;
    } else {
      error = read_range_first(first.keypart_map != 0 ? &first : nullptr, last.keypart_map != 0 ? &last : nullptr,
                               (mrr_cur_range.range_flag & EQ_RANGE) != 0, mrr_is_output_sorted);
      if (error == HA_ERR_END_OF_FILE) continue;
    }
    *range = mrr_cur_range.ptr;
    return error;
  }
}

}  // namespace cairn::server
