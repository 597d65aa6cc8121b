// SPDX-License-Identifier: GPL-2.0-only
// The engine's system variables, as plain values.
#pragma once

#include "engine/options.h"
#include "txn/row_locks.h"

class THD;
struct st_mysql_sys_var;

namespace cairn::server {

// What the engine is started with, from the settings.
engine::EngineOptions StartOptions();

engine::FlushAtCommit FlushSetting();

// How the current statement waits for row locks: the setting, or what its NOWAIT or WAIT n says.
txn::LockOptions LockSettings(THD* thd);

// cairn_snapshot_isolation of the connection.
bool StrictSnapshot(THD* thd);

// cairn_plain_selects of the connection.
bool TakesPlainSelects(THD* thd);

// For the plugin's declaration.
extern st_mysql_sys_var* kSystemVariables[];

}  // namespace cairn::server
