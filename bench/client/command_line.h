// SPDX-License-Identifier: GPL-2.0-only
// Reads a command line of one command word, options with values and flags.
#pragma once

#include <charconv>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace cairn::bench {

// A wrong command line; the message says what is wrong.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Takes an option's value. Throws UsageError, which should name the option.
using OptionSetter = std::function<void(const std::string& option, const std::string& value)>;

struct CommandLine {
  std::map<std::string, OptionSetter> values;  // --name VALUE or --name=VALUE
  std::map<std::string, bool*> flags;          // --name
  std::vector<std::string> commands;           // exactly one must be given
};

// Returns the command, "" when help is asked for. `arguments` is without the program's name. Throws UsageError.
std::string ParseCommandLine(const std::vector<std::string>& arguments, const CommandLine& line);

// A number in [min, max]. Throws UsageError.
template <typename T>
T ParseOption(const std::string& option, const std::string& text, T min, T max) {
  T number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || !(number >= min && number <= max)) {
    throw UsageError(option + ": '" + text + "' is not a number from " + std::to_string(min) + " to " +
                     std::to_string(max));
  }
  return number;
}

// One of the named values. Throws UsageError.
template <typename T>
T Choose(const std::string& option, const std::string& text, const std::map<std::string, T>& choices) {
  if (const auto choice = choices.find(text); choice != choices.end()) return choice->second;
  std::string names;
  for (const auto& [name, value] : choices) names += (names.empty() ? "" : ", ") + name;
  throw UsageError(option + ": '" + text + "' is none of " + names);
}

// Setters that store a value as it is, or a number in [min, max]. `to` must outlive the setter.
inline OptionSetter StoreText(std::string* to) {
  return [to](const std::string&, const std::string& value) { *to = value; };
}
template <typename T, typename Min, typename Max>
OptionSetter StoreNumber(T* to, Min min, Max max) {
  return [=](const std::string& option, const std::string& value) {
    *to = ParseOption<T>(option, value, static_cast<T>(min), static_cast<T>(max));
  };
}

}  // namespace cairn::bench
