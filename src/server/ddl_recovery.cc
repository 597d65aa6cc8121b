// SPDX-License-Identifier: GPL-2.0-only
// The server's log of DDL is executed before anybody connects. It asks for steps that may have been done already.
#include "server/ddl_recovery.h"

#include <atomic>
#include <set>

#include "server/errors.h"
#include "server/foreign_keys.h"
#include "server/session.h"
#include "server/table_map.h"

namespace cairn::server {
namespace {

std::atomic<bool> ddl_recovery_ended{false};

bool HasFile(const std::string& path, const char* extension) { return access((path + extension).c_str(), F_OK) == 0; }

// What stood in for an altered table and has lost its definition file, by which the server would find it. It may be all that there is of the
// table's rows: who has looked decides.
void TellLeftBehind(const std::string& name) {
  if (!StandsIn(name) || HasFile("./" + name, ".frm")) return;
  sql_print_warning("CAIRN: an ALTER TABLE that was cut off has left rows without a table. Once nothing is missed: "
                    "DROP TABLE `%s`.`#mysql50#%s`",
                    SqlNameOf(name).database.c_str(), name.substr(name.find('/') + 1).c_str());
}

// The list of the partitions that a copy has replaced is under the name they were to rest under, but for the server the table is not.
void DeleteListOfReplaced(std::string copy) {
  constexpr std::string_view kCopy = "/#sql-alter", kReplaced = "/#sql-backup";
  const size_t at = copy.rfind(kCopy);
  if (at == std::string::npos) return;
  copy.replace(at, kCopy.size(), kReplaced);
  if (!HasFile(copy, ".frm")) (void)my_delete((copy + ".par").c_str(), MYF(0));
}

}  // namespace

bool StandsIn(const std::string& name) {
  return name.find("/#sql-alter") != std::string::npos || name.find("/#sql-backup") != std::string::npos;
}

bool DdlRecoveryEnded() { return ddl_recovery_ended.load(std::memory_order_acquire); }

// Nobody has used the engine in this process yet.
int EndDdlRecovery(handlerton*) {
  std::vector<std::string> names;
  const Status status = GlobalEngine()->catalog().TableNames({}, &names);
  if (!status.ok()) sql_print_error("CAIRN: the dictionary cannot be read: %s", status.ToString().c_str());
  std::set<std::string> left;
  for (const std::string& name : names) {
    const std::string whole = catalog::Catalog::PartitionedTableOf(name);
    left.insert(whole.empty() ? name : whole);
  }
  for (const std::string& name : left) TellLeftBehind(name);
  GlobalEngine()->WakeReclaimer();
  ddl_recovery_ended.store(true, std::memory_order_release);
  return 0;
}

int RenameInRecovery(const char* from, const char* to) {
  catalog::Catalog& catalog = GlobalEngine()->catalog();
  const std::string before = TableNameOfPath(from), after = TableNameOfPath(to);
  std::shared_ptr<catalog::Table> table;
  if (catalog.Find(after, &table).ok()) return 0;
  const Status status = catalog.RenamePartitionsOf(before, after);
  if (status.Is(Status::Code::kNotFound)) return HA_ERR_NO_SUCH_TABLE;
  if (!status.ok()) return ServerError(current_thd, status, nullptr);
  DeleteListOfReplaced(from);
  if (!HasFile(from, ".par")) return 0;
  return my_rename((std::string(from) + ".par").c_str(), (std::string(to) + ".par").c_str(), MYF(MY_WME | MY_SYNC_DIR)) == 0
             ? 0
             : my_errno;
}

}  // namespace cairn::server
