// SPDX-License-Identifier: GPL-2.0-only
// For tests: a file whose blocks can be damaged, with their checksums made right again.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <rocksdb/env.h>

#include "util/crc32c.h"

#include "base/endian.h"
#include "store/rocks_status.h"
#include "store/store_testing.h"

namespace cairn::store {

// A store of one file of half the keys, the even ones.
class DamagedFileFixture : public StoreFixture {
 public:
  static constexpr int kKeys = 600;

  // A file's block, its trailer not counted.
  struct Block {
    size_t offset = 0;
    size_t size = 0;
  };

  void WriteFile() {
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

  // Of the file that WriteFile() made.
  void FindBlocks() {
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
  size_t EntryBytes(const Block& block) const { return block.size - sizeof(uint32_t) * (1 + PointCount(block)); }

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
  std::string whole_, path_;
  Block index_;
  std::vector<size_t> handles_;  // where the index has those of the blocks
  std::vector<Block> blocks_;
};

}  // namespace cairn::store
