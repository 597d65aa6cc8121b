// SPDX-License-Identifier: GPL-2.0-only
// Key parts by type. See docs/formats/key.md for the bytes.
#include "codec/key_part.h"

#include <algorithm>
#include <cassert>
#include <string>

#include "codec/collation.h"
#include "codec/number_form.h"
#include "codec/record_access.h"
#include "codec/weight_stream.h"

namespace cairn::codec {
namespace {

constexpr uint8_t kNotNullMarker = 0x01;
constexpr uint8_t kNullMarker = 0x00;

// Length bytes of text in a search tuple, whatever the column has.
constexpr size_t kTupleLengthBytes = 2;

void Invert(uint8_t* bytes, size_t count) {
  for (size_t byte = 0; byte < count; ++byte) bytes[byte] = static_cast<uint8_t>(~bytes[byte]);
}

template <typename Float, typename Bits>
bool IsOddFloat(const uint8_t* at) {
  Float number;
  std::memcpy(&number, at, sizeof number);
  const Float back = FloatFromOrderedBits<Float, Bits>(FloatToOrderedBits<Float, Bits>(number));
  return std::memcmp(&back, &number, sizeof number) != 0;
}

bool IsRaw(const Collation* collation) { return collation == nullptr || collation->shape().raw; }

}  // namespace

KeyPartCodec KeyPartCodec::HiddenRowId() {
  KeyPartCodec part;
  part.form_ = Form::kBytes;
  part.value_bytes_ = part.fixed_bytes_ = 8;
  part.give_back_ = GiveBack::kPrefix;
  return part;
}

KeyPartCodec::KeyPartCodec(const ColumnLayout& column, uint32_t prefix_bytes, bool descending)
    : column_(column), descending_(descending), prefix_bytes_(prefix_bytes) {
  CheckLayout(column);
  value_bytes_ = prefix_bytes != 0 ? std::min(prefix_bytes, column.pack_length) : column.pack_length;
  tuple_bytes_ = prefix_bytes != 0 ? prefix_bytes : column.pack_length;
  switch (column.type) {
    case ColumnType::kInteger: form_ = column.is_unsigned ? Form::kUnsigned : Form::kSigned; break;
    case ColumnType::kFloat: form_ = Form::kFloat; break;
    case ColumnType::kDouble: form_ = Form::kDouble; break;
    case ColumnType::kFixedBytes: form_ = Form::kBytes; break;
    case ColumnType::kVarchar:
    case ColumnType::kBlob:
      if (prefix_bytes == 0) tuple_bytes_ = column.data_bytes_max;
      [[fallthrough]];
    case ColumnType::kChar: form_ = Form::kText; break;
  }
  if (form_ == Form::kText) {
    const unsigned char_bytes_max = column.collation != nullptr ? column.collation->shape().char_bytes_max : 1;
    prefix_chars_ = prefix_bytes / char_bytes_max;
    value_bytes_ = 0;
  } else if (!column.nullable) {
    fixed_bytes_ = value_bytes_;
  }
  if (prefix_bytes != 0) {
    give_back_ = GiveBack::kPrefix;
  } else if (form_ == Form::kFloat || form_ == Form::kDouble) {
    give_back_ = GiveBack::kMostly;
  } else if (form_ == Form::kText) {
    const bool readable = IsRaw(column.collation) && column.type != ColumnType::kBlob;
    const bool exact = column.type == ColumnType::kChar || !IsPadded();
    give_back_ = !readable ? GiveBack::kNever : exact ? GiveBack::kAlways : GiveBack::kMostly;
  }
}

bool KeyPartCodec::IsPadded() const {
  if (column_.collation == nullptr) return false;
  const PadRule rule = column_.collation->shape().pad_rule;
  return rule == PadRule::kPadSpace || (rule == PadRule::kNoPad && column_.type == ColumnType::kChar);
}

ByteView KeyPartCodec::Truncate(ByteView value) const {
  if (prefix_bytes_ == 0) return value;
  if (form_ != Form::kText) return value.substr(0, value_bytes_);
  if (column_.collation == nullptr) return value.substr(0, prefix_bytes_);
  return value.substr(0, column_.collation->PrefixBytes(value, prefix_chars_));
}

void KeyPartCodec::EncodeRecord(const uint8_t* record, ByteBuffer* key) const {
  if (column_.nullable) {
    const bool is_null = IsNullIn(column_, record);
    key->AppendU8((is_null ? kNullMarker : kNotNullMarker) ^ mask());
    if (is_null) return;
  }
  EncodeValue(ValueIn(column_, record), key);
}

void KeyPartCodec::EncodeOther(const ColumnLayout& from, const uint8_t* record, ByteBuffer* key) const {
  if (column_.nullable) key->AppendU8(kNotNullMarker ^ mask());
  if (form_ != Form::kText) return EncodeValue(ValueIn(from, record), key);
  ByteView text = StoredValueIn(from, record);
  if (column_.type != ColumnType::kChar || column_.collation->shape().trailing_spaces_stand_alone) {
    return EncodeText(text, key);
  }
  // The column's own values are weighed with their padding.
  text = column_.collation->TrimSpaces(text);
  std::string filled(text);
  filled.resize(std::max<size_t>(column_.pack_length, text.size()));
  column_.collation->FillSpaces(reinterpret_cast<uint8_t*>(filled.data()) + text.size(), filled.size() - text.size());
  EncodeText(filled, key);
}

size_t KeyPartCodec::EncodeTuple(const uint8_t* tuple, ByteBuffer* key) const {
  const uint8_t* at = tuple;
  bool is_null = false;
  if (column_.nullable) {
    is_null = *at++ != 0;
    key->AppendU8((is_null ? kNullMarker : kNotNullMarker) ^ mask());
  }
  ByteView value;
  if (column_.type == ColumnType::kVarchar || column_.type == ColumnType::kBlob) {
    value = AsBytes(at + kTupleLengthBytes, std::min<uint32_t>(LoadLe16(at), tuple_bytes_));
    at += kTupleLengthBytes;
  } else {
    value = AsBytes(at, tuple_bytes_);
  }
  if (!is_null) EncodeValue(value, key);
  return static_cast<size_t>(at - tuple) + tuple_bytes_;
}

void KeyPartCodec::EncodeValue(ByteView value, ByteBuffer* key) const {
  value = Truncate(value);
  if (form_ == Form::kText) {
    EncodeText(value, key);
    return;
  }
  const uint8_t* from = reinterpret_cast<const uint8_t*>(value.data());
  uint8_t* to = key->Extend(value_bytes_);
  switch (form_) {
    case Form::kUnsigned: IntegerToKey(from, value_bytes_, false, to); break;
    case Form::kSigned: IntegerToKey(from, value_bytes_, true, to); break;
    case Form::kFloat: {
      float number;
      std::memcpy(&number, from, sizeof number);
      StoreBe32(to, FloatToOrderedBits<float, uint32_t>(number));
      break;
    }
    case Form::kDouble: {
      double number;
      std::memcpy(&number, from, sizeof number);
      StoreBe64(to, FloatToOrderedBits<double, uint64_t>(number));
      break;
    }
    default: std::memcpy(to, from, value_bytes_); break;
  }
  if (descending_) Invert(to, value_bytes_);
}

void KeyPartCodec::EncodeText(ByteView text, ByteBuffer* key) const {
  const size_t part_start = key->size();
  const Collation* collation = column_.collation;
  if (collation == nullptr) {
    key->Append(text);
    FinishUnpadded(part_start, 1, key);
  } else {
    const Collation::Shape& shape = collation->shape();
    const bool padded = IsPadded();
    if ((padded && shape.trailing_spaces_stand_alone) || shape.pad_rule == PadRule::kTrimSpace) {
      text = collation->TrimSpaces(text);
    }
    for (unsigned level = 0; level < shape.level_count; ++level) {
      const size_t start = key->size();
      if (shape.raw) {
        key->Append(text);
      } else {
        collation->AppendWeights(text, level, key);
      }
      // The server pads the later levels of collations that do not pad, too.
      if (padded || level > 0) {
        FinishPadded(start, shape.unit_bytes, shape.space_weight[level], key);
      } else {
        FinishUnpadded(start, shape.unit_bytes, key);
      }
    }
  }
  if (descending_) Invert(key->data() + part_start, key->size() - part_start);
}

size_t KeyPartCodec::EncodedBytes(ByteView bytes) const {
  if (fixed_bytes_ != 0) return bytes.size() >= fixed_bytes_ ? fixed_bytes_ : 0;
  size_t marker_bytes = 0;
  if (column_.nullable) {
    if (bytes.empty()) return 0;
    const uint8_t marker = static_cast<uint8_t>(bytes[0]) ^ mask();
    if (marker == kNullMarker) return 1;
    if (marker != kNotNullMarker) return 0;
    marker_bytes = 1;
    bytes.remove_prefix(1);
  }
  if (form_ != Form::kText) return bytes.size() >= value_bytes_ ? marker_bytes + value_bytes_ : 0;
  const size_t text_bytes = TextBytes(bytes);
  return text_bytes == 0 ? 0 : marker_bytes + text_bytes;
}

size_t KeyPartCodec::TextBytes(ByteView bytes) const {
  if (column_.collation == nullptr) return UnpaddedBytes(bytes, 1, mask());
  const Collation::Shape& shape = column_.collation->shape();
  const bool padded = IsPadded();
  size_t total = 0;
  for (unsigned level = 0; level < shape.level_count; ++level) {
    const ByteView rest = bytes.substr(total);
    const size_t size = padded || level > 0 ? PaddedBytes(rest, shape.unit_bytes, shape.space_weight[level], mask())
                               : UnpaddedBytes(rest, shape.unit_bytes, mask());
    if (size == 0) return 0;
    total += size;
  }
  return total;
}

bool KeyPartCodec::Decode(ByteView part, uint8_t* record) const {
  assert(give_back_ == GiveBack::kAlways || give_back_ == GiveBack::kMostly);
  if (column_.nullable) part.remove_prefix(1);
  if (form_ == Form::kText) return DecodeText(part, record) == part.size();
  uint8_t inverted[8];
  const uint8_t* from = reinterpret_cast<const uint8_t*>(part.data());
  if (descending_ && form_ != Form::kBytes) {
    std::memcpy(inverted, from, value_bytes_);
    Invert(inverted, value_bytes_);
    from = inverted;
  }
  uint8_t* to = record + column_.offset;
  switch (form_) {
    case Form::kUnsigned: IntegerFromKey(from, value_bytes_, false, to); break;
    case Form::kSigned: IntegerFromKey(from, value_bytes_, true, to); break;
    case Form::kFloat: {
      const float number = FloatFromOrderedBits<float, uint32_t>(LoadBe32(from));
      std::memcpy(to, &number, sizeof number);
      break;
    }
    case Form::kDouble: {
      const double number = FloatFromOrderedBits<double, uint64_t>(LoadBe64(from));
      std::memcpy(to, &number, sizeof number);
      break;
    }
    default:
      std::memcpy(to, from, value_bytes_);
      if (descending_) Invert(to, value_bytes_);
      break;
  }
  return true;
}

size_t KeyPartCodec::DecodeAtStart(ByteView bytes, uint8_t* record) const {
  if (form_ == Form::kText) {
    const size_t marker_bytes = column_.nullable ? 1 : 0;
    if (bytes.size() < marker_bytes || (column_.nullable && static_cast<uint8_t>(bytes[0]) != (kNotNullMarker ^ mask()))) return 0;
    const size_t text_bytes = DecodeText(bytes.substr(marker_bytes), record);
    return text_bytes == 0 ? 0 : marker_bytes + text_bytes;
  }
  const size_t size = EncodedBytes(bytes);
  return size != 0 && Decode(bytes.substr(0, size), record) ? size : 0;
}

// Returns the bytes of the stream at the start of `bytes`; 0: it is malformed, or longer than any value of the column.
size_t KeyPartCodec::DecodeText(ByteView bytes, uint8_t* record) const {
  uint8_t* at = record + column_.offset;
  const bool is_char = column_.type == ColumnType::kChar;
  uint8_t* to = is_char ? at : at + column_.length_bytes;
  const uint32_t bytes_max = is_char ? column_.pack_length : column_.data_bytes_max;
  Unpacked unpacked;
  if (IsPadded()) {
    const Collation::Shape& shape = column_.collation->shape();
    unpacked = UnpackPadded(bytes, shape.unit_bytes, shape.space_weight[0], mask(), to, bytes_max);
  } else {
    const unsigned unit_bytes = column_.collation != nullptr ? column_.collation->shape().unit_bytes : 1;
    unpacked = UnpackUnpadded(bytes, unit_bytes, mask(), to, bytes_max);
  }
  if (unpacked.stream_bytes == 0) return 0;
  if (is_char) {
    column_.collation->FillSpaces(at + unpacked.unit_bytes, column_.pack_length - unpacked.unit_bytes);
  } else {
    StoreLength(at, column_.length_bytes, static_cast<uint32_t>(unpacked.unit_bytes));
  }
  return unpacked.stream_bytes;
}

bool KeyPartCodec::NeedsOriginal(const uint8_t* record) const {
  if (give_back_ == GiveBack::kNever) return true;
  if (give_back_ != GiveBack::kMostly) return false;
  const uint8_t* at = record + column_.offset;
  if (form_ == Form::kFloat) return IsOddFloat<float, uint32_t>(at);
  if (form_ == Form::kDouble) return IsOddFloat<double, uint64_t>(at);
  const ByteView text = ValueIn(column_, record);
  return column_.collation->TrimSpaces(text).size() != text.size();
}

}  // namespace cairn::codec
