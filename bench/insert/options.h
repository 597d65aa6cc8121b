// SPDX-License-Identifier: GPL-2.0-only
// The command line.
#pragma once

#include <string>
#include <vector>

#include "command_line.h"
#include "phase.h"
#include "schema.h"

namespace cairn::bench::insert {

struct Options {
  std::string command;
  bool help = false;
  SchemaOptions schema;
  PhaseOptions phase;  // with the connection, its database and the tables' names
  bool one_table = false;
  bool one_alter = false;
  double seconds = 0;  // of a step at a given rate
  std::string state_path;
  std::string json_path;  // "" means stdout
};

// `arguments` without the program's name. Throws UsageError.
Options ParseOptions(const std::vector<std::string>& arguments);

// The text of --help.
const char* UsageText();

}  // namespace cairn::bench::insert
