// SPDX-License-Identifier: GPL-2.0-only
// Reading, writing, cursors, snapshots and maintenance of a store.
#include "store/store.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <thread>

#include "base/heap_testing.h"
#include "store/compaction_interrupt.h"
#include "store/store_testing.h"

namespace cairn::store {
namespace {

class StoreTest : public ::testing::Test, public StoreFixture {
 protected:
  void SetUp() override { Open(); }
};

TEST_F(StoreTest, ABatchTouchesBothFamiliesAtomically) {
  Batch batch(*store);
  batch.Put(Family::kData, "a", "1");
  batch.Put(Family::kDictionary, "a", "2");
  EXPECT_EQ(batch.change_count(), 2u);
  ASSERT_TRUE(store->Write(batch, Durability::kSync).ok());
  EXPECT_EQ(Get("a"), "1");
  EXPECT_EQ(Get("a", nullptr, Family::kDictionary), "2");
  EXPECT_EQ(Get("b"), "-");
  batch.Clear();
  EXPECT_TRUE(batch.empty());
  batch.Delete(Family::kData, "a");
  batch.SingleDelete(Family::kDictionary, "a");
  ASSERT_TRUE(store->Write(batch, Durability::kOs).ok());
  EXPECT_EQ(Get("a"), "-");
  EXPECT_EQ(Get("a", nullptr, Family::kDictionary), "-");
}

TEST_F(StoreTest, ASnapshotKeepsItsMoment) {
  ASSERT_TRUE(Put("a", "1").ok());
  const uint64_t before = store->LatestSequence();
  Snapshot snapshot = store->TakeSnapshot();
  EXPECT_EQ(snapshot.sequence(), before);
  ASSERT_TRUE(Put("a", "2").ok());
  EXPECT_GT(store->LatestSequence(), before);
  EXPECT_EQ(Get("a", &snapshot), "1");
  EXPECT_EQ(Get("a"), "2");
  snapshot.Release();
  EXPECT_FALSE(snapshot.taken());
}

TEST_F(StoreTest, ACursorStaysWithinItsBounds) {
  for (const char* key : {"a", "b", "c", "d", "e"}) ASSERT_TRUE(Put(key, "v").ok());
  Cursor cursor;
  ASSERT_TRUE(store->OpenCursor(Family::kData, {.lower_bound = "b", .upper_bound = "e"}, &cursor).ok());
  cursor.SeekToFirst();
  EXPECT_EQ(Forward(cursor), "b=v c=v d=v");
  cursor.SeekToLast();
  EXPECT_EQ(Backward(cursor), "d=v c=v b=v");
  cursor.Seek("a");
  EXPECT_EQ(cursor.key(), "b");
  cursor.SeekForPrev("zz");
  EXPECT_EQ(cursor.key(), "d");
  cursor.Seek("e");
  EXPECT_FALSE(cursor.Valid());
  EXPECT_TRUE(cursor.status().ok());
  cursor.Close();
  EXPECT_FALSE(cursor.is_open());
}

TEST_F(StoreTest, MovingACursorMovesItsBounds) {
  for (const char* key : {"a", "b", "c"}) ASSERT_TRUE(Put(key, "v").ok());
  Cursor outer;
  {
    Cursor inner;
    ASSERT_TRUE(store->OpenCursor(Family::kData, {.lower_bound = "a", .upper_bound = "c"}, &inner).ok());
    outer = std::move(inner);
  }
  outer.SeekToFirst();
  EXPECT_EQ(Forward(outer), "a=v b=v");
}

TEST_F(StoreTest, MultiGetAnswersEachKeyInMoreThanOneChunk) {
  std::vector<std::string> names;
  for (int i = 0; i < 100; ++i) {
    names.push_back("k" + std::to_string(1000 + i));
    if (i % 3 != 0) {
      ASSERT_TRUE(Put(names.back(), names.back() + "v").ok());
    }
  }
  const std::vector<ByteView> keys(names.begin(), names.end());
  std::vector<PinnedValue> values(keys.size());
  std::vector<Status> statuses(keys.size());
  store->MultiGet(Family::kData, keys, nullptr, /*sorted=*/true, values, statuses);
  for (size_t i = 0; i < keys.size(); ++i) {
    if (i % 3 == 0) {
      EXPECT_TRUE(statuses[i].Is(Status::Code::kNotFound)) << i;
      EXPECT_EQ(values[i].view(), "");
    } else {
      EXPECT_EQ(values[i].view(), names[i] + "v");
    }
  }
}

TEST_F(StoreTest, CountersMergeAcrossFlushAndCompaction) {
  const auto merge = [this](TableCounters change) {
    Batch batch(*store);
    batch.MergeCounters("t1", change);
    ASSERT_TRUE(store->Write(batch, Durability::kOs).ok());
  };
  const auto counters = [this] {
    TableCounters sum;
    const std::string bytes = Get("t1", nullptr, Family::kDictionary);
    EXPECT_TRUE(DecodeTableCounters(bytes, &sum).ok());
    return sum;
  };
  merge({10, 11});
  merge({-3, 5});
  EXPECT_EQ(counters(), (TableCounters{7, 11}));
  ASSERT_TRUE(store->FlushMemtables().ok());
  merge({1, 20});
  ASSERT_TRUE(store->FlushMemtables().ok());
  ASSERT_TRUE(store->CompactRange(Family::kDictionary, {}, {}).ok());
  EXPECT_EQ(counters(), (TableCounters{8, 20}));
}

TEST_F(StoreTest, DroppingARangeLeavesItsNeighbours) {
  for (int i = 0; i < 3000; ++i) {
    const std::string tail = std::to_string(10000 + i);
    ASSERT_TRUE(Put("b" + tail, std::string(100, 'x'), Durability::kOs).ok());
    if (i % 1000 == 0) {
      ASSERT_TRUE(store->FlushMemtables().ok());
    }
  }
  ASSERT_TRUE(Put("a", "1").ok());
  ASSERT_TRUE(Put("c", "3").ok());
  ASSERT_TRUE(store->DropRange(Family::kData, "b", "c").ok());
  ASSERT_TRUE(store->DropRange(Family::kData, "b", "c").ok());
  Cursor cursor;
  ASSERT_TRUE(store->OpenCursor(Family::kData, {}, &cursor).ok());
  cursor.SeekToFirst();
  EXPECT_EQ(Forward(cursor), "a=1 c=3");
}

TEST_F(StoreTest, TheLastVersionOfARangeIsFoundThoughItIsRemoved) {
  const auto last = [this](ByteView begin, ByteView end) {
    std::string key = "before";
    const Status status = store->FindLastVersion(begin, end, &key);
    return status.ok() ? key : status.ToString();
  };
  EXPECT_EQ(last("b", "c"), "");
  for (const char* key : {"a", "b1", "b2", "c"}) ASSERT_TRUE(Put(key, "v").ok());
  EXPECT_EQ(last("b", "c"), "b2");
  ASSERT_TRUE(store->CompactRange(Family::kData, {}, {}).ok());
  EXPECT_EQ(last("b", "c"), "b2");
  ASSERT_TRUE(Put("b3", "v").ok());
  for (const char* key : {"b2", "b3"}) ASSERT_TRUE(Delete(key).ok());
  for (const bool in_files : {false, true}) {
    SCOPED_TRACE(in_files);
    if (in_files) {
      ASSERT_TRUE(store->FlushMemtables().ok());
    }
    EXPECT_EQ(last("b", "c"), "b3");
    EXPECT_EQ(last("b", "b3"), "b2");
    EXPECT_EQ(last("b", "b2"), "b1");
    EXPECT_EQ(last("b", "b1"), "");
    EXPECT_EQ(last("b4", "c"), "");
    EXPECT_EQ(last("c", "d"), "c");
    EXPECT_EQ(last("d", "e"), "");
  }
  ASSERT_TRUE(store->CompactRange(Family::kData, {}, {}).ok());
  EXPECT_EQ(last("b", "c"), "b1");
}

TEST_F(StoreTest, ACompactionEndsWhenItIsInterrupted) {
  // More than is written to a file at once.
  std::mt19937_64 random(1);
  for (int i = 0; i < 50'000; ++i) {
    std::string value(100, 0);
    std::ranges::generate(value, [&random] { return static_cast<char>(random()); });
    ASSERT_TRUE(Put("idx1" + std::to_string(i), value, Durability::kOs).ok());
  }
  ASSERT_TRUE(store->FlushMemtables().ok());
  CompactionInterrupt interrupt;
  Status compacted;
  env.HoldWrites(".sst");
  std::thread compaction([&] { compacted = store->CompactRange(Family::kData, {}, {}, &interrupt); });
  env.AwaitHeldWrite();
  interrupt.Request();
  env.ReleaseWrites();
  compaction.join();
  EXPECT_TRUE(compacted.Is(Status::Code::kInterrupted)) << compacted.ToString();
  EXPECT_EQ(Get("idx149999").size(), 100u);
  interrupt.Clear();
  EXPECT_TRUE(store->CompactRange(Family::kData, {}, {}, &interrupt).ok());
  EXPECT_EQ(Get("idx149999").size(), 100u);
}

TEST_F(StoreTest, EstimatesSeeMemtablesAndFiles) {
  const KeyRange ranges[] = {{"k", "l"}, {"x", "z"}};
  RangeEstimate estimates[2];
  for (int i = 0; i < 2000; ++i) {
    ASSERT_TRUE(Put("k" + std::to_string(10000 + i), std::string(200, static_cast<char>(i)), Durability::kOs).ok());
  }
  ASSERT_TRUE(store->EstimateRanges(Family::kData, ranges, estimates).ok());
  EXPECT_EQ(estimates[0].file_bytes, 0u);
  EXPECT_NEAR(static_cast<double>(estimates[0].memory_entries), 2000, 200);
  EXPECT_EQ(estimates[1].memory_entries, 0u);
  ASSERT_TRUE(store->FlushMemtables().ok());
  ASSERT_TRUE(store->EstimateRanges(Family::kData, ranges, estimates).ok());
  EXPECT_GT(estimates[0].file_bytes, 10'000u);
  EXPECT_EQ(estimates[0].memory_entries, 0u);
}

TEST_F(StoreTest, StatisticsHaveNamesAndNumbers) {
  ASSERT_TRUE(Put("a", "1").ok());
  EXPECT_EQ(Get("a"), "1");
  uint64_t written = 0;
  bool has_cache = false;
  for (const NamedNumber& row : store->Statistics()) {
    if (row.name == "number_keys_written") written = row.value;
    has_cache |= row.name == "block_cache_capacity" && row.value > (20u << 20);
  }
  EXPECT_EQ(written, 1u);
  EXPECT_TRUE(has_cache);
  EXPECT_NE(store->TextProperty(Family::kData, "rocksdb.stats"), "");
  EXPECT_EQ(store->TextProperty(Family::kData, "rocksdb.nonsense"), "");
}

TEST_F(StoreTest, ATransactionReadsItsOwnChangesAndOthersDoNot) {
  ASSERT_TRUE(Put("b", "old").ok());
  auto txn = store->BeginWrite();
  EXPECT_FALSE(txn->HasWrites());
  ASSERT_TRUE(txn->Put(Family::kData, "a", "1").ok());
  ASSERT_TRUE(txn->Delete(Family::kData, "b").ok());
  PinnedValue value;
  ASSERT_TRUE(txn->Get("a", nullptr, &value).ok());
  EXPECT_EQ(value.view(), "1");
  EXPECT_TRUE(txn->Get("b", nullptr, &value).Is(Status::Code::kNotFound));
  EXPECT_EQ(value.view(), "");
  EXPECT_EQ(Get("a"), "-");
  Cursor cursor;
  ASSERT_TRUE(txn->OpenCursor({.lower_bound = "a", .upper_bound = "z"}, &cursor).ok());
  cursor.SeekToFirst();
  EXPECT_EQ(Forward(cursor), "a=1");
  cursor.Close();
  ASSERT_TRUE(txn->Commit(Durability::kSync).ok());
  EXPECT_EQ(Get("a"), "1");
  EXPECT_EQ(Get("b"), "-");
  txn->Restart();
  EXPECT_FALSE(txn->HasWrites());
  ASSERT_TRUE(txn->Put(Family::kData, "a", "2").ok());
  ASSERT_TRUE(txn->Rollback().ok());
  EXPECT_EQ(Get("a"), "1");
}

TEST_F(StoreTest, AnOverlayCursorGoesOnAfterAWriteOfItsTransaction) {
  for (const char* key : {"a", "c", "e"}) ASSERT_TRUE(Put(key, "0").ok());
  auto txn = store->BeginWrite();
  ASSERT_TRUE(txn->Put(Family::kData, "a", "1").ok());
  Cursor cursor;
  ASSERT_TRUE(txn->OpenCursor({.lower_bound = "a", .upper_bound = "z"}, &cursor).ok());
  cursor.Seek("a");
  std::string seen;
  for (; cursor.Valid(); cursor.Next()) {
    seen.append(cursor.key());
    ASSERT_TRUE(txn->Put(Family::kData, std::string(cursor.key()), "2").ok());
  }
  EXPECT_TRUE(cursor.status().ok());
  EXPECT_EQ(seen, "ace");
}

TEST_F(StoreTest, SavepointsUndoWhatCameAfterThem) {
  auto txn = store->BeginWrite();
  ASSERT_TRUE(txn->Put(Family::kData, "a", "1").ok());
  txn->SetSavepoint();
  ASSERT_TRUE(txn->Put(Family::kData, "a", "2").ok());
  txn->SetSavepoint();
  ASSERT_TRUE(txn->Put(Family::kData, "b", "2").ok());
  ASSERT_TRUE(txn->PopSavepoint().ok());
  EXPECT_EQ(txn->change_count(), 3u);
  ASSERT_TRUE(txn->RollbackToSavepoint().ok());
  EXPECT_EQ(txn->change_count(), 1u);
  EXPECT_FALSE(txn->RollbackToSavepoint().ok());
  ASSERT_TRUE(txn->Commit(Durability::kOs).ok());
  EXPECT_EQ(Get("a"), "1");
  EXPECT_EQ(Get("b"), "-");
}

// Of a connection that goes on with the same object.
TEST_F(StoreTest, WhatATransactionHasUndoneKeepsNoMemory) {
  if (kSanitized) GTEST_SKIP() << "the sanitizers' allocator";
  constexpr int64_t kBulkBytes = int64_t{64} << 20;
  auto txn = store->BeginWrite();
  const auto undo_bulk = [&] {
    ASSERT_TRUE(txn->Put(Family::kData, "a", "1").ok());
    txn->SetSavepoint();
    const std::string value(size_t{1} << 20, 'v');
    for (int64_t bytes = 0; bytes < kBulkBytes; bytes += 1 << 20) ASSERT_TRUE(txn->Put(Family::kData, "b", value).ok());
    ASSERT_TRUE(txn->RollbackToSavepoint().ok());
  };
  for (const bool prepares : {false, true}) {
    for (const bool commits : {false, true}) {
      SCOPED_TRACE(std::to_string(prepares) + std::to_string(commits));
      const int64_t before = HeapBytes();
      ASSERT_NO_FATAL_FAILURE(undo_bulk());
      ASSERT_GT(HeapBytes() - before, kBulkBytes);  // else there is nothing to be seen
      if (prepares) {
        ASSERT_TRUE(txn->Prepare("x", Durability::kOs).ok());
        EXPECT_LT(HeapBytes() - before, kBulkBytes / 4);
      }
      ASSERT_TRUE((commits ? txn->Commit(Durability::kOs) : txn->Rollback()).ok());
      EXPECT_LT(HeapBytes() - before, kBulkBytes / 4);
      txn->Restart();
    }
  }
}

TEST_F(StoreTest, AnEmptyTransactionCommitsToNothing) {
  const uint64_t before = store->LatestSequence();
  auto txn = store->BeginWrite();
  ASSERT_TRUE(txn->Commit(Durability::kSync).ok());
  EXPECT_TRUE(txn->is_finished());
  EXPECT_EQ(store->LatestSequence(), before);
}

TEST_F(StoreTest, KeysOfATransactionAreVisitedInOrder) {
  auto txn = store->BeginWrite();
  ASSERT_TRUE(txn->Put(Family::kData, "x", "1").ok());
  ASSERT_TRUE(txn->SingleDelete(Family::kData, "w").ok());
  ASSERT_TRUE(txn->Delete(Family::kDictionary, "v").ok());
  ASSERT_TRUE(txn->MergeCounters("u", {1, 0}).ok());
  std::string seen;
  ASSERT_TRUE(txn->ForEachKey([&](Family family, ByteView key) {
    seen += family == Family::kData ? 'd' : 'D';
    seen.append(key);
  }).ok());
  EXPECT_EQ(seen, "dxdwDvDu");
}

}  // namespace
}  // namespace cairn::store
