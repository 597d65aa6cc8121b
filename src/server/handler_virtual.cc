// SPDX-License-Identifier: GPL-2.0-only
// Virtual columns of rows of which the server computes none. It does so in its first record alone, and not while it reads keys only. Yet
// it looks at them elsewhere: at those of an index where it merges what partitions give in its order, or looks for a period that overlaps;
// and at all that it reads in rows that a sort reads ahead. And those of new rows that it has computed too early.
#include "server/handler.h"

#include <utility>

#include <sql_trigger.h>

namespace cairn::server {

// Rows in the second record are to be replaced; the server computes them of its own accord.
bool Handler::ServerComputes(const uchar* record) const {
  return record == table->record[0] ? !keyread_ : record == table->record[1];
}

bool Handler::EntryGives(uint column) const {
  return virtual_from_entry_ && access_->indexes()[IndexOf(active_index)].Covers(column);
}

// Whether the server may look at the column in such rows.
bool Handler::IsLookedAt(const Field& field) const {
  const uint column = field.field_index;
  if (field.stored_in_db() || !bitmap_is_set(table->read_set, column) || EntryGives(column)) return false;
  return active_index == MAX_KEY || access_->columns_of(IndexOf(active_index)).Has(column);
}

// Adds what they are computed from: a server that reads keys only has not asked for it.
void Handler::PlanVirtualColumns(codec::ColumnSet* wanted) {
  computed_.clear();
  if (table->vfield == nullptr || covering_) return;
  my_bitmap_map bits[bitmap_buffer_size(MAX_FIELDS) / sizeof(my_bitmap_map)];
  MY_BITMAP needed;
  my_bitmap_init(&needed, bits, table_share->fields);
  MY_BITMAP* const read_set = table->read_set;
  for (Field** at = table->vfield; *at != nullptr; ++at) {
    if (!IsLookedAt(**at)) continue;
    table->read_set = &needed;  // where the server notes what a field needs
    (*at)->register_field_in_read_map();
    table->read_set = read_set;
  }
  for (Field** at = table->field; *at != nullptr; ++at) {
    const uint column = (*at)->field_index;
    if (!bitmap_is_set(&needed, column)) continue;
    wanted->Add(column);
    // In this order: a virtual column is computed from those before it.
    if (!(*at)->stored_in_db() && !EntryGives(column)) computed_.push_back(*at);
  }
}

// As the server does. But nobody is told of errors, which the server finds again in the rows that it gives; and a blob's value may be that
// of a row it is about to write.
void Handler::ComputeForServer(uchar* record) {
  THD* const thd = ha_thd();
  Dummy_error_handler silence;
  Query_arena arena;
  thd->push_internal_handler(&silence);
  thd->set_n_backup_active_arena(table->expr_arena, &arena);
  table->move_fields(table->field, record, table->record[0]);
  if (has_blobs_ && computed_blobs_ == nullptr) computed_blobs_ = std::make_unique<String[]>(table_share->blob_fields);
  String* kept = computed_blobs_.get();
  for (Field* const field : computed_) {
    Field_blob* const blob = (field->flags & BLOB_FLAG) != 0 ? static_cast<Field_blob*>(field) : nullptr;
    if (blob != nullptr) blob->swap(*kept, /*set_read_value=*/false);
    field->vcol_info->expr->save_in_field(field, false);
    if (blob != nullptr) blob->swap(*kept++, /*set_read_value=*/false);
  }
  table->move_fields(table->field, table->record[0], record);
  thd->restore_active_arena(table->expr_arena, &arena);
  thd->pop_internal_handler();
}

// Of those that are wanted, and stored generated ones if `stored`. Nobody is told of errors. And values of blobs are kept in `blobs`: the server has in the field those of a row that it is
// to write, or has written, while it reads one in the way or writes one of the past.
void Handler::ComputeQuietly(const MY_BITMAP& wanted, bool stored, uchar* record, std::unique_ptr<String[]>* blobs) {
  THD* const thd = ha_thd();
  Dummy_error_handler silence;
  Query_arena arena;
  thd->push_internal_handler(&silence);
  thd->set_n_backup_active_arena(table->expr_arena, &arena);
  MY_BITMAP* const read_set = std::exchange(table->read_set, &table_share->all_set);
  MY_BITMAP* const write_set = std::exchange(table->write_set, &table_share->all_set);
  if (has_blobs_ && *blobs == nullptr) *blobs = std::make_unique<String[]>(table_share->blob_fields);
  String* kept = blobs->get();
  table->move_fields(table->field, record, table->record[0]);
  for (Field** at = table->vfield; *at != nullptr; ++at) {
    Field* const field = *at;
    if ((!stored && field->stored_in_db()) || !bitmap_is_set(&wanted, field->field_index)) continue;
    Field_blob* const blob = (field->flags & BLOB_FLAG) != 0 ? static_cast<Field_blob*>(field) : nullptr;
    if (blob != nullptr) blob->swap(*kept, /*set_read_value=*/false);
    field->vcol_info->expr->save_in_field(field, false);
    if (blob != nullptr) blob->swap(*kept++, /*set_read_value=*/false);
  }
  table->move_fields(table->field, table->record[0], record);
  table->read_set = read_set;
  table->write_set = write_set;
  thd->restore_active_arena(table->expr_arena, &arena);
  thd->pop_internal_handler();
}

// For LOAD DATA, an INSERT that names no columns, and what is left of a portion of time the server computes them, and then has a trigger change
// what they are computed from. And a REPLACE of a versioned row computes texts of the row of the past where it has those of the new one. Entries of
// indexes have what readers will compute. Where the server has done it right this is once more.
void Handler::ComputeOfNewRow(const uchar* record) {
  if (table->vfield == nullptr || record != table->record[0] || !access_->HasIndexOnVirtualColumn()) return;
  const bool has_trigger = table->triggers != nullptr && table->triggers->has_triggers(TRG_EVENT_INSERT, TRG_ACTION_BEFORE);
  if (has_trigger || (has_blobs_ && table->versioned())) ComputeQuietly(*table->read_set, /*stored=*/false, table->record[0], &written_blobs_);
}

// Of a versioned row that is changed, and of one of which a DELETE leaves a portion of time, the server computes texts for the new row where it has
// those of the old one; of the latter also those that are stored.
void Handler::ComputeOfOldRow(const uchar* record) {
  if (!has_blobs_ || table->vfield == nullptr || record != table->record[1]) return;
  const bool leaves_portion = thd_sql_command(ha_thd()) == SQLCOM_DELETE;
  if (!leaves_portion && !(table->versioned() && access_->HasIndexOnVirtualColumn())) return;
  ComputeQuietly(*table->read_set, leaves_portion, table->record[1], &old_blobs_);
}

}  // namespace cairn::server
