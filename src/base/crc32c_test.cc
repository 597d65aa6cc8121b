// SPDX-License-Identifier: GPL-2.0-only
#include "base/crc32c.h"

#include <gtest/gtest.h>

namespace cairn {
namespace {

TEST(Crc32c, MatchesThePublishedVectors) {
  EXPECT_EQ(Crc32c("123456789"), 0xE3069283u);
  EXPECT_EQ(Crc32c(std::string(32, '\0')), 0x8A9136AAu);
  EXPECT_EQ(Crc32c(std::string(32, '\xff')), 0x62A8AB43u);
  EXPECT_EQ(Crc32c(""), 0u);
}

}  // namespace
}  // namespace cairn
