// SPDX-License-Identifier: GPL-2.0-only
// Range counts and samples against tables whose truth is known.
#include <cmath>
#include <functional>
#include <random>

#include <gtest/gtest.h>

#include "base/index_bounds.h"
#include "catalog/testing.h"
#include "stats/cardinality.h"
#include "stats/range_estimate.h"
#include "store/store_testing.h"

namespace cairn::stats {
namespace {

using catalog::IndexKind;
using catalog::testing::MakeAccess;
using catalog::testing::MakeDef;
using catalog::testing::MakeIndex;
using codec::ColumnType;
using codec::testing::LayoutBuilder;
using codec::testing::TestRecord;
using store::Durability;
using store::Family;

// id INT primary key, a INT, b INT; index on (a, b).
class StatsTest : public ::testing::Test, public store::StoreFixture {
 protected:
  static constexpr size_t kPrimary = 0, kPair = 1;

  void SetUp() override {
    Open();
    layout = LayoutBuilder()
                 .Add(ColumnType::kInteger, 4, false)
                 .Add(ColumnType::kInteger, 4, false)
                 .Add(ColumnType::kInteger, 4, false)
                 .layout();
    access = MakeAccess(MakeDef("test/t", layout,
                                {MakeIndex(IndexKind::kPrimary, "PRIMARY", {{.column = 0}}, 1),
                                 MakeIndex(IndexKind::kSecondary, "ab", {{.column = 1}, {.column = 2}}, 2)}),
                        layout);
  }

  TestRecord RecordOf(int id, int a, int b) const {
    TestRecord record(layout);
    record.Set(0, AsBytes(&id, 4));
    record.Set(1, AsBytes(&a, 4));
    record.Set(2, AsBytes(&b, 4));
    return record;
  }
  // Rows 0 to count - 1, whose columns `a_of` and `b_of` give.
  void Fill(int count, const std::function<int(int)>& a_of, const std::function<int(int)>& b_of) {
    for (int begin = 0; begin < count; begin += 1000) {
      store::Batch batch(*store);
      for (int id = begin; id < std::min(count, begin + 1000); ++id) {
        catalog::testing::Entries entries;
        catalog::testing::AddEntriesOf(*access, RecordOf(id, a_of(id), b_of(id)).data(), 0, &entries);
        for (const auto& [key, value] : entries) batch.Put(Family::kData, key, value);
      }
      ASSERT_TRUE(store->Write(batch, Durability::kOs).ok());
    }
  }
  void DeleteIds(int begin, int end) {
    store::Batch batch(*store);
    for (int id = begin; id < end; ++id) batch.Delete(Family::kData, KeyOf(id));
    ASSERT_TRUE(store->Write(batch, Durability::kOs).ok());
  }
  // With their entries in the index on the pair.
  void DeleteRows(int begin, int end, const std::function<int(int)>& a_of, const std::function<int(int)>& b_of) {
    store::Batch batch(*store);
    for (int id = begin; id < end; ++id) {
      catalog::testing::Entries entries;
      catalog::testing::AddEntriesOf(*access, RecordOf(id, a_of(id), b_of(id)).data(), 0, &entries);
      for (const auto& [key, value] : entries) batch.Delete(Family::kData, key);
    }
    ASSERT_TRUE(store->Write(batch, Durability::kOs).ok());
  }
  // How many blocks of rows and entries were looked into by now.
  uint64_t BlocksRead() { return Number("block_cache_data_hit") + Number("block_cache_data_miss"); }
  std::string KeyOf(int id) const {
    ByteBuffer key;
    access->primary().EncodePrimaryKey(RecordOf(id, 0, 0).data(), 0, &key);
    return key.ToString();
  }

  RangeCount Count(int begin, int end, uint64_t table_rows) {
    RangeCount count;
    const Status status = CountRange(*store, IndexId(1), KeyOf(begin), KeyOf(end), {table_rows, &density}, &count);
    EXPECT_TRUE(status.ok()) << status.ToString();
    return count;
  }
  void ExpectExact(uint64_t rows, const RangeCount& count) {
    EXPECT_TRUE(count.exact);
    EXPECT_EQ(count.rows, rows);
  }
  // Within a factor.
  static void ExpectAbout(double truth, double found, double factor, const char* what) {
    EXPECT_GE(found, truth / factor) << what;
    EXPECT_LE(found, truth * factor) << what;
  }
  void ExpectLargeRangesAbout(int count, const char* what) {
    const uint64_t rows = static_cast<uint64_t>(count);
    for (const int part : {2, 4, 10}) {
      const int begin = count / 3;
      const RangeCount found = Count(begin, begin + count / part, rows);
      EXPECT_FALSE(found.exact);
      ExpectAbout(count / part, static_cast<double>(found.rows), 3, what);
    }
    ExpectAbout(count, static_cast<double>(Count(0, count, rows).rows), 1.5, what);
  }

  std::vector<double> Sample(size_t index, uint64_t table_rows) {
    std::vector<double> rows_per_value;
    const Status status = SampleIndex(*store, access->indexes()[index], table_rows, &rows_per_value);
    EXPECT_TRUE(status.ok()) << status.ToString();
    return rows_per_value;
  }
  void ExpectSample(size_t index, int count, std::initializer_list<double> truth, double factor) {
    for (const char* where : {"memtable", "file"}) {
      const std::vector<double> found = Sample(index, static_cast<uint64_t>(count));
      ASSERT_GE(found.size(), truth.size());
      size_t part = 0;
      for (const double rows : truth) ExpectAbout(rows, found[part++], factor, where);
      ASSERT_TRUE(store->FlushMemtables().ok());
    }
  }

  codec::RecordLayout layout;
  std::shared_ptr<catalog::TableAccess> access;
  catalog::FileDensity density;  // of the primary index
};

TEST_F(StatsTest, SmallRangesAreCountedExactly) {
  Fill(1000, [](int id) { return id; }, [](int) { return 0; });
  for (const bool flushed : {false, true}) {
    SCOPED_TRACE(flushed);
    ExpectExact(0, Count(-5, 0, 1000));
    ExpectExact(1, Count(7, 8, 1000));
    ExpectExact(23, Count(100, 123, 1000));
    ExpectExact(3, Count(997, 5000, 1000));
    ExpectExact(0, Count(10, 10, 1000));
    ExpectExact(0, Count(20, 10, 1000));
    EXPECT_GE(Count(100, 300, 1000).rows, 24u);
    ASSERT_TRUE(store->FlushMemtables().ok());
  }
  DeleteIds(100, 120);
  ExpectExact(3, Count(100, 123, 1000));
}

// Wherever rows are: few are counted, what is called exact is, and the rest is near the truth.
TEST_F(StatsTest, RangesOfAnySizeAreRightInEveryShape) {
  constexpr int kRows = 30000;
  const auto check = [this](const char* shape, double factor) {
    SCOPED_TRACE(shape);
    std::mt19937 random;
    for (int i = 0; i < 400; ++i) {
      const int rows = static_cast<int>(random() % (i % 2 == 0 ? 24 : 2000));
      const int begin = static_cast<int>(random() % static_cast<unsigned>(kRows - rows));
      SCOPED_TRACE(::testing::Message() << begin << " and " << rows << " rows");
      const RangeCount found = Count(begin, begin + rows, kRows);
      EXPECT_TRUE(found.exact || rows >= 24);
      if (found.exact) {
        ASSERT_EQ(found.rows, static_cast<uint64_t>(rows));
      } else {
        ASSERT_GE(found.rows, 24u);
        ExpectAbout(rows, static_cast<double>(found.rows), factor, "");
      }
    }
  };
  Fill(kRows, [](int id) { return id; }, [](int) { return 0; });
  ASSERT_TRUE(store->FlushMemtables().ok());
  check("a file", 1.5);
  ASSERT_TRUE(store->CompactRange(Family::kData, {}, {}).ok());
  check("settled", 1.5);
  const store::Snapshot snapshot = store->TakeSnapshot();
  Fill(kRows, [](int id) { return id; }, [](int) { return 0; });
  ASSERT_TRUE(store->CompactRange(Family::kData, {}, {}).ok());
  check("two versions of each", 3);
}

// Through random histories: few rows are exact and more near the truth, however they are spread over memtables and files.
TEST_F(StatsTest, RangesAreRightThroughRandomHistories) {
  constexpr int kIds = 20000;
  std::mt19937 random;
  const auto below = [&random](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  std::vector<bool> there(kIds);
  const auto change = [&](int count, bool deletes) {
    store::Batch batch(*store);
    for (; count > 0; --count) {
      const int id = below(kIds);
      there[static_cast<size_t>(id)] = !deletes;
      if (deletes) {
        batch.Delete(Family::kData, KeyOf(id));
      } else {
        batch.Put(Family::kData, KeyOf(id), std::string(static_cast<size_t>(60 + below(80)), static_cast<char>(below(256))));
      }
    }
    ASSERT_TRUE(store->Write(batch, Durability::kOs).ok());
  };
  uint64_t exact = 0, estimated = 0;
  for (int round = 0; round < 120; ++round) {
    SCOPED_TRACE(round);
    switch (below(8)) {
      case 0:
      case 1: change(below(1000), false); break;
      case 2: change(below(8000), false); break;
      case 3: change(below(500), true); break;
      case 4: change(below(3000), true); break;
      case 5: ASSERT_TRUE(store->CompactRange(Family::kData, {}, {}).ok()); break;
      default: ASSERT_TRUE(store->FlushMemtables().ok());
    }
    const auto total = static_cast<uint64_t>(std::count(there.begin(), there.end(), true));
    for (int i = 0; i < 100; ++i) {
      const int begin = below(kIds);
      const int end = std::min(kIds, begin + below(i % 2 == 0 ? 50 : i % 4 == 1 ? 1000 : kIds));
      const auto rows = static_cast<uint64_t>(std::count(there.begin() + begin, there.begin() + end, true));
      const RangeCount found = Count(begin, end, total);
      SCOPED_TRACE(::testing::Message() << begin << " to " << end << ": " << rows);
      if (found.exact) {
        ++exact;
        ASSERT_EQ(found.rows, rows);
        continue;
      }
      ++estimated;
      ASSERT_GE(rows, 24u);
      ASSERT_GE(found.rows, 24u);
      if (rows > 48) ExpectAbout(static_cast<double>(rows), static_cast<double>(found.rows), 2.5, "");
    }
  }
  EXPECT_GT(exact, 3000u);
  EXPECT_GT(estimated, 3000u);
}

// Settled ranges of hundreds of rows within two blocks are counted, not estimated.
TEST_F(StatsTest, SettledRangesAreCountedByPosition) {
  Fill(30000, [](int id) { return id; }, [](int) { return 0; });
  ASSERT_TRUE(store->CompactRange(Family::kData, {}, {}).ok());
  for (int begin = 0; begin < 29800; begin += 37) ExpectExact(100, Count(begin, begin + 100, 30000));
}

TEST_F(StatsTest, FewRowsAreCountedAlsoWhereEachHasItsBlock) {
  std::mt19937 random;
  store::Batch batch(*store);
  for (int id = 0; id < 400; ++id) {
    std::string value(9000 + random() % 9000, ' ');
    for (char& byte : value) byte = static_cast<char>(random());
    batch.Put(Family::kData, KeyOf(id), value);
  }
  ASSERT_TRUE(store->Write(batch, Durability::kOs).ok());
  ASSERT_TRUE(store->CompactRange(Family::kData, {}, {}).ok());
  for (int rows = 0; rows < 24; ++rows) ExpectExact(static_cast<uint64_t>(rows), Count(100, 100 + rows, 400));
  ExpectAbout(200, static_cast<double>(Count(100, 300, 400).rows), 1.2, "long rows");
}

TEST_F(StatsTest, LargeRangesAreEstimatedWhereverTheyLie) {
  constexpr int kRows = 60000;
  Fill(kRows, [](int id) { return id; }, [](int) { return 0; });
  ExpectLargeRangesAbout(kRows, "memtable");
  ASSERT_TRUE(store->FlushMemtables().ok());
  ExpectLargeRangesAbout(kRows, "file");
  ASSERT_TRUE(store->CompactRange(Family::kData, {}, {}).ok());
  ExpectLargeRangesAbout(kRows, "compacted");
}

// What lies uncompressed in memory must not make the compressed rest look small, nor the other way.
TEST_F(StatsTest, MemtablesAndFilesCountAlike) {
  constexpr int kRows = 60000;
  Fill(kRows / 2, [](int id) { return id; }, [](int) { return 0; });
  ASSERT_TRUE(store->CompactRange(Family::kData, {}, {}).ok());
  Fill(kRows, [](int id) { return id; }, [](int) { return 0; });
  ExpectAbout(kRows / 5, static_cast<double>(Count(kRows / 4, kRows / 4 + kRows / 5, kRows).rows), 2, "files");
  ExpectAbout(kRows / 5, static_cast<double>(Count(kRows * 3 / 4, kRows * 3 / 4 + kRows / 5, kRows).rows), 2, "memtable");
}

TEST_F(StatsTest, DeletedRowsDoNotCountForLong) {
  constexpr int kRows = 60000;
  Fill(kRows, [](int id) { return id; }, [](int) { return 0; });
  ASSERT_TRUE(store->CompactRange(Family::kData, {}, {}).ok());
  DeleteIds(0, kRows / 2);
  // What is left of an emptied range is found by walking, unless too many deletions lie in it.
  ExpectExact(0, Count(0, 3000, kRows / 2));
  EXPECT_FALSE(Count(0, kRows / 2, kRows / 2).exact);
  ExpectAbout(kRows / 2, static_cast<double>(Count(0, kRows, kRows / 2).rows), 1.5, "all");
  ASSERT_TRUE(store->CompactRange(Family::kData, {}, {}).ok());
  ExpectAbout(kRows / 4, static_cast<double>(Count(kRows / 2, kRows * 3 / 4, kRows / 2).rows), 3, "compacted");
}

// Somebody reads what was there before, so nothing goes: neither an estimate nor a sample of the few rows left walks over all of that.
TEST_F(StatsTest, HeapsOfDeletionsAreNotWalkedOver) {
  constexpr int kRows = 120000, kLeft = 10;
  Fill(kRows, [](int) { return 42; }, [](int id) { return id; });
  const store::Snapshot reader = store->TakeSnapshot();
  DeleteRows(0, kRows - kLeft, [](int) { return 42; }, [](int id) { return id; });
  ASSERT_TRUE(store->CompactRange(Family::kData, {}, {}).ok());
  const uint64_t before_walk = BlocksRead();
  {
    const IndexBounds bounds(IndexId(1));
    store::Cursor cursor;
    ASSERT_TRUE(store->OpenCursor(Family::kData, {.lower_bound = bounds.lower(), .upper_bound = bounds.upper()}, &cursor).ok());
    cursor.SeekToFirst();
    ASSERT_TRUE(cursor.Valid());
  }
  const uint64_t all_blocks = BlocksRead() - before_walk;
  ASSERT_GT(all_blocks, 50u);
  const auto blocks_of = [this](const std::function<void()>& look) {
    const uint64_t before = BlocksRead();
    look();
    return BlocksRead() - before;
  };
  const auto count = [this](ByteView upper) {
    RangeCount found;
    ASSERT_TRUE(CountRange(*store, IndexId(1), KeyOf(0), upper, {kLeft, &density}, &found).ok());
    EXPECT_FALSE(found.exact);
    EXPECT_LE(found.rows, static_cast<uint64_t>(kLeft));
  };
  EXPECT_LT(blocks_of([&] { count(KeyOf(kRows)); }), all_blocks / 5) << "of " << all_blocks;
  EXPECT_LT(blocks_of([&] { count(IndexBounds(IndexId(1)).upper()); }), all_blocks / 5) << "of " << all_blocks;
  EXPECT_LT(blocks_of([&] { Sample(kPrimary, kLeft); }), all_blocks / 2) << "of " << all_blocks;
}

// More versions of one row than an estimate lists.
TEST_F(StatsTest, ARowThatIsChangedOftenIsOneRow) {
  Fill(1000, [](int) { return 0; }, [](int) { return 0; });
  ASSERT_TRUE(store->FlushMemtables().ok());
  for (int change = 0; change < 200; ++change) ASSERT_TRUE(Put(KeyOf(10), "v").ok());
  ExpectExact(5, Count(10, 15, 100'000));
  ExpectExact(1, Count(10, 11, 100'000));
  ExpectExact(5, Count(8, 13, 100'000));
}

// A sample of a deletion and what it deletes, as the next row has more versions than are listed.
TEST_F(StatsTest, ASampleWithoutRowsDoesNotSpeakForTheRest) {
  Fill(300, [](int) { return 0; }, [](int) { return 0; });
  ASSERT_TRUE(store->FlushMemtables().ok());
  DeleteIds(0, 1);
  for (int change = 0; change < 40; ++change) ASSERT_TRUE(Put(KeyOf(1), "v").ok());
  for (int id = 100; id < 200; ++id) ASSERT_TRUE(Put(KeyOf(id), "v").ok());
  ExpectAbout(299, static_cast<double>(Count(0, 300, 300).rows), 3, "rows");
}

TEST_F(StatsTest, SmallIndexesAreReadWhole) {
  EXPECT_EQ(Sample(kPair, 0), (std::vector<double>{1, 1, 1}));
  Fill(1200, [](int id) { return id % 3; }, [](int id) { return id % 12; });
  EXPECT_EQ(Sample(kPrimary, 1200), (std::vector<double>{1}));
  EXPECT_EQ(Sample(kPair, 1200), (std::vector<double>{400, 100, 1}));
}

// An index on a with the primary key (b, id) goes on with both.
TEST_F(StatsTest, PartsFromThePrimaryKeyAreMeasuredToo) {
  access = MakeAccess(MakeDef("test/t", layout,
                              {MakeIndex(IndexKind::kPrimary, "PRIMARY", {{.column = 2}, {.column = 0}}, 1),
                               MakeIndex(IndexKind::kSecondary, "a", {{.column = 1}}, 2)}),
                      layout);
  const auto a_of = [](int id) { return id % 10; };
  const auto b_of = [](int id) { return id / 10 % 10; };
  Fill(1000, a_of, b_of);
  EXPECT_EQ(Sample(kPair, 1000), (std::vector<double>{100, 10, 1}));
  EXPECT_EQ(Sample(kPrimary, 1000), (std::vector<double>{100, 1}));
  Fill(30000, a_of, b_of);
  ExpectSample(kPair, 30000, {3000, 300, 1}, 3);
}

TEST_F(StatsTest, OwnPartsAreAllThereIsOfUniqueIndexesAndOfHiddenPrimaryKeys) {
  access = MakeAccess(MakeDef("test/t", layout,
                              {MakeIndex(IndexKind::kHiddenPrimary, "", {}, 1),
                               MakeIndex(IndexKind::kSecondary, "ab", {{.column = 1}, {.column = 2}}, 2),
                               MakeIndex(IndexKind::kUnique, "u", {{.column = 0}}, 3)}),
                      layout);
  EXPECT_TRUE(Sample(kPrimary, 0).empty());
  EXPECT_EQ(Sample(kPair, 0), (std::vector<double>{1, 1}));
  EXPECT_EQ(Sample(2, 0), (std::vector<double>{1}));
}

TEST_F(StatsTest, UniqueColumnsHaveOneRowAValue) {
  Fill(30000, [](int id) { return id; }, [](int id) { return id; });
  ExpectSample(kPrimary, 30000, {1}, 1.01);
  ExpectSample(kPair, 30000, {1, 1}, 1.01);
}

TEST_F(StatsTest, AConstantColumnHasAllRows) {
  Fill(30000, [](int) { return 42; }, [](int id) { return id / 2; });
  ExpectSample(kPair, 30000, {30000, 2}, 1.5);
}

TEST_F(StatsTest, EvenGroupsAreMeasuredInEachPrefix) {
  Fill(40000, [](int id) { return id / 1000; }, [](int id) { return id % 50; });
  ExpectSample(kPair, 40000, {1000, 20}, 3);
  Fill(40000, [](int id) { return id / 10; }, [](int id) { return id; });
  ExpectSample(kPrimary, 40000, {1}, 1.01);
}

// Half of the rows have one value, the others one each: 20000 / 10001 rows a value.
TEST_F(StatsTest, AVeryCommonValueDoesNotHideTheRareOnes) {
  Fill(20000, [](int id) { return id % 2 == 0 ? 7 : id; }, [](int id) { return id; });
  ExpectSample(kPair, 20000, {2, 1}, 3);
}

// Of a hundred rows 99 have one value, below, above or among 400 others of a row each: 40000 / 401 rows a value.
TEST_F(StatsTest, AValueOfAlmostAllRowsDoesNotHideTheRareOnes) {
  for (const int common : {0, 1'000'000'000, 39'800}) {
    SCOPED_TRACE(common);
    Fill(40000, [&](int id) { return id < 39600 ? common : id; }, [](int) { return 0; });
    ExpectSample(kPair, 40000, {100, 100, 1}, 2);
    DeleteRows(0, 40000, [&](int id) { return id < 39600 ? common : id; }, [](int) { return 0; });
    ASSERT_TRUE(store->CompactRange(Family::kData, {}, {}).ok());
  }
}

// 90 of 100 rows have one value, nine another one, and the last are pairs: 40000 / 202.
TEST_F(StatsTest, NorDoTwoOfThem) {
  Fill(40000, [](int id) { return id < 36000 ? 0 : id < 39600 ? 1 : id / 2; }, [](int id) { return id; });
  ExpectSample(kPair, 40000, {198, 1}, 2);
}

// As many values as there are runs have all rows but a few.
TEST_F(StatsTest, RareValuesAmongManyCommonOnes) {
  Fill(64000, [](int id) { return id < 60000 ? id / 3000 * 100'000 : id % 2000 * 1000 + 7; }, [](int) { return 0; });
  ExpectSample(kPair, 64000, {32}, 3);
}

// Groups of a hundred, and one value far away from all others.
TEST_F(StatsTest, AnOutlierDoesNotSpoilTheSpread) {
  Fill(30000, [](int id) { return id == 0 ? 2'000'000'000 : id / 100; }, [](int id) { return id; });
  ExpectSample(kPair, 30000, {100, 1}, 4);
}

// Of the runs some come to nothing.
TEST_F(StatsTest, HeapsOfDeletionsDoNotSpoilASample) {
  constexpr int kRows = 60000;
  const auto a_of = [](int id) { return id / 30000; };
  const auto b_of = [](int id) { return id / 2; };
  Fill(kRows, a_of, b_of);
  const store::Snapshot reader = store->TakeSnapshot();
  DeleteRows(0, 20000, a_of, b_of);
  DeleteRows(40000, kRows, a_of, b_of);
  ExpectSample(kPair, 20000, {10000, 2}, 3);
}

// Half of the rows are zeros at one end, the others lie far away in pairs.
TEST_F(StatsTest, ACommonValueAtTheEndIsOneValueOfMany) {
  Fill(30000, [](int id) { return id % 2 == 0 ? 0 : 1'000'000'000 + id / 4; }, [](int) { return 0; });
  ExpectSample(kPair, 30000, {4, 4}, 2);
}

}  // namespace
}  // namespace cairn::stats
