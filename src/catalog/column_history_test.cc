// SPDX-License-Identifier: GPL-2.0-only
// What becomes of columns by their numbers, however many there are and wherever they stand.
#include "catalog/column_history.h"

#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace cairn::catalog {
namespace {

using Code = Status::Code;

constexpr uint32_t kColumns = 2000;

ColumnDef Column(uint32_t id) {
  return {.column_id = id, .name = "c" + std::to_string(id), .type = 1, .nullable = true, .data_bytes_max = 4};
}

// With values of its own in rows of earlier versions.
ColumnDef LaterColumn(uint32_t id) {
  ColumnDef column = Column(id);
  column.initial = InitialKind::kValue;
  column.initial_value = "initial " + std::to_string(id);
  return column;
}

// Numbers neither ascend nor are without gaps: columns have changed places and gone.
TableDef Def() {
  TableDef def;
  def.name = "d/t";
  for (uint32_t i = 0; i < kColumns; ++i) {
    const uint32_t id = 1 + 3 * (i * 7 % kColumns);
    def.columns.push_back(id % 2 == 0 ? LaterColumn(id) : Column(id));
  }
  def.indexes.push_back({.id = IndexId(5), .name = "PRIMARY", .kind = IndexKind::kHiddenPrimary, .parts = {}});
  def.greatest_dropped_column_id = 3 * kColumns + 10;
  return def;
}

TEST(ColumnHistory, EachOfManyColumnsIsFoundByItsNumber) {
  const TableDef from = Def();
  TableDef to = from;
  std::ranges::reverse(to.columns);
  for (ColumnDef& column : to.columns) {
    column.name += "_renamed";
    column.initial = InitialKind::kNone;
    column.initial_value.clear();
  }
  // Every tenth one goes; two come, one at the front.
  std::vector<uint32_t> gone;
  std::erase_if(to.columns, [&gone](const ColumnDef& column) {
    if (column.column_id % 10 != 0) return false;
    gone.push_back(column.column_id);
    return true;
  });
  ASSERT_EQ(gone.size(), kColumns / 10);
  to.columns.insert(to.columns.begin(), LaterColumn(0));
  to.columns.push_back(LaterColumn(0));
  const Status status = Succeed(from, &to);
  ASSERT_TRUE(status.ok()) << status.ToString();

  EXPECT_EQ(to.columns.front().column_id, 3 * kColumns + 11);
  EXPECT_EQ(to.columns.back().column_id, 3 * kColumns + 12);
  for (size_t i = 1; i + 1 < to.columns.size(); ++i) {
    const uint32_t id = to.columns[i].column_id;
    ColumnDef expected = id % 2 == 0 ? LaterColumn(id) : Column(id);
    expected.name += "_renamed";
    EXPECT_EQ(to.columns[i], expected) << id;
  }
  // In the order in which they stood.
  std::ranges::reverse(gone);
  ASSERT_EQ(to.dropped_columns.size(), gone.size());
  for (size_t i = 0; i < gone.size(); ++i) EXPECT_EQ(to.dropped_columns[i], Column(gone[i])) << gone[i];
  EXPECT_EQ(to.greatest_dropped_column_id, from.greatest_dropped_column_id);
  EXPECT_EQ(to.schema_version, from.schema_version + 1);
}

TEST(ColumnHistory, AColumnThatIsNotThereOrOfAnotherFormIsNoneOfThese) {
  const TableDef from = Def();
  for (const uint32_t id : {2u, 3 * kColumns, 3 * kColumns + 1}) {
    TableDef to = from;
    to.columns[kColumns / 2].column_id = id;
    EXPECT_TRUE(Succeed(from, &to).Is(Code::kInvalidArgument)) << id;
  }
  for (const size_t place : {size_t{0}, size_t{kColumns / 2}, size_t{kColumns - 1}}) {
    TableDef to = from;
    to.columns[place].data_bytes_max = 8;
    EXPECT_TRUE(Succeed(from, &to).Is(Code::kInvalidArgument)) << place;
  }
}

}  // namespace
}  // namespace cairn::catalog
