// SPDX-License-Identifier: GPL-2.0-only
// Files whose filters have not what all keys of a range begin with are passed by.
#include "store/prefix_filter.h"

#include <string>

#include <gtest/gtest.h>

#include "base/endian.h"
#include "base/ids.h"
#include "store/file_filters.h"
#include "store/store_testing.h"

namespace cairn::store {
namespace {

class PrefixFilterTest : public ::testing::Test, public StoreFixture {
 protected:
  // Files that were not looked into.
  uint64_t Filtered() {
    uint64_t count = 0;
    for (const NamedNumber& row : store->Statistics()) {
      if (row.name.ends_with("seek_filtered")) count += row.value;
    }
    return count;
  }
};

// Of files that have not what a range asks for none is read; those that have it and newer versions elsewhere are.
TEST_F(PrefixFilterTest, PassesByFilesWithoutTheBeginning) {
  Open();
  const auto group = [](int number) { return "group-" + std::to_string(100'000 + number); };
  static_assert(kFilteredPrefixBytes == 12);
  for (int file = 0; file < 3; ++file) {
    for (int i = file; i < 300; i += 3) {
      ASSERT_TRUE(Put(group(i) + "a", "1", Durability::kOs).ok());
      ASSERT_TRUE(Put(group(i) + "b", "2", Durability::kOs).ok());
    }
    ASSERT_TRUE(store->FlushMemtables().ok());
  }
  ASSERT_TRUE(Put(group(7) + "a", "new", Durability::kOs).ok());
  const uint64_t before = Filtered();
  Cursor cursor;
  for (int i = 0; i < 300; ++i) {
    const std::string lower = group(i);
    std::string upper = lower;
    i % 2 == 0 ? upper.push_back('z') : void(++upper.back());  // within the beginning; behind all that have it
    ASSERT_TRUE(store->OpenCursor(Family::kData, {.lower_bound = lower, .upper_bound = upper}, &cursor).ok());
    cursor.SeekToFirst();
    EXPECT_EQ(Forward(cursor), group(i) + (i == 7 ? "a=new " : "a=1 ") + group(i) + "b=2");
    cursor.SeekToLast();
    EXPECT_EQ(Backward(cursor), group(i) + "b=2 " + group(i) + (i == 7 ? "a=new" : "a=1"));
  }
  EXPECT_GT(Filtered() - before, 550u);
}

// What comes next after values that end in ff is a shorter key.
TEST_F(PrefixFilterTest, ValuesThatEndInFfAreLikeOthers) {
  options.expert_family_options = "disable_auto_compactions=true";  // or four files would be one, if that comes first
  Open();
  const auto list = [](uint64_t owner, uint64_t type) {
    std::string key(kLongBeginningBytes, '\0');
    StoreBe32(key.data(), 7 | kOnlyWalkedBit);
    StoreBe64(key.data() + 4, owner);
    StoreBe64(key.data() + 12, type);
    return key;
  };
  const auto past = [](std::string key) {
    while (key.back() == '\xff') key.pop_back();
    ++key.back();
    return key;
  };
  const auto count = [&](const std::string& beginning) {
    Cursor cursor;
    const std::string upper = past(beginning);
    EXPECT_TRUE(store->OpenCursor(Family::kData, {.lower_bound = beginning, .upper_bound = upper}, &cursor).ok());
    int rows = 0;
    for (cursor.SeekToFirst(); cursor.Valid(); cursor.Next()) ++rows;
    return rows;
  };
  constexpr uint64_t kNumbers[] = {0xff, 0xffff, 0x1ff, ~uint64_t{0}};
  for (const uint64_t number : kNumbers) {
    for (const char* entry : {"a", "b"}) {
      for (const uint64_t type : {number, number - 1}) ASSERT_TRUE(Put(list(number, type) + entry, "v", Durability::kOs).ok());
      ASSERT_TRUE(Put(list(1, 1) + entry, "v", Durability::kOs).ok());
      ASSERT_TRUE(Put(list(~uint64_t{1}, 1) + entry, "v", Durability::kOs).ok());  // so that each file has the range's place
    }
    ASSERT_TRUE(store->FlushMemtables().ok());
  }
  const uint64_t before = Filtered();
  for (const uint64_t owner : kNumbers) {
    EXPECT_EQ(count(list(owner, 0).substr(0, kFilteredPrefixBytes)), 4);
    for (const uint64_t type : kNumbers) EXPECT_EQ(count(list(owner, type)), owner == type ? 2 : 0);
  }
  EXPECT_GT(Filtered() - before, 4 * (2u + 4 * 2));
}

// Lists of one beginning lie in different files, those of a statement in one of them; a range over all of them is asked by what is common.
TEST_F(PrefixFilterTest, PassesByFilesWithoutTheList) {
  Open();
  const auto list = [](int owner, int type) {
    std::string key(kLongBeginningBytes, '\0');
    StoreBe32(key.data(), 7 | kOnlyWalkedBit);
    StoreBe64(key.data() + 4, static_cast<uint64_t>(owner));
    StoreBe64(key.data() + 12, static_cast<uint64_t>(type));
    return key;
  };
  for (int file = 0; file < 3; ++file) {
    for (int owner = 0; owner < 100; ++owner) {
      for (const int type : {file, file + 10}) {
        for (const char* entry : {"a", "c"}) ASSERT_TRUE(Put(list(owner, type) + entry, std::to_string(type) + entry, Durability::kOs).ok());
      }
    }
    ASSERT_TRUE(store->FlushMemtables().ok());
  }
  const auto values = [&](const std::string& lower, const std::string& upper) {
    Cursor cursor;
    EXPECT_TRUE(store->OpenCursor(Family::kData, {.lower_bound = lower, .upper_bound = upper}, &cursor).ok());
    std::string text;
    for (cursor.SeekToFirst(); cursor.Valid(); cursor.Next()) text += std::string(cursor.value()) + " ";
    return text;
  };
  const uint64_t before = Filtered();
  for (int owner = 0; owner < 100; ++owner) {
    for (const int type : {0, 1, 2, 5}) {
      const std::string a = type == 5 ? "" : std::to_string(type) + "a ", c = type == 5 ? "" : std::to_string(type) + "c ";
      EXPECT_EQ(values(list(owner, type), list(owner, type + 1)), a + c);
      EXPECT_EQ(values(list(owner, type) + "a", list(owner, type) + "b"), a);
    }
  }
  const uint64_t of_lists = Filtered() - before;
  EXPECT_GT(of_lists, 2 * 100 * (3 * 2 + 3) * 9u / 10);
  for (int owner = 0; owner < 100; ++owner) EXPECT_EQ(values(list(owner, 0), list(owner, 20)), "0a 0c 1a 1c 2a 2c 10a 10c 11a 11c 12a 12c ");
  EXPECT_EQ(Filtered() - before, of_lists);
}

}  // namespace
}  // namespace cairn::store
