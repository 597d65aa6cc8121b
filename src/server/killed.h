// SPDX-License-Identifier: GPL-2.0-only
// Whether the server wants a statement to end.
#pragma once

#include "server/server_headers.h"

namespace cairn::server {

// Whether the statement is to end with an error. LIMIT ROWS EXAMINED ends it too, but keeps the rows it has.
inline bool IsKilled(const THD* thd) { return thd_kill_level(thd) != THD_IS_NOT_KILLED && thd->killed != ABORT_QUERY; }

}  // namespace cairn::server
