// SPDX-License-Identifier: GPL-2.0-only
// The server's log of DDL is executed before anybody connects. It asks for steps that may have been done already.
#include "server/ddl_recovery.h"

#include <atomic>
#include <map>

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

// What a copy has replaced when its definition file was not moved with it, by which the server would find its partitions to drop them: whether it
// was moved is told by the list. The partitions may be those that the copy has pushed out.
Status DropReplaced(std::string copy) {
  constexpr std::string_view kCopy = "/#sql-alter", kReplaced = "/#sql-backup";
  const size_t at = copy.rfind(kCopy);
  if (at == std::string::npos) return Status::Ok();
  const std::string replaced = copy.replace(at, kCopy.size(), kReplaced);
  if (HasFile(replaced, ".frm") || !HasFile(replaced, ".par")) return Status::Ok();
  CAIRN_RETURN_IF_ERROR(GlobalEngine()->catalog().DropPartitionsOf(TableNameOfPath(replaced.c_str())));
  (void)my_delete((replaced + ".par").c_str(), MYF(0));
  return Status::Ok();
}

}  // namespace

bool StandsIn(const std::string& name) {
  return name.find("/#sql-alter") != std::string::npos || name.find("/#sql-backup") != std::string::npos;
}

bool DdlRecoveryEnded() { return ddl_recovery_ended.load(std::memory_order_acquire); }

// Nobody has used the engine in this process yet.
int EndDdlRecovery(handlerton*) {
  std::vector<std::string> names;
  Status status = GlobalEngine()->catalog().EndRecovery();
  if (status.ok()) status = GlobalEngine()->catalog().TableNames({}, &names);
  if (!status.ok()) sql_print_error("CAIRN: recovery of DDL could not be ended in the dictionary: %s", status.ToString().c_str());
  std::map<std::string, bool> tables;  // whether it is partitioned
  for (const std::string& name : names) {
    const bool is_partition = IsPartition("./" + name);
    tables.emplace(is_partition ? catalog::Catalog::PartitionedTableOf(name) : name, is_partition);
  }
  for (const auto& [name, is_partitioned] : tables) TellLeftBehind(name, is_partitioned);
  GlobalEngine()->WakeReclaimer();
  ddl_recovery_ended.store(true, std::memory_order_release);
  return 0;
}

int RenameInRecovery(const char* from, const char* to) {
  catalog::Catalog& catalog = GlobalEngine()->catalog();
  const std::string before = TableNameOfPath(from), after = TableNameOfPath(to);
  std::shared_ptr<catalog::Table> table;
  if (catalog.Find(after, &table).ok()) return 0;
  Status status = catalog.RenamePartitionsOf(before, after);
  if (status.Is(Status::Code::kNotFound)) return HA_ERR_NO_SUCH_TABLE;
  if (status.ok()) status = DropReplaced(from);
  if (!status.ok()) return ServerError(current_thd, status, nullptr);
  if (!HasFile(from, ".par")) return 0;
  return my_rename((std::string(from) + ".par").c_str(), (std::string(to) + ".par").c_str(), MYF(MY_WME | MY_SYNC_DIR)) == 0
             ? 0
             : my_errno;
}

}  // namespace cairn::server
