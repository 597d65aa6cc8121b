// SPDX-License-Identifier: GPL-2.0-only
// Files of the last level whose blocks have a dictionary: smaller, and read by all ways; without the dictionary they are damaged.
#include <random>
#include <string>

#include <gtest/gtest.h>

#include <rocksdb/env.h>

#include "store/block_dictionary.h"
#include "store/point_reader.h"
#include "store/sorted_load.h"
#include "store/store_testing.h"
#include "store/words_testing.h"

namespace cairn::store {
namespace {

using Code = Status::Code;

class DictionaryFilesTest : public ::testing::Test, public StoreFixture {
 protected:
  static constexpr int kKeys = 8000;

  static std::string Key(int i) { return std::string("\0\0\0\1", 4) + std::to_string(100'000 + i); }
  // Of words that are in many rows of its kind, but hardly twice in a block.
  static std::string Value(int i, unsigned kind = 0) {
    std::minstd_rand random(static_cast<unsigned>(i) + 1);
    std::string row;
    for (int word = 0; word < 10; ++word) row += DrawWord(&random, kind);
    return row;
  }

  void WriteRows() {
    Open();
    Batch batch(*store);
    for (int i = 0; i < kKeys; ++i) batch.Put(Family::kData, Key(i), Value(i));
    ASSERT_TRUE(store->Write(batch, Durability::kSync).ok());
    ASSERT_TRUE(store->CompactRange(Family::kData, {}, {}).ok());
  }
  // All rows anew, with values that no row had before; what the file's dictionary begins with, or nothing.
  std::string ReplaceRows(int generation, unsigned kind) {
    Batch batch(*store);
    for (int i = 0; i < kKeys; ++i) batch.Put(Family::kData, Key(i), Value(generation * kKeys + i, kind));
    EXPECT_TRUE(store->Write(batch, Durability::kSync).ok());
    EXPECT_TRUE(store->CompactRange(Family::kData, {}, {}).ok());
    FindFile();
    return dictionary_ == std::string::npos ? "" : text_.substr(dictionary_, kBlockDictionaryBytes / 2);
  }
  void LoadRows() {
    Open();
    SortedLoad load(*store, Family::kData);
    for (int i = 0; i < kKeys; ++i) ASSERT_TRUE(load.Add(Key(i), Value(i)).ok());
    ASSERT_TRUE(load.Ingest().ok());
  }

  // The largest file, and where its dictionary begins; npos: it has none.
  void FindFile() {
    text_.clear();
    for (const std::string& path : env.Files(options.directory, ".sst")) {
      std::string text;
      ASSERT_TRUE(rocks::ReadFileToString(env.rocks_env(), path, &text).ok());
      if (text.size() <= text_.size()) continue;
      text_ = text;
      path_ = path;
    }
    const bool is_named = text_.find("rocksdb.compression_dict") != std::string::npos;
    dictionary_ = is_named ? text_.find("\x37\xa4\x30\xec") : std::string::npos;  // Zstandard's mark
  }

  void ExpectAllRows() {
    PointReader points;
    PinnedValue value;
    for (int i = 0; i < kKeys; i += 7) {
      ASSERT_TRUE(points.Get(*store, Key(i), nullptr, &value).ok()) << i;
      ASSERT_EQ(value.view(), Value(i));
    }
    for (const bool forward : {true, false}) {
      Cursor cursor;
      ASSERT_TRUE(store->OpenCursor(Family::kData, {.lower_bound = Key(0), .upper_bound = Key(kKeys)}, &cursor).ok());
      forward ? cursor.SeekToFirst() : cursor.SeekToLast();
      for (int i = 0; i < kKeys; ++i, forward ? cursor.Next() : cursor.Prev()) {
        const int at = forward ? i : kKeys - 1 - i;
        ASSERT_TRUE(cursor.Valid()) << at << ' ' << cursor.status().ToString();
        ASSERT_EQ(cursor.key(), Key(at));
        ASSERT_EQ(cursor.value(), Value(at));
      }
      EXPECT_FALSE(cursor.Valid());
    }
  }

  std::string text_, path_;
  size_t dictionary_ = 0;
};

TEST_F(DictionaryFilesTest, CompactedRowsAreRead) {
  ASSERT_NO_FATAL_FAILURE(WriteRows());
  ASSERT_NO_FATAL_FAILURE(FindFile());
  EXPECT_NE(dictionary_, std::string::npos);
  ASSERT_NO_FATAL_FAILURE(ExpectAllRows());
  Reopen();
  ASSERT_NO_FATAL_FAILURE(ExpectAllRows());
}

TEST_F(DictionaryFilesTest, LoadedRowsHaveOneOnceTheyAreCompacted) {
  ASSERT_NO_FATAL_FAILURE(LoadRows());
  ASSERT_NO_FATAL_FAILURE(FindFile());
  EXPECT_EQ(dictionary_, std::string::npos);
  ASSERT_TRUE(store->CompactRange(Family::kData, {}, {}).ok());
  ASSERT_NO_FATAL_FAILURE(FindFile());
  EXPECT_NE(dictionary_, std::string::npos);
  ASSERT_NO_FATAL_FAILURE(ExpectAllRows());
  Crash();
  Open();
  ASSERT_NO_FATAL_FAILURE(ExpectAllRows());
}

// Statistics show it: RocksDB counts what it decompresses.
TEST_F(DictionaryFilesTest, RocksDbReadsNoBlockOfAHeldIndex) {
  ASSERT_NO_FATAL_FAILURE(WriteRows());
  for (const bool by_cursor : {false, true}) {
    SCOPED_TRACE(by_cursor);
    Reopen();
    PointReader points;
    PinnedValue value;
    ASSERT_TRUE(points.Get(*store, Key(0), nullptr, &value).ok());
    points.Close();
    EXPECT_EQ(Number("held_indexes"), 1u);
    const uint64_t decompressed = Number("number_block_decompressed"), misses = Number("block_cache_data_miss");
    for (int i = 100; i < kKeys; i += 100) {
      if (by_cursor) {
        Cursor cursor;
        ASSERT_TRUE(store->OpenCursor(Family::kData, {.lower_bound = Key(i), .upper_bound = Key(i + 1)}, &cursor).ok());
        cursor.SeekToFirst();
        ASSERT_TRUE(cursor.Valid());
        ASSERT_EQ(cursor.value(), Value(i));
      } else {
        ASSERT_TRUE(points.Get(*store, Key(i), nullptr, &value).ok());
        ASSERT_EQ(value.view(), Value(i));
        points.Close();
      }
    }
    value.Reset();
    EXPECT_EQ(Number("number_block_decompressed"), decompressed);
    EXPECT_GT(Number("block_cache_data_miss"), misses + 50);
  }
}

TEST_F(DictionaryFilesTest, FilesOfAnIndexShareOneUntilItsRowsChange) {
  ASSERT_NO_FATAL_FAILURE(Open());
  const std::string first = ReplaceRows(0, 0);
  ASSERT_FALSE(first.empty());
  EXPECT_EQ(ReplaceRows(1, 0), first);
  EXPECT_EQ(Get(Key(kKeys - 1)), Value(2 * kKeys - 1));
  const std::string changed = ReplaceRows(2, 1);
  EXPECT_FALSE(changed.empty());
  EXPECT_NE(changed, first);
  EXPECT_EQ(Get(Key(kKeys - 1)), Value(3 * kKeys - 1, 1));
}

// Another setting of Zstandard is RocksDB's, without a dictionary.
TEST_F(DictionaryFilesTest, TheyAreSmaller) {
  ASSERT_NO_FATAL_FAILURE(WriteRows());
  ASSERT_NO_FATAL_FAILURE(FindFile());
  const size_t with = text_.size();
  store.reset();
  options.directory = "/other";
  options.expert_family_options = "bottommost_compression_opts={level=3;enabled=true;checksum=true}";
  ASSERT_NO_FATAL_FAILURE(WriteRows());
  ASSERT_NO_FATAL_FAILURE(FindFile());
  EXPECT_EQ(dictionary_, std::string::npos);
  EXPECT_LT(with, text_.size() - text_.size() / 20);
  ASSERT_NO_FATAL_FAILURE(ExpectAllRows());
}

TEST_F(DictionaryFilesTest, ADamagedDictionaryIsMet) {
  ASSERT_NO_FATAL_FAILURE(WriteRows());
  store.reset();
  ASSERT_NO_FATAL_FAILURE(FindFile());
  ASSERT_NE(dictionary_, std::string::npos);
  int met = 0;
  for (const size_t offset : {size_t{0}, size_t{5}, size_t{200}, size_t{3000}}) {
    std::string text = text_;
    text[dictionary_ + offset] = static_cast<char>(text[dictionary_ + offset] ^ 0x10);
    env.WriteFile(path_, text);
    if (!Store::Open(options, &store).ok()) continue;
    PointReader points;
    PinnedValue value;
    for (int i = 0; i < kKeys; i += 97) {
      EXPECT_TRUE(points.Get(*store, Key(i), nullptr, &value).Is(Code::kCorruption)) << offset << ' ' << i;
    }
    points.Close();
    Cursor cursor;
    ASSERT_TRUE(store->OpenCursor(Family::kData, {.lower_bound = Key(0), .upper_bound = Key(kKeys)}, &cursor).ok());
    cursor.SeekToLast();
    EXPECT_FALSE(cursor.Valid());
    EXPECT_TRUE(cursor.status().Is(Code::kCorruption)) << offset;
    cursor = Cursor();
    store.reset();
    ++met;
  }
  EXPECT_GT(met, 0);
}

}  // namespace
}  // namespace cairn::store
