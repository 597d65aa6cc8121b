// SPDX-License-Identifier: GPL-2.0-only
// Walks over files of which some blocks are in the block cache and others are not.
#include "store/cached_blocks.h"

#include <map>
#include <optional>
#include <random>

#include "store/sorted_load.h"
#include "store/store_testing.h"

namespace cairn::store {
namespace {

constexpr int kKeys = 3000;

class CachedBlocksTest : public ::testing::TestWithParam<unsigned>, public StoreFixture {
 protected:
  void SetUp() override {
    random_.seed(GetParam());
    options.expert_family_options = "target_file_size_base=40000;block_based_table_factory={block_size=2000;block_restart_interval=";
    options.expert_family_options += GetParam() % 2 == 0 ? "16}" : "4}";
    Open();
    for (int i = 0; i < kKeys; ++i) model_[Key(i)] = std::to_string(i) + std::string(Below(150), 'v');
    ASSERT_NO_FATAL_FAILURE(GetParam() % 3 == 0 ? Ingest() : Write());
  }

  static std::string Key(int i) { return "index, and then row " + std::to_string(10'000 + i); }
  unsigned Below(unsigned n) { return random_() % n; }
  // Files whose entries have one sequence number, which is not stored with them.
  void Ingest() {
    ASSERT_TRUE(Put("a", "before", Durability::kOs).ok());
    SortedLoad load(*store, Family::kData);
    for (const auto& [key, value] : model_) ASSERT_TRUE(load.Add(key, value).ok());
    ASSERT_TRUE(load.Ingest().ok());
  }
  void Write() {
    Batch batch(*store);
    for (const auto& [key, value] : model_) batch.Put(Family::kData, key, value);
    ASSERT_TRUE(store->Write(batch, Durability::kOs).ok());
    ASSERT_TRUE(store->CompactRange(Family::kData, {}, {}).ok());
  }

  void ReopenCold() {
    cursor_.reset();
    Reopen();
    cursor_.emplace();
  }
  void Begin(int first, int end, bool fill_cache) {
    lower_ = Key(first);
    upper_ = Key(end);
    cursor_->Close();
    ASSERT_TRUE(store->OpenCursor(Family::kData, {.lower_bound = lower_, .upper_bound = upper_, .fill_cache = fill_cache},
                                  &*cursor_).ok());
  }

  void Check(std::map<std::string, std::string>::const_iterator at) {
    ASSERT_TRUE(cursor_->status().ok()) << cursor_->status().ToString();
    const bool is_inside = at != model_.end() && at->first >= lower_ && at->first < upper_;
    ASSERT_EQ(cursor_->Valid(), is_inside);
    if (!is_inside) return;
    ASSERT_EQ(cursor_->key(), at->first);
    ASSERT_EQ(cursor_->value(), at->second);
  }

  // Long and short ways, there and back.
  void Walk(int first, int end, bool fill_cache) {
    SCOPED_TRACE("[" + std::to_string(first) + ", " + std::to_string(end) + ")");
    ASSERT_NO_FATAL_FAILURE(Begin(first, end, fill_cache));
    auto at = model_.lower_bound(lower_);
    cursor_->SeekToFirst();
    ASSERT_NO_FATAL_FAILURE(Check(at));
    while (cursor_->Valid()) {
      const bool forward = Below(3) != 0;
      for (unsigned steps = 1 + Below(Below(4) == 0 ? 3 : forward ? 200 : 60); steps != 0 && cursor_->Valid(); --steps) {
        if (forward) {
          cursor_->Next(), ++at;
        } else {
          cursor_->Prev();
          at = at == model_.begin() ? model_.end() : std::prev(at);
        }
        ASSERT_NO_FATAL_FAILURE(Check(at));
      }
    }
    at = model_.lower_bound(upper_);
    for (cursor_->SeekToLast(); cursor_->Valid(); cursor_->Prev()) ASSERT_NO_FATAL_FAILURE(Check(--at));
    ASSERT_EQ(at, model_.lower_bound(lower_));
  }

  std::map<std::string, std::string> model_;
  std::string lower_, upper_;
  std::optional<Cursor> cursor_;  // of the store that is open
  std::mt19937 random_;
};

TEST_P(CachedBlocksTest, SomeAreAndOthersAreNot) {
  for (int round = 0; round < 10; ++round) {
    ASSERT_NO_FATAL_FAILURE(ReopenCold());
    for (unsigned range = Below(6); range != 0; --range) {
      const int first = static_cast<int>(Below(kKeys));
      ASSERT_NO_FATAL_FAILURE(Begin(first, std::min<int>(kKeys, first + 1 + static_cast<int>(Below(400))), true));
      for (cursor_->SeekToFirst(); cursor_->Valid(); cursor_->Next()) {
      }
      ASSERT_TRUE(cursor_->status().ok());
    }
    for (int walk = 0; walk < 4; ++walk) {
      const int first = static_cast<int>(Below(kKeys));
      ASSERT_NO_FATAL_FAILURE(Walk(first, first + static_cast<int>(Below(static_cast<unsigned>(kKeys - first + 1))), false));
    }
    ASSERT_NO_FATAL_FAILURE(Walk(0, kKeys, false));
    cursor_->Close();
  }
}

// Each walk reads one by itself, at its begin or later.
TEST_P(CachedBlocksTest, OneIsReadByTheWalk) {
  for (int round = 0; round < 5; ++round) {
    ASSERT_NO_FATAL_FAILURE(ReopenCold());
    for (int walk = 0; walk < 20; ++walk) {
      const int first = static_cast<int>(Below(kKeys));
      ASSERT_NO_FATAL_FAILURE(Walk(first, std::min<int>(kKeys, first + static_cast<int>(Below(Below(3) == 0 ? 300 : 30))), true));
    }
  }
}

// By the handle that the index has, which is held: neither is that asked for again nor RocksDB's iterator made.
TEST_P(CachedBlocksTest, AShortWalkReadsItsBlockByTheHandle) {
  constexpr int kStride = 60;  // more than a block has
  constexpr uint64_t kWalks = kKeys / kStride;
  const auto walk_all = [this](bool forward, bool fill_cache) {
    ASSERT_NO_FATAL_FAILURE(Begin(0, kKeys, fill_cache));
    for (forward ? cursor_->SeekToFirst() : cursor_->SeekToLast(); cursor_->Valid(); forward ? cursor_->Next() : cursor_->Prev()) {
    }
    ASSERT_TRUE(cursor_->status().ok());
    cursor_->Close();
  };
  const auto hold_indexes = [&] {
    ASSERT_NO_FATAL_FAILURE(ReopenCold());
    ASSERT_NO_FATAL_FAILURE(walk_all(/*forward=*/true, /*fill_cache=*/false));
  };
  const auto look = [this](bool forward, bool fill_cache) {
    for (int i = kStride / 2; i < kKeys; i += kStride) {
      ASSERT_NO_FATAL_FAILURE(Begin(i, i + 1, fill_cache));
      forward ? cursor_->SeekToFirst() : cursor_->SeekToLast();
      ASSERT_NO_FATAL_FAILURE(Check(model_.find(Key(i))));
    }
    cursor_->Close();
  };
  const auto index_looks = [this] { return Number("block_cache_index_hit") + Number("block_cache_index_miss"); };
  const auto rocks_seeks = [this] { return Number("last_level_seek_data") + Number("non_last_level_seek_data"); };

  ASSERT_NO_FATAL_FAILURE(hold_indexes());
  const uint64_t looks = index_looks(), misses = Number("block_cache_data_miss");
  uint64_t seeks = rocks_seeks();
  ASSERT_NO_FATAL_FAILURE(look(/*forward=*/true, /*fill_cache=*/true));
  EXPECT_EQ(index_looks(), looks);
  EXPECT_EQ(rocks_seeks(), seeks);
  EXPECT_EQ(Number("block_cache_data_miss"), misses + kWalks);

  // Backward a walk is in a second block where the first begins with its end.
  ASSERT_NO_FATAL_FAILURE(hold_indexes());
  seeks = rocks_seeks();
  ASSERT_NO_FATAL_FAILURE(look(/*forward=*/false, /*fill_cache=*/true));
  EXPECT_LT(rocks_seeks() - seeks, kWalks / 3);

  // Not for walks that are to leave the cache as it is, and not for all of a long one.
  ASSERT_NO_FATAL_FAILURE(hold_indexes());
  const uint64_t added = Number("block_cache_data_add");
  seeks = rocks_seeks();
  ASSERT_NO_FATAL_FAILURE(look(/*forward=*/true, /*fill_cache=*/false));
  EXPECT_EQ(Number("block_cache_data_add"), added);
  EXPECT_EQ(rocks_seeks(), seeks + kWalks);
  for (const bool forward : {true, false}) {
    ASSERT_NO_FATAL_FAILURE(hold_indexes());
    seeks = rocks_seeks();
    ASSERT_NO_FATAL_FAILURE(walk_all(forward, /*fill_cache=*/true));
    EXPECT_GT(rocks_seeks(), seeks);
  }
}

// Statistics count each block that a walk finds in the cache once.
TEST_P(CachedBlocksTest, HitsAreCounted) {
  ASSERT_NO_FATAL_FAILURE(ReopenCold());
  const auto walk = [this] {
    ASSERT_NO_FATAL_FAILURE(Begin(0, kKeys, true));
    for (cursor_->SeekToFirst(); cursor_->Valid(); cursor_->Next()) {
    }
    ASSERT_TRUE(cursor_->status().ok());
    cursor_->Close();
  };
  ASSERT_NO_FATAL_FAILURE(walk());
  const uint64_t blocks = Number("block_cache_data_miss");
  const uint64_t hits = Number("block_cache_data_hit");
  EXPECT_GT(blocks, 100u);
  ASSERT_NO_FATAL_FAILURE(walk());
  EXPECT_EQ(Number("block_cache_data_miss"), blocks);
  EXPECT_NEAR(static_cast<double>(Number("block_cache_data_hit") - hits), static_cast<double>(blocks),
              static_cast<double>(blocks) / 4);
}

INSTANTIATE_TEST_SUITE_P(Seeds, CachedBlocksTest, ::testing::Range(1u, 13u));

}  // namespace
}  // namespace cairn::store
