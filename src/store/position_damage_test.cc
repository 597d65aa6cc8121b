// SPDX-License-Identifier: GPL-2.0-only
// Counts by position over blocks whose checksum is right and whose contents are not: any number, or none, but they end.
#include <random>
#include <string>

#include "store/damage_testing.h"

namespace cairn::store {
namespace {

class PositionDamageTest : public ::testing::Test, public DamagedFileFixture {
 protected:
  void SetUp() override {
    ASSERT_NO_FATAL_FAILURE(WriteFile());
    ASSERT_NO_FATAL_FAILURE(FindBlocks());
  }

  // Counts ranges within a block, over two and over many; with changes of their rows in the memtable they are listed.
  // `cached`: the index is held for all connections, and blocks are in the cache once they were read.
  void CountRanges(const std::string& text, bool cached) {
    if (store != nullptr) Crash();  // nothing of the last one is left
    env.WriteFile(path_, text);
    options.expert_family_options = cached ? "" : "block_based_table_factory={no_block_cache=true;cache_index_and_filter_blocks=false}";
    Open();
    for (const bool changed : {false, true}) {
      if (changed) {
        Batch batch(*store);
        for (int i = 1; i < kKeys; i += 10) batch.Put(Family::kData, Key(i), "beside");
        ASSERT_TRUE(store->Write(batch, Durability::kOs).ok());
      }
      for (int i = 0; i < kKeys; i += 17) {
        for (const int rows : {1, 12, 60, kKeys}) {
          const std::string lower = Key(i), upper = Key(i + rows);
          PositionCount count;
          if (!store->CountByPosition(Family::kData, {lower, upper}, &count)) ++unknown_;
        }
      }
    }
  }

  int unknown_ = 0;
};

TEST_F(PositionDamageTest, AnyByteOfAnyBlock) {
  std::mt19937 random;
  for (int i = 0; i < 150; ++i) {
    std::string text = whole_;
    for (int n = i % 5; n >= 0; --n) {
      const Block& block = blocks_[random() % blocks_.size()];
      text[block.offset + random() % block.size] = static_cast<char>(random());
      Seal(block, &text);
    }
    ASSERT_NO_FATAL_FAILURE(CountRanges(text, /*cached=*/i % 2 != 0)) << i;
  }
}

// Each block has one byte of another value at the same place from its begin: lengths of the first entries.
TEST_F(PositionDamageTest, LengthsOfAllBlocks) {
  for (size_t at = 0; at < 40; ++at) {
    for (const uint8_t byte : {0x00, 0x07, 0x7f, 0xff}) {
      std::string text = whole_;
      for (const Block& block : blocks_) {
        text[block.offset + at] = static_cast<char>(byte);
        Seal(block, &text);
      }
      ASSERT_NO_FATAL_FAILURE(CountRanges(text, /*cached=*/(at + byte) % 2 != 0)) << at;
    }
  }
  EXPECT_GT(unknown_, 0);
}

TEST_F(PositionDamageTest, RestartPointsOfNoUse) {
  for (const uint32_t count : {0u, 0x7fff'ffffu, 0x0fff'ffffu, 40u}) {
    std::string text = whole_;
    for (const Block& block : blocks_) {
      StoreLe32(text.data() + block.offset + block.size - sizeof(uint32_t), count);
      Seal(block, &text);
    }
    for (const bool cached : {false, true}) ASSERT_NO_FATAL_FAILURE(CountRanges(text, cached)) << count;
  }
  for (const uint32_t flip : {0x1u, 0x10u, 0x400u, 0x8000'0000u}) {
    std::string text = whole_;
    for (const Block& block : blocks_) SetPoints(block, [flip](uint32_t point) { return point ^ flip; }, &text);
    for (const bool cached : {false, true}) ASSERT_NO_FATAL_FAILURE(CountRanges(text, cached)) << flip;
  }
  EXPECT_GT(unknown_, 0);
}

TEST_F(PositionDamageTest, HandlesOfTheIndex) {
  std::mt19937 random;
  for (int i = 0; i < 60; ++i) {
    std::string text = whole_;
    for (const size_t handle : handles_) {
      if (random() % 4 == 0) text[handle + random() % 3] = static_cast<char>(random());
    }
    Seal(index_, &text);
    ASSERT_NO_FATAL_FAILURE(CountRanges(text, /*cached=*/i % 2 != 0)) << i;
  }
  EXPECT_GT(unknown_, 0);
}

}  // namespace
}  // namespace cairn::store
