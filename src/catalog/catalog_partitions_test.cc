// SPDX-License-Identifier: GPL-2.0-only
// Changes of all partitions of a table, and their repetition after a crash.
#include <gtest/gtest.h>

#include "catalog/catalog_testing.h"

namespace cairn::catalog {
namespace {

using Code = Status::Code;
using Names = std::vector<std::string>;

class CatalogPartitionsTest : public ::testing::Test, public testing::CatalogFixture {
 protected:
  void SetUp() override { OpenBoth(); }
  void Create(const std::string& name, const std::string& version = "old") {
    TableDef def;
    def.name = name;
    def.server_version = version;
    def.columns.push_back({.column_id = 1, .name = "a", .type = 1, .data_bytes_max = 4});
    def.indexes.push_back({.id = {}, .name = "PRIMARY", .kind = IndexKind::kPrimary, .parts = {{.column = 0}}});
    std::shared_ptr<Table> table;
    ASSERT_TRUE(catalog->Create(def, 0, &table).ok());
  }
  std::string VersionOf(const std::string& name) {
    std::shared_ptr<Table> table;
    return catalog->Find(name, &table).ok() ? table->def().server_version : std::string();
  }
  size_t DroppedCount() {
    std::vector<IndexId> dropped;
    EXPECT_TRUE(catalog->DroppedIndexes(&dropped).ok());
    return dropped.size();
  }
  Names All() {
    Names names;
    EXPECT_TRUE(catalog->TableNames({}, &names).ok());
    return names;
  }
};

TEST_F(CatalogPartitionsTest, APartitionNamesItsTable) {
  EXPECT_EQ(Catalog::PartitionedTableOf("d/t#P#p0#SP#s"), "d/t");
  EXPECT_EQ(Catalog::PartitionedTableOf("d/t#p#p0"), "d/t");
  EXPECT_EQ(Catalog::PartitionedTableOf("d/t"), "");
}

TEST_F(CatalogPartitionsTest, AllAreRenamedOrNone) {
  for (const char* name : {"d/t#P#p0", "d/t#P#p1", "d/u#P#p1"}) Create(name);
  const std::vector<Catalog::Renaming> both = {{"d/t#P#p0", "d/u#P#p0"}, {"d/t#P#p1", "d/u#P#p1"}};
  EXPECT_TRUE(catalog->RenamePartitions(both).Is(Code::kAlreadyExists));
  LosePower();
  EXPECT_EQ(All(), (Names{"d/t#P#p0", "d/t#P#p1", "d/u#P#p1"}));
  ASSERT_TRUE(catalog->Drop("d/u#P#p1").ok());
  ASSERT_TRUE(catalog->RenamePartitions({both[0]}).ok());
  ASSERT_TRUE(catalog->RenamePartitions(both).ok());
  LosePower();
  EXPECT_EQ(All(), (Names{"d/u#P#p0", "d/u#P#p1"}));
  EXPECT_TRUE(catalog->RenamePartitions({{"d/x#P#p0", "d/y#P#p0"}}).Is(Code::kNotFound));
}

TEST_F(CatalogPartitionsTest, RecoveryRenamesTheRest) {
  EXPECT_TRUE(catalog->RenamePartitionsOf("d/t", "d/u").Is(Code::kNotFound));
  for (const char* name : {"d/t#P#p0", "d/u#P#p1", "d/tt#P#p1"}) Create(name);
  ASSERT_TRUE(catalog->RenamePartitionsOf("d/t", "d/u").ok());
  ASSERT_TRUE(catalog->RenamePartitionsOf("d/t", "d/u").ok());
  LosePower();
  EXPECT_EQ(All(), (Names{"d/tt#P#p1", "d/u#P#p0", "d/u#P#p1"}));
}

// Those of the new version, renamed before, stay; nobody but a copy pushes others out.
TEST_F(CatalogPartitionsTest, ACopyTakesThePlaceOfWhatThereWas) {
  for (const char* name : {"d/t#P#p0", "d/t#P#p9", "d/#sql-backup-1-2#P#p0"}) Create(name);
  for (const char* name : {"d/#sql-alter-1-2#P#p0", "d/t#P#p1"}) Create(name, "new");
  EXPECT_TRUE(catalog->RenamePartitionsOf("d/#sql-backup-1-2", "d/t").Is(Code::kAlreadyExists));
  ASSERT_TRUE(catalog->RenamePartitionsOf("d/#sql-alter-1-2", "d/t").ok());
  EXPECT_EQ(VersionOf("d/t#P#p0"), "new");
  EXPECT_EQ(DroppedCount(), 2u);
  LosePower();
  EXPECT_EQ(All(), (Names{"d/#sql-backup-1-2#P#p0", "d/t#P#p0", "d/t#P#p1"}));
  EXPECT_EQ(VersionOf("d/t#P#p0"), "new");
  EXPECT_EQ(DroppedCount(), 2u);
}

// EXCHANGE PARTITION leaves a table with partitions of several versions. Of a copy there is one.
TEST_F(CatalogPartitionsTest, WhatACopyWasToReplaceComesBackWhateverItsVersions) {
  for (const char* copy : {"d/#sql-backup-1-2", "d/#sql-alter-1-2"}) {
    Create(copy + std::string("#P#p0"), "older");
    Create(copy + std::string("#P#p1"), "newer");
  }
  ASSERT_TRUE(catalog->RenamePartitionsOf("d/#sql-backup-1-2", "d/t").ok());
  EXPECT_TRUE(catalog->RenamePartitionsOf("d/#sql-alter-1-2", "d/u").Is(Code::kAlreadyExists));
  LosePower();
  EXPECT_EQ(All(), (Names{"d/#sql-alter-1-2#P#p0", "d/#sql-alter-1-2#P#p1", "d/t#P#p0", "d/t#P#p1"}));
  EXPECT_EQ(VersionOf("d/t#P#p0"), "older");
  EXPECT_EQ(VersionOf("d/t#P#p1"), "newer");
}

TEST_F(CatalogPartitionsTest, AllAreDroppedAtOnce) {
  for (const char* name : {"d/t", "d/t#P#p0", "d/t#P#p1", "d/tt#P#p0"}) Create(name);
  ASSERT_TRUE(catalog->DropPartitionsOf("d/t").ok());
  ASSERT_TRUE(catalog->DropPartitionsOf("d/t").ok());
  EXPECT_EQ(DroppedCount(), 2u);
  LosePower();
  EXPECT_EQ(DroppedCount(), 2u);
  EXPECT_EQ(All(), (Names{"d/t", "d/tt#P#p0"}));
}

}  // namespace
}  // namespace cairn::catalog
