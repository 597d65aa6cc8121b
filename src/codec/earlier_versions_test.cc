// SPDX-License-Identifier: GPL-2.0-only
// What tables with long histories take.
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "base/heap_testing.h"
#include "codec/row_codec.h"
#include "codec/testing.h"

namespace cairn::codec {
namespace {

constexpr uint32_t kVersions = 255, kColumns = 4096;
constexpr int64_t kOneMiB = 1 << 20;

// As many columns as tables can have, the last of which came one by one.
RecordLayout ManyColumns() {
  testing::LayoutBuilder builder(kColumns);
  for (uint32_t column = 0; column < kColumns; ++column) builder.Add(ColumnType::kInteger, 1, true);
  return builder.layout();
}

std::shared_ptr<const RowHistory> OneByOne(const RecordLayout& layout) {
  RowHistory history;
  for (uint32_t version = 0; version < kVersions; ++version) {
    std::vector<uint32_t> ids(kColumns - kVersions + version);
    std::iota(ids.begin(), ids.end(), uint32_t{1});
    history.versions.push_back(std::move(ids));
    history.initial_values.push_back({.column_id = kColumns - version, .is_null = false, .value = "i"});
  }
  EXPECT_TRUE(IsSound(history, layout));
  return std::make_shared<const RowHistory>(std::move(history));
}

TEST(EarlierVersions, TakeNothingUntilTheirFirstRowComes) {
  const RecordLayout layout = ManyColumns();
  const IndexCodec primary = IndexCodec::Primary(layout, IndexId(1), {});
  const std::shared_ptr<const RowHistory> history = OneByOne(layout);
  const int64_t before = HeapBytes();
  const RowCodec codec(layout, primary, kVersions + 1, history);
  const DecodePlan plan = codec.Plan(ColumnSet::All(kColumns));
  const int64_t opened = HeapBytes();
  EXPECT_LT(opened - before, kOneMiB);

  // A row of version 8, which lacks the last 248 columns; all others are NULL.
  const uint32_t columns_then = kColumns - kVersions + 7;
  const std::string row = "\x08" + std::string((columns_then + 7) / 8, '\xff');
  ByteBuffer key;
  primary.EncodePrimaryKey(nullptr, 1, &key);
  testing::TestRecord record(layout);
  ASSERT_TRUE(codec.Decode(plan, key.view(), row, record.data()).ok());
  for (uint32_t column = 0; column < kColumns; ++column) {
    const InitialValue value = InitialValueIn(layout.columns[column], record.data());
    ASSERT_EQ(value.is_null, column < columns_then) << column;
    ASSERT_EQ(value.value, column < columns_then ? "" : "i") << column;
  }
  EXPECT_LT(HeapBytes() - opened, kOneMiB);
}

}  // namespace
}  // namespace cairn::codec
