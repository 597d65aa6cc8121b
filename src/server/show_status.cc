// SPDX-License-Identifier: GPL-2.0-only
// The engine's state as text and as status variables.
#include "server/show_status.h"

#include <ctime>
#include <string>
#include <vector>

#include "base/endian.h"
#include "server/foreign_keys.h"
#include "server/plain_select.h"
#include "server/session.h"
#include "server/xid_name.h"
#include "txn/number_key.h"

namespace cairn::server {
namespace {

constexpr size_t kWaitCountMax = 1000;  // that are listed

// "12 (connection 5)"; of a prepared transaction without a connection, and of the engine's own, the number alone.
std::string PartyOf(uint64_t transaction_id, uint64_t connection_id) {
  std::string text = std::to_string(transaction_id);
  if (connection_id != 0) text += " (connection " + std::to_string(connection_id) + ")";
  return text;
}

void AppendLocks(const txn::RowLocks& locks, std::string* text) {
  *text += "LOCKS\n" + std::to_string(locks.lock_count()) + " row locks in " + std::to_string(locks.memory_bytes()) +
           " bytes, " + std::to_string(locks.waiting_count()) + " waiting, " + std::to_string(locks.deadlock_count()) +
           " deadlocks since start\n";
  const std::vector<txn::WaitRow> waits = locks.ListWaits(kWaitCountMax);
  for (const txn::WaitRow& wait : waits) {
    *text += "transaction " + PartyOf(wait.waiter_id, wait.waiter_connection_id) + " waits for " +
             PartyOf(wait.blocker_id, wait.blocker_connection_id);
    if (wait.blocker_count > 1) *text += " and " + std::to_string(wait.blocker_count - 1) + " more";
    *text += " since " + std::to_string(wait.waited_us / 1000) + " ms\n";
  }
  if (waits.size() == kWaitCountMax) *text += "(no more than " + std::to_string(kWaitCountMax) + " waits are listed)\n";
}

// What somebody waited for. Of a range only its owner is known here.
std::string WantedOf(const txn::DeadlockRow::Member& member) {
  switch (txn::NumberKey::KindOf(member.key)) {
    case txn::NumberKey::Kind::kRanges: return "to insert into a range";
    case txn::NumberKey::Kind::kClaims: return "a table that is being loaded";
    case txn::NumberKey::Kind::kRow: break;
  }
  const std::string mode = member.mode == txn::LockMode::kExclusive ? "exclusive" : "shared";
  if (member.key.size() < sizeof(uint32_t)) return mode;
  const IndexId index(LoadBe32(member.key.data()));
  const std::string name = GlobalEngine()->catalog().TableNameOf(index);
  if (name.empty()) return mode + ", a row of index " + std::to_string(index.value) + ", which is not in use any more";
  const std::string whole = catalog::Catalog::PartitionedTableOf(name);
  const SqlName sql = SqlNameOf(whole.empty() ? name : whole);
  return mode + ", a row of " + sql.database + "." + sql.table;
}

std::string LocalTime(uint64_t unix_time_us) {
  const auto seconds = static_cast<time_t>(unix_time_us / 1'000'000);
  tm parts{};
  char text[sizeof "2026-01-01 00:00:00"] = "";
  if (localtime_r(&seconds, &parts) != nullptr) (void)strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &parts);
  return text;
}

// The newest first. Each member was blocked by the next one, the last by the first.
void AppendDeadlocks(const txn::RowLocks& locks, std::string* text) {
  const std::vector<txn::DeadlockRow> rows = locks.ListDeadlocks();
  if (!rows.empty()) *text += "LATEST DEADLOCKS\n";
  for (auto row = rows.rbegin(); row != rows.rend(); ++row) {
    *text += LocalTime(row->unix_time_us) + " victim: transaction " + std::to_string(row->victim_id) + "\n";
    for (size_t i = 0; i < row->cycle.size(); ++i) {
      const txn::DeadlockRow::Member& waiter = row->cycle[i];
      const txn::DeadlockRow::Member& blocker = row->cycle[(i + 1) % row->cycle.size()];
      *text += "transaction " + PartyOf(waiter.owner_id, waiter.connection_id) + " waited for " +
               PartyOf(blocker.owner_id, blocker.connection_id) + ": " + WantedOf(waiter) + "\n";
    }
  }
}

void AppendTransactions(txn::TransactionManager& transactions, std::string* text) {
  *text += "TRANSACTIONS\n";
  for (const txn::TransactionRow& row : transactions.List()) {
    *text += "transaction " + std::to_string(row.id) +
             (row.connection_id == 0 ? "" : ", connection " + std::to_string(row.connection_id)) + ", active " +
             std::to_string(row.age_us / 1000) + " ms, " + std::to_string(row.lock_count) + " locks, " + std::to_string(row.write_count) + " writes" +
             (row.waiting ? ", waiting" : "") + (row.prepared ? ", prepared" : "") +
             (row.name.empty() ? "" : " as " + TextOfXidName(row.name)) + "\n";
  }
}

int ShowNumber(st_mysql_show_var* variable, void* buffer, ulonglong value) {
  *static_cast<ulonglong*>(buffer) = value;
  variable->type = SHOW_ULONGLONG;
  variable->value = static_cast<char*>(buffer);
  return 0;
}

int ShowCurrentWaits(MYSQL_THD, st_mysql_show_var* variable, void* buffer, system_status_var*, enum_var_type) {
  return ShowNumber(variable, buffer, GlobalEngine()->transactions().locks().waiting_count());
}
int ShowDeadlocks(MYSQL_THD, st_mysql_show_var* variable, void* buffer, system_status_var*, enum_var_type) {
  return ShowNumber(variable, buffer, GlobalEngine()->transactions().locks().deadlock_count());
}
int ShowLocks(MYSQL_THD, st_mysql_show_var* variable, void* buffer, system_status_var*, enum_var_type) {
  return ShowNumber(variable, buffer, GlobalEngine()->transactions().locks().lock_count());
}
int ShowLoads(MYSQL_THD, st_mysql_show_var* variable, void* buffer, system_status_var*, enum_var_type) {
  return ShowNumber(variable, buffer, GlobalEngine()->store().load_count());
}
int ShowOldestReadView(MYSQL_THD, st_mysql_show_var* variable, void* buffer, system_status_var*, enum_var_type) {
  return ShowNumber(variable, buffer, GlobalEngine()->transactions().oldest_view_age_us());
}
int ShowPlainSelects(MYSQL_THD, st_mysql_show_var* variable, void* buffer, system_status_var*, enum_var_type) {
  return ShowNumber(variable, buffer, PlainSelectCount());
}
int ShowTransactions(MYSQL_THD, st_mysql_show_var* variable, void* buffer, system_status_var*, enum_var_type) {
  return ShowNumber(variable, buffer, GlobalEngine()->transactions().active_count());
}

}  // namespace

st_mysql_show_var kStatusVariables[] = {
    {"Cairn_active_transactions", reinterpret_cast<char*>(&ShowTransactions), SHOW_SIMPLE_FUNC},
    {"Cairn_deadlocks", reinterpret_cast<char*>(&ShowDeadlocks), SHOW_SIMPLE_FUNC},
    {"Cairn_loads", reinterpret_cast<char*>(&ShowLoads), SHOW_SIMPLE_FUNC},
    {"Cairn_oldest_read_view_us", reinterpret_cast<char*>(&ShowOldestReadView), SHOW_SIMPLE_FUNC},
    {"Cairn_plain_selects", reinterpret_cast<char*>(&ShowPlainSelects), SHOW_SIMPLE_FUNC},
    {"Cairn_row_lock_current_waits", reinterpret_cast<char*>(&ShowCurrentWaits), SHOW_SIMPLE_FUNC},
    {"Cairn_row_locks", reinterpret_cast<char*>(&ShowLocks), SHOW_SIMPLE_FUNC},
    {nullptr, nullptr, SHOW_UNDEF}};

bool ShowEngineStatus(handlerton*, THD* thd, stat_print_fn* print, enum ha_stat_type type) {
  if (type != HA_ENGINE_STATUS || GlobalEngine() == nullptr) return false;
  std::string text;
  AppendTransactions(GlobalEngine()->transactions(), &text);
  AppendLocks(GlobalEngine()->transactions().locks(), &text);
  AppendDeadlocks(GlobalEngine()->transactions().locks(), &text);
  text += "STORE\n" + GlobalEngine()->store().TextProperty(store::Family::kData, "rocksdb.stats") + "\n";
  for (const store::NamedNumber& number : GlobalEngine()->store().Statistics()) {
    text += number.name + " " + std::to_string(number.value) + "\n";
  }
  return print(thd, STRING_WITH_LEN("CAIRN"), "", 0, text.data(), static_cast<uint>(text.size()));
}

}  // namespace cairn::server
