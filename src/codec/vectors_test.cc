// SPDX-License-Identifier: GPL-2.0-only
// Runs the test vectors of docs/formats/key.md and row.md.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "codec/evidence.h"
#include "codec/index_codec.h"
#include "codec/row_codec.h"
#include "codec/testing.h"

namespace cairn::codec {
namespace {

using testing::LayoutBuilder;
using testing::SmallCollation;
using testing::TestRecord;

// The lines of the blocks of kind `kind` in a document, comments left out.
std::vector<std::string> BlockLines(const std::string& document, const std::string& kind) {
  std::ifstream file(std::string(CAIRN_SOURCE_DIR) + "/docs/formats/" + document);
  std::vector<std::string> lines;
  bool inside = false;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("```")) {
      inside = line == "```" + kind;
    } else if (inside && !line.starts_with("#")) {
      lines.push_back(line);
    }
  }
  EXPECT_FALSE(lines.empty()) << document << " has no " << kind;
  return lines;
}

// Words of a line; a quoted text is one word, quotes kept, with \0 and \t for these bytes.
std::vector<std::string> Words(const std::string& line) {
  std::vector<std::string> words(1);
  bool quoted = false;
  for (size_t at = 0; at < line.size(); ++at) {
    char byte = line[at];
    if (byte == '"') quoted = !quoted;
    if (byte == ' ' && !quoted) {
      if (!words.back().empty()) words.emplace_back();
      continue;
    }
    if (byte == '\\') byte = line[++at] == 't' ? '\t' : '\0';
    words.back() += byte;
  }
  if (words.back().empty()) words.pop_back();
  return words;
}

std::string FromHex(const std::string& hex) {
  std::string bytes;
  for (size_t at = 0; at + 1 < hex.size(); at += 2) bytes += static_cast<char>(std::stoi(hex.substr(at, 2), nullptr, 16));
  return bytes;
}

// The words of a column's type and of its part in a key.
struct ColumnSpec {
  bool nullable = false, unique = false;
  KeyPart part;
  uint32_t schema_version = 3;

  // Takes words from `words` as long as they belong to a type.
  static ColumnSpec Take(std::vector<std::string>* words, LayoutBuilder* builder) {
    ColumnSpec spec;
    const std::string type = words->front();
    words->erase(words->begin());
    const Collation* collation = nullptr;
    const auto take = [&](const std::string& word) {
      if (word == "null") return spec.nullable = true;
      if (word == "desc") return spec.part.descending = true;
      if (word == "unique") return spec.unique = true;
      if (word.starts_with("prefix")) return (spec.part.prefix_bytes = static_cast<uint32_t>(std::stoi(word.substr(6)))) != 0;
      if (word == "binary") return true;
      if (const Collation* named = SmallCollation::Named(word)) return (collation = named) != nullptr;
      return false;
    };
    while (!words->empty() && take(words->front())) words->erase(words->begin());
    Add(type, spec.nullable, collation, builder);
    return spec;
  }

  static void Add(const std::string& type, bool nullable, const Collation* collation, LayoutBuilder* builder) {
    const auto bytes = [&](size_t skip) { return static_cast<uint32_t>(std::stoi(type.substr(skip))); };
    if (type == "char") {
      builder->Add(ColumnType::kChar, 10, nullable, collation);
    } else if (type == "varchar") {
      builder->Add(ColumnType::kVarchar, 10, nullable, collation);
    } else if (type == "float") {
      builder->Add(ColumnType::kFloat, 4, nullable);
    } else if (type == "double") {
      builder->Add(ColumnType::kDouble, 8, nullable);
    } else if (type.starts_with("bytes")) {
      builder->Add(ColumnType::kFixedBytes, bytes(5), nullable);
    } else if (type.starts_with("uint")) {
      builder->Add(ColumnType::kInteger, bytes(4) / 8, nullable).Unsigned();
    } else {
      EXPECT_TRUE(type.starts_with("int")) << type;
      builder->Add(ColumnType::kInteger, bytes(3) / 8, nullable);
    }
  }
};

void SetFromWord(const RecordLayout& layout, size_t column, const std::string& word, TestRecord* record) {
  const ColumnLayout& at = layout.columns[column];
  if (word == "NULL") {
    record->SetNull(column);
  } else if (at.type == ColumnType::kInteger) {
    const uint64_t value = word[0] == '-' ? static_cast<uint64_t>(std::stoll(word)) : std::stoull(word);
    record->Set(column, AsBytes(&value, at.pack_length));
  } else if (at.type == ColumnType::kFloat) {
    const float value = std::stof(word);
    record->Set(column, AsBytes(&value, 4));
  } else if (at.type == ColumnType::kDouble) {
    const double value = std::stod(word);
    record->Set(column, AsBytes(&value, 8));
  } else if (at.type == ColumnType::kFixedBytes) {
    record->Set(column, FromHex(word));
  } else {
    record->Set(column, word.substr(1, word.size() - 2));
  }
}

std::string JoinHex(const std::vector<std::string>& words, size_t from) {
  std::string hex;
  for (size_t word = from; word < words.size(); ++word) hex += words[word];
  return hex;
}

TEST(FormatVectors, KeyParts) {
  for (const std::string& line : BlockLines("key.md", "vectors")) {
    std::vector<std::string> words = Words(line);
    LayoutBuilder builder;
    const ColumnSpec spec = ColumnSpec::Take(&words, &builder);
    TestRecord record(builder.layout());
    SetFromWord(builder.layout(), 0, words.at(0), &record);
    const KeyPartCodec part(builder.layout().columns[0], spec.part.prefix_bytes, spec.part.descending);
    ByteBuffer key;
    part.EncodeRecord(record.data(), &key);
    EXPECT_EQ(HexEvidence(key.view()), JoinHex(words, 1)) << line;
    EXPECT_EQ(part.EncodedBytes(key.view()), key.size()) << line;
  }
}

TEST(FormatVectors, SecondaryEntries) {
  for (const std::string& line : BlockLines("key.md", "entries")) {
    std::vector<std::string> words = Words(line);
    LayoutBuilder builder;
    const ColumnSpec spec = ColumnSpec::Take(&words, &builder);
    TestRecord record(builder.layout());
    SetFromWord(builder.layout(), 0, words.at(0), &record);
    const IndexCodec primary = IndexCodec::Primary(builder.layout(), IndexId(1), {});
    const IndexCodec index = IndexCodec::Secondary(builder.layout(), IndexId(5), {spec.part}, spec.unique, primary);
    ByteBuffer primary_key, key, value;
    primary.EncodePrimaryKey(record.data(), 7, &primary_key);
    index.EncodeEntry(record.data(), primary_key.view(), &key, &value);
    EXPECT_EQ(HexEvidence(key.view()) + HexEvidence(value.view()), JoinHex(words, 1)) << line;
  }
}

// The pieces of `text` between `separator`s.
std::vector<std::string> Split(const std::string& text, char separator) {
  std::vector<std::string> pieces;
  std::istringstream stream(text);
  for (std::string piece; std::getline(stream, piece, separator);) pieces.push_back(piece);
  return pieces;
}

TEST(FormatVectors, Rows) {
  for (const std::string& line : BlockLines("row.md", "rows")) {
    const std::vector<std::string> sections = Split(line, ';');
    ASSERT_EQ(sections.size(), 3u) << line;
    LayoutBuilder builder;
    uint32_t schema_version = 3;
    for (const std::string& column : Split(sections[0], ',')) {
      std::vector<std::string> words = Words(column);
      if (words[0] == "version") {
        schema_version = static_cast<uint32_t>(std::stoul(words[1]));
      } else {
        ColumnSpec::Take(&words, &builder);
      }
    }
    const RecordLayout& layout = builder.layout();
    TestRecord record(layout), back(layout);
    const std::vector<std::string> values = Split(sections[1], ',');
    ASSERT_EQ(values.size(), layout.columns.size()) << line;
    for (size_t column = 0; column < values.size(); ++column) {
      SetFromWord(layout, column, Words(values[column])[0], &record);
    }
    const IndexCodec primary = IndexCodec::Primary(layout, IndexId(1), {});
    const RowCodec codec(layout, primary, schema_version);
    ByteBuffer key, row;
    primary.EncodePrimaryKey(record.data(), 7, &key);
    codec.Encode(record.data(), &row);
    EXPECT_EQ(HexEvidence(row.view()), JoinHex(Words(sections[2]), 0)) << line;
    const DecodePlan plan = codec.Plan(ColumnSet::All(layout.columns.size()));
    ASSERT_TRUE(codec.Decode(plan, key.view(), row.view(), back.data()).ok()) << line;
    for (size_t column = 0; column < values.size(); ++column) EXPECT_TRUE(record.SameAs(back, column)) << line;
  }
}

// What a line of "old rows" says of the table and of the version its row was written at.
struct OldRowSpec {
  LayoutBuilder builder;
  RowHistory history{.versions = {{}}, .dropped = {}, .initial_values = {}};

  explicit OldRowSpec(const std::vector<std::string>& sections) {
    for (const std::string& text : Split(sections[0], ',')) {
      std::vector<std::string> words = Words(text);
      ColumnSpec::Take(&words, &builder);
      if (words.empty()) continue;
      TestRecord record(builder.layout());
      SetFromWord(builder.layout(), builder.layout().columns.size() - 1, words.at(1), &record);
      history.initial_values.push_back(InitialValueIn(builder.layout().columns.back(), record.data()));
    }
    uint32_t dropped_id = 100;
    for (const std::string& text : Split(sections[1], ',')) {
      std::vector<std::string> words = Words(text);
      if (words[0][0] != '-') {
        history.versions[0].push_back(static_cast<uint32_t>(std::stoul(words[0])));
        continue;
      }
      words[0].erase(0, 1);
      LayoutBuilder other;
      ColumnSpec::Take(&words, &other);
      const ColumnLayout& column = other.layout().columns[0];
      history.versions[0].push_back(++dropped_id);
      history.dropped.push_back({.column_id = dropped_id, .type = column.type, .nullable = column.nullable,
                                 .pack_length = column.pack_length});
    }
  }
};

TEST(FormatVectors, OldRows) {
  for (const std::string& line : BlockLines("row.md", "old rows")) {
    const std::vector<std::string> sections = Split(line, ';');
    ASSERT_EQ(sections.size(), 4u) << line;
    const OldRowSpec spec(sections);
    const RecordLayout& layout = spec.builder.layout();
    ASSERT_TRUE(IsSound(spec.history, layout)) << line;
    TestRecord expected(layout), back(layout);
    const std::vector<std::string> values = Split(sections[3], ',');
    ASSERT_EQ(values.size(), layout.columns.size()) << line;
    for (size_t column = 0; column < values.size(); ++column) {
      SetFromWord(layout, column, Words(values[column])[0], &expected);
    }
    const IndexCodec primary = IndexCodec::Primary(layout, IndexId(1), {});
    const RowCodec codec(layout, primary, 3, std::make_shared<const RowHistory>(spec.history));
    ByteBuffer key;
    primary.EncodePrimaryKey(expected.data(), 7, &key);
    const std::string row = FromHex(JoinHex(Words(sections[2]), 0));
    const Status status = codec.Decode(codec.Plan(ColumnSet::All(layout.columns.size())), key.view(), row, back.data());
    ASSERT_TRUE(status.ok()) << line << ": " << status.ToString();
    for (size_t column = 0; column < values.size(); ++column) EXPECT_TRUE(expected.SameAs(back, column)) << line;
  }
}

}  // namespace
}  // namespace cairn::codec
