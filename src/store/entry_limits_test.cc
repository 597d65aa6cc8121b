// SPDX-License-Identifier: GPL-2.0-only
// What is too large for RocksDB's numbers is refused before it is looked at.
#include "store/entry_limits.h"

#include <sys/mman.h>

#include "store/sorted_load.h"
#include "store/store_testing.h"

namespace cairn::store {
namespace {

using Code = Status::Code;

TEST(EntryLimitsTest, AnEntryHasRoomForWhatIsBesideIt) {
  EXPECT_TRUE(FitsEntry(0, 0));
  EXPECT_TRUE(FitsEntry(16, kEntryBytesMax - 16));
  EXPECT_FALSE(FitsEntry(17, kEntryBytesMax - 16));
  EXPECT_FALSE(FitsEntry(16, kEntryBytesMax - 15));
  EXPECT_TRUE(FitsEntry(kEntryBytesMax, 0));
  EXPECT_FALSE(FitsEntry(kEntryBytesMax + 1, 0));
  EXPECT_FALSE(FitsEntry(0, kEntryBytesMax + 1));
  EXPECT_FALSE(FitsEntry(1, UINT64_MAX));
  EXPECT_FALSE(FitsEntry(UINT64_MAX, UINT64_MAX));
  // Two lengths of five bytes, a trailer and a checksum of eight.
  EXPECT_LE(kEntryBytesMax + 2 * 5 + 2 * 8, UINT32_MAX);
  EXPECT_TRUE(CheckBatch(kBatchChangesMax - 1).ok());
  EXPECT_TRUE(CheckBatch(kBatchChangesMax).Is(Code::kTooLarge));
  EXPECT_LT(kBatchChangesMax, UINT32_MAX);
}

// Addresses without memory: nobody reads it.
class LargeEntryTest : public ::testing::Test, public StoreFixture {
 protected:
  static constexpr size_t kBytes = kEntryBytesMax;

  void SetUp() override {
    at_ = mmap(nullptr, kBytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    ASSERT_NE(at_, MAP_FAILED);
    Open();
  }
  void TearDown() override { munmap(at_, kBytes); }
  ByteView large() const { return AsBytes(at_, kBytes); }

 private:
  void* at_ = MAP_FAILED;
};

TEST_F(LargeEntryTest, ATransactionIsAsItWas) {
  auto transaction = store->BeginWrite();
  ASSERT_TRUE(transaction->Put(Family::kData, "idx1a", "1").ok());
  transaction->Order();
  const Status refused = transaction->Put(Family::kData, "idx1b", large());
  EXPECT_TRUE(refused.Is(Code::kTooLarge)) << refused.ToString();
  EXPECT_TRUE(transaction->Put(Family::kData, large(), "1").Is(Code::kTooLarge));
  EXPECT_EQ(transaction->change_count(), 1u);
  EXPECT_FALSE(transaction->HasChanged("idx1b"));
  ASSERT_TRUE(transaction->Put(Family::kData, "idx1c", "2").ok());
  ASSERT_TRUE(transaction->Commit(Durability::kSync).ok());
  EXPECT_EQ(Get("idx1a") + Get("idx1b") + Get("idx1c"), "1-2");
}

TEST_F(LargeEntryTest, ABatchIsRefusedAsAWhole) {
  Batch batch(*store);
  batch.Put(Family::kData, "idx1b", large());
  EXPECT_TRUE(store->Write(batch, Durability::kSync).Is(Code::kTooLarge));
  batch.Put(Family::kData, "idx1a", "1");
  EXPECT_TRUE(store->Write(batch, Durability::kSync).Is(Code::kTooLarge));
  EXPECT_EQ(Get("idx1a"), "-");
  batch.Clear();
  batch.Put(Family::kData, "idx1a", "1");
  EXPECT_TRUE(store->Write(batch, Durability::kSync).ok());
  EXPECT_EQ(Get("idx1a"), "1");
}

TEST_F(LargeEntryTest, ALoadEnds) {
  SortedLoad load(*store, Family::kData);
  ASSERT_TRUE(load.Add("idx1a", "1").ok());
  EXPECT_TRUE(load.Add("idx1b", large()).Is(Code::kTooLarge));
}

}  // namespace
}  // namespace cairn::store
