// SPDX-License-Identifier: GPL-2.0-only
// When a load begins and ends, and that level 0 gathers more files meanwhile.
#include "store/load_pace.h"

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
  LoadPace pace(8 * kMiB);
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

TEST(LoadPaceTest, FlushesNowAndThenAreNoLoad) {
  LoadPace pace(64 * kMiB);
  uint64_t flushed = 0;
  for (uint64_t second = 0; second < 1000; ++second) {
    if (second % 10 == 0) flushed += 20 * kMiB;
    EXPECT_FALSE(pace.Look({second * kSecondUs, flushed}));
  }
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

class PaceCompactionsTest : public ::testing::Test, public StoreFixture {
 protected:
  // Numbers that do not compress, beyond half a memtable.
  void Pour() {
    uint64_t state = 88172645463325252;
    for (unsigned i = 0; i < 6000; ++i) {
      std::string value;
      while (value.size() < 1000) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        value.append(reinterpret_cast<const char*>(&state), sizeof state);
      }
      ASSERT_TRUE(Put("idx1" + std::to_string(state), value, Durability::kOs).ok());
    }
    ASSERT_TRUE(store->FlushMemtables().ok());
  }
};

TEST_F(PaceCompactionsTest, TheStoreGoesOnThroughALoad) {
  Open();
  ASSERT_TRUE(store->PaceCompactions(kSecondUs).ok());
  Pour();
  ASSERT_TRUE(store->PaceCompactions(2 * kSecondUs).ok());
  EXPECT_EQ(store->level0_files_max(), 48);
  Pour();
  ASSERT_TRUE(store->PaceCompactions(20 * kSecondUs).ok());
  ASSERT_TRUE(store->PaceCompactions(40 * kSecondUs).ok());
  EXPECT_EQ(store->level0_files_max(), 4);
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
  EXPECT_EQ(store->level0_files_max(), 48);
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
