// SPDX-License-Identifier: GPL-2.0-only
// The command line: what follows from it, and that everything else has its own message.
#include "options.h"

#include <gtest/gtest.h>

namespace cairn::bench::insert {
namespace {

std::string ErrorOf(const std::vector<std::string>& arguments) {
  try {
    ParseOptions(arguments);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

TEST(Options, GiveEachClientATable) {
  const Options options = ParseOptions({"load", "--socket=/s", "--state=f", "--rows=100", "--clients=3"});
  EXPECT_EQ(options.phase.tables, (std::vector<std::string>{"pi1", "pi2", "pi3"}));
  EXPECT_EQ(options.phase.rows, 100u);
  EXPECT_EQ(options.phase.generation, &kIb2024);
  EXPECT_EQ(options.phase.connection.database, "insertbench");
  const Options one = ParseOptions({"load", "--socket=/s", "--state=f", "--rows=1", "--clients=3", "--one-table"});
  EXPECT_EQ(one.phase.tables, (std::vector<std::string>{"pi1"}));
}

TEST(Options, MakeRowsOfRateAndTime) {
  const Options options = ParseOptions({"run", "--socket=/s", "--state=f", "--rate=500", "--seconds=60",
                                        "--clients=2", "--query=point", "--deletes", "--generation=ib2016"});
  EXPECT_EQ(options.phase.rows, 60'000u);
  EXPECT_EQ(options.phase.query, QueryKind::kPoint);
  EXPECT_TRUE(options.phase.deletes);
  EXPECT_EQ(options.phase.generation, &kIb2016);
}

TEST(Options, RefuseWhatIsWrongAndSayWhat) {
  const std::pair<std::vector<std::string>, const char*> wrong[] = {
      {{"index", "--state=f"}, "give either --socket or --host"},
      {{"index", "--socket=/s"}, "give --state"},
      {{"run", "--socket=/s", "--state=f"}, "give either --rows or --rate and --seconds"},
      {{"run", "--socket=/s", "--state=f", "--rows=1", "--rate=1", "--seconds=1"}, "give either --rows or"},
      {{"run", "--socket=/s", "--state=f", "--seconds=1"}, "--seconds needs --rate"},
      {{"run", "--socket=/s", "--state=f", "--rows=1", "--query=full"}, "'full' is none of none, point, range"},
      {{"index", "--socket=/s", "--state=f", "--generation=ib1"}, "'ib1' is none of ib2016, ib2024"},
      {{"index", "--socket=/s", "--state=f", "--database=a`b"}, "not a usable name"},
  };
  for (const auto& [arguments, message] : wrong) {
    EXPECT_NE(ErrorOf(arguments).find(message), std::string::npos) << message << " <- " << ErrorOf(arguments);
  }
}

}  // namespace
}  // namespace cairn::bench::insert
