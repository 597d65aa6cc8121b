// SPDX-License-Identifier: GPL-2.0-only
// RocksDB's checksums of log records are joined by base/crc32c.h, and are what RocksDB's own code makes them.
#include <random>

#include <gtest/gtest.h>

#include "base/crc32c.h"
#include "store/rocksdb_fwd.h"
#include "util/crc32c.h"

// As the linker calls what replaces the function, and the function itself.
extern "C" {
uint32_t __wrap__ZN13cairn_rocksdb6crc32c13Crc32cCombineEjjm(uint32_t first, uint32_t second, size_t second_bytes);
uint32_t __real__ZN13cairn_rocksdb6crc32c13Crc32cCombineEjjm(uint32_t first, uint32_t second, size_t second_bytes);
}

namespace cairn::store {
namespace {

using Join = uint32_t (*)(uint32_t, uint32_t, size_t);

constexpr Join kReplacement = &__wrap__ZN13cairn_rocksdb6crc32c13Crc32cCombineEjjm;
constexpr Join kReplaced = &__real__ZN13cairn_rocksdb6crc32c13Crc32cCombineEjjm;

// The address that the linker has put in; to the compiler two names are two functions.
Join Linked(Join function) {
  Join volatile linked = function;
  return linked;
}

// The name that is replaced is that of RocksDB's function still. That the writer of logs calls it by its name, and not as its own
// file's, is what transaction-of-one-update of `./cairn test instructions` sees: a tenth more without.
TEST(LogChecksum, RocksDbsNameLeadsToOurs) {
  EXPECT_TRUE(Linked(&rocks::crc32c::Crc32cCombine) == Linked(kReplacement));
  EXPECT_FALSE(Linked(&rocks::crc32c::Crc32cCombine) == Linked(kReplaced));
}

TEST(LogChecksum, IsWhatRocksDbsOwnIs) {
  std::mt19937_64 random(1);
  for (size_t round = 0; round < 10'000; ++round) {
    const uint32_t first = static_cast<uint32_t>(random());
    const uint32_t second = static_cast<uint32_t>(random());
    const size_t bytes = round < 5000 ? round : random() >> (random() % 64);
    ASSERT_EQ(kReplacement(first, second, bytes), kReplaced(first, second, bytes)) << bytes;
    ASSERT_EQ(JoinCrc32c(first, second, bytes), kReplaced(first, second, bytes)) << bytes;
  }
}

}  // namespace
}  // namespace cairn::store
