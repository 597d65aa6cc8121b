// SPDX-License-Identifier: GPL-2.0-only
// The command line: what is accepted, and that everything else has its own message.
#include "options.h"

#include <gtest/gtest.h>

namespace cairn::bench::linkbench {
namespace {

std::string ErrorOf(const std::vector<std::string>& arguments) {
  try {
    ParseOptions(arguments);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

TEST(Options, HaveTheDocumentedDefaults) {
  const Options options = ParseOptions({"all", "--socket", "/s"});
  EXPECT_TRUE(options.Runs("load") && options.Runs("run") && options.Runs("validate"));
  EXPECT_EQ(options.size.ids, 1'000'000u);
  EXPECT_EQ(options.size.degree_max, 100'000u);
  EXPECT_EQ(options.limits.seconds, 60);
  EXPECT_EQ(options.limits.requests, 0u);
  EXPECT_EQ(options.connection.database, "linkdb");
  EXPECT_EQ(options.profile->name, "fb2011");
}

TEST(Options, TakeValuesInBothForms) {
  const Options options = ParseOptions({"run", "--socket=/s", "--ids=5000", "--requests", "10", "--max-degree", "none",
                                        "--profile=fb2017", "--size-path=a", "--size-path=b"});
  EXPECT_EQ(options.size.ids, 5000u);
  EXPECT_EQ(options.size.degree_max, 0u);
  EXPECT_EQ(options.limits.requests, 10u);
  EXPECT_EQ(options.limits.seconds, 0) << "a number of requests replaces the default time";
  EXPECT_EQ(options.profile->name, "fb2017");
  EXPECT_EQ(options.metrics.size_paths, (std::vector<std::string>{"a", "b"}));
}

TEST(Options, RefuseWhatIsWrongAndSayWhat) {
  const std::pair<std::vector<std::string>, const char*> wrong[] = {
      {{}, "give a command"},
      {{"dance", "--socket=/s"}, "'dance' is none of all, load, run, validate"},
      {{"run"}, "give either --socket or --host"},
      {{"run", "--socket=/s", "--host=h"}, "give either --socket or --host"},
      {{"run", "--socket"}, "--socket needs a value"},
      {{"run", "--socket=/s", "--ids=0"}, "--ids: '0' is not a number from 1"},
      {{"run", "--socket=/s", "--ids=12x"}, "'12x' is not a number"},
      {{"run", "--socket=/s", "--threads=-1"}, "'-1' is not a number"},
      {{"run", "--socket=/s", "--seconds=nan"}, "'nan' is not a number"},
      {{"run", "--socket=/s", "--engine=isam"}, "'isam' is none of cairn, innodb, innodb-zlib, myrocks"},
      {{"run", "--socket=/s", "--max-degree=few"}, "--max-degree: 'few' is not a number"},
      {{"run", "--socket=/s", "--database=a`b"}, "not a usable name"},
      {{"run", "--socket=/s", "--isolation=none"}, "'none' is none of read-committed, repeatable-read"},
      {{"run", "--socket=/s", "--bogus"}, "unknown argument '--bogus'"},
      {{"run", "load", "--socket=/s"}, "unknown argument 'load'"},
  };
  for (const auto& [arguments, message] : wrong) {
    EXPECT_NE(ErrorOf(arguments).find(message), std::string::npos) << message << " <- " << ErrorOf(arguments);
  }
}

}  // namespace
}  // namespace cairn::bench::linkbench
