// SPDX-License-Identifier: GPL-2.0-only
// Keys that stand for a transaction, and how they are told from rows.
#include "txn/number_key.h"

#include <string>

#include <gtest/gtest.h>

namespace cairn::txn {
namespace {

TEST(NumberKeyTest, IsToldFromKeysOfRows) {
  const NumberKey number(7);
  EXPECT_EQ(NumberKey::KindOf(number.view()), NumberKey::Kind::kRanges);
  EXPECT_EQ(NumberKey::KindOf(number.claims()), NumberKey::Kind::kClaims);
  std::string row(12, '\0');
  StoreBe32(row.data(), 1);
  EXPECT_EQ(NumberKey::KindOf(row), NumberKey::Kind::kRow);
  EXPECT_EQ(NumberKey::KindOf("k"), NumberKey::Kind::kRow);
}

}  // namespace
}  // namespace cairn::txn
