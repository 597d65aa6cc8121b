// SPDX-License-Identifier: GPL-2.0-only
// SELECTs whose plan is plain, carried out without the server's optimizer.
#pragma once

#include "server/server_headers.h"

#include <select_handler.h>

namespace cairn::server {

// For `handlerton::create_select`: what carries the statement out, or null where its plan is the optimizer's to make. It sends the rows, and
// counts what the server would have counted. The server deletes it.
select_handler* CreateSelect(THD* thd, SELECT_LEX* select);

// How many there were since the start. Thread rule: any thread.
uint64_t PlainSelectCount();

}  // namespace cairn::server
