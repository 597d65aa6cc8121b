// SPDX-License-Identifier: GPL-2.0-only
// Prepares a connection for making tables of one engine in one database.
#pragma once

#include <string>

#include "connection.h"

namespace cairn::bench {

// Makes the database if it is missing and uses it. Throws SqlError, also when the server does not have the
// engine; from then on the connection does not take another engine in its place.
void OpenDatabase(Connection& connection, const std::string& database, const std::string& engine);

}  // namespace cairn::bench
