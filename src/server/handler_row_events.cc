// SPDX-License-Identifier: GPL-2.0-only
// Rows that come from the binary log's events: a replica's, and those of BINLOG statements.
#include "server/handler.h"

namespace cairn::server {

// An event has of a row what its source logged: by binlog_row_image the primary key and what was assigned, never a column that this
// table alone has, nor what a trigger did since. What it lacks the server finds in the row; but of virtual columns it computes those that
// it believes to read, which are the event's, and only in rows that it has found. Entries of indexes need all.
bool Handler::LacksVirtualColumns() const {
  if (table->vfield == nullptr || !WritesRows() || !ha_thd()->lex->is_stmt_row_injection()) return false;
  return access_->HasIndexOnVirtualColumn();
}

// All, as one may be computed from another. The bits may be the share's, where all are set.
void Handler::ReadVirtualColumns() {
  for (Field** at = table->vfield; *at != nullptr; ++at) {
    const uint column = (*at)->field_index;
    if (!(*at)->stored_in_db() && !bitmap_is_set(table->read_set, column)) bitmap_set_bit(table->read_set, column);
  }
}

// For a row as it is to be. As for the reader who computes the same values later, errors are warnings; and stored columns, which may
// depend on who computes them, stay.
int Handler::ComputeVirtualColumns(const uchar* record) {
  if (record != table->record[0] || !LacksVirtualColumns()) return 0;
  ReadVirtualColumns();
  return table->update_virtual_fields(this, VCOL_UPDATE_FOR_READ) != 0 ? HA_ERR_GENERIC : 0;
}

}  // namespace cairn::server
