// SPDX-License-Identifier: GPL-2.0-only
// Point reads that share what they need, held against a model through random histories.
#include "store/point_reader.h"

#include "store/point_model_testing.h"
#include "store/sorted_load.h"

namespace cairn::store {
namespace {

// What files look like: small blocks, so that keys are found by the index, and kinds that are read in RocksDB's way.
constexpr const char* kShapes[] = {
    "",
    "block_based_table_factory={block_size=256}",
    "block_based_table_factory={block_size=512;block_restart_interval=3}",
    "block_based_table_factory={block_size=256;block_restart_interval=1}",
    "block_based_table_factory={block_size=256;index_block_restart_interval=3}",
    "block_based_table_factory={block_size=256;index_type=kTwoLevelIndexSearch;metadata_block_size=256}",
    "block_based_table_factory={block_size=256;index_type=kBinarySearchWithFirstKey}",
    "block_based_table_factory={block_size=256};block_protection_bytes_per_key=8",
    "block_based_table_factory={block_size=256;block_cache=16K}",  // hardly any block stays in the cache
};

class PointReaderTest : public ::testing::TestWithParam<unsigned>, public PointModelFixture {
 protected:
  void SetUp() override {
    options.expert_family_options = kShapes[GetParam() % std::size(kShapes)];
    Open();
    random_.seed(GetParam());
  }
  // In the order of the numbers; many begin with another.
  static std::string Key(unsigned number) {
    static const std::string kEnds[] = {"", std::string(1, '\0'), "a", std::string(9, '\xff')};
    return "idx0" + std::to_string(1000 + number / 4) + kEnds[number % 4];
  }

  // Keys from kOnce on are put once and removed singly, as entries of an index are.
  void Change() override {
    Batch batch(*store);
    const unsigned number = Below(kKeys);
    const std::string key = Key(number);
    const bool single = number >= kOnce;
    if (single ? now_.contains(key) : Below(3) == 0) {
      single ? batch.SingleDelete(Family::kData, key) : batch.Delete(Family::kData, key);
      now_.erase(key);
    } else {
      now_[key] = "v" + std::to_string(++written_) + std::string(Below(40), '.');
      batch.Put(Family::kData, key, now_[key]);
    }
    ASSERT_TRUE(store->Write(batch, Durability::kOs).ok());
  }

  void DropRange() {
    const unsigned number = Below(kKeys);
    const std::string begin = Key(number), end = Key(number + Below(20));
    Batch batch(*store);
    batch.DeleteRange(Family::kData, begin, end);
    ASSERT_TRUE(store->Write(batch, Durability::kOs).ok());
    now_.erase(now_.lower_bound(begin), now_.lower_bound(end));
  }

  void Step() override {
    switch (Below(60)) {
      case 0: case 1: ASSERT_TRUE(store->FlushMemtables().ok()); break;
      case 2: ASSERT_TRUE(store->CompactRange(Family::kData, {}, {}).ok()); break;
      case 3: if (Below(20) == 0) DropRange(); break;
      case 4: KeepMoment(); break;
      case 5: ForgetMoment(); break;
      default: Change();
    }
  }

  // Some keys in order, some next to each other, some anywhere.
  void ReadSome(const Snapshot* snapshot, const Model& model) override {
    PointReader& points = AnyReader();
    const unsigned apart = Below(4);
    unsigned number = Below(kKeys);
    for (unsigned i = 0; i < 40; ++i) {
      number = (apart == 0 ? Below(kKeys) : number + apart) % kKeys;
      ASSERT_NO_FATAL_FAILURE(Read(points, Key(number), snapshot, model));
    }
  }

  static constexpr unsigned kKeys = 400;
  static constexpr unsigned kOnce = 300;
};

TEST_P(PointReaderTest, AgreesWithAModel) { Play(40); }

INSTANTIATE_TEST_SUITE_P(Seeds, PointReaderTest, ::testing::Range(0u, 27u));

class PointReaderStoreTest : public ::testing::Test, public StoreFixture {};

// A value in a file's block stays where it is while the store goes on, until the next read.
TEST_F(PointReaderStoreTest, ValuesStayThroughFlushAndCompaction) {
  Open();
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(Put("k" + std::to_string(100 + i), "old", Durability::kOs).ok());
  ASSERT_TRUE(store->CompactRange(Family::kData, {}, {}).ok());
  PointReader points;
  PinnedValue value;
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(points.Get(*store, "k150", nullptr, &value).ok());
  const ByteView seen = value.view();
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(Put("k" + std::to_string(100 + i), "new", Durability::kOs).ok());
  ASSERT_TRUE(store->FlushMemtables().ok());
  ASSERT_TRUE(store->CompactRange(Family::kData, {}, {}).ok());
  EXPECT_EQ(seen, "old");
  ASSERT_TRUE(points.Get(*store, "k150", nullptr, &value).ok());
  EXPECT_EQ(value.view(), "new");
  points.Close();
}

// An ingested file has one sequence number, which is not stored with its entries.
TEST_F(PointReaderStoreTest, IngestedFilesAreRead) {
  Open();
  ASSERT_TRUE(Put("a", "1").ok());
  SortedLoad load(*store, Family::kData);
  const auto key = [](int i) { return "k" + std::to_string(1000 + i); };
  for (int i = 0; i < 1000; i += 2) ASSERT_TRUE(load.Add(key(i), std::string(40, 'v') + key(i)).ok());
  ASSERT_TRUE(load.Ingest().ok());
  const Snapshot snapshot = store->TakeSnapshot();
  PointReader points;
  PinnedValue value;
  for (const Snapshot* seen : {static_cast<const Snapshot*>(nullptr), &snapshot}) {
    for (int pass = 0; pass < 2; ++pass) {
      for (int i = 0; i < 1000; ++i) {
        const Status status = points.Get(*store, key(i), seen, &value);
        ASSERT_EQ(status.ok(), i % 2 == 0) << key(i) << ": " << status.ToString();
        if (status.ok()) {
          ASSERT_TRUE(value.view().ends_with(key(i)));
        }
        if (pass == 0) points.Close();
      }
    }
    points.Close();
  }
}

// The search for a key begins where the numbers of an index let it be expected, which is right for some of these and
// wrong for others.
TEST_F(PointReaderStoreTest, KeysOfAnyDistributionAreFound) {
  options.expert_family_options = "block_based_table_factory={block_size=256}";
  Open();
  constexpr uint64_t kKeys = 2000;
  const auto key_of = [](int index, uint64_t i) {
    ByteBuffer key;
    key.AppendBe32(static_cast<uint32_t>(index));
    switch (index) {
      case 1: key.AppendBe64(i * 1000); break;                                      // even
      case 2: key.AppendBe64(i * i * i); break;                                     // ever wider
      case 3: key.AppendBe64(i < kKeys / 2 ? i : (uint64_t{1} << 63) + i); break;   // two heaps
      default: key.Append(std::string(i / 50, 'x') + std::to_string(10'000 + i));   // of many lengths
    }
    return key.ToString();
  };
  for (int index = 1; index <= 4; ++index) {
    Batch batch(*store);
    for (uint64_t i = 0; i < kKeys; i += 2) batch.Put(Family::kData, key_of(index, i), std::to_string(i));
    ASSERT_TRUE(store->Write(batch, Durability::kOs).ok());
  }
  ASSERT_TRUE(store->CompactRange(Family::kData, {}, {}).ok());
  PointReader points;
  PinnedValue value;
  std::mt19937 random(3);
  for (int index = 1; index <= 4; ++index) {
    for (int read = 0; read < 3000; ++read) {
      const uint64_t i = random() % kKeys;
      const Status status = points.Get(*store, key_of(index, i), nullptr, &value);
      ASSERT_EQ(status.ok(), i % 2 == 0) << index << " " << i << ": " << status.ToString();
      if (status.ok()) {
        ASSERT_EQ(value.view(), std::to_string(i));
      }
      if (read == 2000) points.Close();
    }
  }
  points.Close();
}

// The filter of the last file is asked only as long as keys are missing.
TEST_F(PointReaderStoreTest, FiltersAreAskedForAbsentKeys) {
  Open();
  const auto key = [](int i) { return "idx0" + std::to_string(10'000 + i); };
  for (int i = 0; i < 4000; i += 2) ASSERT_TRUE(Put(key(i), "there", Durability::kOs).ok());
  ASSERT_TRUE(store->CompactRange(Family::kData, {}, {}).ok());
  PointReader points;
  PinnedValue value;
  const auto read = [&](int first) {
    for (int i = 0; i < 1000; ++i) {
      const Status status = points.Get(*store, key(first + 2 * i), nullptr, &value);
      ASSERT_EQ(status.ok(), first % 2 == 0) << status.ToString();
      points.Close();
    }
  };
  const auto blocks = [&] { return Number("block_cache_data_hit") + Number("block_cache_data_miss"); };
  const auto asked = [&] { return Number("bloom_filter_full_positive"); };
  ASSERT_NO_FATAL_FAILURE(read(1));
  const uint64_t blocks_before = blocks();
  ASSERT_NO_FATAL_FAILURE(read(1));
  EXPECT_LT(blocks() - blocks_before, 100u);
  ASSERT_NO_FATAL_FAILURE(read(0));
  ASSERT_NO_FATAL_FAILURE(read(0));
  const uint64_t asked_before = asked();
  ASSERT_NO_FATAL_FAILURE(read(0));
  EXPECT_EQ(asked() - asked_before, 0u);
}

// Statistics tell what a read has met, as they do of Store::Get.
TEST_F(PointReaderStoreTest, ReadsAreCounted) {
  Open();
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(Put("k" + std::to_string(100 + i), "12345", Durability::kOs).ok());
  ASSERT_TRUE(store->CompactRange(Family::kData, {}, {}).ok());
  ASSERT_TRUE(Put("k150", "123", Durability::kOs).ok());
  const uint64_t keys = Number("number_keys_read"), bytes = Number("bytes_read"), hits = Number("memtable_hit"),
                 misses = Number("memtable_miss");
  PointReader points;
  PinnedValue value;
  for (int pass = 0; pass < 2; ++pass) {
    ASSERT_TRUE(points.Get(*store, "k150", nullptr, &value).ok());
    ASSERT_TRUE(points.Get(*store, "k120", nullptr, &value).ok());
    ASSERT_TRUE(points.Get(*store, "k121", nullptr, &value).ok());
    ASSERT_TRUE(points.Get(*store, "k120a", nullptr, &value).Is(Status::Code::kNotFound));
    points.Close();
  }
  EXPECT_EQ(Number("number_keys_read") - keys, 8u);
  EXPECT_EQ(Number("memtable_hit") - hits, 2u);
  EXPECT_EQ(Number("memtable_miss") - misses, 6u);
  EXPECT_EQ(Number("bytes_read") - bytes, 26u);
}

// A compaction may end a file between two versions of a key: the older one is in the next file of the level.
TEST_F(PointReaderStoreTest, VersionsOnBothSidesOfAFilesEndAreSeen) {
  options.expert_family_options = "target_file_size_base=32768";
  Open();
  constexpr int kKeys = 2000;
  const auto key = [](int i) { return "k" + std::to_string(10'000 + i); };
  const auto write = [&](const char* what) {
    Batch batch(*store);
    std::mt19937 random(1);
    for (int i = 0; i < kKeys; ++i) {
      std::string value = what + std::to_string(i) + ".";
      for (int byte = 0; byte < 200; ++byte) value += static_cast<char>(random());
      batch.Put(Family::kData, key(i), value);
    }
    ASSERT_TRUE(store->Write(batch, Durability::kOs).ok());
  };
  ASSERT_NO_FATAL_FAILURE(write("old"));
  const Snapshot before = store->TakeSnapshot();
  ASSERT_NO_FATAL_FAILURE(write("new"));
  ASSERT_TRUE(store->CompactRange(Family::kData, {}, {}).ok());
  PointReader points;
  PinnedValue value;
  for (int pass = 0; pass < 2; ++pass) {  // the second one by iterators
    for (int i = 0; i < kKeys; ++i) {
      ASSERT_TRUE(points.Get(*store, key(i), &before, &value).ok()) << key(i);
      ASSERT_TRUE(value.view().starts_with("old" + std::to_string(i) + ".")) << key(i);
      if (pass == 0) points.Close();
    }
  }
  points.Close();
}

}  // namespace
}  // namespace cairn::store
