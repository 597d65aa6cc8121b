// SPDX-License-Identifier: GPL-2.0-only
// How long indexes are held that statements share, and that reads are right meanwhile.
#include "store/held_indexes.h"

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include <rocksdb/cache.h>
#include <rocksdb/table.h>

#include "store/current_version.h"
#include "store/environment.h"
#include "store/file_blocks_testing.h"
#include "store/point_reader.h"
#include "store/store_testing.h"

namespace cairn::store {
namespace {

class HeldIndexesTest : public ::testing::Test, public StoreFixture {
 protected:
  static constexpr int kKeys = 2000;

  void SetUp() override { options.expert_family_options = "block_based_table_factory={block_size=256}"; }

  static std::string Key(int i) { return "idx0" + std::to_string(10'000 + i); }

  void PutAll(const std::string& value) {
    Batch batch(*store);
    for (int i = 0; i < kKeys; ++i) batch.Put(Family::kData, Key(i), value + std::to_string(i));
    ASSERT_TRUE(store->Write(batch, Durability::kOs).ok());
  }
  void Settle() { ASSERT_TRUE(store->CompactRange(Family::kData, {}, {}).ok()); }

  void Expect(PointReader& points, int i, const std::string& value) {
    PinnedValue found;
    const Status status = points.Get(*store, Key(i), nullptr, &found);
    ASSERT_TRUE(status.ok()) << Key(i) << ": " << status.ToString();
    ASSERT_EQ(found.view(), value + std::to_string(i));
  }
  // Each in a statement of its own.
  void ExpectSome(PointReader& points, const std::string& value) {
    for (int i = 0; i < kKeys; i += 37) {
      ASSERT_NO_FATAL_FAILURE(Expect(points, i, value));
      points.Close();
    }
  }
  // Files are deleted by the thread that lets the last version of them go.
  void AwaitHeld(uint64_t count) {
    while (Number("held_indexes") != count) std::this_thread::yield();
  }
};

TEST_F(HeldIndexesTest, StatementsAndConnectionsShareThem) {
  Open();
  ASSERT_NO_FATAL_FAILURE(PutAll("a"));
  ASSERT_NO_FATAL_FAILURE(Settle());
  PointReader points, others;
  ASSERT_NO_FATAL_FAILURE(Expect(points, 1, "a"));
  points.Close();
  EXPECT_EQ(Number("held_indexes"), 1u);
  const uint64_t asked = Number("block_cache_index_hit") + Number("block_cache_index_miss");
  ASSERT_NO_FATAL_FAILURE(ExpectSome(points, "a"));
  ASSERT_NO_FATAL_FAILURE(ExpectSome(others, "a"));
  EXPECT_EQ(Number("block_cache_index_hit") + Number("block_cache_index_miss"), asked);
  EXPECT_EQ(Number("held_indexes"), 1u);
}

// A walk whose blocks are in the cache looks for the next of them as it goes, and for nothing else.
TEST_F(HeldIndexesTest, RangesAskForNoIndex) {
  Open();
  ASSERT_NO_FATAL_FAILURE(PutAll("a"));
  ASSERT_NO_FATAL_FAILURE(Settle());
  Cursor cursor;
  const auto walk = [&](int from, int to) {
    int count = from;
    const std::string lower = Key(from), upper = Key(to);
    ASSERT_TRUE(store->OpenCursor(Family::kData, {.lower_bound = lower, .upper_bound = upper}, &cursor).ok());
    for (cursor.SeekToFirst(); cursor.Valid(); cursor.Next(), ++count) ASSERT_EQ(cursor.key(), Key(count));
    ASSERT_TRUE(cursor.status().ok()) << cursor.status().ToString();
    ASSERT_EQ(count, to);
    cursor.Close();
  };
  ASSERT_NO_FATAL_FAILURE(walk(0, kKeys));
  EXPECT_EQ(Number("held_indexes"), 1u);
  const auto asked = [this] { return Number("block_cache_index_hit") + Number("block_cache_index_miss"); };
  const uint64_t before = asked(), hits = Number("block_cache_data_hit");
  for (int from = 0; from < kKeys; from += 3) ASSERT_NO_FATAL_FAILURE(walk(from, std::min(kKeys, from + 1 + from % 50)));
  ASSERT_NO_FATAL_FAILURE(walk(0, kKeys));
  EXPECT_EQ(asked(), before);
  EXPECT_GT(Number("block_cache_data_hit"), hits + kKeys / 3);
}

TEST_F(HeldIndexesTest, AFileThatIsGoneIsGivenBack) {
  Open();
  PointReader points;
  for (const char* value : {"a", "b", "c"}) {
    ASSERT_NO_FATAL_FAILURE(PutAll(value));
    ASSERT_NO_FATAL_FAILURE(Settle());
    AwaitHeld(0);
    ASSERT_NO_FATAL_FAILURE(ExpectSome(points, value));
    EXPECT_EQ(Number("held_indexes"), 1u);
  }
}

// The statement has the version, that the file.
TEST_F(HeldIndexesTest, AStatementKeepsTheFilesItReads) {
  Open();
  ASSERT_NO_FATAL_FAILURE(PutAll("a"));
  ASSERT_NO_FATAL_FAILURE(Settle());
  const Snapshot before = store->TakeSnapshot();
  PointReader points;
  PinnedValue value;
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(points.Get(*store, Key(i), &before, &value).ok());
  const ByteView seen = value.view();
  ASSERT_NO_FATAL_FAILURE(PutAll("b"));
  ASSERT_NO_FATAL_FAILURE(Settle());
  EXPECT_EQ(Number("held_indexes"), 1u);
  EXPECT_EQ(seen, "a2");
  for (int i = 0; i < kKeys; i += 50) {
    ASSERT_TRUE(points.Get(*store, Key(i), &before, &value).ok());
    ASSERT_EQ(value.view(), "a" + std::to_string(i));
  }
  points.Close();
  ASSERT_NO_FATAL_FAILURE(ExpectSome(points, "b"));
  AwaitHeld(1);
}

TEST_F(HeldIndexesTest, ADroppedRangeIsGivenBack) {
  Open();
  ASSERT_NO_FATAL_FAILURE(PutAll("a"));
  ASSERT_NO_FATAL_FAILURE(Settle());
  PointReader points;
  ASSERT_NO_FATAL_FAILURE(ExpectSome(points, "a"));
  ASSERT_TRUE(store->DropRange(Family::kData, "idx0", "idx1").ok());
  PinnedValue value;
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(points.Get(*store, Key(i), nullptr, &value).Is(Status::Code::kNotFound));
    points.Close();
  }
  AwaitHeld(0);
}

// What a connection knows is of one store, though versions of another have the same numbers.
TEST_F(HeldIndexesTest, AnotherStoreIsAnother) {
  PointReader points;
  for (int pass = 0; pass < 3; ++pass) {
    Open();
    if (pass == 0) {
      ASSERT_NO_FATAL_FAILURE(PutAll("a"));
      ASSERT_NO_FATAL_FAILURE(Settle());
    }
    EXPECT_EQ(Number("held_indexes"), 0u);
    ASSERT_NO_FATAL_FAILURE(ExpectSome(points, "a"));
    EXPECT_EQ(Number("held_indexes"), 1u);
    store.reset();
  }
}

// Small memory has room for one index of 2 MiB, and none for one that is larger than what all may take.
TEST_F(HeldIndexesTest, WithoutRoomNoneIsHeld) {
  options.memory_bytes = uint64_t{16} << 20;
  options.expert_family_options = "block_based_table_factory={block_size=64}";
  for (const bool has_room : {true, false}) {
    if (store != nullptr) Crash();
    options.directory = has_room ? "/small" : "/large";
    Open();
    const auto key = [has_room](int i) { return "idx0" + std::string(has_room ? 100 : 300, 'x') + std::to_string(100'000 + i); };
    constexpr int kEntries = 20'000;
    Batch batch(*store);
    for (int i = 0; i < kEntries; ++i) batch.Put(Family::kData, key(i), "value" + std::to_string(i));
    ASSERT_TRUE(store->Write(batch, Durability::kOs).ok());
    ASSERT_NO_FATAL_FAILURE(Settle());
    PointReader points;
    PinnedValue value;
    for (int i = 0; i < kEntries; i += 97) {
      ASSERT_TRUE(points.Get(*store, key(i), nullptr, &value).ok());
      ASSERT_EQ(value.view(), "value" + std::to_string(i));
      if (i % 10 == 0) points.Close();
    }
    points.Close();
    value.Reset();
    EXPECT_EQ(Number("held_indexes"), has_room ? 1u : 0u);
  }
}

// Of many files the versions keep a few readers open; others are opened again while the file is there, and their indexes
// are not held.
TEST_F(HeldIndexesTest, WithFewOpenFilesFewAreHeld) {
  options.expert_db_options = "max_open_files=20";
  options.expert_family_options += ";target_file_size_base=2048;compression_per_level=kNoCompression;bottommost_compression=kNoCompression";
  Open();
  ASSERT_NO_FATAL_FAILURE(PutAll("a"));
  ASSERT_NO_FATAL_FAILURE(Settle());
  PointReader points;
  ASSERT_NO_FATAL_FAILURE(ExpectSome(points, "a"));
  ASSERT_NO_FATAL_FAILURE(ExpectSome(points, "a"));
  EXPECT_GT(LevelFiles(6), 12);
  EXPECT_LT(Number("held_indexes"), 10u);
}

// Here the index shows only when it is read: it has a checksum for each entry.
TEST(HeldIndexesOfAFileTest, AnotherFormIsRemembered) {
  const std::unique_ptr<Environment> environment = NewMemoryEnvironment();
  const auto cache = std::make_shared<CountedLooks>(rocks::LRUCacheOptions(1 << 20, 0, false, 0).MakeSharedCache());
  rocks::BlockBasedTableOptions table;
  table.block_cache = cache;
  table.cache_index_and_filter_blocks = true;
  for (const bool of_another_form : {false, true}) {
    SCOPED_TRACE(of_another_form);
    rocks::Options options;
    options.env = environment->rocks_env();
    options.create_if_missing = true;
    options.table_factory.reset(rocks::NewBlockBasedTableFactory(table));
    options.block_protection_bytes_per_key = of_another_form ? 8 : 0;
    std::unique_ptr<rocks::DB> db;
    ASSERT_TRUE(rocks::DB::Open(options, of_another_form ? "/other" : "/ours", &db).ok());
    ASSERT_TRUE(db->Put(rocks::WriteOptions(), "key", "value").ok());
    ASSERT_TRUE(db->Flush(rocks::FlushOptions()).ok());
    const CurrentVersion version(db.get(), db->DefaultColumnFamily());
    const rocks::FileMetaData& file = *version->current->storage_info()->LevelFiles(0).front();
    HeldIndexes held(/*bytes_max=*/1 << 20);
    int looks = cache->looks;
    EXPECT_EQ(held.Of(file, rocks::ReadOptions()) == nullptr, of_another_form);
    EXPECT_GT(cache->looks, looks);
    looks = cache->looks;
    EXPECT_EQ(held.Of(file, rocks::ReadOptions()) == nullptr, of_another_form);
    EXPECT_EQ(cache->looks, looks);
  }
}

// Statements of some connections while files come and go: each sees one of the values that were there, and none after a
// newer one.
TEST_F(HeldIndexesTest, FilesComeAndGoUnderManyStatements) {
  constexpr int kRounds = 25;
  Open();
  ASSERT_NO_FATAL_FAILURE(PutAll("100."));
  ASSERT_NO_FATAL_FAILURE(Settle());
  std::atomic<bool> over{false};
  std::atomic<int> wrong{0};
  std::vector<std::thread> connections;
  for (int connection = 0; connection < 3; ++connection) {
    connections.emplace_back([&, connection] {
      PointReader points;
      PinnedValue value;
      std::string last;
      for (int i = connection; !over.load(std::memory_order_relaxed); i = (i + 211) % kKeys) {
        const Status status = points.Get(*store, Key(i), nullptr, &value);
        const std::string seen(status.ok() ? value.view().substr(0, 4) : ByteView());
        if (seen < last || value.view() != seen + std::to_string(i)) wrong.fetch_add(1);
        last = seen;
        if (i % 3 == 0) {
          value.Reset();
          points.Close();
        }
      }
    });
  }
  for (int round = 1; round <= kRounds; ++round) {
    ASSERT_NO_FATAL_FAILURE(PutAll(std::to_string(100 + round) + "."));
    if (round % 3 == 0) {
      ASSERT_TRUE(store->FlushMemtables().ok());
    } else {
      ASSERT_NO_FATAL_FAILURE(Settle());
    }
  }
  over.store(true);
  for (std::thread& connection : connections) connection.join();
  EXPECT_EQ(wrong.load(), 0);
}

}  // namespace
}  // namespace cairn::store
