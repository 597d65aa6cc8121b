// SPDX-License-Identifier: GPL-2.0-only
// What key encoding needs to know about a collation. The one implementation is in server/.
#pragma once

#include <cstdint>
#include <cstring>

#include "base/bytes.h"
#include "base/endian.h"

namespace cairn::codec {

// How a collation treats the space behind the end of a string.
enum class PadRule : uint8_t {
  // Strings compare as if padded with endless spaces: "a" = "a  ", "a\t" < "a".
  kPadSpace,
  // The end of a string sorts before anything that could follow: "a" < "a ". Of the first level
  // only: on later ones strings compare as if padded, whatever the collation.
  kNoPad,
  // Like kPadSpace in that trailing spaces do not count, but the weights of a string are not a
  // sequence of units that could be padded: they are taken of the string without its trailing
  // spaces, and their end sorts first.
  kTrimSpace,
};

// Turns text into weights: bytes whose order is the server's order of the text.
//
// The weights of a string are 1 to kLevelsMax streams (levels); a later level decides only when
// all earlier ones are equal. A stream is a sequence of units of shape().unit_bytes bytes each,
// unsigned and big-endian, so that bytewise order of units is their order.
//
// Thread rule: immutable; shared by all threads. Objects live until the process ends.
class Collation {
 public:
  static constexpr unsigned kLevelsMax = 4;
  static constexpr unsigned kUnitBytesMax = 4;

  struct Shape {
    // The server's collation number; written in evidence, never compared.
    uint32_t id = 0;
    PadRule pad_rule = PadRule::kNoPad;
    uint8_t unit_bytes = 1;
    uint8_t level_count = 1;
    // The weights are the bytes of the text themselves, so keys give the text back. Has one
    // level. AppendWeights() is never called.
    bool raw = true;
    // Whether a trailing space only adds its own weight, so that text may be weighed without
    // those that padding makes up for. False where it moves other weights (tis620).
    bool trailing_spaces_stand_alone = true;
    // Width of the narrowest and the widest character of the character set.
    uint8_t char_bytes_min = 1;
    uint8_t char_bytes_max = 1;
    // The space as text (char_bytes_min bytes; a single byte is always 0x20).
    uint8_t space_text[4] = {0x20, 0, 0, 0};
    // The weight of a space on each level (unit_bytes bytes). Defined for kNoPad too: CHAR(n)
    // values are padded by the server whatever the collation.
    uint8_t space_weight[kLevelsMax][kUnitBytesMax] = {{0x20, 0, 0, 0}};
  };

  explicit Collation(const Shape& shape) : shape_(shape) {}
  Collation(const Collation&) = delete;
  Collation& operator=(const Collation&) = delete;
  virtual ~Collation() = default;

  const Shape& shape() const { return shape_; }

  // Appends the units of level `level` (0-based) of `text`, as many as there are, without any
  // padding. Appends a multiple of unit_bytes, also when `text` is not well formed.
  virtual void AppendWeights(ByteView text, unsigned level, ByteBuffer* out) const = 0;

  // The byte length of the first `char_count` characters of `text`, or text.size() when it has
  // no more. Bytes that are no character count as one each.
  virtual size_t PrefixBytes(ByteView text, size_t char_count) const = 0;

  // `text` without its trailing spaces. CHAR(n) of a multi-byte character set is mostly spaces, so
  // they go eight bytes at a time.
  ByteView TrimSpaces(ByteView text) const {
    if (shape_.char_bytes_min == 1) {
      constexpr uint64_t kEightSpaces = 0x2020202020202020;
      size_t size = text.size();
      while (size >= 8 && LoadLe64(text.data() + size - 8) == kEightSpaces) size -= 8;
      while (size > 0 && text[size - 1] == ' ') --size;
      return text.substr(0, size);
    }
    const size_t width = shape_.char_bytes_min;
    size_t size = text.size();
    while (size >= width && std::memcmp(text.data() + size - width, shape_.space_text, width) == 0) size -= width;
    return text.substr(0, size);
  }

  // Fills `bytes` bytes from `to` with spaces, as the server pads CHAR(n).
  void FillSpaces(uint8_t* to, size_t bytes) const {
    const size_t width = shape_.char_bytes_min;
    if (width == 1) {
      std::memset(to, shape_.space_text[0], bytes);
      return;
    }
    for (; bytes >= width; to += width, bytes -= width) std::memcpy(to, shape_.space_text, width);
    std::memset(to, 0, bytes);
  }

 private:
  const Shape shape_;
};

}  // namespace cairn::codec
