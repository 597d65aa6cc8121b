// SPDX-License-Identifier: GPL-2.0-only
// Sets of columns, held against plain ones, around the ends of words.
#include "codec/column_set.h"

#include <algorithm>
#include <iterator>
#include <random>
#include <set>

#include <gtest/gtest.h>

namespace cairn::codec {
namespace {

class ColumnSetTest : public ::testing::TestWithParam<size_t> {
 protected:
  struct Both {
    explicit Both(size_t column_count) : columns(column_count) {}
    void Add(size_t column) {
      columns.Add(column);
      model.insert(column);
    }
    void Remove(size_t column) {
      columns.Remove(column);
      model.erase(column);
    }
    ColumnSet columns;
    std::set<size_t> model;
  };

  void ExpectSame(const Both& both) const {
    EXPECT_EQ(both.columns.column_count(), count);
    EXPECT_EQ(both.columns.count(), both.model.size());
    EXPECT_EQ(both.columns.empty(), both.model.empty());
    // No column behind the last one is in a set, also within its last word and behind all of them.
    for (size_t column = 0; column < count + 130; ++column) {
      ASSERT_EQ(both.columns.Has(column), both.model.contains(column)) << column;
    }
  }
  Both Random() {
    Both both(count);
    for (size_t column = 0; column < count; ++column) {
      if (random() % 4 == 0) both.Add(column);
    }
    return both;
  }

  const size_t count = GetParam();
  std::mt19937 random{static_cast<unsigned>(GetParam())};
};

TEST_P(ColumnSetTest, AllHasEachOnce) {
  Both added(count);
  ExpectSame(added);
  for (size_t column = 0; column < count; ++column) added.Add(column);
  ExpectSame(added);
  EXPECT_EQ(ColumnSet::All(count), added.columns);
  EXPECT_EQ(ColumnSet::All(count).count(), count);
  EXPECT_EQ(ColumnSet::All(count).Intersects(added.columns), count != 0);
}

TEST_P(ColumnSetTest, OneColumnIsThatOneAlone) {
  for (size_t column = 0; column < count; ++column) {
    Both one(count);
    one.Add(column);
    ExpectSame(one);
    ColumnSet others = ColumnSet::All(count);
    others.Remove(column);
    EXPECT_EQ(others.count(), count - 1);
    EXPECT_FALSE(others.Has(column));
    EXPECT_FALSE(others.Intersects(one.columns));
    EXPECT_FALSE(one.columns.Intersects(others));
    EXPECT_NE(others, ColumnSet::All(count));
    others.AddAll(one.columns);
    EXPECT_EQ(others, ColumnSet::All(count));
    one.columns.Clear();
    EXPECT_EQ(one.columns, ColumnSet(count));
  }
}

TEST_P(ColumnSetTest, AgreesWithPlainSets) {
  for (int round = 0; round < 50; ++round) {
    Both one = Random();
    const Both other = Random();
    ExpectSame(one);
    std::set<size_t> shared;
    std::ranges::set_intersection(one.model, other.model, std::inserter(shared, shared.end()));
    EXPECT_EQ(one.columns.Intersects(other.columns), !shared.empty());
    EXPECT_EQ(one.columns == other.columns, one.model == other.model);
    one.columns.AddAll(other.columns);
    one.model.insert(other.model.begin(), other.model.end());
    ExpectSame(one);
    for (const size_t column : shared) one.Remove(column);
    ExpectSame(one);
    Both copy = one;
    EXPECT_EQ(copy.columns, one.columns);
    one.columns.Clear();
    one.model.clear();
    ExpectSame(one);
    ExpectSame(copy);
  }
}

TEST_P(ColumnSetTest, SetsOverOtherColumnsAreOthers) {
  EXPECT_NE(ColumnSet(count), ColumnSet(count + 1));
  EXPECT_NE(ColumnSet::All(count), ColumnSet::All(count + 1));
}

INSTANTIATE_TEST_SUITE_P(Counts, ColumnSetTest, ::testing::Values(0, 1, 63, 64, 65, 128, 130));

}  // namespace
}  // namespace cairn::codec
