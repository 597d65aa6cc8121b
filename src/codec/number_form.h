// SPDX-License-Identifier: GPL-2.0-only
// Numbers as bytes that memcmp orders, and back. Internal to the codec layer.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include "base/endian.h"

namespace cairn::codec {

// Reverses 1 to 8 bytes. `from` and `to` do not overlap.
[[gnu::always_inline]] inline void ReverseBytes(const uint8_t* from, unsigned bytes, uint8_t* to) {
  switch (bytes) {
    case 8: StoreBe64(to, LoadLe64(from)); return;
    case 4: StoreBe32(to, LoadLe32(from)); return;
    case 2: StoreBe16(to, LoadLe16(from)); return;
    default:
      for (unsigned byte = 0; byte < bytes; ++byte) to[byte] = from[bytes - 1 - byte];
      return;
  }
}

// Big-endian with the sign bit flipped when signed.
inline void IntegerToKey(const uint8_t* from, unsigned bytes, bool is_signed, uint8_t* to) {
  ReverseBytes(from, bytes, to);
  if (is_signed) to[0] ^= 0x80;
}

[[gnu::always_inline]] inline void IntegerFromKey(const uint8_t* from, unsigned bytes, bool is_signed, uint8_t* to) {
  ReverseBytes(from, bytes, to);
  if (is_signed) to[bytes - 1] ^= 0x80;
}

// Unsigned bits in the order of the numbers: -0 is +0, every NaN is one value after +infinity.
template <typename Float, typename Bits>
Bits FloatToOrderedBits(Float number) {
  constexpr Bits kSign = Bits{1} << (sizeof(Bits) * 8 - 1);
  if (number == 0) return kSign;
  Bits bits = std::bit_cast<Bits>(number);
  if (std::isnan(number)) bits = std::bit_cast<Bits>(std::numeric_limits<Float>::quiet_NaN());
  return (bits & kSign) != 0 ? ~bits : bits ^ kSign;
}

template <typename Float, typename Bits>
Float FloatFromOrderedBits(Bits ordered) {
  constexpr Bits kSign = Bits{1} << (sizeof(Bits) * 8 - 1);
  return std::bit_cast<Float>((ordered & kSign) != 0 ? ordered ^ kSign : ~ordered);
}

}  // namespace cairn::codec
