// SPDX-License-Identifier: GPL-2.0-only
#include "base/crc32c.h"

#include <random>
#include <string>

#include <gtest/gtest.h>

namespace cairn {
namespace {

TEST(Crc32c, MatchesThePublishedVectors) {
  EXPECT_EQ(Crc32c("123456789"), 0xE3069283u);
  EXPECT_EQ(Crc32c(std::string(32, '\0')), 0x8A9136AAu);
  EXPECT_EQ(Crc32c(std::string(32, '\xff')), 0x62A8AB43u);
  EXPECT_EQ(Crc32c(""), 0u);
}

TEST(Crc32c, JoinedIsThatOfTheJoinedBytes) {
  std::mt19937_64 random(1);
  const std::string first = "first";
  std::string second;
  for (size_t bytes = 0; bytes <= 2000; ++bytes) {
    ASSERT_EQ(JoinCrc32c(Crc32c(first), Crc32c(second), bytes), Crc32c(first + second)) << bytes;
    ASSERT_EQ(JoinCrc32c(Crc32c(""), Crc32c(second), bytes), Crc32c(second)) << bytes;
    second.push_back(static_cast<char>(random()));
  }
  for (int round = 0; round < 8; ++round) {
    second.resize(random() % (1 << 20), static_cast<char>(random()));
    ASSERT_EQ(JoinCrc32c(Crc32c(first), Crc32c(second), second.size()), Crc32c(first + second)) << second.size();
  }
}

// x^(2^31 - 1) is 1 modulo the polynomial, which is x + 1 times a primitive one: so many zero bytes more change nothing.
TEST(Crc32c, JoinsSizesThatNobodyCanMakeBytesOf) {
  constexpr uint64_t kPeriod = (uint64_t{1} << 31) - 1;
  std::mt19937_64 random(2);
  for (int round = 0; round < 10'000; ++round) {
    const uint32_t first = static_cast<uint32_t>(random());
    const uint32_t second = static_cast<uint32_t>(random());
    const uint64_t bytes = random() >> (random() % 64);
    ASSERT_EQ(JoinCrc32c(first, second, bytes), JoinCrc32c(first, second, bytes % kPeriod)) << bytes;
  }
}

}  // namespace
}  // namespace cairn
