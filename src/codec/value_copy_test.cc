// SPDX-License-Identifier: GPL-2.0-only
// Values that go from one table's records to another's, and keys made of them: what foreign keys stand on.
#include "codec/value_copy.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "codec/record_access.h"
#include "codec/testing.h"

namespace cairn::codec {
namespace {

using testing::LayoutBuilder;
using testing::Randomly;
using testing::SmallCollation;
using testing::TestRecord;

constexpr uint64_t kTables = 400;
constexpr size_t kColumns = 6;
constexpr size_t kRows = 20;
constexpr uint32_t kWideBytes = 300;

bool IsText(const ColumnLayout& column) { return column.type == ColumnType::kChar || column.type == ColumnType::kVarchar; }

// Comparable columns, in reverse order: texts as long as `text_bytes` says, at times of the other type.
RecordLayout OtherOf(const RecordLayout& layout, Randomly* random, const std::vector<uint32_t>& text_bytes) {
  LayoutBuilder builder(layout.columns.size());
  for (size_t i = layout.columns.size(); i-- > 0;) {
    const ColumnLayout& from = layout.columns[i];
    ColumnType type = from.type;
    uint32_t bytes = from.pack_length;
    if (IsText(from)) {
      bytes = text_bytes[random->Below(text_bytes.size())];
      const bool may_change = from.collation != nullptr && from.collation->shape().pad_rule != PadRule::kNoPad;
      if (may_change && random->OneIn(2)) type = type == ColumnType::kChar ? ColumnType::kVarchar : ColumnType::kChar;
    } else if (type == ColumnType::kBlob) {
      bytes = kWideBytes;
    }
    builder.Add(type, bytes, !from.nullable, from.collation);  // keys tell whether a part may be NULL
    if (from.is_unsigned) builder.Unsigned();
  }
  return builder.layout();
}

// An index of `layout`, whose columns are the reverse of `columns`, over the columns that these correspond to.
IndexCodec IndexOf(const RecordLayout& layout, const std::vector<uint16_t>& columns, const std::vector<bool>& descending) {
  std::vector<KeyPart> parts;
  for (size_t i = 0; i < columns.size(); ++i) {
    const auto column = static_cast<uint16_t>(layout.columns.size() - 1 - columns[i]);
    parts.push_back({.column = column, .prefix_bytes = 0, .descending = descending[i]});
  }
  return IndexCodec::Secondary(layout, IndexId(7), parts, false, IndexCodec::Primary(layout, IndexId(6), {}));
}

struct KeyTest {
  const RecordLayout& from;
  const std::vector<uint16_t>& columns;
  const std::vector<bool>& descending;

  // The key of the row in the other table's index, and of the row's copy there; whether there is a copy.
  bool Encode(const TestRecord& row, const RecordLayout& to, ByteBuffer* of_row, ByteBuffer* of_copy) const {
    const IndexCodec index = IndexOf(to, columns, descending);
    index.EncodeTupleFromOther(from, columns, row.data(), of_row);
    TestRecord copy(to);
    for (const uint16_t column : columns) {
      const size_t target = to.columns.size() - 1 - column;
      if (!CopyValue(from.columns[column], row.data(), to.columns[target], copy.data())) return false;
    }
    index.EncodeTupleFromRecord(copy.data(), static_cast<unsigned>(columns.size()), of_copy);
    return true;
  }
};

TEST(ValueCopy, KeysOfAnotherTablesRowAreThoseOfItsCopy) {
  size_t copied = 0, too_long = 0;
  for (uint64_t seed = 0; seed < kTables; ++seed) {
    Randomly random(seed);
    const RecordLayout from = random.Layout(kColumns);
    const RecordLayout to = OtherOf(from, &random, {1, 5, 255, kWideBytes}), wide = OtherOf(from, &random, {kWideBytes});
    std::vector<uint16_t> columns;
    std::vector<bool> descending;
    for (uint16_t column = 0; column < kColumns; ++column) {
      const ColumnLayout& other = to.columns[kColumns - 1 - column];
      const bool comparable = AreComparable(from.columns[column], other);
      ASSERT_EQ(comparable, from.columns[column].type != ColumnType::kBlob) << "seed " << seed << " column " << column;
      ASSERT_EQ(comparable, AreComparable(other, from.columns[column]));
      if (!comparable || random.OneIn(3)) continue;
      columns.push_back(column);
      descending.push_back(random.OneIn(3));
    }
    const KeyTest test{from, columns, descending};
    for (size_t row = 0; row < kRows; ++row) {
      TestRecord record(from);
      random.Fill(from, &record);
      if (std::any_of(columns.begin(), columns.end(), [&](uint16_t column) { return record.IsNull(column); })) continue;
      ByteBuffer key, of_copy, wide_key, of_wide_copy;
      ASSERT_TRUE(test.Encode(record, wide, &wide_key, &of_wide_copy));
      ASSERT_EQ(wide_key.view(), of_wide_copy.view()) << "seed " << seed << " row " << row;
      if (test.Encode(record, to, &key, &of_copy)) {
        ASSERT_EQ(key.view(), of_copy.view()) << "seed " << seed << " row " << row;
        ++copied;
      } else {
        ++too_long;
      }
      // How long texts may be is nothing that keys tell, so values are looked for that the table cannot have.
      ASSERT_EQ(key.view(), wide_key.view()) << "seed " << seed << " row " << row;
    }
  }
  EXPECT_GT(copied, 0u);
  EXPECT_GT(too_long, 0u);
}

// Characters of one to four bytes, as utf8mb4_bin.
class LongCharacters final : public Collation {
 public:
  LongCharacters() : Collation(ShapeOf()) {}
  void AppendWeights(ByteView, unsigned, ByteBuffer*) const override {}
  size_t PrefixBytes(ByteView text, size_t char_count) const override {
    const auto starts = [](char byte) { return (static_cast<uint8_t>(byte) & 0xc0) != 0x80; };
    size_t at = 0;
    for (; at < text.size(); ++at) {
      if (starts(text[at]) && char_count-- == 0) break;
    }
    return at;
  }

 private:
  static Shape ShapeOf() {
    Shape shape;
    shape.pad_rule = PadRule::kPadSpace;
    shape.space_weight[0][0] = 0x20;
    shape.char_bytes_max = 4;
    return shape;
  }
};

TEST(ValueCopy, TextsAreAsLongAsTheirCharactersAreMany) {
  const LongCharacters collation;
  const RecordLayout from = LayoutBuilder().Add(ColumnType::kVarchar, 40, false, &collation).layout();
  const RecordLayout to = LayoutBuilder()
                              .Add(ColumnType::kVarchar, 12, false, &collation)
                              .Add(ColumnType::kChar, 12, false, &collation)
                              .layout();
  TestRecord row(from), copy(to);
  const auto copied = [&](std::string_view text, size_t column) {
    row.Set(0, text);
    return CopyValue(from.columns[0], row.data(), to.columns[column], copy.data())
               ? std::string(StoredValueIn(to.columns[column], copy.data()))
               : "too long";
  };
  for (const size_t column : {0, 1}) {
    SCOPED_TRACE(column);
    for (const char* text : {"", "abc", "\u20ac\u00e4x", "\U0001f600\U0001f600\U0001f600"}) EXPECT_EQ(copied(text, column), text);
    for (const char* text : {"abcd", "\u00e4\u00e4\u00e4\u00e4", "\U0001f600\U0001f600\U0001f600x", "abcdefghijklm"}) {
      EXPECT_EQ(copied(text, column), "too long") << text;
    }
    EXPECT_EQ(copied("\u00e4bc     ", column), "\u00e4bc");
    EXPECT_EQ(copied("\u00e4b c    ", column), "too long");
  }
  EXPECT_EQ(copied("a  ", 0), "a  ");
}

TEST(ValueCopy, NullsNeedAColumnThatMayBeNull) {
  const RecordLayout from = LayoutBuilder().Add(ColumnType::kInteger, 4, true).layout();
  const RecordLayout strict = LayoutBuilder().Add(ColumnType::kInteger, 4, false).layout();
  TestRecord row(from), same(from), copy(strict);
  row.SetNull(0);
  EXPECT_FALSE(CopyValue(from.columns[0], row.data(), strict.columns[0], copy.data()));
  ASSERT_TRUE(CopyValue(from.columns[0], row.data(), from.columns[0], same.data()));
  EXPECT_TRUE(IsNull(from.columns[0], same.data()));
  EXPECT_TRUE(SameBytes(from.columns[0], row.data(), same.data()));
}

// Columns: changed by others, by the change, by both, by the change to what they are already, by nobody.
TEST(ValueCopy, AChangeIsMadeOfWhatTheRowHasBecome) {
  const RecordLayout layout = LayoutBuilder()
                                  .Add(ColumnType::kBlob, 300, true)
                                  .Add(ColumnType::kVarchar, 5, true)
                                  .Add(ColumnType::kFixedBytes, 1, true)
                                  .Add(ColumnType::kBlob, 300, true)
                                  .Add(ColumnType::kFixedBytes, 1, false)
                                  .Add(ColumnType::kFixedBytes, 1, true)
                                  .Virtual()
                                  .layout();
  TestRecord old_row(layout), new_row(layout), current(layout), removed(layout);
  const auto fill = [](TestRecord* row, const std::vector<const char*>& values) {
    for (size_t column = 0; column < values.size(); ++column) {
      values[column] == nullptr ? row->SetNull(column) : row->Set(column, values[column]);
    }
  };
  const auto values = [&](const TestRecord& row) {
    std::vector<std::string> got;
    for (size_t column = 0; column < layout.columns.size(); ++column) {
      got.push_back(row.IsNull(column) ? "NULL" : std::string(ValueIn(layout.columns[column], row.data())));
    }
    return got;
  };
  fill(&old_row, {"a", "b", "c", nullptr, "e", "v"});
  fill(&new_row, {"a", nullptr, "C", "D", "e", "w"});
  fill(&current, {nullptr, "b", nullptr, "D", "e", nullptr});
  fill(&removed, {"a", "b", "c", nullptr, "e", "v"});
  RebaseChange(layout, current.data(), old_row.data(), new_row.data());
  EXPECT_EQ(values(old_row), (std::vector<std::string>{"NULL", "b", "NULL", "D", "e", "v"}));
  EXPECT_EQ(values(new_row), (std::vector<std::string>{"NULL", "NULL", "C", "D", "e", "w"}));
  RebaseChange(layout, current.data(), removed.data(), nullptr);
  EXPECT_EQ(values(removed), values(old_row));
}

TEST(ValueCopy, OnlyColumnsThatMeanTheSameAreComparable) {
  const Collation* const ci = SmallCollation::Named("ci");
  const Collation* const nopad = SmallCollation::Named("nopad_ci");
  const RecordLayout layout = LayoutBuilder()
                                  .Add(ColumnType::kInteger, 4, false)
                                  .Add(ColumnType::kInteger, 8, false)
                                  .Add(ColumnType::kInteger, 4, true)
                                  .Add(ColumnType::kInteger, 4, false)
                                  .Unsigned()
                                  .Add(ColumnType::kVarchar, 5, false, ci)
                                  .Add(ColumnType::kChar, 5, false, ci)
                                  .Add(ColumnType::kVarchar, 5, false, nopad)
                                  .Add(ColumnType::kChar, 5, false, nopad)
                                  .Add(ColumnType::kFixedBytes, 4, false)
                                  .layout();
  const auto comparable = [&](size_t a, size_t b) { return AreComparable(layout.columns[a], layout.columns[b]); };
  EXPECT_FALSE(comparable(0, 1));
  EXPECT_TRUE(comparable(0, 2));
  EXPECT_FALSE(comparable(0, 3));
  EXPECT_TRUE(comparable(4, 5));
  EXPECT_FALSE(comparable(4, 6));
  EXPECT_FALSE(comparable(6, 7));
  EXPECT_FALSE(comparable(0, 8));
}

}  // namespace
}  // namespace cairn::codec
