// SPDX-License-Identifier: GPL-2.0-only
// The plugin: start and stop of the engine, and its declaration to the server.
#include "server/server_headers.h"

#include <unistd.h>

#include <fstream>

#include "engine/engine.h"
#include "server/handlerton.h"
#include "server/session.h"
#include "server/show_status.h"
#include "server/sysvars.h"
#include "server/wait_observer.h"

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

// A directory that holds a store holds tables, perhaps the only copy of them.
bool HoldsStore(const std::string& directory) { return access((directory + "/CURRENT").c_str(), F_OK) == 0; }

// A file in the server's data directory that says where its store is: so that a store that has gone
// (not mounted, moved) is missed instead of being replaced by an empty one.
std::string WitnessPath() { return std::string(mysql_real_data_home) + "cairn_store"; }

// kIoError when this server has had a store and it is not there.
Status CheckWitness(const std::string& directory) {
  std::ifstream witness(WitnessPath());
  std::string recorded;
  if (!witness || !std::getline(witness, recorded) || HoldsStore(directory)) return Status::Ok();
  return Status::IoError("this server keeps tables in " + recorded + ", but " + directory +
                         " holds no store. Bring it back, or remove the file " + WitnessPath() +
                         " to begin with an empty one");
}

Status WriteWitness(const std::string& directory) {
  std::ofstream witness(WitnessPath(), std::ios::trunc);
  witness << directory << "\n" << std::flush;
  return witness ? Status::Ok() : Status::IoError("cannot write " + WitnessPath());
}

// A store in the data directory is no database of the user's.
void HideDirectory(const std::string& directory) {
  const std::string home(mysql_real_data_home);
  if (!directory.starts_with(home)) return;
  std::string name = directory.substr(home.size());
  while (!name.empty() && name.back() == '/') name.pop_back();
  if (!name.empty() && name.find('/') == std::string::npos) ignore_db_dirs_append(name.c_str());
}

int Start(void* plugin) {
  engine::EngineOptions options = StartOptions();
  options.log = &server_log;
  options.observer = &wait_observer;
  std::unique_ptr<engine::Engine> engine;
  HideDirectory(options.directory);
  Status status = CheckWitness(options.directory);
  const bool missed = !status.ok();
  if (status.ok()) status = engine::Engine::Start(options, &engine);
  if (status.ok()) status = WriteWitness(options.directory);
  if (!status.ok()) {
    sql_print_error("CAIRN: cannot start on %s: %s", options.directory.c_str(), status.ToString().c_str());
    if (!mysqld_server_started && (missed || HoldsStore(options.directory))) {
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
