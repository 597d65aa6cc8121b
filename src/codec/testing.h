// SPDX-License-Identifier: GPL-2.0-only
// For tests, fuzzers and benchmarks of the codec layer: small collations, and tables of random
// shape with records in the server's form.
#pragma once

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <cstring>
#include <deque>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/endian.h"
#include "codec/collation.h"
#include "codec/index_codec.h"
#include "codec/record_layout.h"

namespace cairn::codec::testing {

// One collation of each kind. The names are those of docs/formats/key.md, section 3.
class SmallCollation final : public Collation {
 public:
  using Weight = uint8_t (*)(uint8_t byte, unsigned level);

  SmallCollation(const Shape& shape, Weight weight) : Collation(shape), weight_(weight) {}

  void AppendWeights(ByteView text, unsigned level, ByteBuffer* out) const override {
    for (const char byte : text) {
      for (unsigned high = 1; high < shape().unit_bytes; ++high) out->AppendU8(0);
      out->AppendU8(weight_(static_cast<uint8_t>(byte), level));
    }
  }
  size_t PrefixBytes(ByteView text, size_t char_count) const override { return std::min(text.size(), char_count); }

  // Null: no collation.
  static const Collation* Named(const std::string& name) {
    static const SmallCollation bin(ShapeOf(PadRule::kPadSpace, true, 1, 1), nullptr);
    static const SmallCollation nopad(ShapeOf(PadRule::kNoPad, true, 1, 1), nullptr);
    static const SmallCollation ci(ShapeOf(PadRule::kPadSpace, false, 1, 1), Upper);
    static const SmallCollation ci2(ShapeOf(PadRule::kPadSpace, false, 2, 1), Upper);
    static const SmallCollation nopad_ci(ShapeOf(PadRule::kNoPad, false, 1, 1), Upper);
    static const SmallCollation levels(ShapeOf(PadRule::kNoPad, false, 1, 2), LetterThenCase);
    static const SmallCollation trim(ShapeOf(PadRule::kTrimSpace, false, 1, 1), Upper);
    static const SmallCollation wide(WideShape(), nullptr);
    if (name == "bin") return &bin;
    if (name == "nopad") return &nopad;
    if (name == "ci") return &ci;
    if (name == "ci2") return &ci2;
    if (name == "nopad_ci") return &nopad_ci;
    if (name == "levels") return &levels;
    if (name == "trim") return &trim;
    if (name == "wide") return &wide;
    return nullptr;
  }

 private:
  static uint8_t Upper(uint8_t byte, unsigned) { return static_cast<uint8_t>(std::toupper(byte)); }
  static uint8_t LetterThenCase(uint8_t byte, unsigned level) {
    if (level == 0) return static_cast<uint8_t>(std::tolower(byte));
    return std::isupper(byte) ? 2 : 1;
  }
  static Shape ShapeOf(PadRule rule, bool raw, uint8_t unit_bytes, uint8_t level_count) {
    Shape shape;
    shape.pad_rule = rule;
    shape.raw = raw;
    shape.unit_bytes = unit_bytes;
    shape.level_count = level_count;
    if (unit_bytes == 2) {
      shape.space_weight[0][0] = 0;
      shape.space_weight[0][1] = 0x20;
    }
    shape.space_weight[1][0] = 1;
    return shape;
  }
  // Two bytes a character, in big-endian order, as ucs2_bin.
  static Shape WideShape() {
    Shape shape = ShapeOf(PadRule::kPadSpace, true, 2, 1);
    shape.char_bytes_min = shape.char_bytes_max = 2;
    shape.space_text[0] = 0;
    shape.space_text[1] = 0x20;
    return shape;
  }

  const Weight weight_;
};

// Makes layouts column by column: null bits first, as the server does.
class LayoutBuilder {
 public:
  explicit LayoutBuilder(size_t column_count_max = 64) {
    layout_.null_bytes = static_cast<uint32_t>((column_count_max + 7) / 8);
    layout_.record_bytes = layout_.null_bytes;
  }

  // Sizes: bytes of kInteger and kFixedBytes, most data bytes of text.
  LayoutBuilder& Add(ColumnType type, uint32_t size, bool nullable, const Collation* collation = nullptr) {
    ColumnLayout column;
    column.type = type;
    column.column_id = static_cast<uint32_t>(layout_.columns.size() + 1);
    column.nullable = nullable;
    if (nullable) {
      column.null_offset = null_bit_count_ / 8;
      column.null_mask = static_cast<uint8_t>(1 << (null_bit_count_ % 8));
      ++null_bit_count_;
    }
    column.collation = collation;
    column.offset = layout_.record_bytes;
    column.pack_length = type == ColumnType::kFloat ? 4 : type == ColumnType::kDouble ? 8 : size;
    if (type == ColumnType::kVarchar || type == ColumnType::kBlob) {
      column.length_bytes = size < 256 ? 1 : 2;
      column.pack_length = column.length_bytes + (type == ColumnType::kBlob ? 8 : size);
    }
    column.data_bytes_max = size;
    layout_.record_bytes += column.pack_length;
    layout_.columns.push_back(column);
    return *this;
  }
  LayoutBuilder& Unsigned() {
    layout_.columns.back().is_unsigned = true;
    return *this;
  }
  LayoutBuilder& Virtual() {
    layout_.columns.back().stored = false;
    return *this;
  }

  const RecordLayout& layout() const { return layout_; }

 private:
  RecordLayout layout_;
  uint32_t null_bit_count_ = 0;
};

// A record and the blobs it points to, which copies of it share. The layout must outlive it.
class TestRecord {
 public:
  explicit TestRecord(const RecordLayout& layout) : layout_(&layout), bytes_(layout.record_bytes, 0) {}

  uint8_t* data() { return bytes_.data(); }
  const uint8_t* data() const { return bytes_.data(); }

  void SetNull(size_t column) {
    const ColumnLayout& at = layout_->columns[column];
    bytes_[at.null_offset] |= at.null_mask;
    std::memset(bytes_.data() + at.offset, 0, at.pack_length);
  }
  bool IsNull(size_t column) const {
    const ColumnLayout& at = layout_->columns[column];
    return at.nullable && (bytes_[at.null_offset] & at.null_mask) != 0;
  }

  // The bytes of a fixed-size column, or the text of another (padded here when it is kChar).
  void Set(size_t column, ByteView value) {
    const ColumnLayout& at = layout_->columns[column];
    if (at.nullable) bytes_[at.null_offset] &= static_cast<uint8_t>(~at.null_mask);
    uint8_t* to = bytes_.data() + at.offset;
    if (at.length_bytes == 1) to[0] = static_cast<uint8_t>(value.size());
    if (at.length_bytes == 2) StoreLe16(to, static_cast<uint16_t>(value.size()));
    to += at.length_bytes;
    if (at.type == ColumnType::kBlob) {
      const char* data = blobs_->emplace_back(value).data();
      std::memcpy(to, &data, sizeof data);
      return;
    }
    if (at.type == ColumnType::kChar) at.collation->FillSpaces(to, at.pack_length);
    if (at.type == ColumnType::kVarchar) std::memset(to, 0, at.data_bytes_max);
    std::memcpy(to, value.data(), value.size());
  }

  // The value as it was set, but that a kChar has its padding.
  std::string Get(size_t column) const {
    const ColumnLayout& at = layout_->columns[column];
    const uint8_t* from = bytes_.data() + at.offset;
    if (at.length_bytes == 0) return std::string(AsBytes(from, at.pack_length));
    const size_t size = at.length_bytes == 1 ? from[0] : LoadLe16(from);
    from += at.length_bytes;
    if (at.type != ColumnType::kBlob) return std::string(AsBytes(from, size));
    const char* data;
    std::memcpy(&data, from, sizeof data);
    return std::string(data, size);
  }

  bool SameAs(const TestRecord& other, size_t column) const {
    if (IsNull(column) != other.IsNull(column)) return false;
    return IsNull(column) || Get(column) == other.Get(column);
  }

 private:
  const RecordLayout* layout_;
  std::vector<uint8_t> bytes_;
  std::shared_ptr<std::deque<std::string>> blobs_ = std::make_shared<std::deque<std::string>>();
};

// Random tables and rows. Values are drawn so that equal and nearly equal ones are common, and
// from the edges of their types.
class Randomly {
 public:
  explicit Randomly(uint64_t seed) : random_(seed) {}

  uint64_t Below(uint64_t bound) { return random_() % bound; }
  bool OneIn(uint64_t chance) { return Below(chance) == 0; }

  RecordLayout Layout(size_t column_count) { return Layout(column_count, nullptr); }

  // Its last column, in no primary key, is a CHAR of that collation.
  RecordLayout Layout(size_t column_count, const Collation* last) {
    LayoutBuilder builder(column_count + (last != nullptr));
    for (size_t column = 0; column < column_count; ++column) AddColumn(&builder);
    if (last != nullptr) builder.Add(ColumnType::kChar, 7, /*nullable=*/true, last);
    return builder.layout();
  }

  // Up to `count_max` different columns; prefixes and descending parts among them. Parts of a
  // primary key are stored and cannot be NULL.
  std::vector<KeyPart> Parts(const RecordLayout& layout, size_t count_max, bool primary) {
    std::vector<KeyPart> parts;
    std::vector<bool> used(layout.columns.size());
    for (size_t count = Below(count_max + 1); count != 0; --count) {
      const uint16_t column = static_cast<uint16_t>(Below(layout.columns.size()));
      const ColumnLayout& at = layout.columns[column];
      if (used[column] || (primary && (at.nullable || !at.stored))) continue;
      used[column] = true;
      KeyPart part{.column = column, .prefix_bytes = 0, .descending = OneIn(3)};
      const bool is_text = at.type == ColumnType::kChar || at.length_bytes != 0;
      if (at.type == ColumnType::kBlob ? !OneIn(4) : is_text && OneIn(4)) {
        part.prefix_bytes = static_cast<uint32_t>(1 + Below(at.data_bytes_max));
      }
      parts.push_back(part);
    }
    return parts;
  }

  void Fill(const RecordLayout& layout, TestRecord* record) {
    for (size_t column = 0; column < layout.columns.size(); ++column) FillColumn(layout, column, record);
  }

  void FillColumn(const RecordLayout& layout, size_t column, TestRecord* record) {
    const ColumnLayout& at = layout.columns[column];
    if (at.nullable && OneIn(4)) {
      record->SetNull(column);
      return;
    }
    switch (at.type) {
      case ColumnType::kInteger: {
        const uint64_t value = EdgeOrSmall();
        record->Set(column, AsBytes(&value, at.pack_length));
        break;
      }
      case ColumnType::kFloat: {
        const float value = static_cast<float>(Number());
        record->Set(column, AsBytes(&value, sizeof value));
        break;
      }
      case ColumnType::kDouble: {
        const double value = Number();
        record->Set(column, AsBytes(&value, sizeof value));
        break;
      }
      case ColumnType::kFixedBytes: record->Set(column, Text(at.pack_length, true)); break;
      default: record->Set(column, Text(at.data_bytes_max, false)); break;
    }
  }

 private:
  // 0, ±1 and the numbers around powers of two, both signs.
  uint64_t EdgeOrSmall() {
    if (OneIn(2)) return Below(4);
    const uint64_t edge = (uint64_t{1} << Below(64)) + Below(3) - 1;
    return OneIn(2) ? edge : ~edge + 1;
  }

  double Number() {
    constexpr double kNumbers[] = {0.0, -0.0, 1, -1, 1.5, -1.5, 1e-40, -1e-40, 1e38, -1e38, __builtin_inf(),
                                   -__builtin_inf(), __builtin_nan("1"), -__builtin_nan("2")};
    return kNumbers[Below(std::size(kNumbers))];
  }

  std::string Text(size_t bytes, bool whole) {
    constexpr char kBytes[] = {'a', 'b', 'A', ' ', ' ', '\0', '\t', '\1', '\2', '\3', '\x1f', '!', '\xff', '\xfe'};
    size_t size = whole ? bytes : Below(std::min<size_t>(bytes, 5) + 1);
    if (!whole && OneIn(20)) size = bytes;
    std::string text(size, 'a');
    for (char& byte : text) byte = kBytes[Below(sizeof kBytes)];
    return text;
  }

  void AddColumn(LayoutBuilder* builder) {
    constexpr uint32_t kIntegerBytes[] = {1, 2, 3, 4, 8};
    constexpr const char* kCollations[] = {"", "bin", "nopad", "ci", "ci2", "nopad_ci", "levels", "trim"};
    constexpr uint32_t kTextBytes[] = {1, 5, 255, 300};
    const bool nullable = OneIn(2);
    const uint32_t text_bytes = kTextBytes[Below(std::size(kTextBytes))];
    const Collation* collation = SmallCollation::Named(kCollations[Below(std::size(kCollations))]);
    switch (Below(8)) {
      case 0: builder->Add(ColumnType::kFloat, 4, nullable); break;
      case 1: builder->Add(ColumnType::kDouble, 8, nullable); break;
      case 2: builder->Add(ColumnType::kFixedBytes, static_cast<uint32_t>(1 + Below(20)), nullable); break;
      case 3:
        if (collation == nullptr) collation = SmallCollation::Named("ci");
        builder->Add(ColumnType::kChar, text_bytes, nullable, collation);
        break;
      case 4: builder->Add(ColumnType::kBlob, text_bytes, nullable, collation); break;
      case 5:
      case 6: builder->Add(ColumnType::kVarchar, text_bytes, nullable, collation); break;
      default:
        builder->Add(ColumnType::kInteger, kIntegerBytes[Below(std::size(kIntegerBytes))], nullable);
        if (OneIn(2)) builder->Unsigned();
        break;
    }
    if (OneIn(8)) builder->Virtual();
  }

  std::mt19937_64 random_;
};

}  // namespace cairn::codec::testing
