// SPDX-License-Identifier: GPL-2.0-only
// The server's log of DDL is executed before anybody connects. It asks for steps that may have been done already.
#include "server/ddl_recovery.h"

#include <atomic>
#include <map>
#include <set>

#include "server/errors.h"
#include "server/foreign_keys.h"
#include "server/partitions.h"
#include "server/session.h"
#include "server/table_map.h"

namespace cairn::server {
namespace {

std::atomic<bool> ddl_recovery_ended{false};

// Rows of a table that the server does not find, as one of the files that it keeps of each is missing. They may be all there is of a table:
// who has looked decides.
void TellLeftBehind(const std::string& name, bool is_partitioned) {
  const bool lacks_list = is_partitioned && !HasFile("./" + name, ".par");
  if (HasFile("./" + name, ".frm") && !lacks_list) return;
  if (!is_partitioned && !StandsIn(name)) return;  // the server knows tables that have no such file from their engine
  sql_print_warning("CAIRN: a statement that was cut off has left rows of `%s`.`#mysql50#%s`, whose %s is missing. "
                    "With the file the table opens; if nothing is missed, DROP TABLE drops the rows",
                    SqlNameOf(name).database.c_str(), name.substr(name.find('/') + 1).c_str(),
                    lacks_list ? "list of partitions (.par)" : "definition file (.frm)");
}

// Partitions beside a table that has their table's name and none itself: DROP TABLE drops that one.
void TellLeftBeside(const std::string& name, const std::string& partition) {
  if (HasFile("./" + name, ".par")) return;
  sql_print_warning("CAIRN: a statement that was cut off has left rows of partitions of `%s`.`#mysql50#%s`, which is not partitioned. "
                    "If nothing is missed, DROP TABLE `#mysql50#%s` drops those of all partitions, and nothing of the table",
                    SqlNameOf(name).database.c_str(), name.substr(name.find('/') + 1).c_str(),
                    partition.substr(partition.find('/') + 1).c_str());
}

void TellLeft(const std::vector<std::string>& names) {
  std::set<std::string> tables;
  std::map<std::string, std::string> partitioned;  // with one of the partitions
  for (const std::string& name : names) {
    if (IsPartition("./" + name)) {
      partitioned.emplace(catalog::Catalog::PartitionedTableOf(name), name);
    } else {
      tables.insert(name);
    }
  }
  for (const std::string& name : tables) TellLeftBehind(name, false);
  for (const auto& [name, partition] : partitioned) {
    if (tables.contains(name)) {
      TellLeftBeside(name, partition);
    } else {
      TellLeftBehind(name, true);
    }
  }
}

// What a copy has replaced when its definition file was not moved with it, by which the server would find its partitions to drop them: whether it
// was moved is told by the list. The partitions may be those that the copy has pushed out; where they have not been moved and the copy has none
// itself, they are still under the name that it has now. The list goes last, so that who is killed here does it all again.
Status DropReplaced(std::string copy, const char* to, bool is_partitioned) {
  constexpr std::string_view kCopy = "/#sql-alter", kReplaced = "/#sql-backup";
  const size_t at = copy.rfind(kCopy);
  if (at == std::string::npos) return Status::Ok();
  const std::string replaced = copy.replace(at, kCopy.size(), kReplaced);
  if (HasFile(replaced, ".frm") || !HasFile(replaced, ".par")) return Status::Ok();
  catalog::Catalog& catalog = GlobalEngine()->catalog();
  if (!is_partitioned) CAIRN_RETURN_IF_ERROR(catalog.DropPartitionsOf(TableNameOfPath(to)));
  CAIRN_RETURN_IF_ERROR(catalog.DropPartitionsOf(TableNameOfPath(replaced.c_str())));
  (void)my_delete((replaced + ".par").c_str(), MYF(0));
  return Status::Ok();
}

}  // namespace

bool StandsIn(const std::string& name) {
  return name.find("/#sql-alter") != std::string::npos || name.find("/#sql-backup") != std::string::npos;
}

bool DdlRecoveryEnded() { return ddl_recovery_ended.load(std::memory_order_acquire); }

// Nobody has used the engine in this process yet.
int EndDdlRecovery(handlerton* engine) {
  std::vector<std::string> names;
  Status status = GlobalEngine()->catalog().EndRecovery();
  if (status.ok()) status = GlobalEngine()->catalog().TableNames({}, &names);
  if (!status.ok()) sql_print_error("CAIRN: recovery of DDL could not be ended in the dictionary: %s", status.ToString().c_str());
  TellLeft(names);
  GlobalEngine()->WakeReclaimer();
  ddl_recovery_ended.store(true, std::memory_order_release);
  // The server has taken it away by now if it cannot keep a record of what several engines commit together.
  if (engine->prepare == nullptr) {
    sql_print_warning("CAIRN: until the server is restarted with the engine, XA is refused, and a crash may leave what a transaction has changed "
                      "in other engines, too, a replica's position for one, committed in one of them only");
  }
  return 0;
}

int RenameInRecovery(const char* from, const char* to, bool is_renamed) {
  catalog::Catalog& catalog = GlobalEngine()->catalog();
  const std::string before = TableNameOfPath(from), after = TableNameOfPath(to);
  std::shared_ptr<catalog::Table> table;
  const bool is_partitioned = !is_renamed && !catalog.Find(after, &table).ok();
  Status status = is_partitioned ? catalog.RenamePartitionsOf(before, after) : Status::Ok();
  if (status.Is(Status::Code::kNotFound)) return HA_ERR_NO_SUCH_TABLE;
  if (status.ok()) status = DropReplaced(from, to, is_partitioned);
  if (!status.ok()) return ServerError(current_thd, status, nullptr);
  if (!is_partitioned || !HasFile(from, ".par")) return 0;
  return my_rename((std::string(from) + ".par").c_str(), (std::string(to) + ".par").c_str(), MYF(MY_WME | MY_SYNC_DIR)) == 0
             ? 0
             : my_errno;
}

}  // namespace cairn::server
