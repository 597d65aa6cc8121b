// SPDX-License-Identifier: GPL-2.0-only
// The last dictionaries are made once, others anew, and none of them goes while somebody reads with it.
#include "store/ready_dictionaries.h"

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

TEST(ReadyDictionariesTest, TheSameIsMadeOnce) {
  ReadyDictionaries dictionaries;
  const auto made = dictionaries.Of(Content(1));
  ASSERT_NE(made, nullptr);
  EXPECT_EQ(made->bytes(), Content(1));
  EXPECT_GT(made->memory_bytes(), 20'000U);
  EXPECT_EQ(dictionaries.Of(Content(1)), made);
  std::string other = Content(1);
  other.back() = '!';
  EXPECT_NE(dictionaries.Of(other), made);
  EXPECT_NE(dictionaries.Of(Content(1).substr(1)), made);
  EXPECT_EQ(dictionaries.Of(Content(1)), made);
}

TEST(ReadyDictionariesTest, WhatIsAskedForStaysAndTheOldestGoes) {
  ReadyDictionaries dictionaries;
  std::vector<std::shared_ptr<const ReadyDictionary>> made;
  for (unsigned i = 0; i < ReadyDictionaries::kKept; ++i) made.push_back(dictionaries.Of(Content(i)));
  EXPECT_EQ(dictionaries.Of(Content(0)), made[0]);
  const auto another = dictionaries.Of(Content(100));
  EXPECT_EQ(dictionaries.Of(Content(0)), made[0]);
  EXPECT_EQ(made[1].use_count(), 1) << "it was the oldest";
  for (unsigned i = 2; i < ReadyDictionaries::kKept; ++i) EXPECT_EQ(dictionaries.Of(Content(i)), made[i]) << i;
  EXPECT_EQ(dictionaries.Of(Content(100)), another);
  EXPECT_EQ(made[1]->bytes(), Content(1));
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
        EXPECT_EQ(ready->bytes(), content);
        EXPECT_NE(ready->tables(), nullptr);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace cairn::store
