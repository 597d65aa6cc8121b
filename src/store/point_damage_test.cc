// SPDX-License-Identifier: GPL-2.0-only
// Point reads of damaged files: the right value, or corruption.
#include <algorithm>
#include <random>
#include <string>

#include "store/damage_testing.h"
#include "store/point_reader.h"

namespace cairn::store {
namespace {

class PointDamageTest : public ::testing::Test, public DamagedFileFixture {
 protected:
  void SetUp() override { ASSERT_NO_FATAL_FAILURE(WriteFile()); }

  // Reads some keys; how many of the reads met damage.
  void ReadAll(const std::string& text, int* damaged) {
    *damaged = 0;
    env.WriteFile(path_, text);
    if (!Store::Open(options, &store).ok()) return;
    PointReader points;
    PinnedValue value;
    for (int i = 0; i < kKeys; i += 3) {
      const Status status = points.Get(*store, Key(i), nullptr, &value);
      if (status.Is(Status::Code::kCorruption)) {
        ++*damaged;
      } else if (i % 2 == 0) {
        ASSERT_TRUE(status.ok()) << i << ' ' << status.ToString();
        ASSERT_EQ(value.view(), Value(i));
      } else {
        ASSERT_TRUE(status.Is(Status::Code::kNotFound)) << i << ' ' << status.ToString();
      }
      if (i % 5 == 0) points.Close();
    }
    points.Close();
    value.Reset();
    store.reset();
  }
};

TEST_F(PointDamageTest, FlippedBitsAreMetOrDoNotMatter) {
  std::mt19937 random(7);
  int damaged_files = 0;
  for (int trial = 0; trial < 60; ++trial) {
    std::string text = whole_;
    for (unsigned n = 1 + random() % 3; n > 0; --n) {
      char& byte = text[random() % text.size()];
      byte = static_cast<char>(byte ^ 1 << random() % 8);
    }
    int damaged;
    ASSERT_NO_FATAL_FAILURE(ReadAll(text, &damaged)) << trial;
    if (damaged != 0) ++damaged_files;
  }
  EXPECT_GT(damaged_files, 10);
}

// Blocks whose checksum is right and whose contents are not, as bad memory makes them.
class PointGarbageTest : public PointDamageTest {
 protected:
  void SetUp() override {
    ASSERT_NO_FATAL_FAILURE(PointDamageTest::SetUp());
    ASSERT_NO_FATAL_FAILURE(FindBlocks());
  }
  // Of absent keys filters may tell without the blocks.
  void ExpectAllDamaged(const std::string& text) {
    int damaged;
    ASSERT_NO_FATAL_FAILURE(ReadAll(text, &damaged));
    EXPECT_GE(damaged, kKeys / 6);
  }
};

TEST_F(PointGarbageTest, RestartPointsLeadOut) {
  for (const uint32_t point : {0xffff'fff0u, 0x7fff'ffffu, 200'000u}) {
    std::string text = whole_;
    SetPoints(index_, [&](uint32_t) { return point; }, &text);
    ASSERT_NO_FATAL_FAILURE(ExpectAllDamaged(text)) << point;
    text = whole_;
    for (const Block& block : blocks_) SetPoints(block, [&](uint32_t) { return point; }, &text);
    ASSERT_NO_FATAL_FAILURE(ExpectAllDamaged(text)) << point;
  }
}

TEST_F(PointGarbageTest, EntriesLeadOut) {
  std::string text = whole_;
  for (const Block& block : blocks_) {
    std::fill_n(text.data() + block.offset, EntryBytes(block), '\xff');
    Seal(block, &text);
  }
  ASSERT_NO_FATAL_FAILURE(ExpectAllDamaged(text));
}

TEST_F(PointGarbageTest, HandlesLeadOut) {
  std::string text = whole_;
  for (const size_t handle : handles_) {
    char* at = text.data() + handle;
    while (static_cast<unsigned char>(*at) >= 0x80) *at++ = '\xff';
    *at++ = '\x7f';
    while (static_cast<unsigned char>(*at) >= 0x80) *at++ = '\xff';
    *at = '\x7f';
  }
  Seal(index_, &text);
  ASSERT_NO_FATAL_FAILURE(ExpectAllDamaged(text));
}

}  // namespace
}  // namespace cairn::store
