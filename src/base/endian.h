// SPDX-License-Identifier: GPL-2.0-only
// Loads and stores of integers in a stated byte order, at any alignment.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

namespace cairn {

static_assert(std::endian::native == std::endian::little, "the on-disk formats are written for little-endian hosts");

namespace internal {
template <typename T>
T LoadRaw(const void* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}
template <typename T>
void StoreRaw(void* to, T value) {
  std::memcpy(to, &value, sizeof value);
}
}  // namespace internal

inline uint16_t LoadLe16(const void* p) { return internal::LoadRaw<uint16_t>(p); }
inline uint32_t LoadLe32(const void* p) { return internal::LoadRaw<uint32_t>(p); }
inline uint64_t LoadLe64(const void* p) { return internal::LoadRaw<uint64_t>(p); }
inline uint16_t LoadBe16(const void* p) { return __builtin_bswap16(LoadLe16(p)); }
inline uint32_t LoadBe32(const void* p) { return __builtin_bswap32(LoadLe32(p)); }
inline uint64_t LoadBe64(const void* p) { return __builtin_bswap64(LoadLe64(p)); }

inline void StoreLe16(void* p, uint16_t v) { internal::StoreRaw(p, v); }
inline void StoreLe32(void* p, uint32_t v) { internal::StoreRaw(p, v); }
inline void StoreLe64(void* p, uint64_t v) { internal::StoreRaw(p, v); }
inline void StoreBe16(void* p, uint16_t v) { StoreLe16(p, __builtin_bswap16(v)); }
inline void StoreBe32(void* p, uint32_t v) { StoreLe32(p, __builtin_bswap32(v)); }
inline void StoreBe64(void* p, uint64_t v) { StoreLe64(p, __builtin_bswap64(v)); }

}  // namespace cairn
