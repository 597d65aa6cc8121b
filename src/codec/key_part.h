// SPDX-License-Identifier: GPL-2.0-only
// One part of a key: its bytes, in order, from a column's value and back. The format is
// docs/formats/key.md, sections 2 to 4.
#pragma once

#include <cstdint>

#include "base/bytes.h"
#include "codec/record_layout.h"

namespace cairn::codec {

// What the key's bytes tell of the value.
enum class GiveBack : uint8_t {
  // Everything.
  kAlways,
  // Everything, but for values with an oddity (-0.0, NaN, trailing spaces) that are kept beside.
  kMostly,
  // Not enough: the original is kept beside, always.
  kNever,
  // The part is a prefix of the column; nobody asks for the value and nothing is kept.
  kPrefix,
};

// Encodes, measures and decodes one key part.
//
// Thread rule: immutable; shared by all threads. Borrows the collation only.
class KeyPartCodec {
 public:
  // The 8-byte row number of a table without a primary key. It is no column: encode it with
  // AppendBe64 and do not call the record functions below.
  static KeyPartCodec HiddenRowId();

  // `prefix_bytes` as in KeyPart (index_codec.h).
  KeyPartCodec(const ColumnLayout& column, uint32_t prefix_bytes, bool descending);

  const ColumnLayout& column() const { return column_; }
  bool descending() const { return descending_; }
  GiveBack give_back() const { return give_back_; }

  // Bytes of the part when every value takes the same number, otherwise 0.
  uint32_t fixed_bytes() const { return fixed_bytes_; }

  // Whether the part is IntegerToKey() (number_form.h) of the column's bytes, and nothing else.
  bool is_plain_integer() const {
    return (form_ == Form::kUnsigned || form_ == Form::kSigned) && !descending_ && !column_.nullable && prefix_bytes_ == 0;
  }

  // Appends the part of the value in `record`.
  void EncodeRecord(const uint8_t* record, ByteBuffer* key) const;

  // Appends the part of a value, not NULL, that is in a record of another table. A text may be longer than any of this
  // column's: its part is that of what it equals. Precondition: AreComparable() (value_copy.h), and no prefix.
  void EncodeOther(const ColumnLayout& from, const uint8_t* record, ByteBuffer* key) const;

  // Appends the part of the value at `tuple`, in the server's search-tuple format (key_copy():
  // a null byte if nullable, then the image; for kVarchar and kBlob two length bytes
  // little-endian and the data). Returns the bytes of the tuple the part takes, which do not
  // depend on the value.
  size_t EncodeTuple(const uint8_t* tuple, ByteBuffer* key) const;

  // The bytes the part takes at the start of `bytes`; 0 when they are malformed or cut short.
  size_t EncodedBytes(ByteView bytes) const;

  // Whether the encoded part says NULL. Precondition: EncodedBytes() was not 0.
  bool EncodedIsNull(ByteView part) const {
    return column_.nullable && static_cast<uint8_t>(part[0]) == mask();
  }

  // Writes the value of the encoded, not-NULL part `part` (exactly EncodedBytes() long) to the
  // column's bytes in `record`, not touching the null bit. False when no value encodes so.
  // Precondition: give_back() is kAlways or kMostly.
  [[nodiscard]] bool Decode(ByteView part, uint8_t* record) const;

  // EncodedBytes() and Decode() at once, of a part at the start of `bytes` that is not NULL. Returns the former, or 0 where
  // either fails: then the column's bytes are unspecified.
  size_t DecodeAtStart(ByteView bytes, uint8_t* record) const;

  // Whether the value in `record` (not NULL) has to be kept beside the key.
  bool NeedsOriginal(const uint8_t* record) const;

 private:
  // What a number becomes in the key.
  enum class Form : uint8_t { kBytes, kUnsigned, kSigned, kFloat, kDouble, kText };

  KeyPartCodec() = default;

  uint8_t mask() const { return descending_ ? 0xff : 0x00; }
  // Whether text compares as if padded with spaces.
  bool IsPadded() const;
  ByteView Truncate(ByteView value) const;
  void EncodeValue(ByteView value, ByteBuffer* key) const;
  void EncodeText(ByteView text, ByteBuffer* key) const;
  size_t TextBytes(ByteView bytes) const;
  size_t DecodeText(ByteView bytes, uint8_t* record) const;

  ColumnLayout column_;
  Form form_ = Form::kBytes;
  bool descending_ = false;
  GiveBack give_back_ = GiveBack::kAlways;
  uint32_t prefix_bytes_ = 0;
  uint32_t prefix_chars_ = 0;
  // Bytes of the value in the key when it is no text.
  uint32_t value_bytes_ = 0;
  uint32_t fixed_bytes_ = 0;
  // Bytes of the data area of the part in a search tuple.
  uint32_t tuple_bytes_ = 0;
};

}  // namespace cairn::codec
