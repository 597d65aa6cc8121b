// SPDX-License-Identifier: GPL-2.0-only
// The bytes of table definitions: the format's test vector, round trips and damage.
#include "catalog/table_def.h"

#include <fstream>
#include <random>
#include <sstream>

#include <gtest/gtest.h>

#include "base/crc32c.h"

namespace cairn::catalog {
namespace {

using Code = Status::Code;

std::string Encoded(const TableDef& def) {
  ByteBuffer bytes;
  EncodeTableDef(def, &bytes);
  return bytes.ToString();
}

std::string Hex(ByteView bytes) {
  std::ostringstream text;
  text << std::hex;
  for (const char byte : bytes) text << (static_cast<uint8_t>(byte) >> 4) << (static_cast<uint8_t>(byte) & 15);
  return text.str();
}

std::string WithChecksum(std::string bytes) {
  char checksum[4];
  StoreLe32(checksum, Crc32c(bytes));
  return bytes.append(checksum, sizeof checksum);
}

TableDef VectorDef() {
  TableDef def;
  def.id = TableId(7);
  def.name = "test/t";
  ColumnDef column;
  column.column_id = 1;
  column.name = "a";
  column.type = 1;
  column.data_bytes_max = 4;
  def.columns = {column};
  def.indexes = {{.id = IndexId(9), .name = "PRIMARY", .kind = IndexKind::kPrimary, .parts = {KeyPartDef()}}};
  return def;
}

// Definitions with every flag and kind, and numbers at the edges of their width.
TableDef RandomDef(uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto below = [&](uint64_t bound) { return random() % bound; };
  const auto number = [&] { return static_cast<uint32_t>(below(2) ? below(200) : (uint64_t{1} << below(33)) - 1); };
  const auto text = [&] { return std::string(below(2) ? below(5) : below(200), static_cast<char>(below(256))); };
  TableDef def;
  def.id = TableId(random() >> below(64));
  def.name = text();
  def.schema_version = number();
  def.temporary = below(2);
  def.sequence = below(2);
  def.server_version = text();
  def.columns.resize(1 + below(8));
  for (ColumnDef& column : def.columns) {
    column = {.column_id = number(), .name = text(), .type = static_cast<uint8_t>(below(256)), .nullable = below(2) != 0,
              .is_unsigned = below(2) != 0, .stored = below(2) != 0, .data_bytes_max = number(),
              .length_bytes = static_cast<uint8_t>(below(5)), .collation_id = number()};
  }
  if (below(2)) {
    def.greatest_dropped_column_id = number();
    def.schema_version |= 128;
    def.earlier_versions.resize(below(4));
    for (std::vector<uint32_t>& ids : def.earlier_versions) {
      ids.resize(below(4));
      for (uint32_t& id : ids) id = number();
    }
    def.dropped_columns.resize(below(3));
    for (ColumnDef& column : def.dropped_columns) {
      column = {.column_id = static_cast<uint32_t>(below(uint64_t{def.greatest_dropped_column_id} + 1)), .name = text(),
                .type = static_cast<uint8_t>(below(256)), .data_bytes_max = number()};
    }
    for (ColumnDef& column : def.columns) {
      column.initial = static_cast<InitialKind>(below(3));
      if (column.initial == InitialKind::kValue) column.initial_value = text();
    }
  }
  def.indexes.resize(1 + below(4));
  for (IndexDef& index : def.indexes) {
    const bool first = &index == def.indexes.data();
    index.id = IndexId(number() | 1);
    index.name = text();
    index.kind = first ? (below(2) ? IndexKind::kPrimary : IndexKind::kHiddenPrimary)
                       : (below(2) ? IndexKind::kUnique : IndexKind::kSecondary);
    if (index.kind == IndexKind::kHiddenPrimary) continue;
    index.parts.resize(1 + below(4));
    for (KeyPartDef& part : index.parts) {
      part = {.column = static_cast<uint16_t>(below(def.columns.size())), .prefix_bytes = number(),
              .descending = below(2) != 0};
    }
  }
  return def;
}

// The line of the format's page behind a heading.
std::string DocumentedVector(const std::string& heading) {
  std::ifstream page(CAIRN_SOURCE_DIR "/docs/formats/dictionary.md");
  std::string line;
  while (std::getline(page, line) && line != heading) {
  }
  while (std::getline(page, line) && line.compare(0, 4, "    ") != 0) {
  }
  std::string hex;
  for (const char c : line) {
    if (c != ' ') hex += c;
  }
  return hex;
}

TEST(TableDefTest, TheFormatsTestVectorHolds) {
  const std::string bytes = Encoded(VectorDef());
  EXPECT_EQ(Hex(bytes), DocumentedVector("### Test vector"));
  TableDef back;
  ASSERT_TRUE(DecodeTableDef(bytes, &back).ok());
  EXPECT_EQ(back, VectorDef());
}

// A second column came with the value "x", a third with NULL, and the first, which was not the key, went.
TableDef HistoryVectorDef() {
  TableDef def = VectorDef();
  def.schema_version = 4;
  def.columns = {{.column_id = 2, .name = "b", .type = 5, .data_bytes_max = 3, .length_bytes = 1,
                  .initial = InitialKind::kValue, .initial_value = "x"},
                 {.column_id = 3, .name = "c", .nullable = true, .data_bytes_max = 2, .initial = InitialKind::kNull}};
  def.indexes = {{.id = IndexId(9), .name = "", .kind = IndexKind::kHiddenPrimary, .parts = {}}};
  def.greatest_dropped_column_id = 1;
  def.dropped_columns = {VectorDef().columns[0]};
  def.earlier_versions = {{1}, {1, 2}, {1, 2, 3}};
  return def;
}

TEST(TableDefTest, ATableWithHistoryHasTheFormatsSecondVersion) {
  const std::string bytes = Encoded(HistoryVectorDef());
  EXPECT_EQ(Hex(bytes), DocumentedVector("### Test vector, version 2"));
  TableDef back;
  ASSERT_TRUE(DecodeTableDef(bytes, &back).ok());
  EXPECT_EQ(back, HistoryVectorDef());
}

TEST(TableDefTest, RandomDefinitionsRoundTrip) {
  for (uint64_t seed = 0; seed < 500; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const TableDef def = RandomDef(seed);
    const std::string bytes = Encoded(def);
    TableDef back;
    const Status status = DecodeTableDef(bytes, &back);
    ASSERT_TRUE(status.ok()) << status.ToString();
    EXPECT_EQ(back, def);
    EXPECT_EQ(Encoded(back), bytes);
  }
}

TEST(TableDefTest, EncodingAppendsAndCoversOnlyItsOwnBytes) {
  ByteBuffer bytes;
  bytes.Append(ByteView("before"));
  EncodeTableDef(VectorDef(), &bytes);
  EXPECT_EQ(bytes.ToString(), "before" + Encoded(VectorDef()));
}

TEST(TableDefTest, EveryTruncationIsCorruption) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const std::string bytes = Encoded(RandomDef(seed));
    for (size_t size = 0; size < bytes.size(); ++size) {
      TableDef back;
      EXPECT_TRUE(DecodeTableDef(ByteView(bytes).substr(0, size), &back).Is(Code::kCorruption))
          << "seed " << seed << " size " << size;
    }
  }
}

TEST(TableDefTest, EveryFlippedBitIsNoticed) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const std::string bytes = Encoded(RandomDef(seed));
    for (size_t bit = 0; bit < bytes.size() * 8; ++bit) {
      std::string damaged = bytes;
      damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ 1 << bit % 8);
      TableDef back;
      const Status status = DecodeTableDef(damaged, &back);
      // Also in the version's byte.
      EXPECT_TRUE(status.Is(Code::kCorruption)) << "seed " << seed << " bit " << bit << ": " << status.ToString();
    }
  }
}

TEST(TableDefTest, ALaterVersionIsTooNewWhateverFollows) {
  std::string covered = Encoded(VectorDef());
  covered.resize(covered.size() - 4);
  covered[0] = 3;
  TableDef back;
  EXPECT_TRUE(DecodeTableDef(WithChecksum(covered), &back).Is(Code::kFormatTooNew));
  EXPECT_TRUE(DecodeTableDef(WithChecksum("\x04"), &back).Is(Code::kFormatTooNew));
  covered[0] = 0;
  EXPECT_TRUE(DecodeTableDef(WithChecksum(covered), &back).Is(Code::kCorruption));
}

// Bodies cut short or continued, under a checksum that is right: the decoder's own bounds must hold.
TEST(TableDefTest, MalformedBodiesWithARightChecksumAreCorruption) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const std::string bytes = Encoded(RandomDef(seed));
    const std::string covered = bytes.substr(0, bytes.size() - 4);
    TableDef back;
    for (size_t size = 1; size < covered.size(); ++size) {
      EXPECT_TRUE(DecodeTableDef(WithChecksum(covered.substr(0, size)), &back).Is(Code::kCorruption)) << size;
    }
    EXPECT_TRUE(DecodeTableDef(WithChecksum(covered + '\0'), &back).Is(Code::kCorruption));
  }
}

TEST(TableDefTest, DefinitionsThatMakeNoSenseAreCorruption) {
  const auto refused = [](void (*change)(TableDef*)) {
    TableDef def = VectorDef();
    change(&def);
    TableDef back;
    return DecodeTableDef(Encoded(def), &back).Is(Code::kCorruption);
  };
  const IndexDef second = {.id = IndexId(10), .name = "k", .kind = IndexKind::kSecondary, .parts = {KeyPartDef()}};
  static const IndexDef secondary = second;
  EXPECT_TRUE(refused([](TableDef* def) { def->indexes[0].parts[0].column = 1; }));
  EXPECT_TRUE(refused([](TableDef* def) { def->indexes[0].parts.clear(); }));
  EXPECT_TRUE(refused([](TableDef* def) { def->indexes[0].kind = IndexKind::kHiddenPrimary; }));
  EXPECT_TRUE(refused([](TableDef* def) { def->indexes[0].kind = IndexKind::kUnique; }));
  EXPECT_TRUE(refused([](TableDef* def) { def->indexes[0].id = IndexId(0); }));
  EXPECT_TRUE(refused([](TableDef* def) { def->indexes.push_back(def->indexes[0]); }));
  EXPECT_TRUE(refused([](TableDef* def) { def->indexes.insert(def->indexes.begin(), secondary); }));
  EXPECT_TRUE(refused([](TableDef* def) { def->columns[0].length_bytes = 5; }));
  EXPECT_FALSE(refused([](TableDef* def) { def->indexes.push_back(secondary); }));
  // An earlier version that would have the number 0, too many of them, a dropped column that was never stored or has
  // an id that may be given again.
  EXPECT_TRUE(refused([](TableDef* def) { def->earlier_versions = {{1}}; }));
  EXPECT_TRUE(refused([](TableDef* def) {
    def->schema_version = 1000;
    def->earlier_versions.assign(kEarlierVersionsMax + 1, {1});
  }));
  EXPECT_TRUE(refused([](TableDef* def) {
    def->greatest_dropped_column_id = 5;
    def->dropped_columns = {def->columns[0]};
    def->dropped_columns[0].stored = false;
  }));
  EXPECT_TRUE(refused([](TableDef* def) {
    def->dropped_columns = {def->columns[0]};
    def->greatest_dropped_column_id = 0;
  }));
}

}  // namespace
}  // namespace cairn::catalog
