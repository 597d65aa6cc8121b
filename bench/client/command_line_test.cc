// SPDX-License-Identifier: GPL-2.0-only
// The command line's form, and the numbers and names in it.
#include "command_line.h"

#include <gtest/gtest.h>

namespace cairn::bench {
namespace {

struct Parsed {
  std::string command;
  std::string name;
  unsigned count = 0;
  bool fast = false;
  std::string error;
};

Parsed Parse(const std::vector<std::string>& arguments) {
  Parsed parsed;
  try {
    parsed.command = ParseCommandLine(
        arguments, {.values = {{"--name", StoreText(&parsed.name)}, {"--count", StoreNumber(&parsed.count, 1, 9)}},
                    .flags = {{"--fast", &parsed.fast}},
                    .commands = {"run", "load"}});
  } catch (const UsageError& error) {
    parsed.error = error.what();
  }
  return parsed;
}

TEST(CommandLine, TakesValuesInBothFormsAndFlags) {
  const Parsed parsed = Parse({"--name=a=b", "run", "--count", "9", "--fast"});
  EXPECT_EQ(parsed.error, "");
  EXPECT_EQ(parsed.command, "run");
  EXPECT_EQ(parsed.name, "a=b");
  EXPECT_EQ(parsed.count, 9u);
  EXPECT_TRUE(parsed.fast);
}

TEST(CommandLine, HasNoCommandWhenHelpIsAskedFor) { EXPECT_EQ(Parse({"run", "--help"}).command, ""); }

TEST(CommandLine, RefusesWhatIsWrongAndSaysWhat) {
  EXPECT_EQ(Parse({}).error, "give a command: one of load, run");
  EXPECT_EQ(Parse({"dance"}).error, "command: 'dance' is none of load, run");
  EXPECT_EQ(Parse({"run", "load"}).error, "unknown argument 'load'");
  EXPECT_EQ(Parse({"run", "--fast=1"}).error, "unknown argument '--fast=1'");
  EXPECT_EQ(Parse({"run", "--name"}).error, "--name needs a value");
  for (const char* number : {"0", "10", "-1", "1x", ""}) {
    EXPECT_EQ(Parse({"run", "--count", number}).error,
              std::string("--count: '") + number + "' is not a number from 1 to 9");
  }
}

TEST(CommandLine, ChoosesByName) {
  const std::map<std::string, int> choices = {{"one", 1}, {"two", 2}};
  EXPECT_EQ(Choose("--n", "two", choices), 2);
  EXPECT_THROW(Choose("--n", "three", choices), UsageError);
}

}  // namespace
}  // namespace cairn::bench
