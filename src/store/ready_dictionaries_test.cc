// SPDX-License-Identifier: GPL-2.0-only
// The last dictionaries are made once, others anew, and none of them goes while somebody reads with it.
#include "store/ready_dictionaries.h"

#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace cairn::store {
namespace {

// Without Zstandard's mark it is all content, so that any bytes are a dictionary.
std::string Content(unsigned number) {
  std::minstd_rand random(number + 1);
  std::string bytes;
  for (int i = 0; i < 4096; ++i) bytes += static_cast<char>('a' + random() % 26);
  return bytes;
}

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
  for (unsigned i = 2; i < ReadyDictionaries::kKept; ++i) EXPECT_EQ(dictionaries.Of(Content(i)), made[i]) << i;
  EXPECT_EQ(dictionaries.Of(Content(100)), another);
  EXPECT_TRUE(IsOf(made[1].get(), Content(1)));
  EXPECT_NE(dictionaries.Of(Content(1)), made[1]);
}

TEST(ReadyDictionariesTest, NothingIsKeptOfADamagedOne) {
  ReadyDictionaries dictionaries;
  const auto made = dictionaries.Of(Content(1));
  const std::string damaged = std::string("\x37\xa4\x30\xec", 4) + std::string(1000, '\xff');
  for (size_t i = 0; i <= ReadyDictionaries::kKept; ++i) EXPECT_EQ(dictionaries.Of(damaged), nullptr);
  EXPECT_EQ(dictionaries.Of(Content(1)), made);
}

TEST(ReadyDictionariesTest, ManyThreadsAskForMoreThanAreKept) {
  ReadyDictionaries dictionaries;
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
