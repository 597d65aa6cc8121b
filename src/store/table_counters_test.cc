// SPDX-License-Identifier: GPL-2.0-only
// The bytes of table counters: vectors, round trips, damage.
#include "store/table_counters.h"

#include <gtest/gtest.h>

namespace cairn::store {
namespace {

std::string Hex(ByteView bytes) {
  std::string text;
  for (const char c : bytes) {
    char pair[4];
    snprintf(pair, sizeof pair, "%02x", static_cast<unsigned char>(c));
    text += pair;
  }
  return text;
}

std::string Encoded(const TableCounters& counters) {
  ByteBuffer bytes;
  EncodeTableCounters(counters, &bytes);
  return bytes.ToString();
}

TEST(TableCounters, Vectors) {
  EXPECT_EQ(Hex(Encoded({0, 0})), "010000");
  EXPECT_EQ(Hex(Encoded({-1, 0})), "010100");
  EXPECT_EQ(Hex(Encoded({300, 5})), "01d80405");
}

TEST(TableCounters, RoundTripAtTheEdges) {
  for (const int64_t rows : {INT64_MIN, int64_t{-1}, int64_t{0}, int64_t{1}, INT64_MAX}) {
    for (const uint64_t next : {uint64_t{0}, uint64_t{127}, uint64_t{128}, UINT64_MAX}) {
      TableCounters back;
      ASSERT_TRUE(DecodeTableCounters(Encoded({rows, next}), &back).ok());
      EXPECT_EQ(back, (TableCounters{rows, next}));
    }
  }
}

TEST(TableCounters, EveryTruncationIsCorruption) {
  const std::string whole = Encoded({INT64_MIN, UINT64_MAX});
  TableCounters ignored;
  for (size_t size = 0; size < whole.size(); ++size) {
    EXPECT_TRUE(DecodeTableCounters(ByteView(whole).substr(0, size), &ignored).Is(Status::Code::kCorruption)) << size;
  }
  EXPECT_TRUE(DecodeTableCounters(whole + '\0', &ignored).Is(Status::Code::kCorruption));
  EXPECT_TRUE(DecodeTableCounters(ByteView("\0\0\0", 3), &ignored).Is(Status::Code::kCorruption));
  EXPECT_TRUE(DecodeTableCounters(ByteView("\2\0\0", 3), &ignored).Is(Status::Code::kFormatTooNew));
}

TEST(TableCounters, RowsAddUpAndTheLargestNextValueStays) {
  TableCounters sum{5, 10};
  sum.Add({-7, 3});
  EXPECT_EQ(sum, (TableCounters{-2, 10}));
  sum.Add({0, 11});
  EXPECT_EQ(sum, (TableCounters{-2, 11}));
}

}  // namespace
}  // namespace cairn::store
