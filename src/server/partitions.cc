// SPDX-License-Identifier: GPL-2.0-only
// What a statement does to the partitions of a table, as far as it concerns more than one.
#include "server/partitions.h"

#include <partition_info.h>

#include <algorithm>
#include <set>
#include <string_view>

#include "server/ddl_recovery.h"
#include "server/errors.h"
#include "server/handler.h"
#include "server/table_map.h"

namespace cairn::server {

using catalog::Catalog;

namespace {

// Names that are as long and differ in the case of letters only are the same one.
struct IsBefore {
  using is_transparent = void;
  bool operator()(std::string_view a, std::string_view b) const {
    if (a.size() != b.size()) return a.size() < b.size();
    return my_strnncoll(files_charset_info, reinterpret_cast<const uchar*>(a.data()), a.size(),
                        reinterpret_cast<const uchar*>(b.data()), b.size()) < 0;
  }
};

// The partitions of a table that the statement has given a state, by the names of their files: to encode these anew for each table that is asked
// for takes seconds where there are thousands.
class PartitionsInState {
 public:
  PartitionsInState(const TABLE& table, partition_state state) {
    if (table.part_info == nullptr) return;
    List_iterator_fast<partition_element> partitions(table.part_info->partitions);
    while (const partition_element* partition = partitions++) {
      if (partition->part_state != state) continue;
      char encoded[FN_REFLEN];
      const uint bytes = tablename_to_filename(partition->partition_name, encoded, sizeof encoded);
      names_.emplace(encoded, bytes);
    }
  }

  // Whether the table named so is one of them or a part of one. The server's names of files may be in lower letters.
  bool Has(const std::string& table) const {
    const std::string whole = Catalog::PartitionedTableOf(table);
    if (whole.empty()) return false;
    const std::string_view rest = std::string_view(table).substr(whole.size() + 3);  // after "#P#"
    // A partition's own name may have the mark of a part in it, as `#mysql50#a#b` has.
    for (size_t end = rest.find('#'); end != std::string_view::npos; end = rest.find('#', end + 1)) {
      if (names_.contains(rest.substr(0, end))) return true;
    }
    return names_.contains(rest);
  }

 private:
  std::set<std::string, IsBefore> names_;
};

// Whether the statement is an ALTER TABLE of this kind, which says what it does to which partitions by their states. What a statement that was
// refused has left of these under LOCK TABLES says nothing of others.
bool AltersPartitions(THD* thd, ulonglong kind) {
  return thd_sql_command(thd) == SQLCOM_ALTER_TABLE && (thd->lex->alter_info.partition_flags & kind) != 0;
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

bool DropsHeldPartition(THD* thd, const TABLE& table, const catalog::TableDef& partition) {
  // In this order, as hardly any is held, and names are looked at for each.
  return AltersPartitions(thd, ALTER_PARTITION_DROP) && HeldByPrepared(partition) &&
         PartitionsInState(table, PART_TO_BE_DROPPED).Has(partition.name);
}

bool EmptiesHeldPartition(THD* thd, const TABLE& table, const std::string& name) {
  Catalog& catalog = GlobalEngine()->catalog();
  TableOfStatement& looked_at = Session::Of(thd)->emptied_partitions;
  std::vector<std::string> partitions;
  const std::string whole = Catalog::PartitionedTableOf(name);
  if (whole.empty() || looked_at.Is(whole, thd->query_id) || !catalog.PartitionNames(whole, &partitions).ok()) return false;
  const bool is_of_some = AltersPartitions(thd, ALTER_PARTITION_TRUNCATE);  // not TRUNCATE TABLE
  const PartitionsInState emptied(table, PART_ADMIN);
  const bool is_held = std::any_of(partitions.begin(), partitions.end(), [&](const std::string& partition) {
    if (is_of_some && !emptied.Has(partition)) return false;
    std::shared_ptr<catalog::Table> found;
    return catalog.Find(partition, &found).ok() && HeldByPrepared(found->def());
  });
  if (!is_held) looked_at.Set(whole, thd->query_id);
  return is_held;
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
