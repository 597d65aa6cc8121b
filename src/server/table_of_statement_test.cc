// SPDX-License-Identifier: GPL-2.0-only
// What is noted of a table holds for it alone, and in one statement.
#include "server/table_of_statement.h"

#include <gtest/gtest.h>

namespace cairn::server {
namespace {

TEST(TableOfStatementTest, NothingIsNotedAtFirst) {
  const TableOfStatement noted;
  EXPECT_FALSE(noted.Is("d/t", 0));
  EXPECT_FALSE(noted.Is("d/t", 1));
}

TEST(TableOfStatementTest, HoldsForOneTableInOneStatement) {
  TableOfStatement noted;
  noted.Set("d/t", 7);
  EXPECT_TRUE(noted.Is("d/t", 7));
  EXPECT_FALSE(noted.Is("d/t", 8));
  EXPECT_FALSE(noted.Is("d/u", 7));
  noted.Set("d/u", 7);
  EXPECT_TRUE(noted.Is("d/u", 7));
  EXPECT_FALSE(noted.Is("d/t", 7));
}

}  // namespace
}  // namespace cairn::server
