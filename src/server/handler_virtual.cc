// SPDX-License-Identifier: GPL-2.0-only
// Virtual columns of rows of which the server computes none. It does so in its first record alone, and not while it reads keys only. Yet
// it looks at them elsewhere: at those of an index where it merges what partitions give in its order, or looks for a period that overlaps;
// and at all that it reads in rows that a sort reads ahead. And those of new rows that it has computed too early, and stored ones of old rows that
// it has computed anew.
#include "server/handler.h"

#include <sql_trigger.h>

#include "codec/value_copy.h"

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

// For LOAD DATA, an INSERT that names no columns, what is left of a portion of time, and UPDATEs of several tables the server computes them, and
// then has a trigger change what they are computed from. And for a versioned row it computes texts of the row of the past where it has those of
// the new one, or those that a column was set from. Entries of indexes have what readers will compute. Where the server has done it right this
// is once more.
//
// An UPDATE also writes rows that it moves to another partition. Rows that are written and those that are changed have strings of their own:
// the server goes back to the changed one when it has written that of the past, or has what is to be written in a column of the changed one.
void Handler::ComputeOfNewRow(const uchar* record, ComputedTexts* texts) {
  if (table->vfield == nullptr || record != table->record[0] || !access_->HasIndexOnVirtualColumn()) return;
  const auto has_trigger = [this](trg_event_type event) { return table->triggers->has_triggers(event, TRG_ACTION_BEFORE); };
  const bool has_triggers = table->triggers != nullptr && (has_trigger(TRG_EVENT_INSERT) || has_trigger(TRG_EVENT_UPDATE));
  if (has_triggers || (has_blobs_ && table->versioned())) ComputeWanted(*table->read_set, table->record[0], texts);
}

// Of a versioned row that is changed, and of one of which a DELETE leaves a portion of time, the server computes texts for the new row where
// it has those of the old one.
void Handler::ComputeOfOldRow(const uchar* record) {
  if (!has_blobs_ || table->vfield == nullptr || record != table->record[1] || !access_->HasIndexOnVirtualColumn()) return;
  const bool leaves_portion = thd_sql_command(ha_thd()) == SQLCOM_DELETE;
  if (leaves_portion || table->versioned()) ComputeWanted(*table->read_set, table->record[1], &old_texts_);
}

// A DELETE, a REPLACE and ON DUPLICATE KEY UPDATE compute also stored columns of a row that they have read. And a DELETE that leaves a portion
// of time computes texts for what it leaves where it has those of the old row.
bool Handler::MayHaveStoredAnew() const {
  if (table->vfield == nullptr) return false;
  const int command = thd_sql_command(ha_thd());
  if (command == SQLCOM_UPDATE || command == SQLCOM_UPDATE_MULTI || command == SQLCOM_DELETE_MULTI) return false;
  // A virtual column of an index may be computed from it by way of others; and texts of what is left are in the memory of the old row's.
  const bool any = access_->HasIndexOnVirtualColumn() || (has_blobs_ && command == SQLCOM_DELETE);
  for (Field* const* at = table->vfield; *at != nullptr; ++at) {
    if ((*at)->stored_in_db() && (any || ((*at)->flags & PART_KEY_FLAG) != 0)) return true;
  }
  return false;
}

// In another time zone, or where a trigger had its say when the row was written, that gives other values than the row and its entries have. So
// the record gets those back, and what is computed from them follows.
Status Handler::RestoreStored(const uchar* record) {
  ByteBuffer value;
  std::vector<uchar> stored;
  Status found = ReadAsStored(record, &value, &stored);
  if (!found.ok()) return found.Is(Status::Code::kNotFound) ? Status::Ok() : std::move(found);
  auto* const restored = const_cast<uchar*>(record);  // the server's own
  bool has_changed = false;
  for (Field* const* at = table->vfield; *at != nullptr; ++at) {
    const codec::ColumnLayout& column = access_->layout().columns[(*at)->field_index];
    // The memory of the record's texts may be gone.
    const bool is_text = column.type == codec::ColumnType::kBlob;
    if (!column.stored || (!is_text && codec::SameBytes(column, stored.data(), record))) continue;
    codec::CopyColumn(column, stored.data(), restored);
    has_changed = true;
  }
  if (!has_changed) return Status::Ok();
  caught_up_value_ = std::move(value);
  if (access_->HasIndexOnVirtualColumn()) ComputeWanted(*table->read_set, restored, &old_texts_);
  return Status::Ok();
}

}  // namespace cairn::server
