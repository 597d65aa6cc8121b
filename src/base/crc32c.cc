// SPDX-License-Identifier: GPL-2.0-only
// Byte-wise CRC-32C over a table made at compile time, and checksums joined by factors made there.
#include "base/crc32c.h"

#include <array>
#include <bit>

#include <nmmintrin.h>
#include <wmmintrin.h>

namespace cairn {
namespace {

constexpr uint32_t kReflectedPolynomial = 0x82F63B78;

// A register's bit i is the coefficient of x^(31 - i).
constexpr uint32_t TimesX(uint32_t crc) {
  return (crc >> 1) ^ ((crc & 1) ? kReflectedPolynomial : 0);
}

constexpr std::array<uint32_t, 256> MakeTable() {
  std::array<uint32_t, 256> table{};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = TimesX(crc);
    table[byte] = crc;
  }
  return table;
}

constexpr std::array<uint32_t, 256> kTable = MakeTable();

// The product of two registers has the coefficient of x^(62 - i) in bit i, so as 64 bits of data it is the product times x; the
// crc32 instruction multiplies data by x^32. Factors therefore are x^33 too small.
constexpr int kFoldedShift = 33;

// What TimesFactor computes.
constexpr uint32_t Fold(uint32_t a, uint32_t b) {
  uint32_t product = 0;
  for (int bit = 0; bit < 32; ++bit) product = TimesX(product) ^ (((b >> bit) & 1) ? a : 0);
  for (int shift = 0; shift < kFoldedShift; ++shift) product = TimesX(product);
  return product;
}

// Factor j stands for 2^j words of 8 bytes: x^(64 * 2^j - 33). The square of one, folded, is the next.
constexpr size_t kFactorCount = 61;  // for any size_t
constexpr std::array<uint32_t, kFactorCount> MakeFactors() {
  std::array<uint32_t, kFactorCount> factors{};
  factors[0] = 1;  // x^31
  for (size_t j = 1; j < kFactorCount; ++j) factors[j] = Fold(factors[j - 1], factors[j - 1]);
  return factors;
}

constexpr std::array<uint32_t, kFactorCount> kFactors = MakeFactors();

uint64_t TimesFactor(uint64_t crc, uint32_t factor) {
  const __m128i product = _mm_clmulepi64_si128(_mm_cvtsi64_si128(static_cast<int64_t>(crc)), _mm_cvtsi64_si128(factor), 0);
  return _mm_crc32_u64(0, static_cast<uint64_t>(_mm_cvtsi128_si64(product)));
}

}  // namespace

uint32_t Crc32c(ByteView bytes) {
  uint32_t crc = ~0u;
  for (const char c : bytes) crc = (crc >> 8) ^ kTable[(crc ^ static_cast<uint8_t>(c)) & 0xff];
  return ~crc;
}

uint32_t JoinCrc32c(uint32_t first, uint32_t second, size_t second_bytes) {
  uint32_t odd = first;
  if (second_bytes & 1) odd = _mm_crc32_u8(odd, 0);
  if (second_bytes & 2) odd = _mm_crc32_u16(odd, 0);
  if (second_bytes & 4) odd = _mm_crc32_u32(odd, 0);
  uint64_t crc = odd;
  for (size_t words = second_bytes / 8; words != 0; words &= words - 1) {
    crc = TimesFactor(crc, kFactors[static_cast<size_t>(std::countr_zero(words))]);
  }
  return static_cast<uint32_t>(crc) ^ second;
}

}  // namespace cairn
