// SPDX-License-Identifier: GPL-2.0-only
// What filters say of keys that are there and of others, and their size.
#include "store/file_filters.h"

#include <algorithm>
#include <array>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/table.h>
#include "table/block_based/filter_policy_internal.h"

#include "base/endian.h"
#include "base/ids.h"
#include "store/filter_format.h"
#include "store/rocks_status.h"
#include "store/store_testing.h"

namespace cairn::store {
namespace {

constexpr int kLevels = 7;
constexpr int kLast = kLevels - 1;
constexpr uint64_t kKeys = 20'000;
constexpr uint32_t kUnique = 5;
constexpr uint32_t kWalked = 6 | kOnlyWalkedBit;

// An index id and two numbers: what filters know of a walked index, the first of them at least.
std::string Key(uint32_t index, uint64_t first, uint64_t second) {
  std::string key(20, '\0');
  StoreBe32(key.data(), index);
  StoreBe64(key.data() + 4, first);
  StoreBe64(key.data() + 12, second);
  return key;
}

// A filter of one file, made as RocksDB makes it.
class Filter {
 public:
  Filter(int level, const std::vector<std::string>& keys) {
    const rocks::BlockBasedTableOptions table;
    rocks::FilterBuildingContext context(table);
    context.level_at_creation = level;
    context.num_levels = kLevels;
    const std::unique_ptr<rocks::FilterBitsBuilder> builder(policy_->GetBuilderWithContext(context));
    for (const std::string& key : keys) builder->AddKeyAndAlt(key, rocks::Slice(key.data(), std::min(key.size(), kFilteredPrefixBytes)));
    entries_ = builder->EstimateEntriesAdded();
    contents_ = builder->Finish(&bytes_);
    reader_.reset(policy_->GetFilterBitsReader(contents_));
  }

  bool MayHave(const std::string& entry) { return reader_->MayMatch(entry); }
  size_t entries() const { return entries_; }
  size_t bytes() const { return contents_.size(); }
  rocks::FilterBitsReader& reader() { return *reader_; }

 private:
  const std::shared_ptr<const rocks::FilterPolicy> policy_ = NewFileFilters();
  std::unique_ptr<const char[]> bytes_;
  rocks::Slice contents_;
  size_t entries_ = 0;
  std::unique_ptr<rocks::FilterBitsReader> reader_;
};

// Each `first` has ten keys.
std::vector<std::string> KeysOf(uint32_t index) {
  std::vector<std::string> keys;
  for (uint64_t i = 0; i < kKeys; ++i) keys.push_back(Key(index, i / 10, i % 10));
  return keys;
}
// Each `first` has five lists of four.
std::vector<std::string> Lists(uint32_t index) {
  std::vector<std::string> keys;
  for (uint64_t i = 0; i < kKeys; ++i) keys.push_back(Key(index, i / 20, i / 4 % 5) + static_cast<char>(i % 4));
  return keys;
}

class FileFiltersTest : public ::testing::TestWithParam<int> {};

TEST_P(FileFiltersTest, WhatIsThereIsFoundWholeAndByItsBeginning) {
  for (const uint32_t index : {kUnique, kWalked}) {
    const std::vector<std::string> keys = KeysOf(index);
    Filter filter(GetParam(), keys);
    for (const std::string& key : keys) {
      ASSERT_TRUE(filter.MayHave(key));
      ASSERT_TRUE(filter.MayHave(key.substr(0, kFilteredPrefixBytes)));
    }
  }
}

TEST_P(FileFiltersTest, AWalkedIndexHasItsBeginningsOnly) {
  EXPECT_EQ(Filter(GetParam(), KeysOf(kUnique)).entries(), kKeys + kKeys / 10);
  constexpr size_t kTwice = 1;  // the short beginning of the key with which it is decided
  EXPECT_EQ(Filter(GetParam(), KeysOf(kWalked)).entries(), kKeys / 10);
  EXPECT_EQ(Filter(GetParam(), Lists(kWalked)).entries(), kKeys / 20 + kKeys / 4 + kTwice);
}

// One list for each beginning: nothing is told by more of it, but by a file that has one list of several.
TEST_P(FileFiltersTest, LongBeginningsAreThereIfTheyMayTellMore) {
  std::vector<std::string> lists, short_lists;
  for (uint64_t i = 0; i < kKeys; ++i) {
    lists.push_back(Key(kWalked, i / 4, 7) + static_cast<char>(i % 4));
    short_lists.push_back(Key(kWalked, i - i % 4 / 3, 7) + static_cast<char>(i % 4));  // of one entry, one, and two
  }
  const bool is_upper = GetParam() == 0;
  EXPECT_EQ(Filter(GetParam(), lists).entries(), kKeys / 4 * (is_upper ? 2 : 1) + (is_upper ? 1 : 0));
  EXPECT_EQ(Filter(GetParam(), short_lists).entries(), kKeys / 4 * 3 * (is_upper ? 2 : 1) + (is_upper ? 1 : 0));
}

TEST_P(FileFiltersTest, WhateverBeginsAsAKeyIsFound) {
  std::mt19937 random(7);
  for (int round = 0; round < 20; ++round) {
    std::set<std::string> all;
    for (int run = 0; run < 6; ++run) {
      const uint32_t index = (run % 3 == 0 ? 0 : kOnlyWalkedBit) | (100 + random() % 50);
      const unsigned firsts = 1 + random() % 50, seconds = 1 + random() % 50;
      for (unsigned i = 0, count = random() % 2 == 0 ? 20 : 3000; i < count; ++i) {
        std::string key = Key(index, random() % firsts, random() % seconds) + std::string(random() % 4, static_cast<char>(random() % 3));
        key.resize(random() % 50 == 0 ? 4 + random() % 17 : key.size());
        all.insert(key);
      }
    }
    Filter filter(GetParam(), {all.begin(), all.end()});
    for (const std::string& key : all) {
      ASSERT_TRUE(filter.MayHave(key));
      ASSERT_TRUE(filter.MayHave(key.substr(0, kFilteredPrefixBytes)));
      if (IsOnlyWalked(IndexId(LoadBe32(key.data()))) && key.size() >= kLongBeginningBytes) {
        ASSERT_TRUE(filter.MayHave(key.substr(0, kLongBeginningBytes)));
      }
    }
  }
}

TEST_P(FileFiltersTest, AWholeKeyOfAWalkedIndexIsAskedByItsBeginning) {
  Filter filter(kLast, KeysOf(kWalked)), lists(GetParam(), Lists(kWalked));
  EXPECT_TRUE(filter.MayHave(Key(kWalked, 7, 12345)));
  EXPECT_TRUE(lists.MayHave(Key(kWalked, 7, 3) + "another"));
}

// A filter in parts is made by one builder, also where an index goes on in the next part.
TEST_P(FileFiltersTest, EachPartHasItsOwn) {
  std::vector<std::string> keys = Lists(kWalked);
  for (uint64_t i = 0; i < 100; ++i) keys.push_back(Key(kWalked, kKeys + i, i));  // no lists
  const rocks::BlockBasedTableOptions table;
  rocks::FilterBuildingContext context(table);
  context.level_at_creation = GetParam();
  context.num_levels = kLevels;
  const auto policy = NewFileFilters();
  const std::unique_ptr<rocks::FilterBitsBuilder> builder(policy->GetBuilderWithContext(context));
  for (const auto& [begin, end] : {std::pair<size_t, size_t>(0, kKeys / 2), {kKeys / 2, kKeys}, {kKeys, keys.size()}}) {
    for (size_t i = begin; i < end; ++i) builder->AddKeyAndAlt(keys[i], rocks::Slice(keys[i].data(), kFilteredPrefixBytes));
    std::unique_ptr<const char[]> bytes;
    const rocks::Slice part = builder->Finish(&bytes);
    FilterFormat format;
    ASSERT_TRUE(DecodeFilter(ToView(part), &format));
    EXPECT_EQ(format.long_indexes, end == keys.size() ? std::vector<IndexId>() : std::vector<IndexId>{IndexId(kWalked)});
    const std::unique_ptr<rocks::FilterBitsReader> reader(policy->GetFilterBitsReader(part));
    for (size_t i = begin; i < end; ++i) ASSERT_TRUE(reader->MayMatch(keys[i]));
  }
}

TEST_P(FileFiltersTest, ShortKeysAreWhole) {
  const std::string key = Key(kWalked, 1, 0).substr(0, kFilteredPrefixBytes - 1);
  Filter filter(GetParam(), {key, "", std::string("\x80", 1)});
  EXPECT_TRUE(filter.MayHave(key));
  EXPECT_TRUE(filter.MayHave(""));
  EXPECT_TRUE(filter.MayHave(std::string("\x80", 1)));
  EXPECT_FALSE(filter.MayHave(std::string("\x80\x00", 2)));
}

TEST_P(FileFiltersTest, FewOfWhatIsAbsentPass) {
  Filter whole(GetParam(), KeysOf(kUnique)), walked(GetParam(), Lists(kWalked));
  uint64_t passed_whole = 0, passed_beginnings = 0, passed_lists = 0;
  for (uint64_t i = 0; i < kKeys; ++i) {
    passed_whole += whole.MayHave(Key(kUnique, i / 10, 10 + i)) ? 1 : 0;
    passed_beginnings += walked.MayHave(Key(kWalked, kKeys + i, 0)) ? 1 : 0;
    passed_lists += walked.MayHave(Key(kWalked, i / 20, 5 + i)) ? 1 : 0;
  }
  const uint64_t one_in = GetParam() == 0 ? 80 : 35;
  EXPECT_LT(passed_whole, kKeys / one_in);
  EXPECT_LT(passed_beginnings, kKeys / one_in);
  EXPECT_LT(passed_lists, kKeys / one_in);
}

TEST_P(FileFiltersTest, ManyAskedAtOnceStayAsTheyAre) {
  const std::vector<std::string> keys = KeysOf(kWalked);
  Filter filter(GetParam(), keys);
  constexpr size_t kAsked = 75;  // more than one turn
  std::vector<rocks::Slice> entries;
  for (size_t i = 0; i < kAsked; ++i) entries.push_back(keys[i * 100]);
  std::vector<rocks::Slice*> pointers;
  for (rocks::Slice& entry : entries) pointers.push_back(&entry);
  std::array<bool, kAsked> may_have{};
  filter.reader().MayMatch(kAsked, pointers.data(), may_have.data());
  for (size_t i = 0; i < kAsked; ++i) {
    EXPECT_TRUE(may_have[i]);
    EXPECT_EQ(entries[i].ToString(), keys[i * 100]);
  }
}

// Level 0, the last, and what a load writes.
INSTANTIATE_TEST_SUITE_P(Levels, FileFiltersTest, ::testing::Values(0, kLast, -1));

TEST(FileFiltersSizeTest, TheLastLevelHasSmallerOnes) {
  const std::vector<std::string> keys = KeysOf(kUnique);
  const Filter upper(0, keys), last(kLast, keys), loaded(-1, keys);
  EXPECT_LT(last.bytes(), upper.bytes() * 85 / 100);
  EXPECT_EQ(loaded.bytes(), last.bytes());
}

class FileFiltersStoreTest : public ::testing::Test, public StoreFixture {};

// Filters of other policies do not say the same of the same key.
TEST_F(FileFiltersStoreTest, AStoreMayBeOpenedByAnotherPolicy) {
  const char* const policies[] = {"", "block_based_table_factory={filter_policy=bloomfilter:10}", ""};
  for (int turn = 0; turn < 3; ++turn) {
    options.expert_family_options = policies[turn];
    Reopen();
    ASSERT_TRUE(Put(Key(kWalked, 1, static_cast<uint64_t>(turn)), "v").ok());
    ASSERT_TRUE(store->FlushMemtables().ok());
    for (int i = 0; i <= turn; ++i) EXPECT_EQ(Get(Key(kWalked, 1, static_cast<uint64_t>(i))), "v");
    EXPECT_EQ(Get(Key(kWalked, 1, 7)), "-");
  }
}

}  // namespace
}  // namespace cairn::store
