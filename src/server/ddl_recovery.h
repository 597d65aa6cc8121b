// SPDX-License-Identifier: GPL-2.0-only
// What is different while the server undoes, or leads to their end, the statements that a crash has cut off.
#pragma once

#include "server/server_headers.h"

#include <string>

namespace cairn::server {

// Whether the table is a copy that ALTER TABLE fills, or what it is to replace, under a name of the server's: nobody uses it by that.
bool StandsIn(const std::string& name);

bool DdlRecoveryEnded();
int EndDdlRecovery(handlerton*);

// Renames a table that is not there by this name, as its partitions may be, or as that has been done before the crash. Of a partitioned
// table the server moves the definition file, and this the list of partitions. Then, and where the table `is_renamed` already, what is left of
// the one that it has replaced goes. The server's error number.
int RenameInRecovery(const char* from, const char* to, bool is_renamed);

}  // namespace cairn::server
