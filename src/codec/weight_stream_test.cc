// SPDX-License-Identifier: GPL-2.0-only
// Streams of weights: all short ones over units that matter, against comparisons written plainly.
#include "codec/weight_stream.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

namespace cairn::codec {
namespace {

using Units = std::vector<uint32_t>;

constexpr uint32_t kSpace = 0x20;

// All sequences of up to `length_max` of `alphabet`.
std::vector<Units> AllSequences(const Units& alphabet, size_t length_max) {
  std::vector<Units> all = {{}};
  for (size_t from = 0, length = 0; length < length_max; ++length) {
    const size_t to = all.size();
    for (; from < to; ++from) {
      for (const uint32_t unit : alphabet) {
        Units longer = all[from];
        longer.push_back(unit);
        all.push_back(longer);
      }
    }
  }
  return all;
}

int ComparePadded(const Units& a, const Units& b) {
  for (size_t at = 0; at < std::max(a.size(), b.size()); ++at) {
    const uint32_t left = at < a.size() ? a[at] : kSpace, right = at < b.size() ? b[at] : kSpace;
    if (left != right) return left < right ? -1 : 1;
  }
  return 0;
}

int CompareUnpadded(const Units& a, const Units& b) { return a < b ? -1 : a > b ? 1 : 0; }
int Sign(int number) { return number < 0 ? -1 : number > 0 ? 1 : 0; }

struct Form {
  unsigned unit_bytes;
  bool padded;
  uint8_t mask;

  std::string UnitBytes(uint32_t unit) const {
    std::string bytes;
    for (unsigned byte = unit_bytes; byte-- > 0;) bytes += static_cast<char>(unit >> (8 * byte));
    return bytes;
  }
  std::string Encode(const Units& units) const {
    ByteBuffer out;
    out.AppendU8('x');  // streams do not begin at the buffer's start
    for (const uint32_t unit : units) out.Append(UnitBytes(unit));
    const std::string space = UnitBytes(kSpace);
    if (padded) {
      FinishPadded(1, unit_bytes, reinterpret_cast<const uint8_t*>(space.data()), &out);
    } else {
      FinishUnpadded(1, unit_bytes, &out);
    }
    std::string stream = out.ToString().substr(1);
    for (char& byte : stream) byte = static_cast<char>(byte ^ mask);
    return stream;
  }
  size_t EncodedBytes(ByteView bytes) const {
    const std::string space = UnitBytes(kSpace);
    return padded ? PaddedBytes(bytes, unit_bytes, reinterpret_cast<const uint8_t*>(space.data()), mask)
                  : UnpaddedBytes(bytes, unit_bytes, mask);
  }
  std::string Unpack(ByteView stream, size_t room) const {
    const std::string space = UnitBytes(kSpace);
    std::string units(room, '?');
    uint8_t* to = reinterpret_cast<uint8_t*>(units.data());
    const Unpacked unpacked =
        padded ? UnpackPadded(stream, unit_bytes, reinterpret_cast<const uint8_t*>(space.data()), mask, to, room)
               : UnpackUnpadded(stream, unit_bytes, mask, to, room);
    if (unpacked.stream_bytes == 0) return "does not fit";
    EXPECT_EQ(unpacked.stream_bytes, EncodedBytes(stream));
    EXPECT_EQ(units.find_first_not_of('?', unpacked.unit_bytes), std::string::npos) << "written behind the units";
    units.resize(unpacked.unit_bytes);
    return units;
  }
};

class WeightStream : public ::testing::TestWithParam<Form> {};

// Longer than what is looked at at once, with special units and their ends at any place in it.
TEST_P(WeightStream, GivesLongStreamsBack) {
  const Form form = GetParam();
  std::mt19937 random(1);
  const Units alphabet = {0, 1, 0x1f, kSpace, 0x21, 0x7f, 0x80, 0xdf, 0xff};
  for (unsigned round = 0; round < 20000; ++round) {
    Units units(random() % 40);
    const unsigned kinds = 1 + random() % static_cast<unsigned>(alphabet.size());
    for (uint32_t& unit : units) unit = random() % 3 == 0 ? alphabet[random() % kinds] : 'a' + random() % 20;
    if (form.padded) {
      while (!units.empty() && units.back() == kSpace) units.pop_back();
    }
    std::string plain;
    for (const uint32_t unit : units) plain += form.UnitBytes(unit);
    const std::string stream = form.Encode(units), behind(random() % 12, static_cast<char>(random()));
    ASSERT_EQ(form.EncodedBytes(stream + behind), stream.size());
    for (const size_t room : {plain.size(), plain.size() + 1, plain.size() + 30}) {
      ASSERT_EQ(form.Unpack(stream + behind, room), plain);
    }
    if (!plain.empty()) { ASSERT_EQ(form.Unpack(stream + behind, random() % plain.size()), "does not fit"); }
    for (size_t size = 0; size < stream.size(); ++size) {
      ASSERT_EQ(form.EncodedBytes(std::string_view(stream).substr(0, size)), 0u);
      ASSERT_EQ(form.Unpack(std::string_view(stream).substr(0, size), plain.size()), "does not fit");
    }
  }
}

TEST_P(WeightStream, KeepsOrderAndIsPrefixFree) {
  const Form form = GetParam();
  const uint32_t high = form.unit_bytes == 1 ? 0xff : form.unit_bytes == 2 ? 0xffff : 0xff00ff;
  const Units alphabet = {0, 1, 2, 0x1f, kSpace, 0x21, high};
  const std::vector<Units> all = AllSequences(alphabet, 3);
  std::vector<std::string> streams;
  for (const Units& units : all) streams.push_back(form.Encode(units));
  for (size_t a = 0; a < all.size(); ++a) {
    for (size_t b = 0; b < all.size(); ++b) {
      int expected = form.padded ? ComparePadded(all[a], all[b]) : CompareUnpadded(all[a], all[b]);
      if (form.mask != 0) expected = -expected;
      ASSERT_EQ(Sign(streams[a].compare(streams[b])), expected) << a << " " << b;
      ASSERT_TRUE(expected == 0 || !streams[b].starts_with(streams[a])) << a << " " << b;
    }
  }
}

TEST_P(WeightStream, IsMeasuredAndUnpackedWhateverFollows) {
  const Form form = GetParam();
  for (const Units& units : AllSequences({0, 1, kSpace, 0x21, 0xff}, 4)) {
    const std::string stream = form.Encode(units);
    for (const char* rest : {"", "x", "\x20", "\xff\xff\xff\xff\xff"}) {
      ASSERT_EQ(form.EncodedBytes(stream + rest), stream.size());
    }
    for (size_t size = 0; size < stream.size(); ++size) ASSERT_EQ(form.EncodedBytes(stream.substr(0, size)), 0u);
    std::string expected;
    size_t kept = units.size();
    while (form.padded && kept > 0 && units[kept - 1] == kSpace) --kept;
    for (size_t at = 0; at < kept; ++at) expected += form.UnitBytes(units[at]);
    ASSERT_EQ(form.Unpack(stream, expected.size()), expected);
    ASSERT_EQ(form.Unpack(stream, expected.size() + 9), expected);
    if (expected.empty()) continue;
    ASSERT_EQ(form.Unpack(stream, expected.size() - 1), "does not fit");
  }
}

INSTANTIATE_TEST_SUITE_P(Forms, WeightStream,
                         ::testing::Values(Form{1, true, 0}, Form{2, true, 0}, Form{3, true, 0}, Form{4, true, 0},
                                           Form{1, false, 0}, Form{2, false, 0}, Form{3, false, 0}, Form{4, false, 0},
                                           Form{1, true, 0xff}, Form{2, true, 0xff}, Form{1, false, 0xff},
                                           Form{3, false, 0xff}));

}  // namespace
}  // namespace cairn::codec
