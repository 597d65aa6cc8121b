// SPDX-License-Identifier: GPL-2.0-only
// Distinct types for the engine's numbers, so that one cannot be passed for another.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>

namespace cairn {

// A number of one kind. `Tag` only makes the types differ.
template <typename Tag, typename Rep>
struct Id {
  Rep value = 0;
  constexpr Id() = default;
  constexpr explicit Id(Rep v) : value(v) {}
  constexpr auto operator<=>(const Id&) const = default;
};

// An index (primary or secondary) in the data family: the first four bytes, big-endian, of
// each of its keys. Never reused. 0 is no index.
using IndexId = Id<struct IndexIdTag, uint32_t>;

// The highest bit of an index's id says that its entries are looked for by the beginnings of their keys only, never by whole ones: it is
// not unique. Filters make use of that (store/file_filters.h, store/memtable_filter.h). Ids given before there was the bit do without.
inline constexpr uint32_t kOnlyWalkedBit = uint32_t{1} << 31;
constexpr bool IsOnlyWalked(IndexId id) { return (id.value & kOnlyWalkedBit) != 0; }
// Ids without the bit are below this: where an index ends another id begins, also behind the last one that has the bit.
inline constexpr uint32_t kIndexNumbersEnd = kOnlyWalkedBit - 1;

// A table in the dictionary. Never reused; a truncated or rebuilt table is a new one. 0 is none.
using TableId = Id<struct TableIdTag, uint64_t>;

// Takes `count` numbers that are never given twice, from `*next` on. False: so many are not left below `end`; none is taken then.
template <typename Number>
[[nodiscard]] constexpr bool TakeNumbers(Number count, Number end, Number* next, Number* first) {
  if (*next > end || end - *next < count) return false;
  *first = *next;
  *next += count;
  return true;
}

}  // namespace cairn

template <typename Tag, typename Rep>
struct std::hash<cairn::Id<Tag, Rep>> {
  size_t operator()(cairn::Id<Tag, Rep> id) const noexcept { return std::hash<Rep>()(id.value); }
};
