// SPDX-License-Identifier: GPL-2.0-only
// The server's partitioned tables, of which each partition is a table here: what concerns all of them at once.
#pragma once

#include "server/server_headers.h"

#include <string>

#include "catalog/table_def.h"

namespace cairn::server {

// Whether the server keeps such a file (".frm", ".par") for a table's path.
bool HasFile(const std::string& path, const char* extension);

bool IsPartitioned(const std::string& table);

// Whether a table's path is that of a partition. A plain table may have such a name, as `#mysql50#t#P#p` is one; but it has a
// definition file.
bool IsPartition(const std::string& path);

// Whether the statement drops this partition of its table, and keeps others, and a prepared transaction has changed it.
bool DropsHeldPartition(THD* thd, const TABLE& table, const catalog::TableDef& partition);

// Whether a prepared transaction has changed any of the partitions that TRUNCATE, which goes from one to the next, empties with the one of this
// name. Once none is found there is no second look in the statement: nobody else can write there until it ends.
bool EmptiesHeldPartition(THD* thd, const TABLE& table, const std::string& name);

// Whether the statement may read all of the table: it names no partitions, and by its condition none are left out as yet.
bool ReadsAllPartitions(const TABLE& table);

// Makes the partitions that the statement has locked and does not read those that it reads; and those that it reads, once more called.
void SwapReadPartitions(TABLE* table);

// How many tables of the engine a statement fills that copies into this one: the partitions that it makes of others, or else all; 1 without
// partitions.
unsigned CountFilled(const TABLE& table);

// RENAME TABLE of a partitioned one asks for one partition after the other, by their paths; they are gathered until the server says that all
// have been asked for. False when it is not that. The server's error number otherwise.
//
// The list of partitions has its new name by then, and the definition file the old one. The recovery of DDL asks for a copy that is to take its
// table's place by the list of the old name, so ALTER TABLE moves the copy's partitions one by one, before the list.
bool GatherRename(THD* thd, const char* from_path, const char* to_path, int* error);
int FinishRename(const char* path, const char* old_path, chf_create_flags action);

// Whether all partitions of the table `whole` go together: when the first is dropped, as the whole table is; and when the table is, of
// which the server knows no more, as a file of its own is missing. The other one may then be left.
bool DropsAllPartitions(THD* thd, const char* path, std::string* whole);

}  // namespace cairn::server
