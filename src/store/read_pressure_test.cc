// SPDX-License-Identifier: GPL-2.0-only
// When reads move data: the policy by itself, and a store that is read until it lies well.
#include "store/read_pressure.h"

#include <thread>

#include "store/sorted_load.h"
#include "store/store_testing.h"

namespace cairn::store {
namespace {

constexpr uint64_t kMiB = uint64_t{1} << 20;

class ReadPressurePolicyTest : public ::testing::Test {
 protected:
  ReadPressurePolicyTest() {
    sample.now_us = 1;
    sample.memtable_id = 1;
    sample.memtable_bytes = 4 * kMiB;
    sample.memtable_bytes_min = kMiB;
    sample.memtable_bytes_max = 16 * kMiB;
    sample.level0_files_max = 4;
  }
  Relief Decide() { return policy.Decide(sample); }
  void PutFileInLevel0() {
    sample.oldest_level0_id = 7;
    sample.level0_files = 1;
    sample.level0_bytes = 4 * kMiB;
    sample.base_bytes = 8 * kMiB;
  }
  // The prices of a flush of 4 MiB above nothing, and of a compaction of one or two files, in entries.
  uint64_t EntriesForFlush() const {
    return ReadPressurePolicy::FlushPriceNs(sample) / ReadPressurePolicy::kNsPerMemtableEntry + 1;
  }
  uint64_t EntriesForCompaction() const {
    return ReadPressurePolicy::CompactionPriceNs(sample) / ReadPressurePolicy::kNsPerLevel0Entry + 1;
  }

  ReadPressurePolicy policy;
  ReadPressureSample sample;
};

TEST_F(ReadPressurePolicyTest, FlushesOnceReadsHaveLostWhatItCosts) {
  EXPECT_EQ(Decide(), Relief::kNone);
  sample.walked.in_memtable = EntriesForFlush() - 1;
  EXPECT_EQ(Decide(), Relief::kNone);
  sample.walked.in_memtable = EntriesForFlush();
  EXPECT_EQ(Decide(), Relief::kFlush);
  EXPECT_EQ(Decide(), Relief::kNone) << "what was read has paid once";
}

TEST_F(ReadPressurePolicyTest, EachMemtableIsPaidForByItsOwnReaders) {
  sample.walked.in_memtable = EntriesForFlush() - 1;
  EXPECT_EQ(Decide(), Relief::kNone);
  sample.memtable_id = 2;
  sample.walked.in_memtable = EntriesForFlush();
  EXPECT_EQ(Decide(), Relief::kNone);
  sample.walked.in_memtable = 2 * EntriesForFlush();
  EXPECT_EQ(Decide(), Relief::kFlush);
}

TEST_F(ReadPressurePolicyTest, WhatIsNearlyDueCostsNextToNothing) {
  PutFileInLevel0();
  uint64_t flush = UINT64_MAX, compaction = UINT64_MAX;
  for (uint64_t quarter = 1; quarter <= 4; ++quarter) {
    sample.memtable_bytes = sample.memtable_bytes_max / 4 * quarter;
    sample.base_bytes = 100 * kMiB;
    sample.level0_files = quarter;
    EXPECT_LT(ReadPressurePolicy::FlushPriceNs(sample), flush);
    EXPECT_LT(ReadPressurePolicy::CompactionPriceNs(sample), compaction);
    flush = ReadPressurePolicy::FlushPriceNs(sample);
    compaction = ReadPressurePolicy::CompactionPriceNs(sample);
  }
  EXPECT_EQ(flush, ReadPressurePolicy::kNsPerRewrite);
  EXPECT_EQ(compaction, ReadPressurePolicy::kNsPerRewrite);
}

// What nobody would have waited for later takes time from those who run now.
TEST_F(ReadPressurePolicyTest, WhereCoresAreBusyAllOfAFlushCounts) {
  PutFileInLevel0();
  const uint64_t flush = ReadPressurePolicy::FlushPriceNs(sample), compaction = ReadPressurePolicy::CompactionPriceNs(sample);
  const uint64_t entries = EntriesForFlush();
  sample.cores_are_busy = true;
  EXPECT_EQ(ReadPressurePolicy::FlushPriceNs(sample), flush + 4 * kMiB * ReadPressurePolicy::kNsPerFlushedByte);
  EXPECT_EQ(ReadPressurePolicy::CompactionPriceNs(sample), compaction);
  EXPECT_EQ(Decide(), Relief::kNone);
  sample.walked.in_memtable = entries;
  EXPECT_EQ(Decide(), Relief::kNone);
  sample.walked.in_memtable = EntriesForFlush();
  EXPECT_EQ(Decide(), Relief::kFlush);
  sample.walked.in_memtable += entries;
  EXPECT_EQ(Decide(), Relief::kNone);
  sample.cores_are_busy = false;
  EXPECT_EQ(Decide(), Relief::kFlush);
}

TEST_F(ReadPressurePolicyTest, ASmallMemtableStays) {
  sample.memtable_bytes = sample.memtable_bytes_min - 1;
  sample.walked.in_memtable = 1000 * EntriesForFlush();
  EXPECT_EQ(Decide(), Relief::kNone);
}

TEST_F(ReadPressurePolicyTest, WhileMemtablesWaitNoneIsAdded) {
  EXPECT_EQ(Decide(), Relief::kNone);
  sample.memtables_waiting = 1;
  sample.walked.in_memtable = EntriesForFlush();
  EXPECT_EQ(Decide(), Relief::kNone);
  sample.memtables_waiting = 0;
  EXPECT_EQ(Decide(), Relief::kFlush);
}

TEST_F(ReadPressurePolicyTest, ACompactionTakesAlongWhatIsBeingFlushed) {
  PutFileInLevel0();
  EXPECT_EQ(Decide(), Relief::kNone);
  sample.walked.in_level0 = EntriesForCompaction();
  sample.memtables_waiting = 1;
  EXPECT_EQ(Decide(), Relief::kNone);
  sample.memtables_waiting = 0;
  ++sample.level0_files;
  EXPECT_EQ(Decide(), Relief::kCompactLevel0);
}

// While nobody writes or walks, what was lost before is enough for a sixteenth of the price, and nothing more is done
// than has to be.
TEST_F(ReadPressurePolicyTest, IdleTimeIsCheap) {
  PutFileInLevel0();
  EXPECT_EQ(Decide(), Relief::kNone);
  sample.now_us += 10;
  sample.user_bytes += 1;
  sample.walked.in_memtable = EntriesForFlush() / ReadPressurePolicy::kIdleShare + 1;
  EXPECT_EQ(Decide(), Relief::kNone);
  sample.now_us += ReadPressurePolicy::kIdleUs;
  sample.user_bytes += 1;
  EXPECT_EQ(Decide(), Relief::kNone) << "somebody writes";
  sample.now_us += ReadPressurePolicy::kIdleUs;
  ++sample.walked.in_level0;
  EXPECT_EQ(Decide(), Relief::kNone) << "somebody reads";
  sample.now_us += ReadPressurePolicy::kIdleUs - 1;
  EXPECT_EQ(Decide(), Relief::kNone);
  sample.now_us += 1;
  EXPECT_EQ(Decide(), Relief::kFlush);
  sample.now_us += 1'000'000'000;
  EXPECT_EQ(Decide(), Relief::kNone) << "nobody has read level 0";
  sample.walked.in_level0 += EntriesForCompaction() / ReadPressurePolicy::kIdleShare + 1;
  EXPECT_EQ(Decide(), Relief::kNone);
  sample.now_us += ReadPressurePolicy::kIdleUs;
  EXPECT_EQ(Decide(), Relief::kCompactLevel0);
}

// What would be written all the same is not charged: reads of a table that was written to as a whole have both done.
TEST_F(ReadPressurePolicyTest, OnlyWhatIsAddedIsCharged) {
  sample.memtable_bytes = sample.memtable_bytes_max = 128 * kMiB;
  EXPECT_EQ(Decide(), Relief::kNone);
  sample.walked.in_memtable = EntriesForFlush();
  EXPECT_EQ(Decide(), Relief::kFlush);
  EXPECT_EQ(policy.credit_bytes(), ReadPressurePolicy::kCreditBytesAtStart) << "it was full";
  sample.memtable_id = 2;
  sample.memtable_bytes = 0;
  sample.oldest_level0_id = 7;
  sample.level0_files = 2;
  sample.level0_bytes = 80 * kMiB;
  sample.base_bytes = 20 * kMiB;
  EXPECT_EQ(Decide(), Relief::kNone);
  sample.walked.in_level0 = EntriesForCompaction();
  EXPECT_EQ(Decide(), Relief::kCompactLevel0);
  EXPECT_EQ(policy.credit_bytes(), ReadPressurePolicy::kCreditBytesAtStart - 15 * kMiB) << "of 30 the half";
}

TEST_F(ReadPressurePolicyTest, CompactsLevel0OnceReadsHaveLostWhatItCosts) {
  PutFileInLevel0();
  EXPECT_EQ(Decide(), Relief::kNone);
  sample.walked.in_level0 = EntriesForCompaction() - 1;
  EXPECT_EQ(Decide(), Relief::kNone);
  // Another file on top: the older one's readers still count.
  ++sample.level0_files;
  sample.level0_bytes += 4 * kMiB;
  sample.walked.in_level0 = EntriesForCompaction();
  EXPECT_EQ(Decide(), Relief::kCompactLevel0);
  EXPECT_EQ(Decide(), Relief::kNone);
}

// There an entry has still to be merged with what lies below.
TEST_F(ReadPressurePolicyTest, AboveTheLastLevelOnlyFewerFilesAreWon) {
  sample.base_is_last = false;
  PutFileInLevel0();
  EXPECT_EQ(Decide(), Relief::kNone);
  sample.walked.in_memtable = 10 * EntriesForFlush();
  sample.walked.in_level0 = 10 * EntriesForCompaction();
  EXPECT_EQ(Decide(), Relief::kNone);
  sample.level0_files = 2;
  sample.oldest_level0_id = 8;  // counts from here
  EXPECT_EQ(Decide(), Relief::kNone);
  sample.walked.in_level0 += EntriesForCompaction();
  EXPECT_EQ(Decide(), Relief::kNone);
  sample.walked.in_level0 += EntriesForCompaction();
  EXPECT_EQ(Decide(), Relief::kCompactLevel0);
}

TEST_F(ReadPressurePolicyTest, LeavesACompactionThatIsDueAlone) {
  PutFileInLevel0();
  EXPECT_EQ(Decide(), Relief::kNone);
  sample.level0_files = 4;
  sample.walked = {.in_memtable = 1000 * EntriesForFlush(), .in_level0 = 1000 * EntriesForCompaction()};
  EXPECT_EQ(Decide(), Relief::kNone);
}

// However much is read, no more is added than the bound says.
TEST_F(ReadPressurePolicyTest, StaysBelowItsBoundUnderAnyLoad) {
  PutFileInLevel0();
  sample.base_bytes = 100 * kMiB;
  uint64_t added = 0, flushes = 0;
  for (uint64_t step = 1; step <= 20'000; ++step) {
    sample.now_us += 10'000;
    sample.user_bytes += 300'000;
    sample.walked.in_memtable += 1'000'000'000;
    sample.walked.in_level0 += 1'000'000'000;
    switch (Decide()) {
      case Relief::kNone: break;
      case Relief::kFlush:
        // A quarter full: an eighth of it twice, and a place's share of the level below.
        added += (2 * sample.memtable_bytes / 8 + sample.base_bytes / 4) / 4 * 3;
        ++sample.memtable_id;
        ++flushes;
        break;
      case Relief::kCompactLevel0:
        // One of four files.
        added += (sample.level0_bytes / 8 + sample.base_bytes) / 4 * 3;
        ++sample.oldest_level0_id;
        break;
    }
    ASSERT_LE(added, ReadPressurePolicy::kCreditBytesAtStart + sample.user_bytes +
                         sample.now_us / 1'000'000 * ReadPressurePolicy::kCreditBytesPerSecond);
  }
  EXPECT_GT(flushes, 10u);
}

class ReliefTest : public ::testing::Test, public StoreFixture {
 protected:
  void SetUp() override {
    Open();
  }
  static std::string Key(int i) { return "k" + std::to_string(100000 + i); }
  void Write(int round) {
    Batch batch(*store);
    for (int i = 0; i < kRows; ++i) batch.Put(Family::kData, Key(i), std::string(100, static_cast<char>('a' + round)));
    ASSERT_TRUE(store->Write(batch, Durability::kOs).ok());
  }
  void Walk(bool forward) {
    Cursor cursor;
    ASSERT_TRUE(store->OpenCursor(Family::kData, {.lower_bound = "k", .upper_bound = "l"}, &cursor).ok());
    int rows = 0;
    for (forward ? cursor.SeekToFirst() : cursor.SeekToLast(); cursor.Valid(); forward ? cursor.Next() : cursor.Prev()) {
      ++rows;
    }
    ASSERT_EQ(rows, kRows);
  }
  // Reads until the counter of what is done for reads moves.
  void WalkUntil(const std::string& counter, uint64_t value, bool forward) {
    for (int walk = 0; Number(counter) < value; ++walk) {
      ASSERT_LT(walk, 10'000);
      ASSERT_NO_FATAL_FAILURE(Walk(forward));
      ASSERT_TRUE(store->RelieveReads(1).ok());
    }
  }

  static constexpr int kRows = 4000;
};

TEST_F(ReliefTest, ReadsOfAHotMemtableEndInSettledData) {
  for (const bool forward : {true, false}) {
    ASSERT_NO_FATAL_FAILURE(Write(0));
    ASSERT_TRUE(store->CompactRange(Family::kData, {}, {}).ok());
    ASSERT_NO_FATAL_FAILURE(Write(1));
    const uint64_t flushes = Number("read_driven_flushes"), compactions = Number("read_driven_compactions");
    ASSERT_NO_FATAL_FAILURE(WalkUntil("read_driven_flushes", flushes + 1, forward));
    while (Level0Files() == 0) std::this_thread::yield();
    ASSERT_NO_FATAL_FAILURE(WalkUntil("read_driven_compactions", compactions + 1, forward));
    EXPECT_EQ(Level0Files(), 0);
    // Nothing is left to do, however much is read.
    for (int walk = 0; walk < 100; ++walk) {
      ASSERT_NO_FATAL_FAILURE(Walk(forward));
      ASSERT_TRUE(store->RelieveReads(1).ok());
    }
    EXPECT_EQ(Number("read_driven_flushes"), flushes + 1);
    EXPECT_EQ(Number("read_driven_compactions"), compactions + 1);
  }
}

// A few reads between writes, then nothing: the store tidies up by itself, level 0 as well.
TEST_F(ReliefTest, IdleTimeSettlesWhatWasRead) {
  ASSERT_NO_FATAL_FAILURE(Write(0));
  ASSERT_TRUE(store->CompactRange(Family::kData, {}, {}).ok());
  ASSERT_NO_FATAL_FAILURE(Write(1));
  ASSERT_TRUE(store->FlushMemtables().ok());
  uint64_t now_us = 1;
  for (int round = 2; round < 4; ++round) {
    ASSERT_NO_FATAL_FAILURE(Write(round));
    for (int walk = 0; walk < 4; ++walk) ASSERT_NO_FATAL_FAILURE(Walk(true));
    ASSERT_TRUE(store->RelieveReads(now_us).ok());
  }
  EXPECT_EQ(Number("read_driven_flushes"), 0u);
  while (Number("read_driven_compactions") == 0) {
    now_us += ReadPressurePolicy::kIdleUs;
    ASSERT_TRUE(store->RelieveReads(now_us).ok());
    std::this_thread::yield();
  }
  EXPECT_EQ(Number("read_driven_flushes"), 1u);
  EXPECT_EQ(Level0Files(), 0);
  ASSERT_NO_FATAL_FAILURE(Walk(true));
}

// The first memtable of a store begins with the sequence number that rows of ingested files have.
TEST_F(ReliefTest, IngestedRowsOfANewStoreAreSettled) {
  SortedLoad load(*store, Family::kData);
  for (int i = 0; i < kRows; ++i) ASSERT_TRUE(load.Add(Key(i), "row").ok());
  ASSERT_TRUE(load.Ingest().ok());
  Batch beside(*store);
  for (int i = 0; i < kRows; ++i) beside.Put(Family::kData, "m" + std::to_string(i), std::string(100, 'm'));
  ASSERT_TRUE(store->Write(beside, Durability::kOs).ok());
  for (int walk = 0; walk < 200; ++walk) {
    ASSERT_NO_FATAL_FAILURE(Walk(true));
    ASSERT_TRUE(store->RelieveReads(1).ok());
  }
  EXPECT_EQ(Number("read_driven_flushes"), 0u);
}

TEST_F(ReliefTest, AFileOfLevel0WithNothingBesideItStays) {
  ASSERT_NO_FATAL_FAILURE(Write(0));
  ASSERT_TRUE(store->FlushMemtables().ok());
  for (int walk = 0; walk < 200; ++walk) {
    ASSERT_NO_FATAL_FAILURE(Walk(true));
    ASSERT_TRUE(store->RelieveReads(1).ok());
  }
  EXPECT_EQ(Number("read_driven_compactions"), 0u);
  EXPECT_EQ(Level0Files(), 1);
}

TEST_F(ReliefTest, NothingIsCompactedAfterStopping) {
  ASSERT_NO_FATAL_FAILURE(Write(0));
  ASSERT_TRUE(store->CompactRange(Family::kData, {}, {}).ok());
  ASSERT_NO_FATAL_FAILURE(Write(1));
  ASSERT_TRUE(store->FlushMemtables().ok());
  store->StopRelief();
  for (int walk = 0; walk < 200; ++walk) {
    ASSERT_NO_FATAL_FAILURE(Walk(true));
    ASSERT_TRUE(store->RelieveReads(1).ok());
  }
  EXPECT_EQ(Number("read_driven_compactions"), 0u);
  EXPECT_EQ(Level0Files(), 1);
}

// Short walks would lose as much by another file.
TEST_F(ReliefTest, ShortWalksLeaveTheMemtable) {
  ASSERT_NO_FATAL_FAILURE(Write(0));
  Cursor cursor;
  for (int walk = 0; walk < 100'000; ++walk) {
    const std::string lower = Key(walk % (kRows - 10)), upper = Key(walk % (kRows - 10) + 10);
    ASSERT_TRUE(store->OpenCursor(Family::kData, {.lower_bound = lower, .upper_bound = upper}, &cursor).ok());
    int rows = 0;
    for (cursor.SeekToFirst(); cursor.Valid(); cursor.Next()) ++rows;
    ASSERT_EQ(rows, 10);
    if (walk % 100 != 0) continue;
    ASSERT_TRUE(store->RelieveReads(1).ok());
  }
  EXPECT_EQ(Number("read_driven_flushes"), 0u);
}

// Reads that are few beside the writes are no reason to flush.
TEST_F(ReliefTest, WritersAreNotHarmed) {
  for (int round = 0; round < 30; ++round) {
    ASSERT_NO_FATAL_FAILURE(Write(round % 20));
    if (round % 10 == 9) {
      for (const bool forward : {true, false}) ASSERT_NO_FATAL_FAILURE(Walk(forward));
    }
    ASSERT_TRUE(store->RelieveReads(1).ok());
  }
  EXPECT_EQ(Number("read_driven_flushes"), 0u);
  EXPECT_EQ(Number("read_driven_compactions"), 0u);
}

}  // namespace
}  // namespace cairn::store
