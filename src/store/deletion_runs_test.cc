// SPDX-License-Identifier: GPL-2.0-only
// Which files are marked, by what is written into them and in a store.
#include "store/deletion_runs.h"

#include <random>
#include <thread>

#include "store/store_testing.h"

namespace cairn::store {
namespace {

class DeletionRunsTest : public ::testing::Test {
 protected:
  void Add(rocks::EntryType type, uint64_t count = 1) {
    for (uint64_t i = 0; i < count; ++i) {
      ASSERT_TRUE(file_->AddUserKey("key", "", type, 1, file_bytes_).ok());
    }
  }
  bool IsMarked() {
    rocks::UserCollectedProperties properties;
    EXPECT_TRUE(file_->Finish(&properties).ok());
    EXPECT_TRUE(properties.empty());
    return file_->NeedCompact();
  }

  uint64_t file_bytes_ = 0;
  std::unique_ptr<rocks::TablePropertiesCollector> file_{NewDeletionRunMarks()->CreateTablePropertiesCollector({})};
};

TEST_F(DeletionRunsTest, AnEmptyFileIsNotMarked) { EXPECT_FALSE(IsMarked()); }

TEST_F(DeletionRunsTest, ManyDeletionsInOneRunMark) {
  Add(rocks::kEntryPut, 10 * kDeletionsInRunsMax);
  Add(rocks::kEntryDelete, kDeletionsInRunsMax - 1);
  EXPECT_FALSE(IsMarked());
  Add(rocks::kEntryDelete);
  EXPECT_TRUE(IsMarked());
  Add(rocks::kEntryPut);
  EXPECT_TRUE(IsMarked());
}

TEST_F(DeletionRunsTest, RunsAreAddedUp) {
  for (uint64_t i = 0; i < kDeletionsInRunsMax / kDeletionRunMin; ++i) {
    EXPECT_FALSE(IsMarked());
    Add(rocks::kEntryPut, 3 * kDeletionRunMin);
    Add(rocks::kEntryDelete, kDeletionRunMin / 2);
    Add(rocks::kEntrySingleDelete, kDeletionRunMin / 2);
  }
  EXPECT_TRUE(IsMarked());
}

TEST_F(DeletionRunsTest, DeletionsBesideLivingEntriesDoNotMark) {
  file_bytes_ = 64 * kMarkedFileBytesMin;
  for (uint64_t i = 0; i < 4 * kDeletionsInRunsMax / kDeletionRunMin; ++i) {
    Add(rocks::kEntryDelete, kDeletionRunMin - 1);
    Add(i % 2 == 0 ? rocks::kEntryPut : rocks::kEntryMerge);
  }
  EXPECT_FALSE(IsMarked());
}

TEST_F(DeletionRunsTest, HalfOfTheEntriesMarkAFileOfSomeSize) {
  Add(rocks::kEntryPut, kDeletionRunMin + 1);
  Add(rocks::kEntryDelete, kDeletionRunMin);
  file_bytes_ = kMarkedFileBytesMin - 1;
  Add(rocks::kEntryDelete);
  EXPECT_FALSE(IsMarked());
  file_bytes_ = kMarkedFileBytesMin;
  Add(rocks::kEntryPut);
  EXPECT_FALSE(IsMarked());  // 65 of 131
}

TEST_F(DeletionRunsTest, HalfOfTheEntriesInRunsMarkALargeFile) {
  file_bytes_ = kMarkedFileBytesMin;
  Add(rocks::kEntryDelete, kDeletionRunMin);
  Add(rocks::kEntryPut, kDeletionRunMin);
  EXPECT_TRUE(IsMarked());
}

// Two flushes of 140,000 keys. What the second deletes is all of a queue, or of an index each second key, with others beside them.
class MarkedFilesTest : public ::testing::Test, public StoreFixture {
 protected:
  static constexpr int kKeys = 70'000;

  static std::string Key(int number) {
    std::string digits = std::to_string(number);
    return "idx " + std::string(8 - digits.size(), '0') + digits;
  }
  // Does not compress, so that the files are large enough to be marked.
  std::string Value() {
    std::string value(24, 0);
    for (char& byte : value) byte = static_cast<char>(random_());
    return value;
  }
  void Write(int first, int step, bool deletes) {
    Batch batch(*store);
    for (int i = first; i < 2 * kKeys; i += step) {
      deletes ? batch.Delete(Family::kData, Key(i)) : batch.Put(Family::kData, Key(i), Value());
    }
    ASSERT_TRUE(store->Write(batch, Durability::kOs).ok());
  }
  void AwaitCompactions() {
    while (Number("compaction_pending") + Number("num_running_compactions") != 0) std::this_thread::yield();
  }

  std::mt19937_64 random_{1};
};

TEST_F(MarkedFilesTest, AQueueThatWasReadIsCompacted) {
  Open();
  ASSERT_NO_FATAL_FAILURE(Write(0, 1, false));
  ASSERT_TRUE(store->FlushMemtables().ok());
  ASSERT_NO_FATAL_FAILURE(Write(0, 1, true));
  ASSERT_TRUE(store->FlushMemtables().ok());
  AwaitCompactions();
  EXPECT_EQ(Level0Files(), 0);
}

TEST_F(MarkedFilesTest, AnIndexThatWasUpdatedIsLeft) {
  Open();
  ASSERT_NO_FATAL_FAILURE(Write(0, 2, false));
  ASSERT_TRUE(store->FlushMemtables().ok());
  ASSERT_NO_FATAL_FAILURE(Write(0, 2, true));
  ASSERT_NO_FATAL_FAILURE(Write(1, 2, false));
  ASSERT_TRUE(store->FlushMemtables().ok());
  AwaitCompactions();
  EXPECT_EQ(Level0Files(), 2);
}

}  // namespace
}  // namespace cairn::store
