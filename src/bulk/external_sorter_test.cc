// SPDX-License-Identifier: GPL-2.0-only
// Sorting in memory and through runs gives what a map gives; failures leave no files.
#include "bulk/external_sorter.h"

#include <map>
#include <random>
#include <set>

#include <sys/mman.h>

#include <gtest/gtest.h>

#include "store/store_testing.h"

namespace cairn::bulk {
namespace {

using Code = Status::Code;
using Model = std::map<std::string, std::string>;

constexpr uint64_t kMemoryBytes = uint64_t{2} << 20;

class ExternalSorterTest : public ::testing::Test, public store::StoreFixture {
 protected:
  void SetUp() override { Open(); }

  std::vector<std::string> TemporaryFiles() { return env.Files("/db/temporary", "."); }
  // Of so many runs, by the files that are there when the first entry is given.
  void ExpectMergedAtOnce(size_t runs, size_t expected) {
    constexpr uint64_t kPrime = 1'000'003;
    ExternalSorter sorter(*store, {.memory_bytes = kMemoryBytes, .interrupted = {}});
    const std::string value(100, 'v');
    // The entry that ends the last but one is the first of the last.
    for (uint64_t i = 1; sorter.spilled_run_count() < runs - 1; ++i) {
      ASSERT_LT(i, kPrime);
      ASSERT_TRUE(sorter.Add(std::to_string(i * 7919 % kPrime), value).ok());
    }
    size_t merged_at_once = 0;
    const Status status = sorter.Finish([&](ByteView, ByteView) {
      if (merged_at_once == 0) merged_at_once = TemporaryFiles().size();
      return Status::Ok();
    });
    EXPECT_TRUE(status.ok()) << status.ToString();
    EXPECT_EQ(sorter.spilled_run_count(), runs);
    EXPECT_EQ(merged_at_once, expected);
  }

  static std::string RandomBytes(std::mt19937_64& random, size_t bytes_max) {
    std::string bytes(random() % (bytes_max + 1), '\0');
    // Few values, so that keys share beginnings.
    for (char& byte : bytes) byte = static_cast<char>(random() % 3 == 0 ? 0xff : random() % 2);
    return bytes;
  }
  static Model RandomEntries(uint64_t seed, size_t count, size_t value_bytes_max) {
    std::mt19937_64 random(seed);
    Model model;
    while (model.size() < count) {
      std::string key = RandomBytes(random, 40);
      key += std::to_string(random() % (4 * count));
      model.emplace(std::move(key), RandomBytes(random, value_bytes_max));
    }
    return model;
  }
  static std::vector<std::string> Shuffled(const Model& model, uint64_t seed) {
    std::vector<std::string> keys;
    for (const auto& [key, value] : model) keys.push_back(key);
    std::shuffle(keys.begin(), keys.end(), std::mt19937_64(seed));
    return keys;
  }

  // What Finish gives must be the model, in order.
  static void ExpectModel(ExternalSorter& sorter, const Model& model) {
    auto expected = model.begin();
    const Status status = sorter.Finish([&](ByteView key, ByteView value) {
      if (expected == model.end() || expected->first != key || expected->second != value) {
        return Status::Corruption("not the expected entry");
      }
      ++expected;
      return Status::Ok();
    });
    EXPECT_TRUE(status.ok()) << status.ToString();
    EXPECT_TRUE(expected == model.end());
    EXPECT_EQ(sorter.entry_count(), model.size());
  }
};

// Lengths are in 32 bits here, too. The value has addresses, but no memory that anybody would read.
TEST_F(ExternalSorterTest, WhatCannotBeStoredIsNotTaken) {
  constexpr size_t kBytes = size_t{1} << 32;
  void* const at = mmap(nullptr, kBytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  ASSERT_NE(at, MAP_FAILED);
  ExternalSorter sorter(*store, {.memory_bytes = kMemoryBytes, .interrupted = {}});
  EXPECT_TRUE(sorter.Add("b", AsBytes(at, kBytes)).Is(Code::kTooLarge));
  munmap(at, kBytes);
  ASSERT_TRUE(sorter.Add("a", "1").ok());
  ExpectModel(sorter, {{"a", "1"}});
}

TEST_F(ExternalSorterTest, GivesBackWhatItTookInOrder) {
  const struct {
    size_t count, value_bytes_max;
    bool spills;
  } kCases[] = {{0, 0, false}, {1, 10, false}, {3000, 20, false}, {9000, 2000, true}, {40, 900'000, true}};
  uint64_t seed = 1;
  for (const auto& one : kCases) {
    const Model model = RandomEntries(++seed, one.count, one.value_bytes_max);
    ExternalSorter sorter(*store, {.memory_bytes = kMemoryBytes, .interrupted = {}});
    for (const std::string& key : Shuffled(model, seed)) ASSERT_TRUE(sorter.Add(key, model.at(key)).ok());
    ExpectModel(sorter, model);
    EXPECT_EQ(sorter.spilled_run_count() > 7, one.spills);  // more than can be merged at once
  }
  EXPECT_TRUE(TemporaryFiles().empty());
}

// A block of each takes 256 KiB, as does what is on its way; the last one has a single entry, for which there is room beside. Of more than fit so
// many are merged before that the rest do.
TEST_F(ExternalSorterTest, AsManyRunsAreMergedAtOnceAsFitIntoTheMemory) {
  for (const size_t runs : {7, 9}) ExpectMergedAtOnce(runs, 7);
}

// As many as were merged at once with blocks of the usual size would take more than there is.
TEST_F(ExternalSorterTest, RunsOfLargeEntriesAreMergedWithinTheMemory) {
  constexpr size_t kValueBytes = 900'000, kEntries = 24;
  constexpr uint64_t kSortBytes = 2 * kMemoryBytes;
  Model model;
  for (size_t i = 0; i < kEntries; ++i) model.emplace(std::to_string(i), std::string(kValueBytes, static_cast<char>('a' + i)));
  ExternalSorter sorter(*store, {.memory_bytes = kSortBytes, .interrupted = {}});
  for (const std::string& key : Shuffled(model, 3)) ASSERT_TRUE(sorter.Add(key, model.at(key)).ok());
  size_t merged_at_once = 0;
  auto expected = model.begin();
  const Status status = sorter.Finish([&](ByteView key, ByteView value) {
    merged_at_once = std::max(merged_at_once, TemporaryFiles().size());
    EXPECT_EQ(key, expected->first);
    EXPECT_EQ(value, expected->second);
    ++expected;
    return Status::Ok();
  });
  EXPECT_TRUE(status.ok()) << status.ToString();
  EXPECT_EQ(sorter.spilled_run_count(), 8u);
  EXPECT_GE(merged_at_once, 2u);
  EXPECT_LE(merged_at_once * kValueBytes, kSortBytes);
}

// Two are merged, as otherwise there would be no end.
TEST_F(ExternalSorterTest, EntriesLargerThanTheMemoryAreSorted) {
  Model model;
  for (char c = 'a'; c < 'h'; ++c) model.emplace(std::string(1, c), std::string(3 * kMemoryBytes / 2, c));
  ExternalSorter sorter(*store, {.memory_bytes = kMemoryBytes, .interrupted = {}});
  for (const std::string& key : Shuffled(model, 4)) ASSERT_TRUE(sorter.Add(key, model.at(key)).ok());
  EXPECT_EQ(sorter.spilled_run_count(), 6u);  // the last is in memory
  ExpectModel(sorter, model);
}

TEST_F(ExternalSorterTest, SortedInputStaysAsItIs) {
  const Model model = RandomEntries(7, 5000, 2000);
  ExternalSorter sorter(*store, {.memory_bytes = kMemoryBytes, .interrupted = {}});
  for (const auto& [key, value] : model) ASSERT_TRUE(sorter.Add(key, value).ok());
  EXPECT_TRUE(sorter.arrived_sorted());
  EXPECT_GT(sorter.spilled_run_count(), 1u);
  ExpectModel(sorter, model);
}

// Sorted at first, then not: the last entry comes before all others.
TEST_F(ExternalSorterTest, NoticesTheFirstEntryOutOfOrder) {
  Model model = RandomEntries(8, 5000, 2000);
  ExternalSorter sorter(*store, {.memory_bytes = kMemoryBytes, .interrupted = {}});
  for (const auto& [key, value] : model) ASSERT_TRUE(sorter.Add(key, value).ok());
  model[""] = "first";
  ASSERT_TRUE(sorter.Add("", "first").ok());
  EXPECT_FALSE(sorter.arrived_sorted());
  ExpectModel(sorter, model);
}

TEST_F(ExternalSorterTest, TwoEqualKeysAreReportedWithBothValues) {
  for (const size_t between : {size_t{0}, size_t{3000}}) {
    const Model model = RandomEntries(9, between, 2000);
    ExternalSorter sorter(*store, {.memory_bytes = kMemoryBytes, .interrupted = {}});
    ASSERT_TRUE(sorter.Add("key", "one").ok());
    for (const auto& [key, value] : model) ASSERT_TRUE(sorter.Add(key, value).ok());
    ASSERT_TRUE(sorter.Add("key", "two").ok());
    const Status status = sorter.Finish([](ByteView, ByteView) { return Status::Ok(); });
    EXPECT_EQ(status.code(), Code::kDuplicateKey);
    EXPECT_EQ(sorter.duplicate().key, "key");
    const std::set<std::string> values{sorter.duplicate().first_value, sorter.duplicate().second_value};
    EXPECT_EQ(values, (std::set<std::string>{"one", "two"}));
  }
}

TEST_F(ExternalSorterTest, CanBeInterrupted) {
  const Model model = RandomEntries(10, 9000, 1000);
  uint64_t polls = 0;
  ExternalSorter sorter(*store, {.memory_bytes = kMemoryBytes, .interrupted = [&] { return ++polls == 3; }});
  for (const std::string& key : Shuffled(model, 1)) ASSERT_TRUE(sorter.Add(key, model.at(key)).ok());
  EXPECT_EQ(sorter.Finish([](ByteView, ByteView) { return Status::Ok(); }).code(), Code::kInterrupted);
  EXPECT_EQ(polls, 3u);
}

TEST_F(ExternalSorterTest, AFailingOrFullDiskIsAnErrorAndLeavesNoFiles) {
  const std::string value(1000, 'v');
  for (const bool full : {false, true}) {
    {
      ExternalSorter sorter(*store, {.memory_bytes = kMemoryBytes, .interrupted = {}});
      if (full) {
        env.SetFreeBytes(1000);
        store->CheckFreeSpace();
      } else {
        env.FailWrites("/temporary/", 3);
      }
      Status status;
      for (int i = 0; i < 10'000 && status.ok(); ++i) status = sorter.Add(std::to_string(i * 7919 % 10'007), value);
      EXPECT_EQ(status.code(), full ? Code::kNoSpace : Code::kIoError) << status.ToString();
    }
    env.Heal();
    env.SetFreeBytes(uint64_t{1} << 40);
    store->CheckFreeSpace();
    EXPECT_TRUE(TemporaryFiles().empty());
  }
}

TEST_F(ExternalSorterTest, DamageToARunIsNoticed) {
  const std::string value(1000, 'v');
  ExternalSorter sorter(*store, {.memory_bytes = kMemoryBytes, .interrupted = {}});
  for (int i = 0; i < 5000; ++i) ASSERT_TRUE(sorter.Add(std::to_string(i * 7919 % 10'007), value).ok());
  ASSERT_GT(sorter.spilled_run_count(), 1u);
  ASSERT_TRUE(env.FlipBit("/db/temporary", ".run", 5000));
  const Status status = sorter.Finish([](ByteView, ByteView) { return Status::Ok(); });
  EXPECT_EQ(status.code(), Code::kCorruption) << status.ToString();
  EXPECT_NE(status.message().find("/db/temporary/"), std::string_view::npos);
}

TEST_F(ExternalSorterTest, TheNextStartRemovesWhatACrashLeft) {
  env.WriteFile("/db/temporary/9.run", "left");
  ASSERT_FALSE(TemporaryFiles().empty());
  Reopen();
  EXPECT_TRUE(TemporaryFiles().empty());
}

}  // namespace
}  // namespace cairn::bulk
