// SPDX-License-Identifier: GPL-2.0-only
// The walk over versions, held against a model through random histories, positions and directions.
#include "store/visible_iterator.h"

#include <map>
#include <random>

#include "store/file_filters.h"
#include "store/sorted_load.h"
#include "store/store_testing.h"

namespace cairn::store {
namespace {

using Model = std::map<std::string, std::string>;

class VisibleIteratorTest : public ::testing::TestWithParam<unsigned>, public StoreFixture {
 protected:
  struct Moment {
    Snapshot snapshot;
    Model model;
  };

  void SetUp() override {
    options.expert_family_options = WaitingMemtables();
    Open();
    random_.seed(GetParam());
  }
  unsigned Below(unsigned n) { return random_() % n; }
  std::string Short() { return "k" + std::string(1, static_cast<char>('a' + Below(26))) + (Below(3) == 0 ? "x" : ""); }
  // As long as the beginnings in filters, or as the long ones of a walked index; the last of the three has few keys, often none.
  std::string Group() {
    const bool is_walked = GetParam() / 2 % 2 != 0;
    std::string group((is_walked ? kLongBeginningBytes : kFilteredPrefixBytes) - 1, 'g');
    if (is_walked) group.front() = '\xe7';
    return group + "abc"[std::min(2u, Below(20) / 8)];
  }
  std::string Key() { return Below(2) ? Short() : Group() + Short(); }

  // With every other seed full memtables wait for two more before they are flushed.
  static std::string WaitingMemtables() {
    return GetParam() % 2 == 0 ? "" : "write_buffer_size=65536;min_write_buffer_number_to_merge=3;max_write_buffer_number=6;";
  }

  // With another idea of what is in filters: what is in files was written with the one before.
  void ChangeFilters() {
    cursor_ = Cursor();
    moments_.clear();
    constexpr std::string_view kFilters[] = {"", "prefix_extractor=rocksdb.CappedPrefix.5;", "prefix_extractor=nullptr;",
                                             "prefix_extractor=rocksdb.FixedPrefix.14;"};
    options.expert_family_options = WaitingMemtables();
    options.expert_family_options += kFilters[Below(std::size(kFilters))];
    // Several blocks a file and several files a level, which are then walked one after the other.
    constexpr std::string_view kBlocks[] = {"150", "1000;block_restart_interval=3", "500;block_restart_interval=1",
                                            "150;index_block_restart_interval=3", "100;index_block_restart_interval=16"};
    if (Below(4) != 0) {
      options.expert_family_options += "target_file_size_base=2000;block_based_table_factory={block_size=";
      (options.expert_family_options += kBlocks[Below(std::size(kBlocks))]) += "}";
    }
    Reopen();
  }

  // Keys that begin with "s" are put once and removed singly, as entries of an index are.
  void Change() {
    Batch batch(*store);
    const std::string key = Below(4) == 0 ? "s" + Key() : Key();
    const bool single = key.front() == 's';
    if (single ? now_.contains(key) : Below(3) == 0) {
      single ? batch.SingleDelete(Family::kData, key) : batch.Delete(Family::kData, key);
      now_.erase(key);
    } else {
      now_[key] = "v" + std::to_string(++written_) + std::string(Below(Below(8) == 0 ? 20'000 : 40), '.');
      if (Below(8) == 0) now_[key].clear();
      batch.Put(Family::kData, key, now_[key]);
    }
    ASSERT_TRUE(store->Write(batch, Durability::kOs).ok());
  }

  // Enough versions of one key that stepping over them gives way to seeking.
  void ChangeOneKeyOften() {
    const std::string key = Key();
    for (unsigned i = 0, count = 5 + Below(30); i < count; ++i) {
      Batch batch(*store);
      now_[key] = "o" + std::to_string(++written_);
      batch.Put(Family::kData, key, now_[key]);
      ASSERT_TRUE(store->Write(batch, Durability::kOs).ok());
      if (Below(8) == 0) TakeMoment();
    }
  }

  void DropRange() {
    std::string begin = Key(), end = Key();
    if (begin > end) std::swap(begin, end);
    Batch batch(*store);
    batch.DeleteRange(Family::kData, begin, end);
    ASSERT_TRUE(store->Write(batch, Durability::kOs).ok());
    now_.erase(now_.lower_bound(begin), now_.lower_bound(end));
  }

  // Files with rows of new keys, which become part of every snapshot.
  void Ingest() {
    cursor_.Close();
    moments_.clear();
    SortedLoad load(*store, Family::kData);
    for (const char letter : std::string_view("bhny")) {
      for (unsigned row = 0, rows = Below(20); row < rows; ++row) {
        const std::string key = std::string("k") + letter + "i" + std::to_string(100'000 + ++written_);
        now_[key] = "i" + std::to_string(written_);
        ASSERT_TRUE(load.Add(key, now_[key]).ok());
      }
    }
    ASSERT_TRUE(load.Ingest().ok());
  }

  void TakeMoment() { moments_.push_back({store->TakeSnapshot(), now_}); }

  void Step() {
    switch (Below(60)) {
      case 6: if (Below(4) == 0) ChangeFilters(); break;
      case 7: if (Below(4) == 0) Ingest(); break;
      case 0: ASSERT_TRUE(store->FlushMemtables().ok()); break;
      case 1: ASSERT_TRUE(store->CompactRange(Family::kData, {}, {}).ok()); break;
      case 2: ChangeOneKeyOften(); break;
      case 3: if (GetParam() % 3 == 0) DropRange(); break;  // walks that know none are merged in another way
      case 4: TakeMoment(); break;
      case 5: if (!moments_.empty()) moments_.erase(moments_.begin() + Below(static_cast<unsigned>(moments_.size()))); break;
      default: Change();
    }
  }

  // Something changes beside a walk, which stays at its moment.
  void StepBesideAWalk() {
    switch (Below(12)) {
      case 0: ASSERT_TRUE(store->FlushMemtables().ok()); break;
      case 1: ASSERT_TRUE(store->CompactRange(Family::kData, {}, {}).ok()); break;
      case 2: if (GetParam() % 3 == 0) DropRange(); break;
      default: Change();
    }
  }

  // A walk of random moves within random bounds agrees with the model at every step.
  void Walk(const Snapshot* snapshot, const Model& all) {
    std::string lower = Below(2) ? Key() : "", upper = Below(2) ? Key() : "";
    if (Below(2)) {
      const std::string group = Group();
      lower = group + (Below(3) ? Short() : "");
      upper = Below(3) ? group + Short() : group;
      if (upper == group) ++upper.back();
    }
    if (!upper.empty() && lower > upper) std::swap(lower, upper);
    Model model(all.lower_bound(lower), upper.empty() ? all.end() : all.lower_bound(upper));
    CursorOptions cursor_options;
    cursor_options.snapshot = snapshot;
    cursor_options.lower_bound = lower;
    cursor_options.upper_bound = upper;
    Cursor& cursor = cursor_;  // often still open, with other bounds
    if (Below(4) == 0) cursor.Close();
    ASSERT_TRUE(store->OpenCursor(Family::kData, cursor_options, &cursor).ok());
    const bool changes_beside = Below(4) == 0;
    auto at = model.end();
    for (unsigned step = 0; step < 60; ++step) {
      SCOPED_TRACE("step " + std::to_string(step) + " bounds [" + lower + ", " + upper + ")");
      if (changes_beside && Below(6) == 0) {
        ASSERT_NO_FATAL_FAILURE(StepBesideAWalk());
      }
      const std::string key = Key();
      const auto before = [&](auto position) { return position == model.begin() ? model.end() : std::prev(position); };
      switch (at == model.end() ? Below(4) : Below(24)) {
        case 0: cursor.SeekToFirst(); at = model.begin(); break;
        case 1: cursor.SeekToLast(); at = before(model.end()); break;
        case 2: cursor.Seek(key); at = model.lower_bound(key); break;
        case 3: cursor.SeekForPrev(key); at = before(model.upper_bound(key)); break;
        case 4: case 5: case 6: case 7: case 8: case 9: case 10: case 11: case 12: case 13:
          cursor.Prev(); at = before(at); break;
        default: cursor.Next(); ++at;
      }
      ASSERT_TRUE(cursor.status().ok()) << cursor.status().ToString();
      ASSERT_EQ(cursor.Valid(), at != model.end());
      if (at == model.end()) continue;
      ASSERT_EQ(cursor.key(), at->first);
      ASSERT_EQ(cursor.value(), at->second);
    }
  }

  Cursor cursor_;
  std::mt19937 random_;
  unsigned written_ = 0;
  Model now_;
  std::vector<Moment> moments_;
};

TEST_P(VisibleIteratorTest, AgreesWithAModel) {
  for (unsigned round = 0; round < 40; ++round) {
    for (unsigned i = 0; i < 40; ++i) ASSERT_NO_FATAL_FAILURE(Step());
    for (unsigned walk = Below(4); walk > 0; --walk) ASSERT_NO_FATAL_FAILURE(Walk(nullptr, now_));
    if (!moments_.empty()) {
      const Moment& moment = moments_[Below(static_cast<unsigned>(moments_.size()))];
      for (unsigned walk = Below(4); walk > 0; --walk) ASSERT_NO_FATAL_FAILURE(Walk(&moment.snapshot, moment.model));
    }
    if (Below(2)) cursor_.Close();
  }
  cursor_.Close();
  moments_.clear();
}

INSTANTIATE_TEST_SUITE_P(Seeds, VisibleIteratorTest, ::testing::Range(1u, 31u));

class VisibleIteratorStoreTest : public ::testing::Test, public StoreFixture {};

// Writers go on while a cursor is open: it keeps the moment of its opening.
TEST_F(VisibleIteratorStoreTest, StaysAtItsMomentThroughFlushAndCompaction) {
  Open();
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(Put("k" + std::to_string(100 + i), "old", Durability::kOs).ok());
  Cursor cursor;
  ASSERT_TRUE(store->OpenCursor(Family::kData, {}, &cursor).ok());
  cursor.SeekToFirst();
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(Put("k" + std::to_string(100 + i), "new", Durability::kOs).ok());
  ASSERT_TRUE(store->FlushMemtables().ok());
  ASSERT_TRUE(store->CompactRange(Family::kData, {}, {}).ok());
  int rows = 0;
  for (; cursor.Valid(); cursor.Next(), ++rows) ASSERT_EQ(cursor.value(), "old");
  EXPECT_EQ(rows, 100);
  EXPECT_TRUE(cursor.status().ok());
}

// Ranges that lie in one file of several are read without a merge, and opened again with others.
TEST_F(VisibleIteratorStoreTest, RangesOfOneFileAndOfSeveral) {
  Open();
  const auto key = [](int i) { return "k" + std::to_string(1000 + i); };
  for (int file = 0; file < 3; ++file) {
    for (int i = 0; i < 100; ++i) ASSERT_TRUE(Put(key(100 * file + i), std::to_string(file), Durability::kOs).ok());
    ASSERT_TRUE(store->FlushMemtables().ok());
    if (file == 0) {
      ASSERT_TRUE(store->CompactRange(Family::kData, {}, {}).ok());
    }
  }
  Cursor cursor;
  const auto expect = [&](int begin, int end) {
    const std::string lower = key(begin), upper = key(end);
    ASSERT_TRUE(store->OpenCursor(Family::kData, {.lower_bound = lower, .upper_bound = upper}, &cursor).ok());
    int at = begin;
    for (cursor.SeekToFirst(); cursor.Valid(); cursor.Next(), ++at) {
      ASSERT_EQ(cursor.key(), key(at));
      ASSERT_EQ(cursor.value(), std::to_string(at / 100));
    }
    ASSERT_EQ(at, end);
    for (cursor.SeekToLast(); cursor.Valid(); cursor.Prev()) ASSERT_EQ(cursor.key(), key(--at));
    ASSERT_EQ(at, begin);
    ASSERT_TRUE(cursor.status().ok());
  };
  for (int round = 0; round < 2; ++round) {
    for (const auto& [begin, end] : {std::pair(10, 20), {30, 99}, {100, 120}, {150, 170}, {90, 110}, {20, 40}, {50, 250},
                                     {200, 299}, {0, 300}, {199, 201}}) {
      SCOPED_TRACE("[" + std::to_string(begin) + ", " + std::to_string(end) + ") round " + std::to_string(round));
      ASSERT_NO_FATAL_FAILURE(expect(begin, end));
    }
    // With an entry in the memtable, which the ranges around it have to be merged with.
    ASSERT_TRUE(Put(key(35), "0", Durability::kOs).ok());
  }
}

// A level's files are walked one after the other, beside a memtable that has nothing there at first.
TEST_F(VisibleIteratorStoreTest, RangesOverFilesOfALevel) {
  options.expert_family_options = "target_file_size_base=4000;block_based_table_factory={block_size=500}";
  Open();
  const auto key = [](int i) { return "k" + std::to_string(1000 + i); };
  Model model;
  const auto put = [&](int i, const std::string& value) {
    ASSERT_TRUE(Put(key(i), value, Durability::kOs).ok());
    model[key(i)] = value;
  };
  for (int i = 0; i < 1000; ++i) ASSERT_NO_FATAL_FAILURE(put(i, std::string(i % 300, static_cast<char>('a' + i % 26))));
  ASSERT_TRUE(store->FlushMemtables().ok());
  ASSERT_TRUE(store->CompactRange(Family::kData, {}, {}).ok());
  ASSERT_GT(std::stoi(store->TextProperty(Family::kData, "rocksdb.num-files-at-level6")), 5);
  ASSERT_TRUE(Put("l", "beside", Durability::kOs).ok());
  Cursor cursor;
  const auto expect = [&](int begin, int end) {
    const std::string lower = key(begin), upper = key(end);
    ASSERT_TRUE(store->OpenCursor(Family::kData, {.lower_bound = lower, .upper_bound = upper}, &cursor).ok());
    auto at = model.lower_bound(lower);
    const auto check = [&] {
      ASSERT_TRUE(cursor.Valid());
      ASSERT_EQ(cursor.key(), at->first);
      ASSERT_EQ(cursor.value(), at->second);
    };
    cursor.SeekToFirst();
    for (; at != model.lower_bound(upper); ++at, cursor.Next()) {
      ASSERT_NO_FATAL_FAILURE(check());
      if (at->first.back() != '7' || at->first == lower) continue;
      // There and back, in the middle of a block and at its borders.
      cursor.Prev(), --at;
      ASSERT_NO_FATAL_FAILURE(check());
      cursor.Next(), ++at;
      ASSERT_NO_FATAL_FAILURE(check());
    }
    ASSERT_FALSE(cursor.Valid());
    for (cursor.SeekToLast(); cursor.Valid(); cursor.Prev()) {
      --at;
      ASSERT_NO_FATAL_FAILURE(check());
    }
    ASSERT_EQ(at, model.lower_bound(lower));
    ASSERT_TRUE(cursor.status().ok());
  };
  for (const int changed : {-1, 500, 10, 990}) {
    if (changed >= 0) {
      ASSERT_NO_FATAL_FAILURE(put(changed, "new"));
    }
    for (const auto& [begin, end] : {std::pair(0, 1000), {100, 900}, {400, 450}, {402, 410}, {450, 550}, {0, 1}, {300, 400}}) {
      SCOPED_TRACE("[" + std::to_string(begin) + ", " + std::to_string(end) + "), changed " + std::to_string(changed));
      ASSERT_NO_FATAL_FAILURE(expect(begin, end));
    }
  }
}

// Settled files with newer versions above them, of each age: in two files of level 0, in the memtable that is flushed, and
// in the active one. With long keys that differ late, and with deletions.
TEST_F(VisibleIteratorStoreTest, RangesOfSeveralAges) {
  options.expert_family_options = "target_file_size_base=4000;block_based_table_factory={block_size=500}";
  Open();
  const auto key = [](int i) { return "a rather long beginning of all keys " + std::to_string(1000 + i); };
  Model model;
  const auto put = [&](int i, const std::string& value) {
    ASSERT_TRUE(Put(key(i), value, Durability::kOs).ok());
    model[key(i)] = value;
  };
  const auto remove = [&](int i) {
    Batch batch(*store);
    batch.Delete(Family::kData, key(i));
    ASSERT_TRUE(store->Write(batch, Durability::kOs).ok());
    model.erase(key(i));
  };
  for (int i = 0; i < 900; ++i) ASSERT_NO_FATAL_FAILURE(put(i, std::string(i % 200, '.')));
  ASSERT_TRUE(store->FlushMemtables().ok());
  ASSERT_TRUE(store->CompactRange(Family::kData, {}, {}).ok());
  Cursor cursor;
  const auto expect = [&](int begin, int end) {
    SCOPED_TRACE("[" + std::to_string(begin) + ", " + std::to_string(end) + ")");
    const std::string lower = key(begin), upper = key(end);
    ASSERT_TRUE(store->OpenCursor(Family::kData, {.lower_bound = lower, .upper_bound = upper}, &cursor).ok());
    std::string forward, backward, forward_expected, backward_expected;
    for (auto at = model.lower_bound(lower); at != model.lower_bound(upper); ++at) {
      forward_expected += (forward_expected.empty() ? "" : " ") + at->first + "=" + at->second;
      backward_expected = at->first + "=" + at->second + (backward_expected.empty() ? "" : " ") + backward_expected;
    }
    cursor.SeekToFirst();
    ASSERT_EQ(Forward(cursor), forward_expected);
    cursor.SeekToLast();
    ASSERT_EQ(Backward(cursor), backward_expected);
    cursor.Seek(key((begin + end) / 2));
    // Three steps one way and two the other, through the whole range.
    auto at = model.lower_bound(key((begin + end) / 2));
    while (at != model.lower_bound(upper)) {
      for (int step = 0; step < 5; ++step) {
        ASSERT_TRUE(cursor.Valid());
        ASSERT_EQ(cursor.key(), at->first);
        ASSERT_EQ(cursor.value(), at->second);
        if (step >= 3 && at == model.lower_bound(lower)) break;
        step < 3 ? cursor.Next() : cursor.Prev();
        step < 3 ? ++at : --at;
        if (at == model.lower_bound(upper)) break;
      }
    }
    ASSERT_FALSE(cursor.Valid());
    ASSERT_TRUE(cursor.status().ok());
  };
  for (int age = 0; age < 3; ++age) {
    for (int i = age; i < 900; i += 7 + age) {
      const bool removed = i < 600 ? i >= 300 && i % 2 == 1 : i < 640;
      if (removed) {
        ASSERT_NO_FATAL_FAILURE(remove(i));
      } else if (i < 600) {
        ASSERT_NO_FATAL_FAILURE(put(i, "age " + std::to_string(age)));
      }
    }
    for (const auto& [begin, end] : {std::pair(0, 900), {0, 10}, {100, 500}, {280, 330}, {590, 660}, {600, 640}, {700, 800}}) {
      ASSERT_NO_FATAL_FAILURE(expect(begin, end));
    }
    if (age < 2) {
      ASSERT_TRUE(store->FlushMemtables().ok());
    }
  }
}

// What comes into the memtable while files are walked is not seen, by whoever has opened before.
TEST_F(VisibleIteratorStoreTest, WritesBesideAWalkOverFiles) {
  Open();
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(Put("k" + std::to_string(100 + i), "old", Durability::kOs).ok());
  ASSERT_TRUE(store->FlushMemtables().ok());
  const Snapshot snapshot = store->TakeSnapshot();
  for (const bool with_snapshot : {true, false}) {
    Cursor cursor;
    const CursorOptions walk{.snapshot = with_snapshot ? &snapshot : nullptr, .lower_bound = "k", .upper_bound = "l"};
    ASSERT_TRUE(store->OpenCursor(Family::kData, walk, &cursor).ok());
    cursor.SeekToFirst();
    for (int i = 0; i < 100; i += 2) ASSERT_TRUE(Put("k" + std::to_string(100 + i), "new", Durability::kOs).ok());
    for (int i = 0; i < 100; ++i, cursor.Next()) {
      ASSERT_TRUE(cursor.Valid());
      EXPECT_EQ(cursor.value(), !with_snapshot && i % 2 == 0 ? "new" : "old") << i;
    }
    ASSERT_FALSE(cursor.Valid());
    // Opened again: as before with the snapshot, else with what was written.
    ASSERT_TRUE(store->OpenCursor(Family::kData, walk, &cursor).ok());
    cursor.SeekToFirst();
    EXPECT_EQ(cursor.value(), with_snapshot ? "old" : "new");
  }
}

// The counters that stand for RocksDB's own.
TEST_F(VisibleIteratorStoreTest, ReadsAreCounted) {
  Open();
  ASSERT_TRUE(Put("a", "1", Durability::kOs).ok());
  const auto reads = [this] {
    for (const NamedNumber& number : store->Statistics()) {
      if (number.name == "number_keys_read") return number.value;
    }
    return ~uint64_t{0};
  };
  const uint64_t before = reads();
  EXPECT_EQ(Get("a"), "1");
  EXPECT_EQ(Get("b"), "-");
  EXPECT_EQ(reads(), before + 2);
}

// A compaction may end a file between two versions of a key; a row with many of them then fills files of its own.
TEST_F(VisibleIteratorStoreTest, VersionsOfAKeyInSeveralFilesAreOneRow) {
  constexpr int kVersions = 30, kNeighbours = 20;
  options.expert_family_options = "target_file_size_base=2000;block_based_table_factory={block_size=150}";
  Open();
  std::mt19937 random(1);
  const auto text = [&random](size_t bytes) {
    std::string value(bytes, '\0');
    for (char& byte : value) byte = static_cast<char>('a' + random() % 26);
    return value;
  };
  for (int i = 0; i < kNeighbours; ++i) {
    ASSERT_TRUE(Put("k" + std::to_string(100 + i), text(100), Durability::kOs).ok());
    ASSERT_TRUE(Put("n" + std::to_string(100 + i), text(100), Durability::kOs).ok());
  }
  std::vector<std::pair<Snapshot, std::string>> moments;
  for (int version = 0; version < kVersions; ++version) {
    const std::string value = text(300);
    ASSERT_TRUE(Put("m", value, Durability::kOs).ok());
    moments.emplace_back(store->TakeSnapshot(), value);
  }
  ASSERT_TRUE(store->FlushMemtables().ok());
  ASSERT_TRUE(store->CompactRange(Family::kData, {}, {}).ok());
  for (const auto& [snapshot, value] : moments) {
    Cursor cursor;
    ASSERT_TRUE(
        store->OpenCursor(Family::kData, {.snapshot = &snapshot, .lower_bound = "k", .upper_bound = "z"}, &cursor).ok());
    for (const bool forward : {true, false}) {
      int rows = 0;
      forward ? cursor.SeekToFirst() : cursor.SeekToLast();
      for (; cursor.Valid() && rows <= 2 * kNeighbours; forward ? cursor.Next() : cursor.Prev()) {
        ++rows;
        if (cursor.key() == "m") { EXPECT_EQ(cursor.value(), value); }
      }
      EXPECT_EQ(rows, 2 * kNeighbours + 1);
      EXPECT_FALSE(cursor.Valid());
    }
    cursor.Seek("m");
    ASSERT_TRUE(cursor.Valid());
    EXPECT_EQ(cursor.value(), value);
  }
}

class HiddenEntriesTest : public ::testing::TestWithParam<bool>, public StoreFixture {};

// The first writer afterwards finds the memtable marked, the second goes into another.
TEST_P(HiddenEntriesTest, TenThousandInOneMoveAreFlushed) {
  Open();
  for (const bool all_removed : {false, true}) {
    Batch batch(*store);
    for (int i = 0; i < 10'001; ++i) batch.Put(Family::kData, "k" + std::to_string(100'000 + i), "v");
    for (int i = 0; i < 10'001; ++i) {
      if (all_removed || i % 100 != 0) batch.Delete(Family::kData, "k" + std::to_string(100'000 + i));
    }
    ASSERT_TRUE(store->Write(batch, Durability::kOs).ok());
    Cursor cursor;
    ASSERT_TRUE(store->OpenCursor(Family::kData, {.lower_bound = "k", .upper_bound = "l"}, &cursor).ok());
    int rows = 0;
    for (GetParam() ? cursor.SeekToFirst() : cursor.SeekToLast(); cursor.Valid(); GetParam() ? cursor.Next() : cursor.Prev()) ++rows;
    EXPECT_EQ(rows, all_removed ? 0 : 101);
    for (const char* key : {"m1", "m2"}) ASSERT_TRUE(Put(key, "v", Durability::kOs).ok());
    const std::string entries = store->TextProperty(Family::kData, "rocksdb.num-entries-active-mem-table");
    EXPECT_EQ(entries == "1", all_removed) << entries;
  }
}

INSTANTIATE_TEST_SUITE_P(Directions, HiddenEntriesTest, ::testing::Bool());

}  // namespace
}  // namespace cairn::store
