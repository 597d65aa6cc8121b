// SPDX-License-Identifier: GPL-2.0-only
// The dictionary's indexes against the server's, histories against the columns, and who shares a table's codecs.
#include "catalog/table_access.h"

#include <gtest/gtest.h>

#include <memory>
#include <utility>

#include "catalog/plain_layout.h"
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

// Of two integers, the second of which came later.
TableDef AlteredDef() {
  codec::testing::LayoutBuilder builder;
  builder.Add(codec::ColumnType::kInteger, 4, false).Add(codec::ColumnType::kInteger, 4, true);
  TableDef def = testing::MakeDef("db/t", builder.layout(), {MakeIndex(IndexKind::kPrimary, "PRIMARY", {{.column = 0}}, 7)});
  def.schema_version = 2;
  def.columns[1].initial = InitialKind::kNull;
  def.earlier_versions = {{1}};
  return def;
}

std::shared_ptr<Table> TableOf(TableDef def) {
  return std::make_shared<Table>(std::move(def), store::TableCounters(), 1, 0);
}

Status Open(const std::shared_ptr<Table>& table, std::shared_ptr<TableAccess>* access) {
  return PlainAccessOf(table, nullptr, access);
}

TEST(TableAccess, HistoriesThatDoNotFitTheColumnsAreRefusedWhenATableIsOpened) {
  const auto said = [](TableDef def) {
    std::shared_ptr<TableAccess> access;
    const Status status = Open(TableOf(std::move(def)), &access);
    EXPECT_EQ(access == nullptr, status.Is(Status::Code::kCorruption));
    return std::string(status.message());
  };
  EXPECT_EQ(said(AlteredDef()), "");
  const std::string refused = "the dictionary's earlier schema versions of db/t do not fit its columns";
  TableDef def = AlteredDef();
  def.columns[1].initial = InitialKind::kNone;
  EXPECT_EQ(said(def), refused);
  def = AlteredDef();
  def.columns[1].initial = InitialKind::kValue;
  def.columns[1].initial_value = "123";
  EXPECT_EQ(said(def), refused);
  def = AlteredDef();
  def.earlier_versions = {{1, 3}};
  EXPECT_EQ(said(def), refused);
}

TEST(PlainAccess, IsSharedAsLongAsItIsUsed) {
  const std::shared_ptr<Table> table = TableOf(AlteredDef());
  std::shared_ptr<TableAccess> one, other;
  ASSERT_TRUE(Open(table, &one).ok());
  ASSERT_TRUE(Open(table, &other).ok());
  EXPECT_EQ(one, other);
  EXPECT_EQ(&one->table(), table.get());
  ASSERT_TRUE(Open(TableOf(AlteredDef()), &other).ok());
  EXPECT_NE(one, other);
  const std::weak_ptr<TableAccess> unused = one;
  one.reset();
  EXPECT_TRUE(unused.expired());
  EXPECT_EQ(table->plain_access(), nullptr);
  EXPECT_TRUE(Open(table, &one).ok());
}

}  // namespace
}  // namespace cairn::catalog
