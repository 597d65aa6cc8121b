// SPDX-License-Identifier: GPL-2.0-only
// What is inserted is what was said, whatever was foreseen.
#include "store/insert_ahead.h"

#include <algorithm>
#include <map>
#include <random>
#include <thread>

#include <gtest/gtest.h>

#include "base/endian.h"
#include "db/memtable.h"
#include "db/write_batch_internal.h"
#include "memory/concurrent_arena.h"
#include "store/memtable_rep.h"
#include "store/memtable_tree.h"
#include "store/store_testing.h"

namespace cairn::store {
namespace {

constexpr size_t kBatchEntries = 100;

class InsertAheadTest : public testing::Test {
 protected:
  // Of one index in order and two in none.
  static std::vector<std::string> RandomKeys(uint64_t seed, size_t count) {
    std::mt19937_64 random(seed);
    std::vector<std::string> keys;
    for (size_t i = 0; i < count; ++i) {
      const uint32_t index = static_cast<uint32_t>(i % 3);
      std::string key(12, '\0');
      StoreBe32(key.data(), index);
      StoreBe64(key.data() + 4, index == 0 ? seed << 32 | i : random());
      keys.push_back(std::move(key));
    }
    return keys;
  }

  static rocks::WriteBatch BatchOf(const std::vector<std::string>& keys) {
    rocks::WriteBatch batch;
    for (size_t i = 0; i < keys.size(); ++i) {
      EXPECT_TRUE((i % 5 == 0 ? batch.Delete(keys[i]) : batch.Put(keys[i], "value")).ok());
    }
    return batch;
  }

  bool Insert(const std::string& key, uint64_t sequence, bool concurrently = false) {
    char* entry;
    rocks::KeyHandle handle = rep->Allocate(1 + key.size() + 8, &entry);
    entry[0] = static_cast<char>(key.size() + 8);
    memcpy(entry + 1, key.data(), key.size());
    StoreLe64(entry + 1 + key.size(), sequence << 8 | 1);
    return concurrently ? rep->InsertKeyConcurrently(handle) : rep->InsertKey(handle);
  }

  std::vector<std::string> Walk() {
    std::vector<std::string> keys;
    std::unique_ptr<rocks::MemTableRep::Iterator> iterator(rep->GetIterator());
    for (iterator->SeekToFirst(); iterator->Valid(); iterator->Next()) {
      keys.emplace_back(iterator->key() + 1, static_cast<size_t>(iterator->key()[0]) - 8);
    }
    return keys;
  }

  // As many as make it worth while to look ahead.
  void SetUp() override {
    all = RandomKeys(kManySeed, 200'000);
    for (const std::string& key : all) ASSERT_TRUE(Insert(key, 1));
    ASSERT_TRUE(TreeOf(*rep)->IsLarge());
  }

  static constexpr uint64_t kManySeed = 1'000'000;

  std::vector<std::string> all;
  rocks::MemTable::KeyComparator comparator{rocks::InternalKeyComparator(rocks::BytewiseComparator())};
  rocks::ConcurrentArena arena;
  std::unique_ptr<rocks::MemTableRep> rep{
      MemtableTreeFactory(1 << 20).CreateMemTableRep(comparator, &arena, nullptr, nullptr)};
};

TEST_F(InsertAheadTest, EntriesThatWereForeseen) {
  for (uint64_t round = 0; round < 100; ++round) {
    const std::vector<std::string> keys = RandomKeys(round, kBatchEntries);
    const rocks::WriteBatch batch = BatchOf(keys);
    const InsertAhead ahead(batch, 0);
    ASSERT_EQ(InsertAhead::OfThread(), &ahead);
    for (const std::string& key : keys) ASSERT_TRUE(Insert(key, round + 1));
    for (const std::string& key : keys) ASSERT_FALSE(Insert(key, round + 1));
    all.insert(all.end(), keys.begin(), keys.end());
  }
  EXPECT_EQ(InsertAhead::OfThread(), nullptr);
  std::sort(all.begin(), all.end());
  EXPECT_EQ(Walk(), all);
}

TEST_F(InsertAheadTest, OtherEntriesThanForeseen) {
  for (uint64_t round = 0; round < 100; ++round) {
    const rocks::WriteBatch batch = BatchOf(RandomKeys(1000 + round, kBatchEntries));
    const std::vector<std::string> keys = RandomKeys(round, 2 * kBatchEntries);
    const InsertAhead ahead(batch, 0);
    for (const std::string& key : keys) ASSERT_TRUE(Insert(key, round + 1));
    all.insert(all.end(), keys.begin(), keys.end());
  }
  std::sort(all.begin(), all.end());
  EXPECT_EQ(Walk(), all);
}

TEST_F(InsertAheadTest, AFewEntriesAreNotForeseen) {
  const rocks::WriteBatch batch = BatchOf(RandomKeys(1, 10));
  const InsertAhead ahead(batch, 0);
  EXPECT_EQ(InsertAhead::OfThread(), nullptr);
}

// Marks of transactions, ranges and keys of other families are none of the entries. The last has nothing behind it.
TEST_F(InsertAheadTest, EachEntryGetsItsOwnLeaf) {
  const MemtableTree& tree = *TreeOf(*rep);
  const std::vector<std::string> keys = RandomKeys(2, kBatchEntries);
  rocks::WriteBatch batch;
  ASSERT_TRUE(rocks::WriteBatchInternal::InsertNoop(&batch).ok());
  for (const std::string& key : keys) {
    ASSERT_TRUE(batch.DeleteRange(key, key + "z").ok());
    ASSERT_TRUE(batch.PutLogData("log").ok());
    ASSERT_TRUE(rocks::WriteBatchInternal::Put(&batch, 1, key, "other").ok());
    ASSERT_TRUE(batch.Delete(key).ok());
  }
  InsertAhead ahead(batch, 0);
  for (unsigned slot = 0; slot < 1u << InsertAhead::kRecentBits; ++slot) ahead.NoteScattered(slot);
  for (size_t i = 0; i < keys.size(); ++i) {
    const MemtableTarget target(EntryKey{keys[i].data(), keys[i].size()}, rocks::kMaxSequenceNumber);
    const bool foreseen = i >= InsertAhead::kAhead && i + 1 < keys.size();
    ASSERT_EQ(ahead.Next(tree), foreseen ? tree.FetchLeaf(target) : nullptr) << i;
  }
  EXPECT_EQ(ahead.Next(tree), nullptr);
}

TEST_F(InsertAheadTest, ASmallTreeIsSearchedAtOnce) {
  rocks::ConcurrentArena small_arena;
  const MemtableTree small(&small_arena);
  const std::vector<std::string> keys = RandomKeys(2, kBatchEntries);
  const rocks::WriteBatch batch = BatchOf(keys);
  InsertAhead ahead(batch, 0);
  for (unsigned slot = 0; slot < 1u << InsertAhead::kRecentBits; ++slot) ahead.NoteScattered(slot);
  for (size_t i = 0; i < keys.size(); ++i) ASSERT_EQ(ahead.Next(small), nullptr);
}

TEST_F(InsertAheadTest, ManyThreads) {
  constexpr uint64_t kThreads = 4, kRounds = 50;
  std::vector<std::thread> threads;
  for (uint64_t thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      for (uint64_t round = 0; round < kRounds; ++round) {
        const std::vector<std::string> keys = RandomKeys(thread * kRounds + round, kBatchEntries);
        const rocks::WriteBatch batch = BatchOf(keys);
        const InsertAhead ahead(batch, 0);
        for (const std::string& key : keys) EXPECT_TRUE(Insert(key, 1, /*concurrently=*/true));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (uint64_t seed = 0; seed < kThreads * kRounds; ++seed) {
    const std::vector<std::string> keys = RandomKeys(seed, kBatchEntries);
    all.insert(all.end(), keys.begin(), keys.end());
  }
  std::sort(all.begin(), all.end());
  EXPECT_EQ(Walk(), all);
}

// A transaction that fills memtables several times over.
TEST(InsertAheadOfTransactionsTest, LargeCommitsAreWhole) {
  StoreFixture fixture;
  fixture.Open();
  std::mt19937_64 random(7);
  std::map<std::string, std::string> expected;
  for (int round = 0; round < 20; ++round) {
    std::unique_ptr<WriteTransaction> transaction = fixture.store->BeginWrite();
    for (int i = 0; i < 2000; ++i) {
      std::string key = "idx" + std::to_string(i % 3) + std::to_string(i % 3 == 0 ? 1'000'000 + round * 2000 + i : random());
      std::string value(1000, static_cast<char>('a' + i % 26));
      ASSERT_TRUE(transaction->Put(Family::kData, key, value).ok());
      expected[std::move(key)] = std::move(value);
    }
    ASSERT_TRUE(transaction->Commit(Durability::kOs).ok());
  }
  for (const auto& [key, value] : expected) ASSERT_EQ(fixture.Get(key), value);
  Cursor cursor;
  ASSERT_TRUE(fixture.store->OpenCursor(Family::kData, {}, &cursor).ok());
  auto next = expected.begin();
  for (cursor.SeekToFirst(); cursor.Valid(); cursor.Next(), ++next) {
    ASSERT_NE(next, expected.end());
    ASSERT_EQ(cursor.key(), next->first);
  }
  EXPECT_EQ(next, expected.end());
}

}  // namespace
}  // namespace cairn::store
