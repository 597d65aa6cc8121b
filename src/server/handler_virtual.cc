// SPDX-License-Identifier: GPL-2.0-only
// Virtual columns of rows of which the server computes none. It does so in its first record alone, and not while it reads keys only. Yet
// it looks at them elsewhere: at those of an index where it merges what partitions give in its order, or looks for a period that overlaps;
// and at all that it reads in rows that a sort reads ahead. And those of new rows that it has computed too early.
#include "server/handler.h"

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

void Handler::ComputeForServer(uchar* record) {
  QuietComputation computation(*table, record, &computed_texts_);
  for (Field* const field : computed_) computation.Compute(*field);
}

void Handler::ComputeWanted(const MY_BITMAP& wanted, Generated which, uchar* record, ComputedTexts* texts) {
  QuietComputation computation(*table, record, texts);
  for (Field** at = table->vfield; *at != nullptr; ++at) {
    if (which == Generated::kVirtual && (*at)->stored_in_db()) continue;
    if (bitmap_is_set(&wanted, (*at)->field_index)) computation.Compute(**at);
  }
}

// For LOAD DATA, an INSERT that names no columns, and what is left of a portion of time the server computes them, and then has a trigger
// change what they are computed from. And a REPLACE of a versioned row computes texts of the row of the past where it has those of the new
// one. Entries of indexes have what readers will compute. Where the server has done it right this is once more.
void Handler::ComputeOfNewRow(const uchar* record) {
  if (table->vfield == nullptr || record != table->record[0] || !access_->HasIndexOnVirtualColumn()) return;
  const bool has_trigger = table->triggers != nullptr && table->triggers->has_triggers(TRG_EVENT_INSERT, TRG_ACTION_BEFORE);
  if (!has_trigger && !(has_blobs_ && table->versioned())) return;
  ComputeWanted(*table->read_set, Generated::kVirtual, table->record[0], &written_texts_);
}

// Of a versioned row that is changed, and of one of which a DELETE leaves a portion of time, the server computes texts for the new row where
// it has those of the old one; of the latter also those that are stored.
void Handler::ComputeOfOldRow(const uchar* record) {
  if (!has_blobs_ || table->vfield == nullptr || record != table->record[1]) return;
  const bool leaves_portion = thd_sql_command(ha_thd()) == SQLCOM_DELETE;
  if (!leaves_portion && !(table->versioned() && access_->HasIndexOnVirtualColumn())) return;
  ComputeWanted(*table->read_set, leaves_portion ? Generated::kAny : Generated::kVirtual, table->record[1], &old_texts_);
}

}  // namespace cairn::server
