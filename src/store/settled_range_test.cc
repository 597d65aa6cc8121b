// SPDX-License-Identifier: GPL-2.0-only
// Counts by position against a model, through random histories.
#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "store/store_testing.h"

namespace cairn::store {
namespace {

class SettledRangeTest : public ::testing::Test, public StoreFixture {
 protected:
  // Files of a few blocks, which change shape when the test says so.
  void SetUp() override {
    options.expert_family_options = "disable_auto_compactions=true;target_file_size_base=60000;target_file_size_multiplier=1";
    Open();
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
    SettledCount count;
    if (!store->CountSettled(Family::kData, {lower, upper}, &count)) {
      ++unknown_;
    } else if (count.bytes_between != 0) {
      ++long_;
      ASSERT_TRUE(count.has_versions || count.entries < rows);
    } else if (count.has_versions) {
      ++with_versions_;
      ASSERT_GE(count.entries, rows);
    } else {
      ++exact_;
      ASSERT_EQ(count.entries, rows);
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
    EXPECT_GT(exact_, 100u);
    EXPECT_GT(unknown_, 100u);
    EXPECT_GT(with_versions_, 100u);
  }

  std::mt19937 random_;
  std::map<std::string, std::string> now_;
  std::vector<Snapshot> snapshots_;
  unsigned unknown_ = 0, long_ = 0, with_versions_ = 0, exact_ = 0;
};

TEST_F(SettledRangeTest, NumbersAreCountedAsTheModelHasThem) {
  Play(/*words=*/false, /*value_bytes_max=*/60);
  EXPECT_GT(long_, 100u);
}

TEST_F(SettledRangeTest, KeysThatBeginWithOthersToo) { Play(/*words=*/true, /*value_bytes_max=*/60); }

TEST_F(SettledRangeTest, BlocksOfFewLongRowsToo) {
  Play(/*words=*/false, /*value_bytes_max=*/5000);
  EXPECT_GT(long_, 100u);
}

TEST_F(SettledRangeTest, WhatIsElsewhereIsNotKnown) {
  SettledCount count;
  const KeyRange range = {"k100", "k200"};
  EXPECT_TRUE(store->CountSettled(Family::kData, range, &count));
  EXPECT_EQ(count.entries, 0u);
  ASSERT_TRUE(Put("k150", "value").ok());
  EXPECT_FALSE(store->CountSettled(Family::kData, range, &count)) << "in the memtable";
  ASSERT_TRUE(store->FlushMemtables().ok());
  EXPECT_TRUE(store->CountSettled(Family::kData, range, &count));
  EXPECT_EQ(count.entries, 1u);
  ASSERT_TRUE(Put("k250", "value").ok());
  EXPECT_TRUE(store->CountSettled(Family::kData, range, &count)) << "the memtable has something behind the range";
  ASSERT_TRUE(Put("k120", "value").ok());
  ASSERT_TRUE(store->FlushMemtables().ok());
  EXPECT_FALSE(store->CountSettled(Family::kData, range, &count)) << "in two files of level 0";
  ASSERT_TRUE(store->CompactRange(Family::kData, {}, {}).ok());
  EXPECT_TRUE(store->CountSettled(Family::kData, range, &count));
  EXPECT_EQ(count.entries, 2u);
  EXPECT_FALSE(count.has_versions);
}

TEST_F(SettledRangeTest, DeletionsAreNotRows) {
  SettledCount count;
  const KeyRange range = {"k100", "k200"};
  ASSERT_TRUE(Put("k150", "value").ok());
  const Snapshot snapshot = store->TakeSnapshot();
  ASSERT_TRUE(Delete("k150").ok());
  ASSERT_TRUE(store->FlushMemtables().ok());
  EXPECT_FALSE(store->CountSettled(Family::kData, range, &count));
  Batch batch(*store);
  batch.DeleteRange(Family::kData, "k100", "k160");
  ASSERT_TRUE(store->Write(batch, Durability::kOs).ok());
  EXPECT_FALSE(store->CountSettled(Family::kData, range, &count));
  ASSERT_TRUE(store->FlushMemtables().ok());
  EXPECT_FALSE(store->CountSettled(Family::kData, range, &count));
}

}  // namespace
}  // namespace cairn::store
