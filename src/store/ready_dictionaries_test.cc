// SPDX-License-Identifier: GPL-2.0-only
// A dictionary is made once as long as somebody reads with it, or it was among the last; the cache is charged for it as long, and once.
#include "store/ready_dictionaries.h"

#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <rocksdb/advanced_cache.h>
#include <rocksdb/cache.h>

namespace cairn::store {
namespace {

// Without Zstandard's mark it is all content, so that any bytes are a dictionary.
std::string Content(unsigned number) {
  std::minstd_rand random(number + 1);
  std::string bytes;
  for (int i = 0; i < 4096; ++i) bytes += static_cast<char>('a' + random() % 26);
  return bytes;
}

// With the mark, but nothing that follows it.
std::string Damaged() { return std::string("\x37\xa4\x30\xec", 4) + std::string(1000, '\xff'); }

// Whether it is made of `content`: a block that was compressed with that comes back.
bool IsOf(const ZSTD_DDict* ready, const std::string& content) {
  const std::string block = content.substr(100, 2000);
  std::string compressed(ZSTD_compressBound(block.size()), '\0'), read(block.size(), '\0');
  const std::unique_ptr<ZSTD_CCtx, size_t (*)(ZSTD_CCtx*)> writer(ZSTD_createCCtx(), ZSTD_freeCCtx);
  const std::unique_ptr<ZSTD_DCtx, size_t (*)(ZSTD_DCtx*)> reader(ZSTD_createDCtx(), ZSTD_freeDCtx);
  const size_t bytes = ZSTD_compress_usingDict(writer.get(), compressed.data(), compressed.size(), block.data(), block.size(),
                                               content.data(), content.size(), 3);
  EXPECT_LT(bytes, 100U) << "it is all in the dictionary";
  return ZSTD_decompress_usingDDict(reader.get(), read.data(), read.size(), compressed.data(), bytes, ready) == block.size() &&
         read == block;
}

TEST(ReadyDictionariesTest, TheSameIsMadeOnce) {
  ReadyDictionaries dictionaries;
  const auto made = dictionaries.Of(Content(1));
  ASSERT_NE(made, nullptr);
  EXPECT_TRUE(IsOf(made.get(), Content(1)));
  EXPECT_FALSE(IsOf(made.get(), Content(2)));
  EXPECT_GT(ZSTD_sizeof_DDict(made.get()), 20'000U);
  EXPECT_EQ(dictionaries.Of(Content(1)), made);
  std::string other = Content(1);
  other.back() = '!';
  EXPECT_NE(dictionaries.Of(other), made);
  EXPECT_NE(dictionaries.Of(Content(1).substr(1)), made);
  EXPECT_EQ(dictionaries.Of(Content(1)), made);
}

TEST(ReadyDictionariesTest, WhatIsAskedForStaysAndTheOldestGoes) {
  ReadyDictionaries dictionaries;
  std::vector<ReadyDictionary> made;
  for (unsigned i = 0; i < ReadyDictionaries::kKept; ++i) made.push_back(dictionaries.Of(Content(i)));
  EXPECT_EQ(dictionaries.Of(Content(0)), made[0]);
  const auto another = dictionaries.Of(Content(100));
  EXPECT_EQ(dictionaries.Of(Content(0)), made[0]);
  EXPECT_EQ(made[1].use_count(), 1) << "it was the oldest";
  EXPECT_EQ(made[2].use_count(), 2);
  for (unsigned i = 2; i < ReadyDictionaries::kKept; ++i) EXPECT_EQ(dictionaries.Of(Content(i)), made[i]) << i;
  EXPECT_EQ(dictionaries.Of(Content(100)), another);
  EXPECT_TRUE(IsOf(made[1].get(), Content(1)));
  const std::weak_ptr<const ZSTD_DDict> oldest = made[1];
  made[1].reset();
  EXPECT_TRUE(oldest.expired());
  EXPECT_TRUE(IsOf(dictionaries.Of(Content(1)).get(), Content(1)));
}

TEST(ReadyDictionariesTest, WhatSomebodyHasIsNotMadeAgain) {
  ReadyDictionaries dictionaries;
  const auto made = dictionaries.Of(Content(0));
  for (unsigned i = 1; i <= 2 * ReadyDictionaries::kKept; ++i) EXPECT_NE(dictionaries.Of(Content(i)), nullptr);
  EXPECT_EQ(made.use_count(), 1) << "it is not kept any more";
  EXPECT_EQ(dictionaries.Of(Content(0)), made);
  EXPECT_EQ(made.use_count(), 2);
}

// All of these begin with the same bytes, where a dictionary of Zstandard's has its number.
TEST(ReadyDictionariesTest, TheSameNumberIsNotTheSame) {
  ReadyDictionaries dictionaries;
  std::vector<ReadyDictionary> made;
  const auto content = [](unsigned i) { return "no number" + Content(i); };
  for (unsigned i = 0; i < 2 * ReadyDictionaries::kKept; ++i) made.push_back(dictionaries.Of(content(i)));
  for (unsigned i = 0; i < made.size(); ++i) EXPECT_EQ(dictionaries.Of(content(i)), made[i]) << i;
  EXPECT_NE(dictionaries.Of("short"), nullptr);
}

class ChargedDictionariesTest : public ::testing::Test {
 protected:
  size_t Charged() const { return cache_->GetUsage(); }

  const std::shared_ptr<rocks::Cache> cache_ = rocks::HyperClockCacheOptions(32 << 20, 0).MakeSharedCache();
};

TEST_F(ChargedDictionariesTest, EachIsChargedOnceAsLongAsSomebodyHasIt) {
  const size_t before = Charged();
  {
    ReadyDictionaries dictionaries(cache_);
    EXPECT_TRUE(dictionaries.charges());
    auto made = dictionaries.Of(Content(0));
    const size_t each = Charged() - before;
    EXPECT_GE(each, ZSTD_sizeof_DDict(made.get()) + Content(0).size());
    auto another = dictionaries.Of(Content(0));
    EXPECT_EQ(Charged(), before + each);
    for (unsigned i = 1; i <= ReadyDictionaries::kKept; ++i) EXPECT_NE(dictionaries.Of(Content(i)), nullptr);
    EXPECT_EQ(Charged(), before + (ReadyDictionaries::kKept + 1) * each);
    made.reset();  // whoever made it
    EXPECT_NE(dictionaries.Of(Content(100)), nullptr);
    EXPECT_EQ(Charged(), before + (ReadyDictionaries::kKept + 1) * each) << "one of the kept ones went";
    another.reset();
    EXPECT_NE(dictionaries.Of(Content(101)), nullptr);
    EXPECT_EQ(Charged(), before + ReadyDictionaries::kKept * each);
    EXPECT_EQ(dictionaries.Of(Damaged()), nullptr);
    EXPECT_EQ(Charged(), before + ReadyDictionaries::kKept * each);
  }
  EXPECT_EQ(Charged(), before);
}

// Files that had one each give way to files that share one.
TEST_F(ChargedDictionariesTest, WhatHasGoneIsNotChargedUntilAnotherIsMade) {
  ReadyDictionaries dictionaries(cache_);
  std::vector<ReadyDictionary> made;
  for (unsigned i = 0; i < 200; ++i) made.push_back(dictionaries.Of(Content(i)));
  const size_t each = Charged() / made.size();
  const auto shared = dictionaries.Of(Content(0));
  made.clear();
  EXPECT_GT(Charged(), 190 * each);
  EXPECT_EQ(dictionaries.Of(Content(0)), shared);
  EXPECT_LE(Charged(), (ReadyDictionaries::kKept + 2) * each);
}

// All made by one thread, one call after the other. What cannot be evicted from one part has the others' rows evicted for nothing, and that part
// go over what it may have.
TEST(ReadyDictionariesTest, AllPartsOfTheCacheAreChargedAlike) {
  constexpr size_t kBytes = 8 << 20;
  rocks::HyperClockCacheOptions options(kBytes, 0);
  options.num_shard_bits = 3;
  const auto cache = options.MakeSharedCache();
  for (uint64_t i = 0; i < 2 * kBytes / 4096; ++i) {
    char key[16] = {};
    std::memcpy(key, &i, sizeof i);
    ASSERT_TRUE(cache->Insert(rocks::Slice(key, sizeof key), nullptr, &rocks::kNoopCacheItemHelper, 4096).ok());
  }
  ReadyDictionaries dictionaries(cache);
  std::vector<ReadyDictionary> made;
  for (unsigned i = 0; i < 100; ++i) made.push_back(dictionaries.Of(Content(i)));
  EXPECT_GT(cache->GetPinnedUsage(), kBytes / 4) << "more than a part has";
  EXPECT_LE(cache->GetUsage(), kBytes + kBytes / 16);
}

// As an entry of a cache goes: in the midst of the charge for another.
TEST_F(ChargedDictionariesTest, EntriesOfTheCacheMayHaveThem) {
  auto cache = rocks::HyperClockCacheOptions(1 << 20, 0).MakeSharedCache();
  static const rocks::Cache::CacheItemHelper kHelper(
      rocks::CacheEntryRole::kOtherBlock,
      [](rocks::Cache::ObjectPtr object, rocks::MemoryAllocator*) { delete static_cast<ReadyDictionary*>(object); });
  ReadyDictionaries dictionaries(cache);
  for (unsigned i = 0; i < 200; ++i) {
    const auto made = dictionaries.Of(Content(i));
    ASSERT_NE(made, nullptr);
    char key[16] = {};
    key[0] = static_cast<char>(i);
    auto* const object = new ReadyDictionary(made);
    ASSERT_TRUE(cache->Insert(rocks::Slice(key, sizeof key), object, &kHelper, 8 << 10).ok());
    EXPECT_TRUE(IsOf(dictionaries.Of(Content(i / 2)).get(), Content(i / 2)));
  }
}

TEST(ReadyDictionariesTest, NothingIsKeptOfADamagedOne) {
  ReadyDictionaries dictionaries;
  const auto made = dictionaries.Of(Content(1));
  for (size_t i = 0; i <= ReadyDictionaries::kKept; ++i) EXPECT_EQ(dictionaries.Of(Damaged()), nullptr);
  EXPECT_EQ(dictionaries.Of(Content(1)), made);
}

TEST_F(ChargedDictionariesTest, ManyThreadsAskForMoreThanAreKept) {
  ReadyDictionaries dictionaries(cache_);
  std::vector<std::string> contents;
  for (unsigned i = 0; i < 2 * ReadyDictionaries::kKept; ++i) contents.push_back(Content(i));
  std::vector<std::thread> threads;
  for (unsigned thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&, thread] {
      std::minstd_rand random(thread + 1);
      for (int i = 0; i < 500; ++i) {
        const std::string& content = contents[random() % contents.size()];
        const auto ready = dictionaries.Of(content);
        ASSERT_NE(ready, nullptr);
        EXPECT_TRUE(IsOf(ready.get(), content));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace cairn::store
