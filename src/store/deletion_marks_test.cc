// SPDX-License-Identifier: GPL-2.0-only
// Which files are marked, by what is written into them and in a store.
#include "store/deletion_marks.h"

#include <random>
#include <thread>

#include "store/store_testing.h"

namespace cairn::store {
namespace {

constexpr int kFlushed = 0;
constexpr int kCompacted = 5;

// Whether a file is marked in which each `period` entries begin with so many deletions.
bool IsMarked(int level, uint64_t entries, uint64_t deletions, uint64_t period, uint64_t file_bytes = kMarkedFileBytesMin) {
  rocks::TablePropertiesCollectorFactory::Context context;
  context.level_at_creation = level;
  const std::unique_ptr<rocks::TablePropertiesCollector> file(NewDeletionMarks()->CreateTablePropertiesCollector(context));
  for (uint64_t i = 0; i < entries; ++i) {
    const rocks::EntryType deletion = i % 2 == 0 ? rocks::kEntryDelete : rocks::kEntrySingleDelete;
    const rocks::EntryType type = i % period < deletions ? deletion : rocks::kEntryPut;
    EXPECT_TRUE(file->AddUserKey("key", "", type, 1, file_bytes).ok());
  }
  rocks::UserCollectedProperties properties;
  EXPECT_TRUE(file->Finish(&properties).ok());
  return file->NeedCompact();
}

TEST(DeletionMarksTest, AnEmptyFileIsNotMarked) {
  EXPECT_FALSE(IsMarked(kFlushed, 0, 0, 1));
  EXPECT_FALSE(IsMarked(kCompacted, 0, 0, 1));
}

TEST(DeletionMarksTest, AFlushedFileIsMarkedByThreeQuarters) {
  EXPECT_FALSE(IsMarked(kFlushed, 10'000, 1, 2));
  EXPECT_FALSE(IsMarked(kFlushed, 10'000, 74, 100));
  EXPECT_TRUE(IsMarked(kFlushed, 10'000, 75, 100));
  EXPECT_TRUE(IsMarked(kFlushed, 10'000, 1, 1));
}

TEST(DeletionMarksTest, AFlushedFileIsMarkedByAWindow) {
  const uint64_t entries = 10 * kDeletionWindow;
  EXPECT_FALSE(IsMarked(kFlushed, entries, kDeletionWindow / 4 * 3 - 1, entries));
  EXPECT_TRUE(IsMarked(kFlushed, entries, kDeletionWindow / 4 * 3, entries));
  EXPECT_FALSE(IsMarked(kFlushed, entries, 7, 10));
}

TEST(DeletionMarksTest, ACompactedFileIsMarkedByHalf) {
  EXPECT_FALSE(IsMarked(kCompacted, 10'000, 49, 100));
  EXPECT_TRUE(IsMarked(kCompacted, 10'000, 1, 2));
  EXPECT_TRUE(IsMarked(kCompacted, 10 * kDeletionWindow, kDeletionWindow / 2, 10 * kDeletionWindow));
}

TEST(DeletionMarksTest, ASmallFileIsNotMarked) {
  EXPECT_FALSE(IsMarked(kFlushed, 2 * kDeletionWindow, 1, 1, kMarkedFileBytesMin - 1));
  EXPECT_FALSE(IsMarked(kCompacted, 2 * kDeletionWindow, 1, 1, kMarkedFileBytesMin - 1));
}

// Two flushes of 140,000 keys. What the second deletes is all of a queue, or of an index each second key, with others beside them.
class MarkedFilesTest : public ::testing::Test, public StoreFixture {
 protected:
  static constexpr int kKeys = 140'000;

  static std::string Key(int number) {
    const std::string digits = std::to_string(number);
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
    for (int i = first; i < kKeys; i += step) {
      deletes ? batch.Delete(Family::kData, Key(i)) : batch.Put(Family::kData, Key(i), Value());
    }
    ASSERT_TRUE(store->Write(batch, Durability::kOs).ok());
  }
  // A compaction runs before it no longer waits.
  void AwaitCompactions() {
    while (Number("compaction_pending") != 0 || Number("num_running_compactions") != 0) std::this_thread::yield();
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

TEST_F(MarkedFilesTest, AQueueThatSomeoneStillSeesIsNotCompactedForEver) {
  Open();
  ASSERT_NO_FATAL_FAILURE(Write(0, 1, false));
  ASSERT_TRUE(store->FlushMemtables().ok());
  const Snapshot seen = store->TakeSnapshot();
  ASSERT_NO_FATAL_FAILURE(Write(0, 1, true));
  ASSERT_TRUE(store->FlushMemtables().ok());
  AwaitCompactions();
  EXPECT_EQ(Level0Files(), 0);
  EXPECT_EQ(Get(Key(kKeys / 2), &seen).size(), 24U);
  EXPECT_EQ(Get(Key(kKeys / 2)), "-");
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
