// SPDX-License-Identifier: GPL-2.0-only
// The plugin: start and stop of the engine, and its declaration to the server.
#include "server/server_headers.h"

#include <algorithm>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "server/handlerton.h"
#include "server/session.h"
#include "server/show_status.h"
#include "server/sysvars.h"
#include "server/wait_observer.h"
#include "server/witness.h"
#include "server/xid_name.h"

// Exported by the server for storage engines, declared in none of its headers.
bool ignore_db_dirs_append(const char* directory_name);

namespace cairn::server {
namespace {

class ServerLog final : public LogSink {
 public:
  void Log(LogLevel level, std::string_view line) override {
    const int length = static_cast<int>(line.size());
    switch (level) {
      case LogLevel::kInfo: sql_print_information("CAIRN: %.*s", length, line.data()); break;
      case LogLevel::kWarning: sql_print_warning("CAIRN: %.*s", length, line.data()); break;
      case LogLevel::kError: sql_print_error("CAIRN: %.*s", length, line.data()); break;
    }
  }
};

ServerLog server_log;
ServerWaitObserver wait_observer;

std::string WitnessPath() { return std::string(mysql_real_data_home) + "cairn_store"; }

// A store in the data directory is no database of the user's.
void HideDirectory(const std::string& directory) {
  const std::string home(mysql_real_data_home);
  if (!directory.starts_with(home)) return;
  std::string name = directory.substr(home.size());
  while (!name.empty() && name.back() == '/') name.pop_back();
  if (!name.empty() && name.find('/') == std::string::npos) ignore_db_dirs_append(name.c_str());
}

// What a server that was started without the plugin has not asked its binary log about, nobody can end any more but at a start.
bool HasUndecided(engine::Engine* engine) {
  const std::vector<std::string> names = engine->transactions().ListPrepared();
  return std::any_of(names.begin(), names.end(), [](const std::string& name) {
    XID xid;
    return XidOfName(name, &xid) && xid.get_my_xid() != 0;
  });
}

int Start(void* plugin) {
  engine::EngineOptions options = StartOptions();
  options.log = &server_log;
  options.observer = &wait_observer;
  options.name_text = TextOfXidName;
  options.on_prepared = ListXid;
  std::unique_ptr<engine::Engine> engine;
  HideDirectory(options.directory);
  Status status = CheckWitness(WitnessPath(), options.directory);
  const bool is_missed = status.Is(Status::Code::kIoError);
  if (status.ok()) status = engine::Engine::Start(options, &engine);
  if (!status.ok()) {
    sql_print_error("CAIRN: cannot start on %s: %s", options.directory.c_str(), status.ToString().c_str());
    bool holds = false;
    if (!options.directory.empty()) (void)FindStore(options.directory, &holds);
    if (!mysqld_server_started && (is_missed || holds)) {
      sql_print_error("CAIRN: the server does not start without the engine, because its tables exist or may exist. Mend the cause above. After a crash a "
                      "start without the plugin would lose what the binary log knows of its transactions");
      unireg_abort(1);
    }
    return 1;
  }
  if (mysqld_server_started && HasUndecided(engine.get())) {
    sql_print_error("CAIRN: not loaded: of prepared transactions the binary log decides, at a start of the server with the engine. Stop it cleanly, and see \"When the "
                    "plugin was left out of a start\" in docs/errors.md");
    return 1;
  }
  // The tables are there all the same.
  if (const Status written = WriteWitness(WitnessPath(), options.directory); !written.ok()) {
    sql_print_warning("CAIRN: a store that has gone may not be missed at the next start: %s", written.ToString().c_str());
  }
  FillHandlerton(static_cast<handlerton*>(plugin));
  SetGlobals(std::move(engine), static_cast<handlerton*>(plugin));
  return 0;
}

int Stop(void*) {
  SetGlobals(nullptr, nullptr);
  return 0;
}

st_mysql_storage_engine storage_engine = {MYSQL_HANDLERTON_INTERFACE_VERSION};

}  // namespace
}  // namespace cairn::server

maria_declare_plugin(cairn){
    MYSQL_STORAGE_ENGINE_PLUGIN,
    &cairn::server::storage_engine,
    "CAIRN",
    "The Cairn team",
    "Transactional LSM storage engine for data larger than memory",
    PLUGIN_LICENSE_GPL,
    cairn::server::Start,
    cairn::server::Stop,
    0x0001,
    cairn::server::kStatusVariables,
    cairn::server::kSystemVariables,
    "0.1",
    MariaDB_PLUGIN_MATURITY_GAMMA,
} maria_declare_plugin_end;
