// SPDX-License-Identifier: GPL-2.0-only
// The server's partitioned tables, of which each partition is a table here: what concerns all of them at once.
#pragma once

#include "server/server_headers.h"

#include <string>

namespace cairn::server {

bool IsPartitioned(const std::string& table);

// Whether the statement drops this partition of its table, or may empty it, and keeps others.
bool DropsPartition(THD* thd, const TABLE& table, const std::string& name);

// Whether a prepared transaction has changed any of the partitions that TRUNCATE, which goes from one to the next, empties with this one.
bool EmptiesHeldPartition(const TABLE& table, const std::string& name);

// RENAME TABLE of a partitioned one, and what else moves all partitions, asks for one after the other; they are gathered until the server
// says that all have been asked for. False when it is not that. The server's error number otherwise.
bool GatherRename(THD* thd, const std::string& from, const std::string& to, int* error);
int FinishRename(const char* path, const char* old_path, chf_create_flags action);

// Whether all partitions of the table `whole` go together: when the first is dropped, as the whole table is; and when the table is, of
// which the server knows no more, as it was killed when it dropped it.
bool DropsAllPartitions(THD* thd, const char* path, std::string* whole);

}  // namespace cairn::server
