// SPDX-License-Identifier: GPL-2.0-only
// What kinds of statements the server's commands are.
#pragma once

#include "server/server_headers.h"

namespace cairn::server {

// Whether the statement adds rows and, unless it was told what to do with duplicates, neither changes nor removes any. `command`:
// thd_sql_command(). REPLACE has commands of its own.
inline bool AddsRows(int command) {
  switch (command) {
    case SQLCOM_INSERT:
    case SQLCOM_INSERT_SELECT:
    case SQLCOM_LOAD:
    case SQLCOM_CREATE_TABLE: return true;
    default: return false;
  }
}

// Whether the statement may copy a table, to put the copy in its place. OPTIMIZE does so in a server that is told to do without what is newer
// (--safe-mode), REPAIR where the definition is of an earlier server.
inline bool MayCopyTable(int command) {
  switch (command) {
    case SQLCOM_ALTER_TABLE:
    case SQLCOM_CREATE_INDEX:
    case SQLCOM_DROP_INDEX:
    case SQLCOM_OPTIMIZE:
    case SQLCOM_REPAIR: return true;
    default: return false;
  }
}

// Whether the statement copies, defines or maintains tables. It needs no row locks: metadata locks keep writers away from what is copied,
// and the others, whose metadata locks let writers go on, read one snapshot.
inline bool DefinesTables(int command) {
  switch (command) {
    case SQLCOM_ANALYZE:
    case SQLCOM_CHECK:
    case SQLCOM_CHECKSUM: return true;
    default: return MayCopyTable(command);
  }
}

// Whether the statement may copy rows into a table that it makes.
inline bool FillsNewTable(int command) { return DefinesTables(command) || command == SQLCOM_CREATE_TABLE; }

}  // namespace cairn::server
