// SPDX-License-Identifier: GPL-2.0-only
// The server's calls that concern transactions and the engine as a whole.
#pragma once

struct handlerton;

namespace cairn::server {

// Fills the function table.
void FillHandlerton(handlerton* hton);

}  // namespace cairn::server
