// SPDX-License-Identifier: GPL-2.0-only
// What RocksDB calls in the place of its own Crc32cCombine, for each record of a log: cmake/rocksdb.cmake has the linker do so.
#include <type_traits>

#include "base/crc32c.h"
#include "util/crc32c.h"

// The name tells the parameters' types but not the result's.
static_assert(std::is_same_v<decltype(&cairn_rocksdb::crc32c::Crc32cCombine), decltype(&cairn::JoinCrc32c)>);

extern "C" uint32_t __wrap__ZN13cairn_rocksdb6crc32c13Crc32cCombineEjjm(uint32_t first, uint32_t second, size_t second_bytes) {
  return cairn::JoinCrc32c(first, second, second_bytes);
}
