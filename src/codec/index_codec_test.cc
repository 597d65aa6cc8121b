// SPDX-License-Identifier: GPL-2.0-only
// The laws of index entries, on random tables, indexes and rows.
#include "codec/index_codec.h"

#include <gtest/gtest.h>

#include <cmath>
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

constexpr uint64_t kTables = 400;
constexpr size_t kRows = 12;

int Sign(int number) { return number < 0 ? -1 : number > 0 ? 1 : 0; }

// --- The server's comparisons, written plainly. ---

template <typename Number>
int CompareNumbers(const std::string& a, const std::string& b) {
  Number left, right;
  std::memcpy(&left, a.data(), sizeof left);
  std::memcpy(&right, b.data(), sizeof right);
  if (std::isnan(left) || std::isnan(right)) return (std::isnan(left) ? 1 : 0) - (std::isnan(right) ? 1 : 0);
  return left < right ? -1 : left > right ? 1 : 0;
}

int CompareIntegers(const ColumnLayout& column, const std::string& a, const std::string& b) {
  const auto widen = [&](const std::string& bytes) {
    uint64_t value = 0;
    std::memcpy(&value, bytes.data(), bytes.size());
    const unsigned unused_bits = static_cast<unsigned>(64 - 8 * bytes.size());
    return column.is_unsigned ? static_cast<__int128>(value)
                              : static_cast<__int128>(static_cast<int64_t>(value << unused_bits) >> unused_bits);
  };
  return widen(a) < widen(b) ? -1 : widen(a) > widen(b) ? 1 : 0;
}

int CompareLevel(const Collation::Shape& shape, unsigned level, bool padded, std::string a, std::string b) {
  const std::string space(reinterpret_cast<const char*>(shape.space_weight[level]), shape.unit_bytes);
  const size_t size = std::max(a.size(), b.size());
  if (padded) {
    while (a.size() < size) a += space;
    while (b.size() < size) b += space;
  }
  return Sign(a.compare(b));
}

int CompareTexts(const ColumnLayout& column, uint32_t prefix_bytes, std::string a, std::string b) {
  if (prefix_bytes != 0) {
    a = a.substr(0, prefix_bytes);
    b = b.substr(0, prefix_bytes);
  }
  if (column.collation == nullptr) return Sign(a.compare(b));
  const Collation::Shape& shape = column.collation->shape();
  const bool padded = shape.pad_rule == PadRule::kPadSpace || (column.type == ColumnType::kChar && shape.pad_rule == PadRule::kNoPad);
  if (padded || shape.pad_rule == PadRule::kTrimSpace) {
    a.erase(a.find_last_not_of(' ') + 1);
    b.erase(b.find_last_not_of(' ') + 1);
  }
  for (unsigned level = 0; level < shape.level_count; ++level) {
    ByteBuffer left, right;
    const auto weigh = [&](const std::string& text, ByteBuffer* out) {
      shape.raw ? out->Append(text) : column.collation->AppendWeights(text, level, out);
    };
    weigh(a, &left);
    weigh(b, &right);
    const int order = CompareLevel(shape, level, padded || level > 0, left.ToString(), right.ToString());
    if (order != 0) return order;
  }
  return 0;
}

int CompareParts(const RecordLayout& layout, const std::vector<KeyPart>& parts, const TestRecord& a,
                 const TestRecord& b) {
  for (const KeyPart& part : parts) {
    const ColumnLayout& column = layout.columns[part.column];
    const std::string left = a.Get(part.column), right = b.Get(part.column);
    int order = 0;
    if (a.IsNull(part.column) || b.IsNull(part.column)) {
      order = (a.IsNull(part.column) ? 0 : 1) - (b.IsNull(part.column) ? 0 : 1);
    } else if (column.type == ColumnType::kInteger) {
      order = CompareIntegers(column, left, right);
    } else if (column.type == ColumnType::kFloat) {
      order = CompareNumbers<float>(left, right);
    } else if (column.type == ColumnType::kDouble) {
      order = CompareNumbers<double>(left, right);
    } else if (column.type == ColumnType::kFixedBytes) {
      order = Sign(left.compare(right));
    } else {
      order = CompareTexts(column, part.prefix_bytes, left, right);
    }
    if (order != 0) return part.descending ? -order : order;
  }
  return 0;
}

// A search tuple as the server's key_copy() makes it.
std::string TupleOf(const RecordLayout& layout, const std::vector<KeyPart>& parts, const TestRecord& record) {
  std::string tuple;
  for (const KeyPart& part : parts) {
    const ColumnLayout& column = layout.columns[part.column];
    const bool has_length = column.length_bytes != 0;
    const size_t area = part.prefix_bytes != 0 ? part.prefix_bytes : has_length ? column.data_bytes_max : column.pack_length;
    if (column.nullable) tuple += record.IsNull(part.column) ? '\1' : '\0';
    std::string value = record.IsNull(part.column) ? std::string() : record.Get(part.column).substr(0, area);
    if (has_length) {
      tuple += static_cast<char>(value.size() & 0xff);
      tuple += static_cast<char>(value.size() >> 8);
    }
    value.resize(area, column.type == ColumnType::kChar ? ' ' : '\0');
    tuple += value;
  }
  return tuple;
}

// A random table with a primary key and one secondary, and rows.
struct Table {
  explicit Table(uint64_t seed)
      : random(seed),
        layout(random.Layout(1 + random.Below(8))),
        primary_parts(random.Parts(layout, 3, true)),
        parts(random.Parts(layout, 4, false)),
        unique(random.OneIn(2)),
        primary(IndexCodec::Primary(layout, IndexId(9), primary_parts)),
        index(IndexCodec::Secondary(layout, IndexId(0x01020304), parts, unique, primary)) {
    for (size_t row = 0; row < kRows; ++row) random.Fill(layout, &rows.emplace_back(layout));
  }

  struct Entry {
    std::string primary_key, key, value;
  };
  Entry EntryOf(size_t row) const {
    ByteBuffer primary_key, key, value;
    primary.EncodePrimaryKey(rows[row].data(), row, &primary_key);
    index.EncodeEntry(rows[row].data(), primary_key.view(), &key, &value);
    return {primary_key.ToString(), key.ToString(), value.ToString()};
  }
  std::string Tuple(size_t row, unsigned part_count) const {
    ByteBuffer key;
    index.EncodeTupleFromRecord(rows[row].data(), part_count, &key);
    return key.ToString();
  }

  Randomly random;
  RecordLayout layout;
  std::vector<KeyPart> primary_parts, parts;
  bool unique;
  IndexCodec primary, index;
  std::vector<TestRecord> rows;
};

TEST(IndexCodec, KeysAreInTheOrderOfTheirValues) {
  for (uint64_t seed = 0; seed < kTables; ++seed) {
    const Table table(seed);
    for (size_t a = 0; a < kRows; ++a) {
      for (size_t b = 0; b < kRows; ++b) {
        const int expected = CompareParts(table.layout, table.parts, table.rows[a], table.rows[b]);
        const std::string left = table.Tuple(a, table.index.own_part_count());
        const std::string right = table.Tuple(b, table.index.own_part_count());
        ASSERT_EQ(Sign(left.compare(right)), expected) << "seed " << seed << " rows " << a << " " << b;
        ASSERT_TRUE(expected == 0 || !right.starts_with(left)) << "seed " << seed << " rows " << a << " " << b;
      }
    }
  }
}

TEST(IndexCodec, EveryPartIsMeasuredAndSearchTuplesMakeTheSameBytes) {
  for (uint64_t seed = 0; seed < kTables; ++seed) {
    const Table table(seed);
    for (size_t row = 0; row < kRows; ++row) {
      const std::string key = table.EntryOf(row).key;
      ByteBuffer searched;
      const std::string tuple = TupleOf(table.layout, table.parts, table.rows[row]);
      for (unsigned count = 0; count <= table.index.own_part_count(); ++count) {
        const std::string prefix = table.Tuple(row, count);
        ASSERT_TRUE(key.starts_with(prefix)) << "seed " << seed << " row " << row;
        ASSERT_EQ(table.index.PrefixBytes(key, count), prefix.size()) << "seed " << seed << " row " << row;
        searched.Clear();
        table.index.EncodeSearchKey(reinterpret_cast<const uint8_t*>(tuple.data()), count, &searched);
        ASSERT_EQ(searched.view(), prefix) << "seed " << seed << " row " << row << " parts " << count;
      }
    }
  }
}

TEST(IndexCodec, EntriesGiveTheirColumnsAndThePrimaryKeyBack) {
  for (uint64_t seed = 0; seed < kTables; ++seed) {
    Table table(seed);
    const size_t column_count = table.layout.columns.size();
    for (size_t row = 0; row < kRows; ++row) {
      const Table::Entry entry = table.EntryOf(row);
      ByteBuffer primary_key;
      ASSERT_TRUE(table.index.PrimaryKeyOf(entry.key, entry.value, &primary_key).ok());
      ASSERT_EQ(primary_key.view(), entry.primary_key) << "seed " << seed << " row " << row;
      ColumnSet wanted(column_count);
      for (size_t column = 0; column < column_count; ++column) {
        if (table.random.OneIn(2)) wanted.Add(column);
      }
      const EntryPlan plan = table.index.Plan(wanted);
      TestRecord back(table.layout);
      const Status status = table.index.DecodeColumns(plan, entry.key, entry.value, back.data());
      ASSERT_TRUE(status.ok()) << status.ToString();
      for (size_t column = 0; column < column_count; ++column) {
        const bool given = wanted.Has(column) && table.index.Covers(column);
        ASSERT_EQ(plan.missing().Has(column), wanted.Has(column) && !given);
        ASSERT_TRUE(!given || back.SameAs(table.rows[row], column)) << "seed " << seed << " row " << row << " column " << column;
      }
    }
  }
}

TEST(IndexCodec, EveryWholeColumnIsCovered) {
  for (uint64_t seed = 0; seed < kTables; ++seed) {
    const Table table(seed);
    for (const KeyPart& part : table.parts) ASSERT_TRUE(part.prefix_bytes != 0 || table.index.Covers(part.column));
    for (const KeyPart& part : table.primary_parts) ASSERT_TRUE(part.prefix_bytes != 0 || table.index.Covers(part.column));
  }
}

TEST(IndexCodec, DescendingPartsAreTheInvertedBytes) {
  for (uint64_t seed = 0; seed < kTables; ++seed) {
    const Table table(seed);
    for (const KeyPart& part : table.parts) {
      const ColumnLayout& column = table.layout.columns[part.column];
      const KeyPartCodec up(column, part.prefix_bytes, false), down(column, part.prefix_bytes, true);
      for (const TestRecord& row : table.rows) {
        ByteBuffer ascending, descending;
        up.EncodeRecord(row.data(), &ascending);
        down.EncodeRecord(row.data(), &descending);
        for (size_t byte = 0; byte < ascending.size(); ++byte) descending.data()[byte] ^= 0xff;
        ASSERT_EQ(ascending.view(), descending.view());
      }
    }
  }
}

RecordLayout WithLongerVarchars(RecordLayout layout) {
  uint32_t added = 0;
  for (ColumnLayout& column : layout.columns) {
    column.offset += added;
    if (column.type != ColumnType::kVarchar) continue;
    added += 250 + 2 - column.length_bytes;
    column.data_bytes_max += 250;
    column.length_bytes = 2;
    column.pack_length = column.length_bytes + column.data_bytes_max;
  }
  layout.record_bytes += added;
  return layout;
}

TEST(IndexCodec, HowLongAVarcharMayBeIsInNoEntry) {
  for (uint64_t seed = 0; seed < kTables; ++seed) {
    const Table table(seed);
    const RecordLayout layout = WithLongerVarchars(table.layout);
    const IndexCodec primary = IndexCodec::Primary(layout, IndexId(9), table.primary_parts);
    const IndexCodec index = IndexCodec::Secondary(layout, IndexId(0x01020304), table.parts, table.unique, primary);
    const EntryPlan plan = index.Plan(ColumnSet::All(layout.columns.size()));
    for (size_t row = 0; row < kRows; ++row) {
      const TestRecord& shorter = table.rows[row];
      TestRecord record(layout), back(layout);
      for (size_t column = 0; column < layout.columns.size(); ++column) {
        shorter.IsNull(column) ? record.SetNull(column) : record.Set(column, shorter.Get(column));
      }
      ByteBuffer primary_key, key, value;
      primary.EncodePrimaryKey(record.data(), row, &primary_key);
      index.EncodeEntry(record.data(), primary_key.view(), &key, &value);
      const Table::Entry entry = table.EntryOf(row);
      ASSERT_EQ(primary_key.view(), entry.primary_key) << "seed " << seed << " row " << row;
      ASSERT_EQ(key.view(), entry.key) << "seed " << seed << " row " << row;
      ASSERT_EQ(value.view(), entry.value) << "seed " << seed << " row " << row;
      ASSERT_TRUE(index.DecodeColumns(plan, entry.key, entry.value, back.data()).ok());
      for (size_t column = 0; column < layout.columns.size(); ++column) {
        ASSERT_TRUE(!index.Covers(column) || back.SameAs(record, column)) << "seed " << seed << " row " << row;
      }
    }
  }
}

// Tables that exist have them so.
TEST(IndexCodec, PrefixesOfThePrimaryKeyKeepTheirPlaceInIt) {
  LayoutBuilder builder;
  builder.Add(ColumnType::kFixedBytes, 1, false).Add(ColumnType::kVarchar, 10, false, SmallCollation::Named("bin"));
  builder.Add(ColumnType::kFixedBytes, 1, false);
  const RecordLayout& layout = builder.layout();
  const IndexCodec primary =
      IndexCodec::Primary(layout, IndexId(1), {{.column = 0}, {.column = 1, .prefix_bytes = 3}, {.column = 2}});
  const IndexCodec index = IndexCodec::Secondary(layout, IndexId(2), {{.column = 0}, {.column = 1}}, false, primary);
  TestRecord record(layout);
  record.Set(0, "c");
  record.Set(1, "abcd");
  record.Set(2, "d");
  ByteBuffer primary_key, key, value, back;
  primary.EncodePrimaryKey(record.data(), 0, &primary_key);
  index.EncodeEntry(record.data(), primary_key.view(), &key, &value);
  EXPECT_EQ(key.ToString().substr(4), "cabcd \x02" "abc \x02" "d");
  ASSERT_TRUE(index.PrimaryKeyOf(key.view(), value.view(), &back).ok());
  EXPECT_EQ(back.view(), primary_key.view());
}

TEST(IndexCodec, UniqueKeysOfEqualValuesAreEqualUnlessNull) {
  for (uint64_t seed = 0; seed < kTables; ++seed) {
    const Table table(seed);
    if (!table.unique || table.primary.own_part_count() != 0) continue;
    for (size_t row = 0; row < kRows; ++row) {
      const bool has_null = table.index.HasNullPart(table.rows[row].data());
      ASSERT_EQ(table.EntryOf(row).key == table.Tuple(row, table.index.own_part_count()), !has_null);
    }
  }
}

// Damaged entries: whatever the bytes, an answer or Corruption, and nothing read beyond them.
void DecodeDamaged(const IndexCodec& index, const RecordLayout& layout, ByteView key, ByteView value) {
  // Copies of the exact size, so that a sanitizer sees any step outside.
  const std::unique_ptr<char[]> key_copy(new char[key.size()]), value_copy(new char[value.size()]);
  std::copy(key.begin(), key.end(), key_copy.get());
  std::copy(value.begin(), value.end(), value_copy.get());
  const ByteView key_view(key_copy.get(), key.size()), value_view(value_copy.get(), value.size());
  TestRecord back(layout);
  const EntryPlan plan = index.Plan(ColumnSet::All(layout.columns.size()));
  const Status status = index.DecodeColumns(plan, key_view, value_view, back.data());
  ASSERT_TRUE(status.ok() || status.Is(Status::Code::kCorruption));
  ByteBuffer primary_key;
  const Status primary_status = index.PrimaryKeyOf(key_view, value_view, &primary_key);
  ASSERT_TRUE(primary_status.ok() || primary_status.Is(Status::Code::kCorruption));
}

TEST(IndexCodec, DamagedEntriesAreCorruptionOrACleanAnswer) {
  for (uint64_t seed = 0; seed < kTables / 4; ++seed) {
    Table table(seed);
    const Table::Entry entry = table.EntryOf(0);
    for (size_t size = 0; size < entry.key.size(); ++size) {
      DecodeDamaged(table.index, table.layout, entry.key.substr(0, size), entry.value);
      ByteBuffer ignored;
      ASSERT_FALSE(table.index.PrimaryKeyOf(entry.key.substr(0, size), entry.value, &ignored).ok());
    }
    for (size_t size = 0; size < entry.value.size(); ++size) {
      DecodeDamaged(table.index, table.layout, entry.key, entry.value.substr(0, size));
    }
    for (unsigned flip = 0; flip < 200; ++flip) {
      std::string key = entry.key, value = entry.value;
      std::string& damaged = value.empty() || table.random.OneIn(2) ? key : value;
      damaged[table.random.Below(damaged.size())] ^= static_cast<char>(1 << table.random.Below(8));
      DecodeDamaged(table.index, table.layout, key, value);
    }
  }
}

TEST(IndexCodec, HiddenRowIdComesBack) {
  const RecordLayout layout;
  const IndexCodec primary = IndexCodec::Primary(layout, IndexId(3), {});
  for (const uint64_t id : {uint64_t{0}, uint64_t{1}, uint64_t{0xffffffff}, UINT64_MAX}) {
    ByteBuffer key;
    primary.EncodePrimaryKey(nullptr, id, &key);
    uint64_t back = 5;
    ASSERT_TRUE(primary.HiddenRowIdOf(key.view(), &back).ok());
    EXPECT_EQ(back, id);
    EXPECT_TRUE(primary.HiddenRowIdOf(key.view().substr(0, 11), &back).Is(Status::Code::kCorruption));
    EXPECT_TRUE(primary.HiddenRowIdOf(key.ToString() + "x", &back).Is(Status::Code::kCorruption));
  }
}

TEST(IndexCodec, CorruptionNamesTheIndexAndShowsTheKey) {
  const RecordLayout layout;
  const IndexCodec primary = IndexCodec::Primary(layout, IndexId(3), {});
  uint64_t row_id;
  const Status status = primary.HiddenRowIdOf(ByteView("\0\0\0\x03zz", 6), &row_id);
  EXPECT_EQ(status.message(), "entry of index 3: the row id has a wrong length; key 000000037a7a, value ");
}

TEST(IndexCodec, AdvancePastPrefix) {
  const auto advanced = [](ByteView key) {
    ByteBuffer buffer;
    buffer.Append(key);
    return AdvancePastPrefix(&buffer) ? buffer.ToString() : std::string("none");
  };
  EXPECT_EQ(advanced("ab"), "ac");
  EXPECT_EQ(advanced("a\xff\xff"), "b");
  EXPECT_EQ(advanced("\xff\xff"), "none");
  EXPECT_EQ(advanced(""), "none");
}

}  // namespace
}  // namespace cairn::codec
