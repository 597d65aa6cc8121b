// SPDX-License-Identifier: GPL-2.0-only
// Entries that take the memory of erased ones, and what a shard says that it takes.
#include "txn/lock_table.h"

#include <functional>
#include <map>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace cairn::txn {
namespace {

uint64_t HashOf(ByteView key) { return std::hash<ByteView>()(key); }

TEST(LockShard, AnEntryThatComesAgainIsAsNew) {
  LockShard shard;
  LockEntry* entry = shard.Insert("some key", HashOf("some key"));
  LockRequest* request = shard.NewRequest(entry);
  request->count = 7;
  request->mode = LockMode::kExclusive;
  request->granted = true;
  shard.DeleteRequest(request);
  shard.Erase(entry);
  EXPECT_EQ(shard.entry_count(), 0u);
  EXPECT_EQ(shard.Find("some key", HashOf("some key")), nullptr);

  LockEntry* again = shard.Insert("another one", HashOf("another one"));
  if (LockShard::kKeptMax != 0) {
    EXPECT_EQ(again, entry);
  }
  EXPECT_EQ(again->key(), "another one");
  EXPECT_EQ(again->hash, HashOf("another one"));
  EXPECT_EQ(again->next, nullptr);
  EXPECT_EQ(again->holders, nullptr);
  EXPECT_EQ(again->waiters, nullptr);
  EXPECT_FALSE(again->first_used);
  EXPECT_EQ(shard.Find("another one", HashOf("another one")), again);
  EXPECT_EQ(shard.Find("some key", HashOf("some key")), nullptr);
  request = shard.NewRequest(again);
  EXPECT_EQ(request, &again->first);
  EXPECT_EQ(request->entry, again);
  EXPECT_EQ(request->count, 1u);
  EXPECT_EQ(request->mode, LockMode::kShared);
  EXPECT_FALSE(request->granted);
  shard.DeleteRequest(request);
  shard.Erase(again);
}

TEST(LockShard, SomeOfEachSizeAreKeptAndCounted) {
  for (const size_t key_bytes : {0, 1, 16, 17, 32, 33, 48, 49, 3000}) {
    LockShard shard;
    const size_t empty_bytes = shard.bytes();
    const std::string key(key_bytes, 'k');
    std::vector<LockEntry*> entries;
    const auto insert = [&](size_t count) {
      while (entries.size() < count) entries.push_back(shard.Insert(key, uint64_t{entries.size()} << 32));
    };
    const auto erase_all = [&] {
      for (LockEntry* entry : entries) shard.Erase(entry);
      entries.clear();
    };
    // No more than the buckets there are, so that bytes tell of entries alone.
    const size_t count = shard.bucket_count();
    insert(count);
    EXPECT_EQ(shard.bytes(), empty_bytes + count * LockShard::EntryBytes(key_bytes)) << key_bytes;
    erase_all();
    const size_t kept = key_bytes <= LockShard::kKeptKeyBytesMax ? LockShard::kKeptMax : 0;
    const size_t kept_bytes = kept * LockShard::EntryBytes(key_bytes);
    EXPECT_EQ(shard.bytes(), empty_bytes + kept_bytes) << key_bytes;
    insert(kept);
    EXPECT_EQ(shard.bytes(), empty_bytes + kept_bytes) << key_bytes;
    insert(kept + 1);
    EXPECT_EQ(shard.bytes(), empty_bytes + kept_bytes + LockShard::EntryBytes(key_bytes)) << key_bytes;
    erase_all();
  }
}

TEST(LockShard, EntriesKeepApart) {
  LockShard shard;
  std::mt19937 random(1);
  std::map<std::string, LockEntry*> model;
  for (unsigned step = 0; step < 20'000; ++step) {
    const unsigned number = random() % 300;
    const std::string key = std::to_string(number) + std::string(number % 60, 'k');
    const uint64_t hash = HashOf(key);
    const auto known = model.find(key);
    ASSERT_EQ(shard.Find(key, hash), known == model.end() ? nullptr : known->second) << key;
    if (known == model.end()) {
      model.emplace(key, shard.Insert(key, hash));
    } else {
      ASSERT_EQ(known->second->key(), key);
      shard.Erase(known->second);
      model.erase(known);
    }
    ASSERT_EQ(shard.entry_count(), model.size());
  }
  for (const auto& [key, entry] : model) {
    EXPECT_EQ(entry->key(), key);
    shard.Erase(entry);
  }
  EXPECT_EQ(shard.entry_count(), 0u);
}

}  // namespace
}  // namespace cairn::txn
