// SPDX-License-Identifier: GPL-2.0-only
// The laws of rows, on random tables and rows.
#include "codec/row_codec.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "codec/testing.h"

namespace cairn::codec {
namespace {

using testing::LayoutBuilder;
using testing::Randomly;
using testing::SmallCollation;
using testing::TestRecord;

constexpr uint64_t kTables = 500;

struct Table {
  explicit Table(uint64_t seed, size_t column_count_max = 12)
      : random(seed),
        layout(random.Layout(1 + random.Below(column_count_max))),
        parts(random.Parts(layout, 4, true)),
        primary(IndexCodec::Primary(layout, IndexId(9), parts)),
        codec(layout, primary, static_cast<uint32_t>(1 + random.Below(1000))) {}

  std::string KeyOf(const TestRecord& record) const {
    ByteBuffer key;
    primary.EncodePrimaryKey(record.data(), 7, &key);
    return key.ToString();
  }
  std::string RowOf(const TestRecord& record) const {
    ByteBuffer row;
    codec.Encode(record.data(), &row);
    return row.ToString();
  }
  ColumnSet SomeColumns() {
    ColumnSet columns(layout.columns.size());
    for (size_t column = 0; column < layout.columns.size(); ++column) {
      if (random.OneIn(2)) columns.Add(column);
    }
    return columns;
  }

  Randomly random;
  RecordLayout layout;
  std::vector<KeyPart> parts;
  IndexCodec primary;
  RowCodec codec;
};

TEST(RowCodec, WantedColumnsComeBackAndOthersAreNotTouched) {
  for (uint64_t seed = 0; seed < kTables; ++seed) {
    Table table(seed);
    for (unsigned round = 0; round < 20; ++round) {
      TestRecord record(table.layout);
      table.random.Fill(table.layout, &record);
      const std::string key = table.KeyOf(record), row = table.RowOf(record);
      ColumnSet wanted = table.SomeColumns();
      TestRecord before(table.layout);
      table.random.Fill(table.layout, &before);
      TestRecord back = before;
      const Status status = table.codec.Decode(table.codec.Plan(wanted), key, row, back.data());
      ASSERT_TRUE(status.ok()) << status.ToString();
      for (size_t column = 0; column < table.layout.columns.size(); ++column) {
        const bool given = wanted.Has(column) && table.layout.columns[column].stored;
        ASSERT_TRUE(back.SameAs(given ? record : before, column)) << "seed " << seed << " column " << column;
      }
    }
  }
}

TEST(RowCodec, NullColumnsGetTheDefaultRecordsBytes) {
  LayoutBuilder builder;
  builder.Add(ColumnType::kInteger, 4, true).Add(ColumnType::kVarchar, 10, true);
  RecordLayout layout = builder.layout();
  layout.default_record = SharedBytes(std::string(layout.record_bytes, 'd'));
  const IndexCodec primary = IndexCodec::Primary(layout, IndexId(1), {});
  const RowCodec codec(layout, primary, 1);
  TestRecord record(layout), back(layout);
  record.SetNull(0);
  record.SetNull(1);
  ByteBuffer key, row;
  primary.EncodePrimaryKey(record.data(), 1, &key);
  codec.Encode(record.data(), &row);
  ASSERT_TRUE(codec.Decode(codec.Plan(ColumnSet::All(2)), key.view(), row.view(), back.data()).ok());
  EXPECT_TRUE(back.IsNull(0) && back.IsNull(1));
  const ColumnLayout &integer = layout.columns[0], &varchar = layout.columns[1];
  EXPECT_EQ(AsBytes(back.data() + integer.offset, integer.pack_length), std::string(integer.pack_length, 'd'));
  // What stands behind a length is nobody's: wide ones are not copied for nothing.
  EXPECT_EQ(AsBytes(back.data() + varchar.offset, varchar.pack_length),
            std::string(varchar.length_bytes, 'd') + std::string(varchar.pack_length - varchar.length_bytes, '\0'));
}

TEST(RowCodec, BlobsPointIntoTheRow) {
  LayoutBuilder builder;
  builder.Add(ColumnType::kBlob, 1000, false);
  const RecordLayout& layout = builder.layout();
  const IndexCodec primary = IndexCodec::Primary(layout, IndexId(1), {});
  const RowCodec codec(layout, primary, 1);
  TestRecord record(layout), back(layout);
  record.Set(0, std::string(900, 'b'));
  ByteBuffer key, row;
  primary.EncodePrimaryKey(record.data(), 1, &key);
  codec.Encode(record.data(), &row);
  ASSERT_TRUE(codec.Decode(codec.Plan(ColumnSet::All(1)), key.view(), row.view(), back.data()).ok());
  const uint8_t* data;
  std::memcpy(&data, back.data() + layout.columns[0].offset + 2, sizeof data);
  EXPECT_EQ(data, row.data() + row.size() - 900);
}

TEST(RowCodec, AnotherSchemaVersionIsCorruption) {
  Table table(3);
  TestRecord record(table.layout);
  const RowCodec later(table.layout, table.primary, table.codec.schema_version() + 1);
  const Status status = later.Decode(later.Plan(ColumnSet::All(table.layout.columns.size())), table.KeyOf(record),
                                     table.RowOf(record), record.data());
  EXPECT_TRUE(status.Is(Status::Code::kCorruption));
  EXPECT_NE(status.message().find("row of index 9"), std::string::npos) << status.message();
  EXPECT_NE(status.message().find("another schema version"), std::string::npos) << status.message();
}

// One column of each form, then one that may be NULL: rows in which nothing is absent are decoded by themselves.
RecordLayout LayoutOfForms(uint32_t fixed_bytes) {
  LayoutBuilder builder;
  builder.Add(ColumnType::kInteger, 8, false).Add(ColumnType::kFixedBytes, fixed_bytes, false);
  builder.Add(ColumnType::kVarchar, 255, false).Add(ColumnType::kInteger, 3, false).Unsigned();
  builder.Add(ColumnType::kVarchar, 300, false).Add(ColumnType::kChar, 300, false, SmallCollation::Named("ci"));
  builder.Add(ColumnType::kChar, 300, false, SmallCollation::Named("wide")).Add(ColumnType::kBlob, 300, false);
  builder.Add(ColumnType::kInteger, 2, true);
  return builder.layout();
}

TEST(RowCodec, EveryLengthComesBackWhetherAnythingIsNullOrNot) {
  for (uint32_t bytes = 0; bytes <= 300; ++bytes) {
    const RecordLayout layout = LayoutOfForms(1 + bytes % 70);
    const IndexCodec primary = IndexCodec::Primary(layout, IndexId(1), {{.column = 0}, {.column = 3}});
    const RowCodec codec(layout, primary, 1);
    const ColumnSet all = ColumnSet::All(layout.columns.size());
    for (const bool has_null : {false, true}) {
      Randomly random(bytes);
      TestRecord record(layout);
      random.Fill(layout, &record);
      record.Set(2, std::string(std::min(bytes, 255u), 'v'));
      for (const size_t text : {4, 5, 7}) record.Set(text, std::string(bytes, 'w'));
      record.Set(6, std::string(bytes / 2 * 2, 'x'));
      record.Set(8, std::string(2, 'i'));
      if (has_null) record.SetNull(8);
      ByteBuffer key, row;
      primary.EncodePrimaryKey(record.data(), 1, &key);
      codec.Encode(record.data(), &row);
      TestRecord back(layout);
      random.Fill(layout, &back);
      const Status status = codec.Decode(codec.Plan(all), key.view(), row.view(), back.data());
      ASSERT_TRUE(status.ok()) << status.ToString();
      for (size_t column = 0; column < layout.columns.size(); ++column) {
        ASSERT_TRUE(back.SameAs(record, column)) << bytes << " bytes, column " << column << ", null " << has_null;
      }
    }
  }
}

// A column of each form of variable size, each before one of fixed size; all may be NULL.
RecordLayout LayoutOfNullableForms() {
  LayoutBuilder builder(16);
  const auto add = [&](ColumnType type, uint32_t size, const char* collation) {
    builder.Add(type, size, true, SmallCollation::Named(collation)).Add(ColumnType::kInteger, 2, true);
  };
  add(ColumnType::kVarchar, 20, "ci");
  add(ColumnType::kVarchar, 300, "");
  add(ColumnType::kChar, 9, "ci");
  add(ColumnType::kChar, 10, "wide");
  add(ColumnType::kBlob, 50, "");
  return builder.layout();
}

void FillWithoutNulls(const RecordLayout& layout, Randomly* random, TestRecord* record) {
  for (size_t column = 0; column < layout.columns.size(); ++column) {
    do {
      random->FillColumn(layout, column, record);
    } while (record->IsNull(column));
  }
}

TEST(RowCodec, AnyColumnOfVariableSizeMayBeNullAndAnyUnwanted) {
  const RecordLayout layout = LayoutOfNullableForms();
  const size_t count = layout.columns.size();
  const IndexCodec primary = IndexCodec::Primary(layout, IndexId(1), {});
  const RowCodec codec(layout, primary, 1);
  Randomly random(1);
  for (unsigned nulls = 0; nulls < 32; ++nulls) {
    TestRecord record(layout);
    FillWithoutNulls(layout, &random, &record);
    for (size_t form = 0; form < 5; ++form) {
      if ((nulls >> form & 1) != 0) record.SetNull(2 * form);
    }
    if (random.OneIn(2)) record.SetNull(1 + 2 * random.Below(5));
    ByteBuffer key, row;
    primary.EncodePrimaryKey(record.data(), 1, &key);
    codec.Encode(record.data(), &row);
    const std::string longer = row.ToString() + 'x';
    for (unsigned forms = 0; forms < 32; ++forms) {
      ColumnSet wanted(count);
      TestRecord before(layout);
      random.Fill(layout, &before);
      TestRecord back = before;
      for (size_t column = 0; column < count; ++column) {
        if (column % 2 == 0 ? (forms >> column / 2 & 1) != 0 : random.OneIn(2)) wanted.Add(column);
      }
      const DecodePlan plan = codec.Plan(wanted);
      ASSERT_TRUE(codec.Decode(plan, key.view(), row.view(), back.data()).ok()) << nulls << " " << forms;
      for (size_t column = 0; column < count; ++column) {
        ASSERT_TRUE(back.SameAs(wanted.Has(column) ? record : before, column)) << nulls << " " << forms << " " << column;
      }
      // What is behind the row is seen by those that read to its end.
      EXPECT_EQ(codec.Decode(plan, key.view(), longer, back.data()).ok(), !wanted.Has(8)) << nulls << " " << forms;
    }
  }
}

// More lengths than are kept, and more bits than a word has.
TEST(RowCodec, ManyColumnsComeBackWhetherSomeAreAbsentOrNot) {
  for (const size_t column_count : {15, 16, 17, 40, 70}) {
    LayoutBuilder builder(2 * column_count);
    for (size_t column = 0; column < column_count; ++column) {
      builder.Add(ColumnType::kVarchar, 200, true).Add(ColumnType::kInteger, 4, true);
    }
    const RecordLayout layout = builder.layout();
    const IndexCodec primary = IndexCodec::Primary(layout, IndexId(1), {});
    const RowCodec codec(layout, primary, 1);
    Randomly random(column_count);
    for (unsigned round = 0; round < 40; ++round) {
      TestRecord record(layout), back(layout), before(layout);
      FillWithoutNulls(layout, &random, &record);
      ColumnSet wanted(layout.columns.size());
      for (size_t column = 0; column < layout.columns.size(); ++column) {
        if (round % 4 != 0 && random.OneIn(3 * (round % 4))) record.SetNull(column);
        if (round < 8 || random.OneIn(1 + round % 8)) wanted.Add(column);
      }
      ByteBuffer key, row;
      primary.EncodePrimaryKey(record.data(), 1, &key);
      codec.Encode(record.data(), &row);
      random.Fill(layout, &before);
      back = before;
      ASSERT_TRUE(codec.Decode(codec.Plan(wanted), key.view(), row.view(), back.data()).ok());
      for (size_t column = 0; column < layout.columns.size(); ++column) {
        ASSERT_TRUE(back.SameAs(wanted.Has(column) ? record : before, column)) << column_count << " " << column;
      }
    }
  }
}

// Exact-size copies, so that a sanitizer sees any step outside.
Status DecodeCopy(const Table& table, const ColumnSet& wanted, ByteView key, ByteView row) {
  const std::unique_ptr<char[]> key_copy(new char[key.size()]), row_copy(new char[row.size()]);
  std::copy(key.begin(), key.end(), key_copy.get());
  std::copy(row.begin(), row.end(), row_copy.get());
  TestRecord back(table.layout);
  return table.codec.Decode(table.codec.Plan(wanted), ByteView(key_copy.get(), key.size()),
                            ByteView(row_copy.get(), row.size()), back.data());
}

TEST(RowCodec, EveryTruncationIsCorruption) {
  for (uint64_t seed = 0; seed < kTables / 4; ++seed) {
    Table table(seed, seed % 8 == 7 ? 100 : 12);  // also with more lengths than are kept
    TestRecord record(table.layout);
    table.random.Fill(table.layout, &record);
    const std::string key = table.KeyOf(record), row = table.RowOf(record);
    const ColumnSet all = ColumnSet::All(table.layout.columns.size());
    for (size_t size = 0; size < row.size(); ++size) {
      ASSERT_TRUE(DecodeCopy(table, all, key, row.substr(0, size)).Is(Status::Code::kCorruption)) << seed << " " << size;
      const Status some = DecodeCopy(table, table.SomeColumns(), key, row.substr(0, size));
      ASSERT_TRUE(some.ok() || some.Is(Status::Code::kCorruption));
    }
    for (size_t size = 0; size < key.size(); ++size) {
      const Status status = DecodeCopy(table, all, key.substr(0, size), row);
      ASSERT_TRUE(status.ok() || status.Is(Status::Code::kCorruption));
    }
  }
}

TEST(RowCodec, FlippedBitsAreCorruptionOrACleanAnswer) {
  for (uint64_t seed = 0; seed < kTables / 4; ++seed) {
    Table table(seed, seed % 8 == 7 ? 100 : 12);
    TestRecord record(table.layout);
    table.random.Fill(table.layout, &record);
    const std::string key = table.KeyOf(record), row = table.RowOf(record);
    for (unsigned flip = 0; flip < 200; ++flip) {
      std::string damaged_key = key, damaged_row = row;
      std::string& damaged = table.random.OneIn(4) ? damaged_key : damaged_row;
      damaged[table.random.Below(damaged.size())] ^= static_cast<char>(1 << table.random.Below(8));
      const Status status = DecodeCopy(table, table.SomeColumns(), damaged_key, damaged_row);
      ASSERT_TRUE(status.ok() || status.Is(Status::Code::kCorruption));
    }
  }
}

TEST(RowCodec, ManyColumnsUseSeveralBitmapBytes) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    Table table(seed, 100);
    TestRecord record(table.layout), back(table.layout);
    table.random.Fill(table.layout, &record);
    const DecodePlan plan = table.codec.Plan(ColumnSet::All(table.layout.columns.size()));
    const std::string key = table.KeyOf(record), row = table.RowOf(record);
    ASSERT_TRUE(table.codec.Decode(plan, key, row, back.data()).ok());
    for (size_t column = 0; column < table.layout.columns.size(); ++column) {
      ASSERT_TRUE(!table.layout.columns[column].stored || back.SameAs(record, column)) << seed << " " << column;
    }
  }
}

}  // namespace
}  // namespace cairn::codec
