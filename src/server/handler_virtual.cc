// SPDX-License-Identifier: GPL-2.0-only
// Virtual columns of rows of which the server computes none. It does so in its first record alone, and not while it reads keys only. Yet
// it looks at them elsewhere: at those of an index where it merges what partitions give in its order, or looks for a period that overlaps;
// and at all that it reads in rows that a sort reads ahead. And those of new rows that it has computed too early, and stored ones of old
// rows that it has computed anew.
#include "server/handler.h"

#include <sql_trigger.h>

#include "codec/value_copy.h"

namespace cairn::server {

using codec::ColumnSet;

namespace {

// Whether any of the columns had another value in `record`, which has that of `stored` now. The memory of the record's texts may be gone, so
// they are taken for others.
bool CopyDiffering(const codec::RecordLayout& layout, const ColumnSet& columns, const uchar* stored, uchar* record) {
  bool has_changed = false;
  for (size_t at = 0; at < columns.column_count(); ++at) {
    const codec::ColumnLayout& column = layout.columns[at];
    if (!columns.Has(at) || (column.type != codec::ColumnType::kBlob && codec::SameBytes(column, stored, record))) continue;
    codec::CopyColumn(column, stored, record);
    has_changed = true;
  }
  return has_changed;
}

}  // namespace

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
void Handler::PlanVirtualColumns(ColumnSet* wanted) {
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

void Handler::ComputeForServer(uchar* record) {
  QuietComputation computation(*table, record, &computed_texts_);
  for (Field* const field : computed_) computation.Compute(*field);
}

void Handler::ComputeWanted(const MY_BITMAP& wanted, uchar* record, ComputedTexts* texts) {
  QuietComputation computation(*table, record, texts);
  for (Field** at = table->vfield; *at != nullptr; ++at) {
    if (!(*at)->stored_in_db() && bitmap_is_set(&wanted, (*at)->field_index)) computation.Compute(**at);
  }
}

// Before the server writes a versioned row that replaces another, or a row of which it writes portions of time, and before a trigger or RETURNING
// looks at it, it computes stored texts of the other rows in the memory where it has those of this one.
void Handler::KeepStoredTexts(const uchar* record, ComputedTexts* texts) {
  if (!has_blobs_ || table->vfield == nullptr || record != table->record[0]) return;
  if (!table->versioned() && !IsOfPortion()) return;
  for (Field* const* at = table->vfield; *at != nullptr; ++at) {
    if (!(*at)->stored_in_db() || ((*at)->flags & BLOB_FLAG) == 0 || (*at)->is_null()) continue;
    auto& blob = static_cast<Field_blob&>(**at);
    String& text = TextOf(blob, texts);
    const uint32 bytes = blob.get_length();
    const auto* const data = reinterpret_cast<const char*>(blob.get_ptr());
    if (bytes == 0 || data == text.ptr() || text.copy(data, bytes, &my_charset_bin)) continue;
    blob.set_ptr(bytes, reinterpret_cast<uchar*>(const_cast<char*>(text.ptr())));
  }
}

// For LOAD DATA, an INSERT that names no columns, what is left of a portion of time, and UPDATEs of several tables the server computes them,
// and then has a trigger change what they are computed from. And for a versioned row it computes texts of the row of the past where it has
// those of the new one, or those that a column was set from. Entries of indexes have what readers will compute. Where the server has done it
// right this is once more.
//
// An UPDATE also writes rows that it moves to another partition. Rows that are written and those that are changed have strings of their own:
// the server goes back to the changed one when it has written that of the past, or has what is to be written in a column of the changed one.
void Handler::ComputeOfNewRow(const uchar* record, ComputedTexts* texts) {
  if (table->vfield == nullptr || record != table->record[0] || !access_->HasIndexOnVirtualColumn()) return;
  const auto has_trigger = [this](trg_event_type event) { return table->triggers->has_triggers(event, TRG_ACTION_BEFORE); };
  const bool has_triggers = table->triggers != nullptr && (has_trigger(TRG_EVENT_INSERT) || has_trigger(TRG_EVENT_UPDATE));
  if (has_triggers || (has_blobs_ && table->versioned())) ComputeWanted(*table->read_set, table->record[0], texts);
}

bool Handler::IsOfPortion() const { return table->pos_in_table_list != nullptr && table->pos_in_table_list->has_period(); }

bool Handler::LeavesPortion() const { return IsOfPortion() && thd_sql_command(ha_thd()) == SQLCOM_DELETE; }

// Of a versioned row that is changed, and of one of which a DELETE leaves a portion of time, the server computes texts for the new row where
// it has those of the old one.
void Handler::ComputeOfOldRow(const uchar* record) {
  if (!has_blobs_ || table->vfield == nullptr || record != table->record[1] || !access_->HasIndexOnVirtualColumn()) return;
  if (table->versioned() || LeavesPortion()) ComputeWanted(*table->read_set, table->record[1], &old_texts_);
}

// What a DELETE or REPLACE makes of a versioned row: it ends, and is as it was.
bool Handler::EndsRow(const uchar* old_record, const uchar* new_record) const {
  if (!table->versioned(VERS_TIMESTAMP)) return false;
  const Field* const end = table->vers_end_field();
  return end->is_max(end->ptr_in_record(old_record)) && !end->is_max(end->ptr_in_record(new_record));
}

// A DELETE, a REPLACE and ON DUPLICATE KEY UPDATE compute also stored columns of a row that they have read, but for a DELETE from several tables;
// and each of a versioned row that they end, where it is not moved to another partition. And a DELETE that leaves a portion of time computes
// texts for that where it has those of the old row.
bool Handler::MayHaveStoredAnew() const {
  if (table->vfield == nullptr) return false;
  const int command = thd_sql_command(ha_thd());
  if (command == SQLCOM_UPDATE || command == SQLCOM_UPDATE_MULTI) return false;
  if (command == SQLCOM_DELETE_MULTI && !table->versioned()) return false;
  // A virtual column of an index may be computed from it by way of others.
  const bool any = access_->HasIndexOnVirtualColumn() || table->versioned() || (has_blobs_ && LeavesPortion());
  for (Field* const* at = table->vfield; *at != nullptr; ++at) {
    if ((*at)->stored_in_db() && (any || ((*at)->flags & PART_KEY_FLAG) != 0)) return true;
  }
  return false;
}

// In another time zone, or where a trigger had its say when the row was written, that gives other values than the row and its entries have. So
// the record gets those back, and what is computed from them follows, also for the binary log; and so does `past_record`, unless null.
Status Handler::RestoreStored(const uchar* old_record, const uchar* past_record) {
  ColumnSet generated(access_->layout().columns.size());
  for (Field* const* at = table->vfield; *at != nullptr; ++at) {
    if ((*at)->stored_in_db()) generated.Add((*at)->field_index);
  }
  ByteBuffer value;
  std::vector<uchar> stored;
  Status found = ReadAsStored(old_record, generated, &value, &stored);
  if (!found.ok()) return found.Is(Status::Code::kNotFound) ? Status::Ok() : std::move(found);
  const auto restore = [&](const uchar* record, ComputedTexts* texts) {
    auto* const restored = const_cast<uchar*>(record);  // the server's own
    if (!CopyDiffering(access_->layout(), generated, stored.data(), restored)) return false;
    ComputeWanted(*table->read_set, restored, texts);
    return true;
  };
  const bool is_old_restored = restore(old_record, &old_texts_);
  const bool is_past_restored = past_record != nullptr && restore(past_record, &changed_texts_);
  if (is_old_restored || is_past_restored) KeepCaughtUp(std::move(value));
  return Status::Ok();
}

}  // namespace cairn::server
