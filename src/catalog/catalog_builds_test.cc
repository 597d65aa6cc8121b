// SPDX-License-Identifier: GPL-2.0-only
// The ids of indexes that are being built, and what loss of power leaves of them.
#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

#include "catalog/catalog.h"
#include "catalog/catalog_testing.h"

namespace cairn::catalog {
namespace {

class CatalogBuildsTest : public ::testing::Test, public testing::CatalogFixture {
 protected:
  void SetUp() override {
    OpenBoth();
    TableDef def;
    def.name = "d/one";
    def.columns.push_back({.column_id = 1, .name = "a", .type = 1, .data_bytes_max = 4});
    def.indexes.push_back({.id = {}, .name = "PRIMARY", .kind = IndexKind::kPrimary, .parts = {{.column = 0}}});
    std::shared_ptr<Table> table;
    ASSERT_TRUE(catalog->Create(def, 0, &table).ok());
  }
  // For one index and its delta.
  std::vector<IndexId> TakeIds() {
    const IndexDef index{.id = {}, .name = "k", .kind = IndexKind::kSecondary, .parts = {{.column = 0}}};
    std::vector<IndexId> ids;
    EXPECT_TRUE(catalog->TakeIdsForBuild({&index, 1}, &ids).ok());
    EXPECT_EQ(ids.size(), 2u);
    return ids;
  }
  std::vector<IndexId> Dropped() {
    std::vector<IndexId> indexes;
    EXPECT_TRUE(catalog->DroppedIndexes(&indexes).ok());
    std::ranges::sort(indexes);
    return indexes;
  }
};

// ADD INDEX begins a build for each partition while everybody waits.
TEST_F(CatalogBuildsTest, IdsOfManyBuildsAreSyncedAtOnceAndOnlyWhenFilesAreToCome) {
  std::vector<IndexId> taken;
  const auto begin = [&] {
    const std::vector<IndexId> ids = TakeIds();
    taken.insert(taken.end(), ids.begin(), ids.end());
  };
  const uint64_t before = Number("wal_synced");
  for (int partition = 0; partition < 5; ++partition) begin();
  EXPECT_EQ(Number("wal_synced"), before);
  for (int partition = 0; partition < 5; ++partition) ASSERT_TRUE(catalog->SyncIdsForBuild().ok());
  EXPECT_EQ(Number("wal_synced"), before + 1);
  begin();
  ASSERT_TRUE(catalog->SyncIdsForBuild().ok());
  EXPECT_EQ(Number("wal_synced"), before + 2);
  LosePower();
  std::ranges::sort(taken);
  EXPECT_EQ(Dropped(), taken);
}

// Nothing has their entries then.
TEST_F(CatalogBuildsTest, IdsThatPowerTakesAreGivenAgain) {
  const std::vector<IndexId> lost = TakeIds();
  LosePower();
  EXPECT_EQ(Dropped(), std::vector<IndexId>());
  EXPECT_EQ(TakeIds(), lost);
}

// While they are built, afterwards, and once the index is dropped: what the live dictionary has is what a restart finds.
TEST_F(CatalogBuildsTest, WhatABuildLeavesIsDropped) {
  const std::vector<IndexId> ids = TakeIds();
  EXPECT_EQ(Dropped(), std::vector<IndexId>());
  std::shared_ptr<Table> table;
  ASSERT_TRUE(catalog->Find("d/one", &table).ok());
  TableDef def = table->def();
  def.indexes.push_back({.id = ids[0], .name = "k", .kind = IndexKind::kSecondary, .parts = {{.column = 0}}});
  ASSERT_TRUE(catalog->ReplaceIndexes({{"d/one", def}}).ok());
  EXPECT_EQ(Dropped(), std::vector<IndexId>());
  catalog->EndBuild({&ids[0], 1}, {&ids[1], 1}, 1);
  catalog->ReleaseEndedBuilds(1);
  EXPECT_EQ(Dropped(), std::vector<IndexId>{ids[1]});
  def.indexes.pop_back();
  ASSERT_TRUE(catalog->ReplaceIndexes({{"d/one", def}}).ok());
  std::vector<IndexId> both = ids;
  std::ranges::sort(both);
  EXPECT_EQ(Dropped(), both);
  LosePower();
  EXPECT_EQ(Dropped(), both);
}

// A log that cannot be synced is not taken for one that was.
TEST_F(CatalogBuildsTest, AFailedSyncIsNone) {
  TakeIds();
  env.FailWrites(".log", 1);
  EXPECT_FALSE(catalog->SyncIdsForBuild().ok());
  EXPECT_FALSE(catalog->SyncIdsForBuild().ok());
  env.Heal();
  LosePower();
}

}  // namespace
}  // namespace cairn::catalog
