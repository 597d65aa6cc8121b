// SPDX-License-Identifier: GPL-2.0-only
// Payload lengths against the published medians, means and quantiles; contents against their range.
#include "payload.h"

#include <gtest/gtest.h>

#include <vector>

#include "workload_mix.h"

namespace cairn::bench::linkbench {
namespace {

struct Lengths {
  PayloadShape shape;
  double median, mean, p99;
};

class PayloadLengths : public testing::TestWithParam<Lengths> {};

TEST_P(PayloadLengths, MatchThePublishedOnes) {
  Random random(11);
  PayloadGenerator generator(GetParam().shape, &random);
  std::vector<uint64_t> lengths(1'000'000);
  double sum = 0;
  for (uint64_t& length : lengths) {
    length = generator.Length();
    ASSERT_LT(length, GetParam().shape.max_bytes);
    sum += static_cast<double>(length);
  }
  std::sort(lengths.begin(), lengths.end());
  const auto quantile = [&](double share) {
    return static_cast<double>(lengths[static_cast<size_t>(share * static_cast<double>(lengths.size()))]);
  };
  EXPECT_NEAR(quantile(0.5), GetParam().median, std::max(1.0, GetParam().median * 0.01));
  EXPECT_NEAR(sum / static_cast<double>(lengths.size()), GetParam().mean, GetParam().mean * 0.02);
  EXPECT_NEAR(quantile(0.99), GetParam().p99, GetParam().p99 * 0.03);
}

INSTANTIATE_TEST_SUITE_P(LinkBench, PayloadLengths,
                         testing::Values(Lengths{kProfileFb2011.link_data, 8, 13.1, 82},
                                         Lengths{kProfileFb2011.node_data, 128, 211, 1307},
                                         Lengths{kProfileFb2017.link_data, 23, 36.9, 235},
                                         Lengths{kProfileFb2017.node_data, 168, 277, 1715}));

struct Contents {
  PayloadShape shape;
  uint64_t first_byte, last_byte;
  double fresh_share;
};

class PayloadContents : public testing::TestWithParam<Contents> {};

TEST_P(PayloadContents, UseEveryByteOfTheRangeAndNoOther) {
  Random random(3);
  PayloadGenerator generator(GetParam().shape, &random);
  std::vector<uint64_t> seen(256, 0);
  for (int i = 0; i < 10'000; ++i) {
    for (const char byte : generator.Generate()) ++seen[static_cast<unsigned char>(byte)];
  }
  for (size_t byte = 0; byte < seen.size(); ++byte) {
    EXPECT_EQ(seen[byte] != 0, byte >= GetParam().first_byte && byte <= GetParam().last_byte) << byte;
  }
}

// The share of payloads that are no copy of an earlier one's bytes: with a motif of 512 bytes there are at
// most 512 distinct 40-byte windows, so a repeated 40-byte prefix means a motif chunk.
TEST_P(PayloadContents, HaveTheWantedShareOfFreshChunks) {
  Random random(5);
  PayloadGenerator generator(GetParam().shape, &random);
  std::vector<std::string> prefixes;
  while (prefixes.size() < 50'000) {
    const std::string& payload = generator.Generate();
    if (payload.size() >= 40) prefixes.push_back(payload.substr(0, 40));
  }
  std::sort(prefixes.begin(), prefixes.end());
  uint64_t unique = 0;
  for (size_t i = 0; i < prefixes.size(); ++i) {
    const bool differs_before = i == 0 || prefixes[i] != prefixes[i - 1];
    const bool differs_after = i + 1 == prefixes.size() || prefixes[i] != prefixes[i + 1];
    unique += differs_before && differs_after;
  }
  EXPECT_NEAR(static_cast<double>(unique) / 50'000, GetParam().fresh_share, 0.01);
}

INSTANTIATE_TEST_SUITE_P(LinkBench, PayloadContents,
                         testing::Values(Contents{kProfileFb2011.link_data, 32, 100, 0.225},
                                         Contents{kProfileFb2011.node_data, 50, 220, 0.63},
                                         Contents{kProfileFb2017.link_data, 32, 100, 0.225},
                                         Contents{kProfileFb2017.node_data, 50, 220, 0.63}));

}  // namespace
}  // namespace cairn::bench::linkbench
