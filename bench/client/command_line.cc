// SPDX-License-Identifier: GPL-2.0-only
// Reads a command line of one command word, options with values and flags.
#include "command_line.h"

#include <algorithm>

namespace cairn::bench {
namespace {

std::string Joined(const std::vector<std::string>& words) {
  std::vector<std::string> sorted = words;
  std::ranges::sort(sorted);
  std::string text;
  for (const std::string& word : sorted) text += (text.empty() ? "" : ", ") + word;
  return text;
}

}  // namespace

std::string ParseCommandLine(const std::vector<std::string>& arguments, const CommandLine& line) {
  std::string command;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    const size_t equals = argument.starts_with("--") ? argument.find('=') : std::string::npos;
    const std::string name = argument.substr(0, equals);
    if (name == "--help" || name == "-h") return "";
    if (const auto flag = line.flags.find(name); flag != line.flags.end() && equals == std::string::npos) {
      *flag->second = true;
    } else if (const auto setter = line.values.find(name); setter != line.values.end()) {
      if (equals == std::string::npos && i + 1 == arguments.size()) throw UsageError(name + " needs a value");
      setter->second(name, equals == std::string::npos ? arguments[++i] : argument.substr(equals + 1));
    } else if (!name.starts_with("-") && command.empty()) {
      if (std::ranges::find(line.commands, name) == line.commands.end()) {
        throw UsageError("command: '" + name + "' is none of " + Joined(line.commands));
      }
      command = name;
    } else {
      throw UsageError("unknown argument '" + argument + "'");
    }
  }
  if (command.empty()) throw UsageError("give a command: one of " + Joined(line.commands));
  return command;
}

}  // namespace cairn::bench
