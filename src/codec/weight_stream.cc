// SPDX-License-Identifier: GPL-2.0-only
// Padded and unpadded weight streams. They share one shape: a special unit (the space, or zero)
// is followed by a byte that says whether the stream goes on, and the end is that unit with the
// byte's end value. All other units stand for themselves.
#include "codec/weight_stream.h"

#include <bit>
#include <cassert>
#include <cstring>
#include <type_traits>

#include "base/endian.h"

namespace cairn::codec {
namespace {

// The byte behind a space in a padded stream: how what follows the run of spaces compares with
// a space. Numbers of the format.
constexpr uint8_t kClassLess = 0x01;
constexpr uint8_t kClassEnd = 0x02;
constexpr uint8_t kClassGreater = 0x03;

// The byte behind a zero in an unpadded stream.
constexpr uint8_t kZeroEnd = 0x00;
constexpr uint8_t kZeroMore = 0xff;

constexpr uint8_t kZeroUnit[4] = {0, 0, 0, 0};

// A unit as a number, so that units compare in registers.
template <unsigned kUnit>
uint32_t LoadUnit(const uint8_t* at) {
  if constexpr (kUnit == 1) return at[0];
  if constexpr (kUnit == 2) return LoadBe16(at);
  if constexpr (kUnit == 3) return uint32_t{at[0]} << 16 | LoadBe16(at + 1);
  if constexpr (kUnit == 4) return LoadBe32(at);
}

template <unsigned kUnit>
constexpr uint32_t kUnitMask = static_cast<uint32_t>((uint64_t{1} << (8 * kUnit)) - 1);

template <unsigned kUnit>
size_t CountUnits(const uint8_t* from, const uint8_t* end, uint32_t special) {
  size_t count = 0;
  for (; from != end; from += kUnit) count += LoadUnit<kUnit>(from) == special ? 1 : 0;
  return count;
}

// Moves the units of [start, start + size) apart, from the back, so that each special one gets
// its follow byte. `padded` chooses which.
template <unsigned kUnit>
void SpreadUnits(uint8_t* start, size_t size, size_t special_count, uint32_t special, bool padded) {
  uint8_t* from = start + size;
  uint8_t* to = from + special_count;
  uint8_t follow = kZeroMore;
  while (to != from) {
    from -= kUnit;
    const uint32_t unit = LoadUnit<kUnit>(from);
    if (unit == special) {
      *--to = follow;
    } else if (padded) {
      follow = unit < special ? kClassLess : kClassGreater;
    }
    to -= kUnit;
    for (unsigned byte = 0; byte < kUnit; ++byte) to[byte] = static_cast<uint8_t>(unit >> (8 * (kUnit - 1 - byte)));
  }
}

template <unsigned kUnit>
void Finish(size_t start, const uint8_t* special_unit, bool padded, ByteBuffer* out) {
  assert((out->size() - start) % kUnit == 0);
  const uint32_t special = LoadUnit<kUnit>(special_unit);
  if (padded) {
    size_t end = out->size();
    while (end > start && LoadUnit<kUnit>(out->data() + end - kUnit) == special) end -= kUnit;
    out->Truncate(end);
  }
  const size_t size = out->size() - start;
  const size_t special_count = CountUnits<kUnit>(out->data() + start, out->data() + out->size(), special);
  if (special_count != 0) {
    out->Extend(special_count);
    SpreadUnits<kUnit>(out->data() + start, size, special_count, special, padded);
  }
  uint8_t* end = out->Extend(kUnit + 1);
  std::memcpy(end, special_unit, kUnit);
  end[kUnit] = padded ? kClassEnd : kZeroEnd;
}

// Visits the units of the stream at the start of `bytes` (raw, still inverted) and returns its
// encoded size, 0 when malformed. `take` gets each unit and may return false to stop with 0.
template <unsigned kUnit, typename Take>
size_t Walk(ByteView bytes, const uint8_t* special, bool padded, uint8_t mask, Take take) {
  const uint32_t masked = LoadUnit<kUnit>(special) ^ (mask == 0 ? 0 : kUnitMask<kUnit>);
  const uint8_t* const begin = reinterpret_cast<const uint8_t*>(bytes.data());
  const uint8_t* const end = begin + bytes.size();
  const uint8_t* at = begin;
  while (static_cast<size_t>(end - at) >= kUnit) {
    if (LoadUnit<kUnit>(at) != masked) {
      if (!take(at)) return 0;
      at += kUnit;
      continue;
    }
    if (static_cast<size_t>(end - at) == kUnit) return 0;
    const uint8_t follow = at[kUnit] ^ mask;
    if (follow == (padded ? kClassEnd : kZeroEnd)) return static_cast<size_t>(at - begin) + kUnit + 1;
    if (padded ? follow != kClassLess && follow != kClassGreater : follow != kZeroMore) return 0;
    if (!take(at)) return 0;
    at += kUnit + 1;
  }
  return 0;
}

constexpr uint64_t EightOf(uint8_t byte) { return byte * uint64_t{0x0101010101010101}; }

// Of eight bytes, the first in memory being the lowest, how many come before one that is 0. (Which is the first of them this tells
// rightly, though not which others are.)
unsigned BytesBeforeZero(uint64_t eight) {
  const uint64_t zeros = (eight - EightOf(1)) & ~eight & EightOf(0x80);
  return zeros == 0 ? 8 : static_cast<unsigned>(std::countr_zero(zeros)) / 8;
}

// Stores the lowest `count` of eight bytes, less than all.
void StoreLowest(uint64_t eight, unsigned count, uint8_t* to) {
  if ((count & 4) != 0) {
    StoreLe32(to, static_cast<uint32_t>(eight));
    eight >>= 32;
    to += 4;
  }
  if ((count & 2) != 0) {
    StoreLe16(to, static_cast<uint16_t>(eight));
    eight >>= 16;
    to += 2;
  }
  if ((count & 1) != 0) *to = static_cast<uint8_t>(eight);
}

// Walk() where units are bytes, eight at a time. Without kCopies nothing is written, and any number fits.
template <bool kCopies>
Unpacked WalkBytes(ByteView bytes, uint8_t special, bool padded, uint8_t mask, uint8_t* to, size_t to_bytes) {
  const uint8_t masked = special ^ mask;
  const uint8_t* const begin = reinterpret_cast<const uint8_t*>(bytes.data());
  const uint8_t* const end = begin + bytes.size();
  const uint8_t* at = begin;
  for (size_t size = 0;;) {
    while (end - at >= 8 && to_bytes - size >= 8) {
      const uint64_t eight = LoadLe64(at);
      const unsigned plain = BytesBeforeZero(eight ^ EightOf(masked));
      if constexpr (kCopies) {
        const uint64_t units = eight ^ EightOf(mask);
        plain == 8 ? StoreLe64(to + size, units) : StoreLowest(units, plain, to + size);
      }
      at += plain;
      size += plain;
      if (plain < 8) break;
    }
    for (; at != end && *at != masked; ++at) {
      if (size == to_bytes) return {};
      if constexpr (kCopies) to[size] = *at ^ mask;
      ++size;
    }
    if (end - at < 2) return {};
    const uint8_t follow = at[1] ^ mask;
    at += 2;
    if (follow == (padded ? kClassEnd : kZeroEnd)) return {static_cast<size_t>(at - begin), size};
    if (padded ? follow != kClassLess && follow != kClassGreater : follow != kZeroMore) return {};
    if (size == to_bytes) return {};
    if constexpr (kCopies) to[size] = special;
    ++size;
  }
}

template <unsigned kUnit>
size_t Measure(ByteView bytes, const uint8_t* special, bool padded, uint8_t mask) {
  if constexpr (kUnit == 1) return WalkBytes<false>(bytes, *special, padded, mask, nullptr, SIZE_MAX).stream_bytes;
  return Walk<kUnit>(bytes, special, padded, mask, [](const uint8_t*) { return true; });
}

template <unsigned kUnit>
Unpacked Unpack(ByteView bytes, const uint8_t* special, bool padded, uint8_t mask, uint8_t* to, size_t to_bytes) {
  if constexpr (kUnit == 1) return WalkBytes<true>(bytes, *special, padded, mask, to, to_bytes);
  size_t size = 0;
  const auto take = [&](const uint8_t* unit) {
    if (to_bytes - size < kUnit) return false;
    for (unsigned byte = 0; byte < kUnit; ++byte) to[size + byte] = unit[byte] ^ mask;
    size += kUnit;
    return true;
  };
  const size_t stream_bytes = Walk<kUnit>(bytes, special, padded, mask, take);
  return {stream_bytes, size};
}

// Calls the instantiation of `Call` for the unit size.
template <typename Call>
auto ForUnit(unsigned unit_bytes, Call call) {
  switch (unit_bytes) {
    case 1: return call(std::integral_constant<unsigned, 1>());
    case 2: return call(std::integral_constant<unsigned, 2>());
    case 3: return call(std::integral_constant<unsigned, 3>());
    default: assert(unit_bytes == 4); return call(std::integral_constant<unsigned, 4>());
  }
}

}  // namespace

void FinishPadded(size_t start, unsigned unit_bytes, const uint8_t* space, ByteBuffer* out) {
  ForUnit(unit_bytes, [&](auto unit) { Finish<unit.value>(start, space, true, out); });
}

void FinishUnpadded(size_t start, unsigned unit_bytes, ByteBuffer* out) {
  ForUnit(unit_bytes, [&](auto unit) { Finish<unit.value>(start, kZeroUnit, false, out); });
}

size_t PaddedBytes(ByteView bytes, unsigned unit_bytes, const uint8_t* space, uint8_t mask) {
  return ForUnit(unit_bytes, [&](auto unit) { return Measure<unit.value>(bytes, space, true, mask); });
}

size_t UnpaddedBytes(ByteView bytes, unsigned unit_bytes, uint8_t mask) {
  return ForUnit(unit_bytes, [&](auto unit) { return Measure<unit.value>(bytes, kZeroUnit, false, mask); });
}

Unpacked UnpackPadded(ByteView bytes, unsigned unit_bytes, const uint8_t* space, uint8_t mask, uint8_t* to,
                      size_t to_bytes) {
  return ForUnit(unit_bytes, [&](auto unit) { return Unpack<unit.value>(bytes, space, true, mask, to, to_bytes); });
}

Unpacked UnpackUnpadded(ByteView bytes, unsigned unit_bytes, uint8_t mask, uint8_t* to, size_t to_bytes) {
  return ForUnit(unit_bytes,
                 [&](auto unit) { return Unpack<unit.value>(bytes, kZeroUnit, false, mask, to, to_bytes); });
}

}  // namespace cairn::codec
