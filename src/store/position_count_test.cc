// SPDX-License-Identifier: GPL-2.0-only
// Counts by position against a model, through random histories.
#include <algorithm>
#include <atomic>
#include <map>
#include <random>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "store/file_filters.h"
#include "store/store_testing.h"

namespace cairn::store {
namespace {

class PositionCountTest : public ::testing::Test, public StoreFixture {
 protected:
  // Files of a few blocks, which change shape when the test says so.
  void SetUp() override {
    options.expert_family_options = kShape;
    Open();
  }
  // Where RocksDB has no block cache no index is held for all connections, and each block is read.
  void ReopenWithoutCache() {
    options.expert_family_options = kShape + ";block_based_table_factory={no_block_cache=true;cache_index_and_filter_blocks=false}";
    Reopen();
  }

  unsigned Below(size_t n) { return static_cast<unsigned>(random_() % n); }

  // Of one of three indexes. Numbers, or words of which many begin with others.
  std::string AnyKey(bool words) {
    std::string key("\0\0\0", 3);
    key += static_cast<char>('1' + Below(3));
    if (!words) {
      const unsigned number = Below(4000);
      for (const int shift : {24, 16, 8, 0}) key += static_cast<char>(number >> shift);
      return key;
    }
    for (unsigned i = Below(9); i > 0; --i) key += "\0\1a"[Below(3)];
    return key;
  }

  void PutSome(bool words, unsigned count, size_t value_bytes_max) {
    Batch batch(*store);
    std::map<std::string, std::string> changed;
    for (; count > 0; --count) {
      std::string value(Below(value_bytes_max), ' ');
      for (char& byte : value) byte = static_cast<char>(random_());
      changed[AnyKey(words)] = value;
    }
    for (const auto& [key, value] : changed) batch.Put(Family::kData, key, value);
    now_.merge(changed);
    ASSERT_TRUE(store->Write(batch, Durability::kOs).ok());
  }
  void DeleteSome(unsigned count) {
    Batch batch(*store);
    for (; count > 0 && !now_.empty(); --count) {
      const auto victim = std::next(now_.begin(), Below(now_.size()));
      batch.Delete(Family::kData, victim->first);
      now_.erase(victim);
    }
    ASSERT_TRUE(store->Write(batch, Durability::kOs).ok());
  }
  void Step(bool words, size_t value_bytes_max) {
    switch (Below(8)) {
      case 0:
      case 1: return PutSome(words, 1 + Below(600), value_bytes_max);
      case 2: return DeleteSome(Below(20));
      case 3: snapshots_.push_back(store->TakeSnapshot()); return;
      case 4: snapshots_.clear(); return;
      case 5: ASSERT_TRUE(store->FlushMemtables().ok()); return;
      default: ASSERT_TRUE(store->CompactRange(Family::kData, {}, {}).ok());
    }
  }

  void Check(std::string lower, std::string upper) {
    if (upper < lower) std::swap(lower, upper);
    if (lower == upper) upper += '\0';
    SCOPED_TRACE(::testing::PrintToString(lower) + " to " + ::testing::PrintToString(upper));
    const auto rows = static_cast<uint64_t>(std::distance(now_.lower_bound(lower), now_.lower_bound(upper)));
    PositionCount count;
    if (!store->CountByPosition(Family::kData, {lower, upper}, &count)) {
      ++unknown_;
    } else if (count.exact) {
      ++exact_;
      ASSERT_EQ(count.entries, rows);
      ASSERT_EQ(count.bytes_between, 0u);
    } else if (count.looked_entries != 0) {
      ++sampled_;
      ASSERT_LE(count.looked_rows, rows);
      ASSERT_LE(count.looked_rows, count.looked_entries);
    } else {
      ++unseen_;
    }
  }
  void Play(bool words, size_t value_bytes_max) {
    for (unsigned round = 0; round < 150; ++round) {
      ASSERT_NO_FATAL_FAILURE(Step(words, value_bytes_max));
      for (unsigned i = 0; i < 60; ++i) {
        const std::string lower = AnyKey(words);
        ASSERT_NO_FATAL_FAILURE(Check(lower, lower.substr(0, 4) + AnyKey(words).substr(4)));
        // Nearby: a key that is there and one some places behind it.
        if (now_.size() < 50) continue;
        const auto at = std::next(now_.begin(), Below(now_.size() - 40));
        ASSERT_NO_FATAL_FAILURE(Check(at->first, std::next(at, Below(40))->first));
      }
    }
    snapshots_.clear();
    EXPECT_GT(exact_, 1000u);
  }
  PositionCount Count(const KeyRange& range) {
    PositionCount count;
    EXPECT_TRUE(store->CountByPosition(Family::kData, range, &count));
    return count;
  }
  // Of few entries, wherever they are.
  void ExpectRows(uint64_t rows, const char* where) {
    const PositionCount count = Count({"k100", "k200"});
    EXPECT_TRUE(count.exact) << where;
    EXPECT_EQ(count.entries, rows) << where;
  }

  const std::string kShape = "disable_auto_compactions=true;target_file_size_base=60000;target_file_size_multiplier=1";
  std::mt19937 random_;
  std::map<std::string, std::string> now_;
  std::vector<Snapshot> snapshots_;
  unsigned unknown_ = 0, unseen_ = 0, sampled_ = 0, exact_ = 0;
};

TEST_F(PositionCountTest, NumbersAreCountedAsTheModelHasThem) {
  Play(/*words=*/false, /*value_bytes_max=*/60);
  EXPECT_GT(unseen_, 50u);
  EXPECT_GT(sampled_, 50u);
}

TEST_F(PositionCountTest, KeysThatBeginWithOthersToo) { Play(/*words=*/true, /*value_bytes_max=*/60); }

TEST_F(PositionCountTest, BlocksOfFewLongRowsToo) {
  Play(/*words=*/false, /*value_bytes_max=*/5000);
  EXPECT_GT(unseen_, 50u);
  EXPECT_GT(sampled_, 50u);
}

TEST_F(PositionCountTest, WithoutHeldIndexesAndCachedBlocksToo) {
  ReopenWithoutCache();
  Play(/*words=*/false, /*value_bytes_max=*/60);
  EXPECT_GT(unseen_, 50u);
  EXPECT_GT(sampled_, 50u);
  EXPECT_EQ(Number("held_indexes"), 0u);
}

// Some levels, versions and deletions of one store: by indexes that are held, with blocks that have to be read and with cached
// ones, and without any of it.
TEST_F(PositionCountTest, EachWayToBlocksCountsTheSame) {
  for (const bool words : {false, true}) {
    for (int round = 0; round < 8; ++round) {
      snapshots_.push_back(store->TakeSnapshot());
      ASSERT_NO_FATAL_FAILURE(PutSome(words, 4000 / (1u << round) + 1, 60));
      ASSERT_NO_FATAL_FAILURE(DeleteSome(20));
      ASSERT_TRUE(store->FlushMemtables().ok());
      if (round < 3) {
        ASSERT_TRUE(store->CompactRange(Family::kData, {}, {}).ok());
      }
    }
    snapshots_.clear();
    options.expert_family_options = kShape;
    Reopen();
    std::vector<std::pair<std::string, std::string>> ranges(1000);
    for (auto& [lower, upper] : ranges) {
      lower = AnyKey(words);
      upper = AnyKey(words);
      if (Below(2) == 0) {
        const auto at = std::next(now_.begin(), Below(now_.size()));
        lower = at->first;
        upper = std::distance(at, now_.end()) > 40 ? std::next(at, Below(40))->first : lower;
      }
      if (upper < lower) std::swap(lower, upper);
      if (upper == lower) upper += '\0';
    }
    const auto count_all = [&] {
      std::vector<std::tuple<bool, uint64_t, uint64_t, bool, uint64_t, uint64_t>> counts;
      for (const auto& [lower, upper] : ranges) {
        PositionCount count;
        const bool known = store->CountByPosition(Family::kData, {lower, upper}, &count);
        counts.emplace_back(known, count.entries, count.bytes_between, count.exact, count.looked_entries, count.looked_rows);
      }
      return counts;
    };
    const auto read = count_all();
    EXPECT_GT(Number("held_indexes"), 1u);
    const uint64_t missed = Number("block_cache_data_miss"), hit = Number("block_cache_data_hit");
    EXPECT_GT(missed, 0u);
    EXPECT_EQ(count_all(), read) << "cached";
    EXPECT_EQ(Number("block_cache_data_miss"), missed);
    EXPECT_GT(Number("block_cache_data_hit"), hit + ranges.size() / 2);
    ReopenWithoutCache();
    EXPECT_EQ(count_all(), read) << "not held";
    EXPECT_EQ(Number("held_indexes"), 0u);
  }
}

TEST_F(PositionCountTest, FewRowsAreCountedWhereverTheyLie) {
  ExpectRows(0, "nowhere");
  ASSERT_TRUE(Put("k150", "value").ok());
  ExpectRows(1, "in the memtable");
  ASSERT_TRUE(store->FlushMemtables().ok());
  ExpectRows(1, "in level 0");
  ASSERT_TRUE(Put("k250", "value").ok());
  ExpectRows(1, "the memtable has something behind the range");
  ASSERT_TRUE(Put("k120", "value").ok());
  ExpectRows(2, "in both");
  ASSERT_TRUE(store->FlushMemtables().ok());
  ExpectRows(2, "in two files of level 0");
  ASSERT_TRUE(Put("k120", "newer").ok());
  ExpectRows(2, "one row in two places");
  ASSERT_TRUE(store->FlushMemtables().ok());
  ExpectRows(2, "one row in two files");
  ASSERT_TRUE(store->CompactRange(Family::kData, {}, {}).ok());
  ExpectRows(2, "settled");
}

// Who asks how many rows a value has may be told "none" without a look at a block, as who reads them is.
TEST_F(PositionCountTest, FilesWithoutTheBeginningAreNotRead) {
  const auto group = [](int number) { return "group-" + std::to_string(100'000 + number); };
  static_assert(kFilteredPrefixBytes == 12);
  for (int file = 0; file < 3; ++file) {
    for (int i = file; i < 600; i += 6) {
      ASSERT_TRUE(Put(group(i) + "a", "1").ok());
      ASSERT_TRUE(Put(group(i) + "b", "2").ok());
    }
    ASSERT_TRUE(store->FlushMemtables().ok());
  }
  const auto blocks = [this] { return Number("block_cache_data_hit") + Number("block_cache_data_miss"); };
  const uint64_t before = blocks();
  for (int i = 0; i < 600; ++i) {
    const std::string lower = group(i), upper = lower + 'z';
    const PositionCount count = Count({lower, upper});
    EXPECT_TRUE(count.exact) << i;
    EXPECT_EQ(count.entries, i % 6 < 3 ? 2u : 0u) << i;
  }
  EXPECT_LT(blocks() - before, 300u + 100u);  // a filter may err
}

TEST_F(PositionCountTest, LongKeysAreCountedAndListed) {
  const auto key_of = [](int i) { return std::string(300, 'x') + std::to_string(1000 + i); };
  Batch all(*store);
  for (int i = 0; i < 300; ++i) all.Put(Family::kData, key_of(i), std::string(50, 'v'));
  ASSERT_TRUE(store->Write(all, Durability::kOs).ok());
  ASSERT_TRUE(store->CompactRange(Family::kData, {}, {}).ok());
  for (const bool changed : {false, true}) {
    for (int i = 0; i < 290; i += 7) {
      if (changed) {
        ASSERT_TRUE(Put(key_of(i + 3), "newer").ok());
      }
      const std::string lower = key_of(i), upper = key_of(i + 10);
      const PositionCount count = Count({lower, upper});
      EXPECT_TRUE(count.exact) << i;
      EXPECT_EQ(count.entries, 10u) << i;
    }
  }
}

TEST_F(PositionCountTest, DeletionsAreNotRows) {
  ASSERT_TRUE(Put("k150", "value").ok());
  ASSERT_TRUE(Put("k160", "value").ok());
  const Snapshot snapshot = store->TakeSnapshot();
  ASSERT_TRUE(Delete("k150").ok());
  ExpectRows(1, "all in the memtable");
  ASSERT_TRUE(store->FlushMemtables().ok());
  ExpectRows(1, "all in a file");
  ASSERT_TRUE(Delete("k160").ok());
  ExpectRows(0, "both");
  ASSERT_TRUE(Put("k160", "again").ok());
  ExpectRows(1, "again");
  ASSERT_TRUE(store->CompactRange(Family::kData, {}, {}).ok());
  ExpectRows(1, "settled, for a snapshot");
}

TEST_F(PositionCountTest, DeletedRangesAreNotKnown) {
  const KeyRange range = {"k100", "k200"};
  PositionCount count;
  ASSERT_TRUE(Put("k150", "value").ok());
  Batch batch(*store);
  batch.DeleteRange(Family::kData, "k100", "k160");
  ASSERT_TRUE(store->Write(batch, Durability::kOs).ok());
  EXPECT_FALSE(store->CountByPosition(Family::kData, range, &count));
  ASSERT_TRUE(store->FlushMemtables().ok());
  EXPECT_FALSE(store->CountByPosition(Family::kData, range, &count));
}

// Rows are rewritten, flushed and compacted by another thread, so how many there are never changes.
TEST_F(PositionCountTest, OthersWriteMeanwhile) {
  constexpr int kRows = 2000, kCounted = 20;
  const auto key_of = [](int i) { return "k" + std::to_string(10'000 + i); };
  Batch all(*store);
  for (int i = 0; i < kRows; ++i) all.Put(Family::kData, key_of(i), std::string(100, 'a'));
  ASSERT_TRUE(store->Write(all, Durability::kOs).ok());
  ASSERT_TRUE(store->CompactRange(Family::kData, {}, {}).ok());
  std::atomic<bool> ended = false;
  std::thread writer([&] {
    std::mt19937 random;
    for (int round = 0; round < 400; ++round) {
      Batch batch(*store);
      for (int i = 0; i < 50; ++i) batch.Put(Family::kData, key_of(static_cast<int>(random() % kRows)), std::string(100, 'b'));
      EXPECT_TRUE(store->Write(batch, Durability::kOs).ok());
      if (round % 40 == 19) {
        EXPECT_TRUE(store->FlushMemtables().ok());
      }
      if (round % 80 == 79) {
        EXPECT_TRUE(store->CompactRange(Family::kData, {}, {}).ok());
      }
    }
    ended = true;
  });
  uint64_t exact = 0, others = 0;
  do {
    const int begin = static_cast<int>(Below(kRows - kCounted));
    const std::string lower = key_of(begin), upper = key_of(begin + kCounted);
    PositionCount count;
    if (!store->CountByPosition(Family::kData, {lower, upper}, &count) || !count.exact) {
      ++others;
      continue;
    }
    ++exact;
    EXPECT_EQ(count.entries, static_cast<uint64_t>(kCounted));
  } while (!ended);
  writer.join();
  EXPECT_GT(exact, others);
}

// What many changes of a long range make is told by the first of them.
TEST_F(PositionCountTest, ManyChangesAreSampled) {
  const auto put_all = [this](int step, int offset) {
    Batch batch(*store);
    for (int i = offset; i < 20'000; i += step) batch.Put(Family::kData, "k" + std::to_string(100'000 + i), std::string(100, 'v'));
    ASSERT_TRUE(store->Write(batch, Durability::kOs).ok());
  };
  const KeyRange range = {"k100000", "k110000"};
  put_all(2, 0);
  ASSERT_TRUE(store->CompactRange(Family::kData, {}, {}).ok());
  EXPECT_EQ(Count(range).looked_entries, 0u) << "settled";
  put_all(200, 0);
  EXPECT_EQ(Count(range).looked_entries, 0u) << "few changes";
  put_all(2, 0);
  PositionCount count = Count(range);
  EXPECT_GE(count.looked_entries, 32u) << "each row anew";
  EXPECT_NEAR(static_cast<double>(count.looked_rows) / static_cast<double>(count.looked_entries), 0.5, 0.1);
  ASSERT_TRUE(store->CompactRange(Family::kData, {}, {}).ok());
  put_all(2, 1);
  count = Count(range);
  EXPECT_GE(count.looked_entries, 32u) << "as many new rows";
  EXPECT_EQ(count.looked_rows, count.looked_entries);
}

}  // namespace
}  // namespace cairn::store
