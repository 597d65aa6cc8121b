// SPDX-License-Identifier: GPL-2.0-only
// SHOW ENGINE CAIRN STATUS and the status variables.
#pragma once

#include "server/server_headers.h"

namespace cairn::server {

bool ShowEngineStatus(handlerton* hton, THD* thd, stat_print_fn* print, enum ha_stat_type type);

// For the plugin's declaration.
extern st_mysql_show_var kStatusVariables[];

}  // namespace cairn::server
