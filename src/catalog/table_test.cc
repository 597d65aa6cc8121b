// SPDX-License-Identifier: GPL-2.0-only
// The numbers of a table that change while it is used.
#include "catalog/table.h"

#include <gtest/gtest.h>

namespace cairn::catalog {
namespace {

void Sample(Table* table) { table->SetStatistics({}, table->row_count(), table->changed_rows()); }

TEST(TableTest, StatisticsAreStaleAfterGrowthByAHalf) {
  Table table(TableDef(), {.row_count = 100, .auto_increment_next = 0}, 1, 0);
  EXPECT_TRUE(table.StatisticsAreStale());
  Sample(&table);
  table.AddRows(66, 66);
  EXPECT_FALSE(table.StatisticsAreStale());
  table.AddRows(1, 1);
  EXPECT_TRUE(table.StatisticsAreStale());
  Sample(&table);
  EXPECT_FALSE(table.StatisticsAreStale());
  table.InvalidateStatistics();
  EXPECT_TRUE(table.StatisticsAreStale());
}

TEST(TableTest, StatisticsAreStaleAfterChangesThatLeaveTheRowCountAlone) {
  Table table(TableDef(), {.row_count = 10000, .auto_increment_next = 0}, 1, 0);
  Sample(&table);
  table.AddRows(0, 1000);
  EXPECT_FALSE(table.StatisticsAreStale());
  table.AddRows(0, 1);
  EXPECT_TRUE(table.StatisticsAreStale());
  // Rows that come and go.
  Sample(&table);
  table.AddRows(-600, 600);
  EXPECT_FALSE(table.StatisticsAreStale());
  table.AddRows(600, 600);
  EXPECT_TRUE(table.StatisticsAreStale());
}

TEST(TableTest, AFewChangesOfASmallTableAreNotWorthASample) {
  Table table(TableDef(), {.row_count = 100, .auto_increment_next = 0}, 1, 0);
  Sample(&table);
  table.AddRows(0, 200);
  EXPECT_FALSE(table.StatisticsAreStale());
  table.AddRows(0, 1);
  EXPECT_TRUE(table.StatisticsAreStale());
}

TEST(TableTest, OneSampleIsMadeAtATime) {
  Table table(TableDef(), {.row_count = 100, .auto_increment_next = 0}, 1, 0);
  EXPECT_TRUE(table.BeginSample());
  EXPECT_FALSE(table.BeginSample());
  table.EndSample();
  EXPECT_TRUE(table.BeginSample());
}

TEST(TableTest, WhatChangesDuringASampleCounts) {
  Table table(TableDef(), {.row_count = 1000, .auto_increment_next = 0}, 1, 0);
  const uint64_t changed = table.changed_rows();
  table.AddRows(0, 1000);
  table.SetStatistics({}, 1000, changed);
  EXPECT_TRUE(table.StatisticsAreStale());
}

}  // namespace
}  // namespace cairn::catalog
