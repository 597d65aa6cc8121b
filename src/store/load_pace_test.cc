// SPDX-License-Identifier: GPL-2.0-only
// When a load begins and ends, and that level 0 gathers more files meanwhile.
#include "store/load_pace.h"

#include <thread>

#include "store/store_testing.h"

namespace cairn::store {
namespace {

constexpr uint64_t kSecondUs = 1'000'000;
constexpr uint64_t kMiB = uint64_t{1} << 20;

TEST(LoadPaceTest, BeginsWithManyFlushesAndEndsWithoutThem) {
  LoadPace pace(64 * kMiB);
  uint64_t now_us = 5'000 * kSecondUs;
  uint64_t flushed = 0;
  EXPECT_FALSE(pace.Look({now_us, flushed}));
  EXPECT_FALSE(pace.Look({now_us += kSecondUs, flushed += 16 * kMiB}));
  EXPECT_TRUE(pace.Look({now_us += kSecondUs, flushed += 16 * kMiB}));
  EXPECT_TRUE(pace.Look({now_us += kSecondUs, flushed}));
  EXPECT_EQ(pace.load_bytes(), 32 * kMiB);
  for (int second = 0; second < 30; ++second) EXPECT_TRUE(pace.Look({now_us += kSecondUs, flushed += 2 * kMiB}));
  bool loading = true;
  for (int second = 0; second < 16; ++second) loading = pace.Look({now_us += kSecondUs, flushed});
  EXPECT_FALSE(loading);
  EXPECT_EQ(pace.load_bytes(), 92 * kMiB);
}

// Requests after a load fill one small memtable in eight seconds.
TEST(LoadPaceTest, EndsWithWhatIsLittleBesideTheLoad) {
  LoadPace pace(8 * kMiB, 0);
  uint64_t now_us = 5'000 * kSecondUs;
  uint64_t flushed = 0;
  EXPECT_FALSE(pace.Look({now_us, flushed}));
  for (int second = 0; second < 20; ++second) EXPECT_TRUE(pace.Look({now_us += kSecondUs, flushed += 30 * kMiB}));
  // A window in which the load ended, and one without it.
  bool loading = true;
  for (int second = 0; second < 16; ++second) {
    if (second % 8 == 0) flushed += 3 * kMiB;
    loading = pace.Look({now_us += kSecondUs, flushed});
  }
  EXPECT_FALSE(loading);
  // The next is measured by its own pace.
  EXPECT_TRUE(pace.Look({now_us += kSecondUs, flushed += 4 * kMiB}));
  for (int second = 0; second < 32; ++second) {
    if (second % 4 == 0) flushed += 2 * kMiB;
    EXPECT_TRUE(pace.Look({now_us += kSecondUs, flushed}));
  }
}

TEST(LoadPaceTest, RequestsThatFillSmallMemtablesAreNoLoad) {
  LoadPace pace(10 * kMiB);
  uint64_t now_us = 5'000 * kSecondUs;
  uint64_t flushed = 0;
  for (int second = 0; second < 100; ++second) {
    if (second % 8 == 0) flushed += 6 * kMiB;
    EXPECT_FALSE(pace.Look({now_us += kSecondUs, flushed}));
  }
  EXPECT_TRUE(pace.Look({now_us += kSecondUs, flushed += kLoadBytesMin}));
  // Nor do they keep one going.
  bool loading = true;
  for (int second = 0; second < 16; ++second) {
    if (second % 8 == 0) flushed += 6 * kMiB;
    loading = pace.Look({now_us += kSecondUs, flushed});
  }
  EXPECT_FALSE(loading);
}

TEST(LoadPaceTest, FlushesNowAndThenAreNoLoad) {
  LoadPace pace(64 * kMiB);
  uint64_t flushed = 0;
  for (uint64_t second = 0; second < 1000; ++second) {
    if (second % 10 == 0) flushed += 20 * kMiB;
    EXPECT_FALSE(pace.Look({second * kSecondUs, flushed}));
  }
}

TEST(LoadPaceTest, WhatItLeftInMemoryIsNoLoad) {
  LoadPace pace(64 * kMiB);
  uint64_t now_us = 5'000 * kSecondUs;
  uint64_t flushed = 7 * kMiB;
  EXPECT_FALSE(pace.Look({now_us, flushed}));
  EXPECT_TRUE(pace.Look({now_us += kSecondUs, flushed += 64 * kMiB}));
  bool loading = true;
  for (int second = 0; second < 16; ++second) loading = pace.Look({now_us += kSecondUs, flushed});
  EXPECT_FALSE(loading);
  pace.SetLeftInMemory(100 * kMiB);
  EXPECT_FALSE(pace.Look({now_us += kSecondUs, flushed += 60 * kMiB}));
  EXPECT_FALSE(pace.Look({now_us += kSecondUs, flushed += 40 * kMiB + 31 * kMiB}));
  EXPECT_TRUE(pace.Look({now_us += kSecondUs, flushed += kMiB}));
  EXPECT_EQ(pace.load_bytes(), 32 * kMiB);
  for (int second = 0; second < 16; ++second) loading = pace.Look({now_us += kSecondUs, flushed});
  EXPECT_FALSE(loading);
  pace.SetLeftInMemory(100 * kMiB);
  pace.SetLeftInMemory(0);
  EXPECT_TRUE(pace.Look({now_us += kSecondUs, flushed += 60 * kMiB}));
}

// Compressed it was less, and what comes later is not of it.
TEST(LoadPaceTest, WhatItLeftInMemoryIsFlushedWithinAWindow) {
  LoadPace pace(64 * kMiB);
  uint64_t now_us = 5'000 * kSecondUs;
  uint64_t flushed = 7 * kMiB;
  EXPECT_FALSE(pace.Look({now_us, flushed}));
  pace.SetLeftInMemory(100 * kMiB);
  EXPECT_FALSE(pace.Look({now_us += 100 * kSecondUs, flushed}));
  EXPECT_FALSE(pace.Look({now_us += kSecondUs, flushed += 33 * kMiB}));
  EXPECT_FALSE(pace.Look({now_us += 7 * kSecondUs, flushed += 33 * kMiB}));
  EXPECT_TRUE(pace.Look({now_us += kSecondUs, flushed += 33 * kMiB}));
}

TEST(LoadPaceTest, TellsWhetherFilesAreLookedIntoOften) {
  LoadPace pace(64 * kMiB);
  LoadPace::Sample sample = {.now_us = 5'000 * kSecondUs, .flushed_bytes = 7 * kMiB, .file_looks = 900'000};
  EXPECT_FALSE(pace.Look(sample));
  const auto pour = [&](uint64_t looks, uint64_t bytes = 64 * kMiB) {
    sample.now_us += LoadPace::kWindowUs;
    sample.flushed_bytes += bytes;
    sample.file_looks += looks;
    return pace.Look(sample);
  };
  EXPECT_TRUE(pour(64 * kMiB / LoadPace::kBytesPerLook));
  EXPECT_FALSE(pace.looks_often());
  EXPECT_TRUE(pour(64 * kMiB / LoadPace::kBytesPerLook + 1));
  EXPECT_TRUE(pace.looks_often());
  EXPECT_TRUE(pour(0));
  EXPECT_FALSE(pace.looks_often());
  // Also where it hardly goes on.
  EXPECT_TRUE(pour(16 * kMiB / LoadPace::kBytesPerLook + 1, 16 * kMiB));
  EXPECT_TRUE(pace.looks_often());
}

TEST(LoadPaceTest, TellsWhetherReadsFillTheCacheAsFast) {
  LoadPace pace(64 * kMiB);
  LoadPace::Sample sample = {.now_us = 5'000 * kSecondUs, .flushed_bytes = 7 * kMiB, .cached_bytes = 900 * kMiB};
  EXPECT_FALSE(pace.Look(sample));
  const auto pour = [&](uint64_t cached_bytes) {
    sample.now_us += LoadPace::kWindowUs;
    sample.flushed_bytes += 64 * kMiB;
    sample.cached_bytes += cached_bytes;
    return pace.Look(sample);
  };
  EXPECT_TRUE(pour(64 * kMiB));
  EXPECT_FALSE(pace.reads_much());
  EXPECT_TRUE(pour(64 * kMiB + 1));
  EXPECT_TRUE(pace.reads_much());
  // It is not asked again in the same load, as the answer changes what is read.
  EXPECT_TRUE(pour(0));
  EXPECT_TRUE(pace.reads_much());
  for (int windows = 0; windows < 2; ++windows) {
    sample.now_us += LoadPace::kWindowUs;
    static_cast<void>(pace.Look(sample));
  }
  EXPECT_TRUE(pour(0));
  EXPECT_FALSE(pace.reads_much());
}

class PaceCompactionsTest : public ::testing::Test, public StoreFixture {
 protected:
  PaceCompactionsTest() { options.load_bytes_min = 0; }
  // Numbers that do not compress, beyond half a memtable.
  void Pour(unsigned kilobytes = 6000) {
    Fill(kilobytes);
    ASSERT_TRUE(store->FlushMemtables().ok());
  }
  void Fill(unsigned kilobytes) {
    for (unsigned i = 0; i < kilobytes; ++i) {
      std::string value;
      while (value.size() < 1000) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        value.append(reinterpret_cast<const char*>(&state), sizeof state);
      }
      ASSERT_TRUE(Put("idx1" + std::to_string(state), value, Durability::kOs).ok());
      last_key = "idx1" + std::to_string(state);
    }
  }

  // Half a memtable's worth, of the memory below.
  static constexpr unsigned kManyKilobytes = 18'000;

  void OpenWithMuchMemory() {
    options.memory_bytes = 256 * kMiB;
    Open();
    ASSERT_EQ(store->memtable_bytes_max(), 32 * kMiB);
  }

  uint64_t state = 88172645463325252;
  std::string last_key;
};

TEST_F(PaceCompactionsTest, TheStoreGoesOnThroughALoad) {
  Open();
  ASSERT_TRUE(store->PaceCompactions(kSecondUs).ok());
  Pour();
  ASSERT_TRUE(store->PaceCompactions(2 * kSecondUs).ok());
  EXPECT_EQ(store->level0_files_max(), 84);
  Pour();
  ASSERT_TRUE(store->PaceCompactions(20 * kSecondUs).ok());
  ASSERT_TRUE(store->PaceCompactions(40 * kSecondUs).ok());
  EXPECT_EQ(store->level0_files_max(), 4);
}

// Level 0 is compacted then, and what is dropped gives room.
TEST_F(PaceCompactionsTest, ALoadThatFillsTheDiskComesToItsEnd) {
  options.free_space_reserve_bytes = 16 * kMiB;
  Open();
  ASSERT_TRUE(store->PaceCompactions(kSecondUs).ok());
  Pour();
  ASSERT_TRUE(store->PaceCompactions(2 * kSecondUs).ok());
  ASSERT_EQ(store->level0_files_max(), 84);
  env.SetFreeBytes(kMiB);
  store->CheckFreeSpace();
  ASSERT_NE(store->write_gate(), WriteGate::kOpen);
  ASSERT_TRUE(store->PaceCompactions(20 * kSecondUs).ok());
  ASSERT_TRUE(store->PaceCompactions(40 * kSecondUs).ok());
  EXPECT_EQ(store->level0_files_max(), 4);
}

TEST_F(PaceCompactionsTest, APaceWhoseFileOfOptionsCannotBeWrittenIsInForce) {
  Open();
  ASSERT_TRUE(store->PaceCompactions(kSecondUs).ok());
  Pour();
  env.FailWrites("OPTIONS", 1);
  EXPECT_TRUE(store->PaceCompactions(2 * kSecondUs).ok());
  EXPECT_GT(env.failed_write_count(), 0u);
  EXPECT_EQ(store->level0_files_max(), 84);
  const uint64_t version = store->FilesVersion(Family::kData);
  EXPECT_TRUE(store->PaceCompactions(3 * kSecondUs).ok());
  EXPECT_EQ(store->FilesVersion(Family::kData), version);
  env.Heal();
}

// Each file more costs each look.
TEST_F(PaceCompactionsTest, Level0GathersLessWhereKeysAreLookedForInFiles) {
  Open();
  ASSERT_TRUE(store->PaceCompactions(kSecondUs).ok());
  Pour();
  for (unsigned i = 0; i < 100'000; ++i) ASSERT_EQ(Get("idx1"), "-");
  ASSERT_TRUE(store->PaceCompactions(2 * kSecondUs).ok());
  EXPECT_EQ(store->level0_files_max(), 24);
  ASSERT_TRUE(store->PaceCompactions(10 * kSecondUs).ok());
  Pour();
  ASSERT_TRUE(store->PaceCompactions(11 * kSecondUs).ok());
  EXPECT_EQ(store->level0_files_max(), 84);
}

TEST_F(PaceCompactionsTest, MemtablesAreLargerInALoad) {
  OpenWithMuchMemory();
  ASSERT_TRUE(store->PaceCompactions(kSecondUs).ok());
  Pour(kManyKilobytes);
  ASSERT_TRUE(store->PaceCompactions(2 * kSecondUs).ok());
  EXPECT_EQ(store->memtable_bytes_max(), 64 * kMiB);
  const uint64_t flushed = Number("flush_write_bytes");
  Fill(48'000);
  EXPECT_EQ(Number("flush_write_bytes"), flushed);
  EXPECT_EQ(Get(last_key).size(), 1000u);
  // A full one is flushed: two together are what all may take.
  Fill(40'000);
  while (Number("flush_write_bytes") == flushed) std::this_thread::yield();
  EXPECT_EQ(Get(last_key).size(), 1000u);
  // What is in memory after the load is more than a memtable may be now.
  Fill(20'000);
  ASSERT_TRUE(store->PaceCompactions(20 * kSecondUs).ok());
  ASSERT_TRUE(store->PaceCompactions(40 * kSecondUs).ok());
  ASSERT_TRUE(store->PaceCompactions(60 * kSecondUs).ok());
  EXPECT_EQ(store->memtable_bytes_max(), 32 * kMiB);
  const uint64_t flushed_in_load = Number("flush_write_bytes");
  Fill(2);  // the first finds it, the second goes into another one
  while (Number("flush_write_bytes") == flushed_in_load) std::this_thread::yield();
  EXPECT_EQ(Get(last_key).size(), 1000u);
  // Which is no load, and leaves what is owed to the one before.
  ASSERT_TRUE(store->PaceCompactions(61 * kSecondUs).ok());
  EXPECT_EQ(store->level0_files_max(), 4);
  EXPECT_EQ(Number("loads_to_settle"), 1u);
}

// Who reads blocks as fast needs the cache.
TEST_F(PaceCompactionsTest, MemtablesStayWhereReadsNeedTheCache) {
  OpenWithMuchMemory();
  Pour(kManyKilobytes + 2'000);
  ASSERT_TRUE(store->PaceCompactions(kSecondUs).ok());
  ASSERT_TRUE(store->PaceCompactions(10 * kSecondUs).ok());
  Cursor cursor;
  ASSERT_TRUE(store->OpenCursor(Family::kData, {}, &cursor).ok());
  for (cursor.SeekToFirst(); cursor.Valid(); cursor.Next()) {
  }
  ASSERT_TRUE(cursor.status().ok());
  Pour(kManyKilobytes);
  ASSERT_TRUE(store->PaceCompactions(11 * kSecondUs).ok());
  EXPECT_EQ(store->level0_files_max(), 84);
  EXPECT_EQ(store->memtable_bytes_max(), 32 * kMiB);
}

TEST_F(PaceCompactionsTest, MemtablesStayWhereTheDiskHasLittleRoom) {
  options.free_space_reserve_bytes = 100 * kMiB;
  OpenWithMuchMemory();
  ASSERT_TRUE(store->PaceCompactions(kSecondUs).ok());
  Pour(kManyKilobytes);
  env.SetFreeBytes(250 * kMiB);
  store->CheckFreeSpace();
  ASSERT_TRUE(store->PaceCompactions(2 * kSecondUs).ok());
  EXPECT_EQ(store->level0_files_max(), 84);
  EXPECT_EQ(store->memtable_bytes_max(), 32 * kMiB);
  env.SetFreeBytes(270 * kMiB);
  store->CheckFreeSpace();
  ASSERT_TRUE(store->PaceCompactions(3 * kSecondUs).ok());
  EXPECT_EQ(store->memtable_bytes_max(), 64 * kMiB);
}

TEST_F(PaceCompactionsTest, AnExpertsMemtablesStay) {
  options.expert_family_options = "write_buffer_size=33554432";
  OpenWithMuchMemory();
  ASSERT_TRUE(store->PaceCompactions(kSecondUs).ok());
  Pour(kManyKilobytes);
  ASSERT_TRUE(store->PaceCompactions(2 * kSecondUs).ok());
  EXPECT_EQ(store->level0_files_max(), 84);
  EXPECT_EQ(store->memtable_bytes_max(), 32 * kMiB);
}

TEST_F(PaceCompactionsTest, AnExpertsNumberStays) {
  options.expert_family_options = "level0_file_num_compaction_trigger=6";
  Open();
  Pour();
  ASSERT_TRUE(store->PaceCompactions(2 * kSecondUs).ok());
  EXPECT_EQ(store->level0_files_max(), 6);
}

// Writers would be stopped before level 0 is compacted.
TEST_F(PaceCompactionsTest, AnExpertsBoundsOfLevel0AreNotPassed) {
  options.expert_family_options = "level0_slowdown_writes_trigger=20;level0_stop_writes_trigger=20";
  Open();
  ASSERT_TRUE(store->PaceCompactions(kSecondUs).ok());
  Pour();
  ASSERT_TRUE(store->PaceCompactions(2 * kSecondUs).ok());
  EXPECT_EQ(store->level0_files_max(), 4);
}

}  // namespace
}  // namespace cairn::store
