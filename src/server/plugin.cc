// SPDX-License-Identifier: GPL-2.0-only
// The plugin: start and stop of the engine, and its declaration to the server.
#include "server/server_headers.h"

#include <unistd.h>

#include "engine/engine.h"
#include "server/handlerton.h"
#include "server/session.h"
#include "server/show_status.h"
#include "server/sysvars.h"
#include "server/wait_observer.h"

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

// A directory that holds a store holds tables, perhaps the only copy of them.
bool HoldsStore(const std::string& directory) { return access((directory + "/CURRENT").c_str(), F_OK) == 0; }

int Start(void* plugin) {
  engine::EngineOptions options = StartOptions();
  options.log = &server_log;
  options.observer = &wait_observer;
  std::unique_ptr<engine::Engine> engine;
  const Status status = engine::Engine::Start(options, &engine);
  if (!status.ok()) {
    sql_print_error("CAIRN: cannot start on %s: %s", options.directory.c_str(), status.ToString().c_str());
    if (!mysqld_server_started && HoldsStore(options.directory)) {
      sql_print_error("CAIRN: the server does not start without the engine, because its tables exist. Mend the cause "
                      "above, or start without loading the plugin");
      unireg_abort(1);
    }
    return 1;
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
