// SPDX-License-Identifier: GPL-2.0-only
// Point reads of damaged files: the right value, or corruption.
#include <algorithm>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include <rocksdb/env.h>

#include "util/crc32c.h"

#include "base/endian.h"
#include "store/point_reader.h"
#include "store/rocks_status.h"
#include "store/store_testing.h"

namespace cairn::store {
namespace {

class PointDamageTest : public ::testing::Test, public StoreFixture {
 protected:
  static constexpr int kKeys = 600;

  // A file's block, its trailer not counted.
  struct Block {
    size_t offset = 0;
    size_t size = 0;
  };

  void SetUp() override {
    // The index is found by the end of a file of that version; what is not compressed can be damaged where it is meant to.
    options.expert_family_options =
        "compression_per_level=kNoCompression;bottommost_compression=kNoCompression;"
        "block_based_table_factory={block_size=150;block_restart_interval=3;format_version=5;checksum=kCRC32c;"
        "enable_index_compression=false}";
    Open();
    Batch batch(*store);
    for (int i = 0; i < kKeys; i += 2) batch.Put(Family::kData, Key(i), Value(i));
    ASSERT_TRUE(store->Write(batch, Durability::kSync).ok());
    ASSERT_TRUE(store->CompactRange(Family::kData, {}, {}).ok());
    store.reset();
    for (const std::string& path : env.Files("/db", ".sst")) {
      std::string text;
      ASSERT_TRUE(rocks::ReadFileToString(env.rocks_env(), path, &text).ok());
      if (text.size() > whole_.size()) {
        whole_ = text;
        path_ = path;
      }
    }
  }
  static std::string Key(int i) { return std::string("\0\0\0\1", 4) + std::to_string(10'000 + i); }
  static std::string Value(int i) { return std::to_string(i) + std::string(static_cast<size_t>(i % 50), 'v'); }

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

  std::string whole_, path_;
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
    constexpr size_t kFooterBytes = 53;
    size_t at = whole_.size() - kFooterBytes + 1;
    ReadHandle(&at);
    index_ = ReadHandle(&at);
    const size_t end = index_.offset + index_.size - sizeof(uint32_t) * (1 + PointCount(index_));
    for (at = index_.offset; at < end;) {
      ASSERT_EQ(ReadNumber(&at), 0u);
      const size_t key_bytes = ReadNumber(&at);
      at += key_bytes;
      handles_.push_back(at);
      blocks_.push_back(ReadHandle(&at));
    }
    ASSERT_EQ(at, end);
    ASSERT_GT(blocks_.size(), 50u);
  }
  size_t ReadNumber(size_t* at) const {
    size_t number = 0;
    for (int shift = 0;; shift += 7) {
      const auto byte = static_cast<unsigned char>(whole_[(*at)++]);
      number |= size_t{byte & 0x7fu} << shift;
      if (byte < 0x80) return number;
    }
  }
  Block ReadHandle(size_t* at) const {
    const size_t offset = ReadNumber(at);
    return {offset, ReadNumber(at)};
  }
  uint32_t PointCount(const Block& block) const { return LoadLe32(whole_.data() + block.offset + block.size - sizeof(uint32_t)); }

  void SetPoints(const Block& block, const std::function<uint32_t(uint32_t)>& change, std::string* text) const {
    char* at = text->data() + block.offset + block.size - sizeof(uint32_t) * (1 + PointCount(block));
    for (uint32_t i = PointCount(block); i > 0; --i, at += sizeof(uint32_t)) StoreLe32(at, change(LoadLe32(at)));
    Seal(block, text);
  }
  // Makes the checksum right.
  static void Seal(const Block& block, std::string* text) {
    char* const end = text->data() + block.offset + block.size + 1;  // behind the kind of compression
    StoreLe32(end, rocks::crc32c::Mask(rocks::crc32c::Value(text->data() + block.offset, block.size + 1)));
  }
  // Of absent keys filters may tell without the blocks.
  void ExpectAllDamaged(const std::string& text) {
    int damaged;
    ASSERT_NO_FATAL_FAILURE(ReadAll(text, &damaged));
    EXPECT_GE(damaged, kKeys / 6);
  }

  Block index_;
  std::vector<size_t> handles_;  // where the index has those of the blocks
  std::vector<Block> blocks_;
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
    std::fill_n(text.data() + block.offset, block.size - sizeof(uint32_t) * (1 + PointCount(block)), '\xff');
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
