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

// Big-endian with the sign bit flipped when signed. `from` and `to` do not overlap.
inline void IntegerToKey(const uint8_t* from, unsigned bytes, bool is_signed, uint8_t* to) {
  for (unsigned byte = 0; byte < bytes; ++byte) to[byte] = from[bytes - 1 - byte];
  if (is_signed) to[0] ^= 0x80;
}

inline void IntegerFromKey(const uint8_t* from, unsigned bytes, bool is_signed, uint8_t* to) {
  for (unsigned byte = 0; byte < bytes; ++byte) to[byte] = from[bytes - 1 - byte];
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
