// SPDX-License-Identifier: GPL-2.0-only
// The dictionary's indexes against the server's.
#include "catalog/table_access.h"

#include <gtest/gtest.h>

#include "catalog/testing.h"

namespace cairn::catalog {
namespace {

using testing::MakeIndex;

std::vector<IndexDef> Sound() {
  return {MakeIndex(IndexKind::kPrimary, "PRIMARY", {{.column = 0}}, 7),
          MakeIndex(IndexKind::kUnique, "u", {{.column = 1, .prefix_bytes = 4}}, 8),
          MakeIndex(IndexKind::kSecondary, "s", {{.column = 1}, {.column = 0, .descending = true}}, 9)};
}

// What is said of a dictionary with Sound() when the server has `of_server`; "" when all is well.
std::string Said(const std::vector<IndexDef>& of_server) {
  TableDef def;
  def.name = "db/t";
  def.indexes = Sound();
  const Status status = CheckSameIndexes(def, of_server);
  EXPECT_TRUE(status.ok() || status.Is(Status::Code::kCorruption));
  return std::string(status.message());
}

TEST(CheckSameIndexes, IdsDoNotMatter) {
  auto indexes = Sound();
  for (IndexDef& index : indexes) index.id = IndexId(0);
  EXPECT_EQ(Said(indexes), "");
}

TEST(CheckSameIndexes, EachDifferenceNamesTableAndIndex) {
  auto indexes = Sound();
  indexes[1].kind = IndexKind::kSecondary;
  EXPECT_EQ(Said(indexes), "index u of db/t is of another kind in the dictionary");
  indexes = Sound();
  indexes[2].name = "other";
  EXPECT_EQ(Said(indexes), "index other of db/t has the place of s of the dictionary");
  indexes = Sound();
  indexes[1].parts[0].prefix_bytes = 8;
  EXPECT_EQ(Said(indexes), "index u of db/t has other parts in the dictionary");
  indexes = Sound();
  indexes[2].parts[1].descending = false;
  EXPECT_EQ(Said(indexes), "index s of db/t has other parts in the dictionary");
  indexes = Sound();
  indexes[2].parts.pop_back();
  EXPECT_EQ(Said(indexes), "index s of db/t has other parts in the dictionary");
  indexes = Sound();
  indexes[0] = MakeIndex(IndexKind::kHiddenPrimary, "", {});
  EXPECT_EQ(Said(indexes), "index (hidden primary key) of db/t is of another kind in the dictionary");
}

TEST(CheckSameIndexes, OneMoreOrLessIsNamed) {
  auto indexes = Sound();
  indexes.pop_back();
  EXPECT_EQ(Said(indexes), "index s of db/t is in the dictionary, not in the server's definition");
  indexes = Sound();
  indexes.push_back(MakeIndex(IndexKind::kSecondary, "more", {{.column = 1}}));
  EXPECT_EQ(Said(indexes), "index more of db/t is in the server's definition, not in the dictionary");
}

}  // namespace
}  // namespace cairn::catalog
