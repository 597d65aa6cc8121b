// SPDX-License-Identifier: GPL-2.0-only
// Looks for new keys, held against plain ones through random histories; and how many files they spare.
#include "store/empty_ranges.h"

#include <algorithm>
#include <random>

#include "store/store_testing.h"

namespace cairn::store {
namespace {

class EmptyRangesTest : public ::testing::TestWithParam<unsigned>, public StoreFixture {
 protected:
  void SetUp() override {
    Open();
  }

  // Of an index, in the order of the numbers.
  static std::string Key(unsigned index, unsigned number) {
    std::string digits = std::to_string(number);
    return std::string("idx") + static_cast<char>('0' + index) + std::string(6 - digits.size(), '0') + digits;
  }
  void Delete(ByteView key) {
    Batch batch(*store);
    batch.Delete(Family::kData, key);
    ASSERT_TRUE(store->Write(batch, Durability::kOs).ok());
  }
  std::string Look(EmptyRanges* ranges, ByteView key) {
    PinnedValue value;
    const Status status = ranges->Get(*store, nullptr, key, &value);
    if (status.Is(Status::Code::kNotFound)) return "-";
    return status.ok() ? std::string(value.view()) : status.ToString();
  }
  // Looks that went through memtables and files.
  uint64_t WholeLooks() {
    uint64_t count = 0;
    for (const NamedNumber& number : store->Statistics()) {
      if (number.name == "memtable_miss" || number.name == "memtable_hit") count += number.value;
    }
    return count;
  }
};

TEST_P(EmptyRangesTest, AgreesWithPlainLooks) {
  std::mt19937 random(GetParam());
  EmptyRanges ranges[2];
  unsigned at[2] = {100, 5000};
  for (unsigned step = 0; step < 20'000; ++step) {
    const unsigned who = random() % 2;
    const unsigned index = random() % 3;
    // Mostly runs upwards, of two that work at different places and sometimes meet.
    const unsigned number = random() % 16 == 0 ? random() % 10'000 : (at[who] += random() % 3) % 10'000;
    const std::string key = Key(index, number);
    ASSERT_EQ(Look(&ranges[who], key), Get(key)) << "step " << step << ", key " << key;
    if (random() % 4 != 0) {
      ASSERT_TRUE(Put(key, std::to_string(step), Durability::kOs).ok());
    } else if (random() % 4 == 0) {
      Delete(key);
    }
    if (random() % 2000 == 0) {
      ASSERT_TRUE(store->FlushMemtables().ok());
    }
    if (random() % 8000 == 0) {
      ASSERT_TRUE(store->CompactRange(Family::kData, {}, {}).ok());
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, EmptyRangesTest, ::testing::Range(0u, 4u));

TEST_F(EmptyRangesTest, KeysInOrderAreNotLookedForInFiles) {
  ASSERT_TRUE(Put(Key(1, 10), "there").ok());
  ASSERT_TRUE(Put(Key(1, 900'000), "there").ok());
  ASSERT_TRUE(store->FlushMemtables().ok());
  EmptyRanges ranges;
  const uint64_t before = WholeLooks();
  for (unsigned number = 1000; number < 11'000; ++number) {
    ASSERT_EQ(Look(&ranges, Key(1, number)), "-");
    ASSERT_TRUE(Put(Key(1, number), "new", Durability::kOs).ok());
    // What is behind the last entry of an index ends with it.
    ASSERT_EQ(Look(&ranges, Key(2, number)), "-");
    ASSERT_EQ(Look(&ranges, Key(1, number)), "new");
  }
  EXPECT_LT(WholeLooks() - before, 10'100u) << "10,000 of them have found something";
  EXPECT_EQ(Look(&ranges, Key(1, 900'000)), "there");
}

// A value that RocksDB had read before it changed its files is found after it, too.
TEST_F(EmptyRangesTest, WhatWasWrittenMeanwhileIsFoundAfterAFlush) {
  EmptyRanges ranges;
  for (unsigned number = 0; number < 100; ++number) ASSERT_EQ(Look(&ranges, Key(1, number)), "-");
  ASSERT_TRUE(Put(Key(1, 200), "one").ok());
  ASSERT_EQ(Look(&ranges, Key(1, 200)), "one");
  ASSERT_TRUE(store->FlushMemtables().ok());
  EXPECT_EQ(Look(&ranges, Key(1, 200)), "one");
  Delete(Key(1, 200));
  EXPECT_EQ(Look(&ranges, Key(1, 200)), "-");
  ASSERT_TRUE(store->FlushMemtables().ok());
  EXPECT_EQ(Look(&ranges, Key(1, 200)), "-");
}

TEST_F(EmptyRangesTest, KeysWithoutOrderGoOnAsPlainLooks) {
  std::mt19937 random(7);
  for (unsigned number = 0; number < 10'000; number += 2) {
    ASSERT_TRUE(Put(Key(1, number), "there", Durability::kOs).ok());
  }
  ASSERT_TRUE(store->FlushMemtables().ok());
  EmptyRanges ranges;
  const uint64_t before = WholeLooks();
  for (unsigned look = 0; look < 10'000; ++look) ASSERT_EQ(Look(&ranges, Key(1, random() % 5000 * 2 + 1)), "-");
  EXPECT_GT(WholeLooks() - before, 9'900u);
}

}  // namespace
}  // namespace cairn::store
