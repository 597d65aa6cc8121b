// SPDX-License-Identifier: GPL-2.0-only
// The system variables: names, defaults, ranges and help stand here and nowhere else.
#include "server/server_headers.h"

#include "server/sysvars.h"

#include <set_var.h>

#include <algorithm>
#include <string_view>

namespace cairn::server {
namespace {

constexpr unsigned long long kMemoryBytesMin = 16ULL << 20;
constexpr unsigned kLockWaitSecondsMax = 1024UL * 1024UL * 1024UL;

char* data_directory;
unsigned long long memory_bytes;
unsigned long flush_at_commit;
char* expert_db_options;
char* expert_family_options;

MYSQL_SYSVAR_STR(data_dir, data_directory, PLUGIN_VAR_RQCMDARG | PLUGIN_VAR_READONLY,
                 "Directory of the engine's files; relative paths begin at the server's data directory", nullptr,
                 nullptr, "#cairn");

MYSQL_SYSVAR_ULONGLONG(memory, memory_bytes, PLUGIN_VAR_RQCMDARG | PLUGIN_VAR_READONLY,
                       "Memory for cached blocks, filters and unflushed writes, in bytes. 0: a third of what "
                       "the machine or the cgroup has beyond 256 MiB",
                       nullptr, nullptr, 0, 0, ULLONG_MAX, 0);

MYSQL_SYSVAR_ULONG(flush_log_at_trx_commit, flush_at_commit, PLUGIN_VAR_RQCMDARG,
                   "1: a commit is on disk before it is acknowledged. 2: it is handed to the operating system, and on "
                   "disk within a second. 0: as 2 today; may lose a second of commits with the process",
                   nullptr, nullptr, 1, 0, 2, 0);

MYSQL_SYSVAR_STR(expert_db_options, expert_db_options, PLUGIN_VAR_RQCMDARG | PLUGIN_VAR_READONLY,
                 "RocksDB database options laid over the derived ones, as name=value;name=value. For experts", nullptr,
                 nullptr, "");

MYSQL_SYSVAR_STR(expert_family_options, expert_family_options, PLUGIN_VAR_RQCMDARG | PLUGIN_VAR_READONLY,
                 "RocksDB column family options laid over the derived ones, as name=value;name=value. For experts",
                 nullptr, nullptr, "");

MYSQL_THDVAR_ULONG(lock_wait_timeout, PLUGIN_VAR_RQCMDARG, "Seconds a statement waits for a row lock before it gives up",
                   nullptr, nullptr, 50, 0, kLockWaitSecondsMax, 0);

MYSQL_THDVAR_BOOL(snapshot_isolation, PLUGIN_VAR_OPCMDARG,
                  "Fail a change of a row that was changed after this transaction's snapshot, instead of changing the "
                  "newest version",
                  nullptr, nullptr, false);

MYSQL_THDVAR_BOOL(plain_selects, PLUGIN_VAR_OPCMDARG,
                  "Carry out a SELECT of one row by a unique key, or of one range of an index in its order, where bounds are "
                  "integers, without the server's optimizer, whose plan would be the same",
                  nullptr, nullptr, true);

// Whether the statement brings its own value of the server's variable. NOWAIT and WAIT n reach engines as that. A replica does not set it.
bool BringsLockWaitTimeout(THD* thd) {
  if (thd->slave_thread) return false;
  List_iterator_fast<set_var_base> variables(thd->lex->stmt_var_list);
  while (set_var_base* const one = variables++) {
    if (one->is_system() && std::string_view(static_cast<set_var*>(one)->var->name.str) == "lock_wait_timeout") return true;
  }
  return false;
}

}  // namespace

st_mysql_sys_var* kSystemVariables[] = {MYSQL_SYSVAR(data_dir),
                                        MYSQL_SYSVAR(memory),
                                        MYSQL_SYSVAR(flush_log_at_trx_commit),
                                        MYSQL_SYSVAR(lock_wait_timeout),
                                        MYSQL_SYSVAR(snapshot_isolation),
                                        MYSQL_SYSVAR(plain_selects),
                                        MYSQL_SYSVAR(expert_db_options),
                                        MYSQL_SYSVAR(expert_family_options),
                                        nullptr};

engine::EngineOptions StartOptions() {
  engine::EngineOptions options;
  char path[FN_REFLEN];
  fn_format(path, data_directory, mysql_real_data_home, "", MY_RELATIVE_PATH | MY_UNPACK_FILENAME);
  // As a path an empty name would be the server's data directory.
  if (data_directory != nullptr && *data_directory != '\0') options.directory = path;
  options.memory_bytes = memory_bytes == 0 ? 0 : std::max(memory_bytes, kMemoryBytesMin);
  options.expert_db_options = expert_db_options;
  options.expert_family_options = expert_family_options;
  return options;
}

engine::FlushAtCommit FlushSetting() { return static_cast<engine::FlushAtCommit>(flush_at_commit); }

txn::LockOptions LockSettings(THD* thd) {
  const bool given_in_statement = BringsLockWaitTimeout(thd);
  const unsigned long seconds = given_in_statement ? thd->variables.lock_wait_timeout : THDVAR(thd, lock_wait_timeout);
  txn::LockOptions options;
  options.timeout_ms = static_cast<uint32_t>(std::min<unsigned long long>(seconds * 1000ULL, UINT32_MAX));
  options.wait = given_in_statement && seconds == 0 ? txn::LockWait::kNoWait : txn::LockWait::kWait;
  return options;
}

bool TakesPlainSelects(THD* thd) { return THDVAR(thd, plain_selects); }

bool StrictSnapshot(THD* thd) { return THDVAR(thd, snapshot_isolation); }

}  // namespace cairn::server
