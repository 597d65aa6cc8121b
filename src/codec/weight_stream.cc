// SPDX-License-Identifier: GPL-2.0-only
// Padded and unpadded weight streams. They share one shape: a special unit (the space, or zero)
// is followed by a byte that says whether the stream goes on, and the end is that unit with the
// byte's end value. All other units stand for themselves.
#include "codec/weight_stream.h"

#include <cassert>
#include <cstring>

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

template <unsigned kUnit>
bool IsUnit(const uint8_t* at, const uint8_t* special) {
  return std::memcmp(at, special, kUnit) == 0;
}

// `special` with the part's inversion applied, so that scans compare raw bytes.
struct MaskedUnit {
  uint8_t bytes[4];
  MaskedUnit(const uint8_t* special, unsigned unit_bytes, uint8_t mask) {
    for (unsigned byte = 0; byte < unit_bytes; ++byte) bytes[byte] = special[byte] ^ mask;
  }
};

template <unsigned kUnit>
size_t CountUnits(const uint8_t* from, const uint8_t* end, const uint8_t* special) {
  size_t count = 0;
  for (; from != end; from += kUnit) count += IsUnit<kUnit>(from, special) ? 1 : 0;
  return count;
}

// Moves the units of [start, start + size) apart, from the back, so that each special one gets
// its follow byte. `padded` chooses which.
template <unsigned kUnit>
void SpreadUnits(uint8_t* start, size_t size, size_t special_count, const uint8_t* special, bool padded) {
  uint8_t* from = start + size;
  uint8_t* to = from + special_count;
  uint8_t follow = kZeroMore;
  while (to != from) {
    from -= kUnit;
    if (IsUnit<kUnit>(from, special)) {
      *--to = follow;
    } else if (padded) {
      follow = std::memcmp(from, special, kUnit) < 0 ? kClassLess : kClassGreater;
    }
    to -= kUnit;
    std::memmove(to, from, kUnit);
  }
}

template <unsigned kUnit>
void Finish(size_t start, const uint8_t* special, bool padded, ByteBuffer* out) {
  assert((out->size() - start) % kUnit == 0);
  if (padded) {
    size_t end = out->size();
    while (end > start && IsUnit<kUnit>(out->data() + end - kUnit, special)) end -= kUnit;
    out->Truncate(end);
  }
  const size_t size = out->size() - start;
  const size_t special_count = CountUnits<kUnit>(out->data() + start, out->data() + out->size(), special);
  if (special_count != 0) {
    out->Extend(special_count);
    SpreadUnits<kUnit>(out->data() + start, size, special_count, special, padded);
  }
  uint8_t* end = out->Extend(kUnit + 1);
  std::memcpy(end, special, kUnit);
  end[kUnit] = padded ? kClassEnd : kZeroEnd;
}

// Visits the units of the stream at the start of `bytes` (raw, still inverted) and returns its
// encoded size, 0 when malformed. `take` gets each unit and may return false to stop with 0.
template <unsigned kUnit, typename Take>
size_t Walk(ByteView bytes, const uint8_t* special, bool padded, uint8_t mask, Take take) {
  const MaskedUnit masked(special, kUnit, mask);
  const uint8_t* const begin = reinterpret_cast<const uint8_t*>(bytes.data());
  const uint8_t* const end = begin + bytes.size();
  const uint8_t* at = begin;
  while (static_cast<size_t>(end - at) >= kUnit) {
    if (!IsUnit<kUnit>(at, masked.bytes)) {
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

template <unsigned kUnit>
size_t Unpack(ByteView stream, const uint8_t* special, bool padded, uint8_t mask, uint8_t* to, size_t to_bytes) {
  size_t size = 0;
  const auto take = [&](const uint8_t* unit) {
    if (to_bytes - size < kUnit) return false;
    for (unsigned byte = 0; byte < kUnit; ++byte) to[size + byte] = unit[byte] ^ mask;
    size += kUnit;
    return true;
  };
  return Walk<kUnit>(stream, special, padded, mask, take) == stream.size() ? size : SIZE_MAX;
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
  const auto take = [](const uint8_t*) { return true; };
  return ForUnit(unit_bytes, [&](auto unit) { return Walk<unit.value>(bytes, space, true, mask, take); });
}

size_t UnpaddedBytes(ByteView bytes, unsigned unit_bytes, uint8_t mask) {
  const auto take = [](const uint8_t*) { return true; };
  return ForUnit(unit_bytes, [&](auto unit) { return Walk<unit.value>(bytes, kZeroUnit, false, mask, take); });
}

size_t UnpackPadded(ByteView stream, unsigned unit_bytes, const uint8_t* space, uint8_t mask, uint8_t* to,
                    size_t to_bytes) {
  return ForUnit(unit_bytes,
                 [&](auto unit) { return Unpack<unit.value>(stream, space, true, mask, to, to_bytes); });
}

size_t UnpackUnpadded(ByteView stream, unsigned unit_bytes, uint8_t mask, uint8_t* to, size_t to_bytes) {
  return ForUnit(unit_bytes,
                 [&](auto unit) { return Unpack<unit.value>(stream, kZeroUnit, false, mask, to, to_bytes); });
}

}  // namespace cairn::codec
