// SPDX-License-Identifier: GPL-2.0-only
// The vectors of docs/formats/filter.md, and bytes that are no filter.
#include "store/filter_format.h"

#include <fstream>
#include <sstream>
#include <string>

#include <gtest/gtest.h>
#include <rocksdb/slice.h>

#include "store/rocksdb_fwd.h"

namespace cairn::store {
namespace {

std::string FromHex(const std::string& hex) {
  std::string bytes;
  if (hex == "-") return bytes;
  EXPECT_TRUE(rocks::Slice(hex).DecodeHex(&bytes)) << hex;
  return bytes;
}

TEST(FilterFormatTest, Vectors) {
  std::ifstream page(CAIRN_SOURCE_DIR "/docs/formats/filter.md");
  int count = 0;
  bool within = false;
  for (std::string line; std::getline(page, line);) {
    if (line.starts_with("```")) within = line == "```vectors";
    if (!within || line.starts_with("`") || line.starts_with("#")) continue;
    std::string bits, indexes, bytes;
    ASSERT_TRUE(std::istringstream(line) >> bits >> indexes >> bytes) << line;
    FilterFormat filter, again;
    const std::string bits_bytes = FromHex(bits);
    filter.bits = bits_bytes;
    std::istringstream list(indexes == "-" ? "" : indexes);
    for (std::string id; std::getline(list, id, ',');) filter.long_indexes.push_back(IndexId(static_cast<uint32_t>(std::stoul(id, nullptr, 16))));
    ByteBuffer buffer;
    EncodeFilter(filter, &buffer);
    const std::string encoded = buffer.ToString();
    EXPECT_EQ(rocks::Slice(encoded).ToString(/*hex=*/true), rocks::Slice(FromHex(bytes)).ToString(true)) << line;
    ASSERT_TRUE(DecodeFilter(encoded, &again)) << line;
    EXPECT_EQ(again.bits, filter.bits);
    EXPECT_EQ(again.long_indexes, filter.long_indexes);
    ++count;
  }
  EXPECT_EQ(count, 4);
}

TEST(FilterFormatTest, WhatIsNoFilterIsRefused) {
  FilterFormat filter;
  for (const char* hex : {"-", "00", "0001", "0000060001", "ffff", "80000100800000060002"}) EXPECT_FALSE(DecodeFilter(FromHex(hex), &filter)) << hex;
}

}  // namespace
}  // namespace cairn::store
