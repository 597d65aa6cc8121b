// SPDX-License-Identifier: GPL-2.0-only
// What a statement does to the partitions of a table, as far as it concerns more than one.
#include "server/partitions.h"

#include <partition_info.h>

#include <algorithm>

#include "server/ddl_recovery.h"
#include "server/errors.h"
#include "server/handler.h"
#include "server/table_map.h"

namespace cairn::server {

using catalog::Catalog;

namespace {

// Whether the table named so is this partition or a part of it. The server's names of files may be in lower letters.
bool IsOf(const partition_element& partition, const std::string& name) {
  char encoded[FN_REFLEN];
  const uint bytes = tablename_to_filename(partition.partition_name, encoded, sizeof encoded);
  const std::string whole = Catalog::PartitionedTableOf(name);
  const std::string rest = name.substr(std::min(name.size(), whole.size() + 3));  // after "#P#"
  if (whole.empty() || rest.size() < bytes || (rest.size() > bytes && rest[bytes] != '#')) return false;
  return my_strnncoll(files_charset_info, reinterpret_cast<const uchar*>(rest.data()), bytes,
                      reinterpret_cast<const uchar*>(encoded), bytes) == 0;
}

bool IsInState(const TABLE& table, const std::string& name, partition_state state) {
  if (table.part_info == nullptr) return false;
  List_iterator_fast<partition_element> partitions(table.part_info->partitions);
  while (const partition_element* partition = partitions++) {
    if (partition->part_state == state && IsOf(*partition, name)) return true;
  }
  return false;
}

}  // namespace

bool HasFile(const std::string& path, const char* extension) { return access((path + extension).c_str(), F_OK) == 0; }

bool IsPartitioned(const std::string& table) {
  std::vector<std::string> partitions;
  return GlobalEngine()->catalog().PartitionNames(table, &partitions).ok() && !partitions.empty();
}

bool IsPartition(const std::string& path) {
  return !Catalog::PartitionedTableOf(path).empty() && !HasFile(path, ".frm");
}

bool DropsPartition(THD* thd, const TABLE& table, const std::string& name) {
  return thd_sql_command(thd) == SQLCOM_ALTER_TABLE && (thd->lex->alter_info.partition_flags & ALTER_PARTITION_DROP) != 0 &&
         IsInState(table, name, PART_TO_BE_DROPPED);
}

bool EmptiesHeldPartition(const TABLE& table, const std::string& name) {
  Catalog& catalog = GlobalEngine()->catalog();
  std::vector<std::string> partitions;
  const std::string whole = Catalog::PartitionedTableOf(name);
  if (whole.empty() || !catalog.PartitionNames(whole, &partitions).ok()) return false;
  const bool is_of_some = IsInState(table, name, PART_ADMIN);  // TRUNCATE PARTITION, not TRUNCATE TABLE
  return std::any_of(partitions.begin(), partitions.end(), [&](const std::string& partition) {
    if (is_of_some && !IsInState(table, partition, PART_ADMIN)) return false;
    std::shared_ptr<catalog::Table> found;
    return catalog.Find(partition, &found).ok() && HeldByPrepared(found->def());
  });
}

bool ReadsAllPartitions(const TABLE& table) {
  return table.part_info == nullptr || bitmap_is_set_all(&table.part_info->read_partitions) != 0;
}

void SwapReadPartitions(TABLE* table) {
  partition_info* const info = table->part_info;
  bitmap_invert(&info->read_partitions);
  bitmap_intersect(&info->read_partitions, &info->lock_partitions);
}

unsigned CountFilled(const TABLE& table) {
  partition_info* const info = table.part_info;
  if (info == nullptr) return 1;
  unsigned made = 0;
  List_iterator_fast<partition_element> partitions(info->partitions);
  while (const partition_element* partition = partitions++) {
    if (partition->part_state == PART_IS_ADDED || partition->part_state == PART_IS_CHANGED) ++made;
  }
  if (made == 0) return info->get_tot_partitions();
  return info->is_sub_partitioned() ? made * info->num_subparts : made;
}

bool GatherRename(THD* thd, const char* from_path, const char* to_path, int* error) {
  // Its definition file is moved after the table, or, where RENAME is undone, before.
  if (!IsPartition(from_path) || !IsPartition(to_path)) return false;
  const std::string from = TableNameOfPath(from_path), to = TableNameOfPath(to_path);
  const std::string from_whole = Catalog::PartitionedTableOf(from), to_whole = Catalog::PartitionedTableOf(to);
  if (from_whole == to_whole) return false;
  if (from.substr(from_whole.size()) != to.substr(to_whole.size())) return false;
  *error = 0;
  auto& gathered = Session::Of(thd)->partition_renames;
  // Taken back by the server, as another one could not be renamed.
  if (std::erase(gathered, Catalog::Renaming{.from = to, .to = from}) != 0) return true;
  if (StandsIn(from_whole)) return false;
  std::shared_ptr<catalog::Table> table;
  const Status found = GlobalEngine()->catalog().Find(from, &table);
  if (found.Is(Status::Code::kNotFound)) {
    *error = HA_ERR_NO_SUCH_TABLE;
  } else if (!found.ok()) {
    *error = RaiseError(thd, found);
  } else {
    gathered.push_back({.from = from, .to = to});
  }
  return true;
}

int FinishRename(const char* path, const char* old_path, chf_create_flags action) {
  Session* const session = Session::Existing(current_thd);
  if (action != CHF_RENAME_FLAG || session == nullptr || session->partition_renames.empty()) return 0;
  const std::string from = TableNameOfPath(old_path), to = TableNameOfPath(path);
  std::vector<Catalog::Renaming> now;
  for (const Catalog::Renaming& renaming : session->partition_renames) {
    if (Catalog::PartitionedTableOf(renaming.from) == from && Catalog::PartitionedTableOf(renaming.to) == to) now.push_back(renaming);
  }
  const Status status = GlobalEngine()->catalog().RenamePartitions(now);
  if (!status.ok()) return ServerError(current_thd, status, nullptr);
  std::erase_if(session->partition_renames,
                [&](const Catalog::Renaming& one) { return std::find(now.begin(), now.end(), one) != now.end(); });
  return 0;
}

// The server drops the list of partitions before the first of them. Other statements, and the recovery of DDL, may drop one of them while
// there is no list, as they put another in its place; or drop a copy, under whose name an earlier server may have left rows.
bool DropsAllPartitions(THD* thd, const char* path, std::string* whole) {
  const int command = thd_sql_command(thd);
  if (!DdlRecoveryEnded() || (command != SQLCOM_DROP_TABLE && command != SQLCOM_DROP_DB)) return false;
  if (IsPartition(path)) {
    *whole = TableNameOfPath(Catalog::PartitionedTableOf(path).c_str());
    return !HasFile(Catalog::PartitionedTableOf(path), ".par");
  }
  *whole = TableNameOfPath(path);
  return IsPartitioned(*whole) && !(HasFile(path, ".par") && HasFile(path, ".frm"));
}

}  // namespace cairn::server
