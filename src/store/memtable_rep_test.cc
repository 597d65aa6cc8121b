// SPDX-License-Identifier: GPL-2.0-only
// The tree as RocksDB sees it.
#include "store/memtable_rep.h"

#include <set>
#include <string>

#include <gtest/gtest.h>

#include "base/endian.h"
#include "db/memtable.h"
#include "memory/concurrent_arena.h"

namespace cairn::store {
namespace {

class MemtableRepTest : public testing::Test {
 protected:
  void Make(const rocks::Comparator* order) {
    comparator = std::make_unique<rocks::MemTable::KeyComparator>(rocks::InternalKeyComparator(order));
    rep.reset(MemtableTreeFactory(memtable_bytes).CreateMemTableRep(*comparator, &arena, nullptr, nullptr));
  }

  bool Insert(const std::string& key, uint64_t sequence, char type = rocks::kTypeValue) {
    char* entry;
    rocks::KeyHandle handle = rep->Allocate(1 + key.size() + 8, &entry);
    entry[0] = static_cast<char>(key.size() + 8);
    memcpy(entry + 1, key.data(), key.size());
    StoreLe64(entry + 1 + key.size(), sequence << 8 | static_cast<uint8_t>(type));
    return rep->InsertKey(handle);
  }

  static std::string Shown(const char* entry) {
    const size_t size = static_cast<size_t>(entry[0]) - 8;
    return std::string(entry + 1, size) + "@" + std::to_string(LoadLe64(entry + 1 + size) >> 8) + " ";
  }

  std::string Get(const std::string& key, uint64_t sequence, bool validates = false) {
    std::string found;
    const auto take = [](void* argument, const char* entry) {
      *static_cast<std::string*>(argument) += Shown(entry);
      return true;
    };
    const rocks::LookupKey lookup(key, sequence);
    if (validates) {
      EXPECT_TRUE(rep->GetAndValidate(lookup, &found, take, true, true, nullptr).ok());
    } else {
      rep->Get(lookup, &found, take);
    }
    return found;
  }

  std::string Walk() {
    std::unique_ptr<rocks::MemTableRep::Iterator> iterator(rep->GetIterator());
    std::string all;
    for (iterator->SeekToFirst(); iterator->Valid(); iterator->Next()) all += Shown(iterator->key());
    return all;
  }

  uint64_t memtable_bytes = 0;
  rocks::ConcurrentArena arena;
  std::unique_ptr<rocks::MemTable::KeyComparator> comparator;
  std::unique_ptr<rocks::MemTableRep> rep;
};

// Without one they are given whatever follows the key.
TEST_F(MemtableRepTest, LooksForOneKeyAskTheFilter) {
  using namespace std::string_literals;
  memtable_bytes = 1 << 16;
  Make(rocks::BytewiseComparator());
  EXPECT_TRUE(Insert("\0\0\0\1key"s, 5));
  EXPECT_FALSE(Insert("\0\0\0\1key"s, 5));
  EXPECT_TRUE(Insert("\200\0\0\1key"s, 5));
  EXPECT_EQ(Get("\0\0\0\1key"s, 6), "\0\0\0\1key@5 \200\0\0\1key@5 "s);
  EXPECT_EQ(Get("\200\0\0\1key"s, 6), "\200\0\0\1key@5 "s);
  EXPECT_EQ(Get("\0\0\0\1abc"s, 6), "");
  EXPECT_EQ(Get("\200\0\0\1abc"s, 6), "\200\0\0\1key@5 "s);
}

TEST_F(MemtableRepTest, AKeysVersionsGoFromNewToOldWhateverTheirType) {
  Make(rocks::BytewiseComparator());
  EXPECT_TRUE(Insert("b", 5));
  EXPECT_TRUE(Insert("b", 7, rocks::kTypeDeletion));
  EXPECT_TRUE(Insert("a", 9));
  EXPECT_TRUE(Insert("ba", 1));
  EXPECT_FALSE(Insert("b", 5));
  EXPECT_FALSE(Insert("b", 7, rocks::kTypeValue));
  EXPECT_EQ(Walk(), "a@9 b@7 b@5 ba@1 ");
  EXPECT_EQ(Get("b", 6), "b@5 ba@1 ");
  EXPECT_EQ(Get("b", 7, /*validates=*/true), "b@7 b@5 ba@1 ");
  EXPECT_EQ(Get("c", 7), "");
  EXPECT_EQ(rep->ApproximateNumEntries(rocks::Slice("b\377\377\377\377\377\377\377\377", 9),
                                       rocks::Slice("c\377\377\377\377\377\377\377\377", 9)),
            3u);
}

TEST_F(MemtableRepTest, WhoWantsToBeSureIsToldOfEachEntry) {
  Make(rocks::BytewiseComparator());
  ASSERT_TRUE(Insert("a", 1));
  ASSERT_TRUE(Insert("b", 1));
  std::unique_ptr<rocks::MemTableRep::Iterator> iterator(rep->GetIterator());
  const rocks::LookupKey from("a", 9);
  ASSERT_TRUE(iterator->SeekAndValidate(from.internal_key(), nullptr, true, true, nullptr).ok());
  ASSERT_TRUE(iterator->NextAndValidate(true).ok());
  EXPECT_EQ(Shown(iterator->key()), "b@1 ");
  ASSERT_TRUE(iterator->PrevAndValidate(true).ok());
  EXPECT_EQ(Shown(iterator->key()), "a@1 ");
  const auto refuse = [](const char*, bool) { return rocks::Status::Corruption("checksum"); };
  EXPECT_TRUE(iterator->SeekAndValidate(from.internal_key(), nullptr, true, true, refuse).IsCorruption());
  EXPECT_FALSE(iterator->Valid());
}

TEST_F(MemtableRepTest, ASampleHasNoEntryTwice) {
  Make(rocks::BytewiseComparator());
  for (int i = 0; i < 1000; ++i) ASSERT_TRUE(Insert(std::to_string(i), 1));
  std::unordered_set<const char*> sample;
  rep->UniqueRandomSample(1000, 100, &sample);
  EXPECT_EQ(sample.size(), 100u);
  rep->UniqueRandomSample(1000, 1000, &sample);
  EXPECT_EQ(sample.size(), 1000u);
}

TEST_F(MemtableRepTest, AnotherOrderIsLeftToTheSkipList) {
  Make(rocks::ReverseBytewiseComparator());
  EXPECT_TRUE(Insert("a", 1));
  EXPECT_TRUE(Insert("b", 1));
  EXPECT_EQ(Walk(), "b@1 a@1 ");
}

}  // namespace
}  // namespace cairn::store
