// SPDX-License-Identifier: GPL-2.0-only
// Transactions that ask before their end whether it will be refused.
#include <gtest/gtest.h>

#include "store/store_testing.h"

namespace cairn::store {
namespace {

using Code = Status::Code;

class AdmitTest : public ::testing::Test, public StoreFixture {
 protected:
  void SetUp() override {
    options.free_space_reserve_bytes = 1 << 20;
    Open();
  }

  void SetFreeBytes(uint64_t bytes) {
    env.SetFreeBytes(bytes);
    store->CheckFreeSpace();
  }
  std::unique_ptr<WriteTransaction> Begin(ByteView key) {
    auto writes = store->BeginWrite();
    EXPECT_TRUE(writes->Put(Family::kData, key, "1").ok());
    return writes;
  }
};

// By the end, the binary log has it.
TEST_F(AdmitTest, WhatWasLetThroughMayEndOnAFullDisk) {
  auto committed = Begin("a");
  auto prepared = Begin("b");
  ASSERT_TRUE(committed->Admit().ok());
  ASSERT_TRUE(prepared->Admit().ok());
  SetFreeBytes(1000);
  EXPECT_TRUE(committed->Admit().ok());
  EXPECT_TRUE(committed->Commit(Durability::kOs).ok());
  EXPECT_TRUE(prepared->Prepare("x", Durability::kSync).ok());
  EXPECT_TRUE(prepared->Admit().Is(Code::kInvalidArgument));
  EXPECT_TRUE(prepared->Commit(Durability::kOs).ok());
  EXPECT_EQ(Get("a") + Get("b"), "11");
}

// A log that cannot be written ends the process, also that of a DROP.
TEST_F(AdmitTest, WhatReclaimsSpaceNeedsRoomForTheLogAndLooksForIt) {
  const auto drop = [&] {
    Batch batch(*store);
    batch.Put(Family::kDictionary, "dropped", "1");
    return store->Write(batch, Durability::kSync, Urgency::kReclaimsSpace);
  };
  SetFreeBytes(options.free_space_reserve_bytes / 32);
  EXPECT_TRUE(drop().ok());
  env.SetFreeBytes(options.free_space_reserve_bytes / 128);
  EXPECT_TRUE(drop().Is(Code::kNoSpace));
  EXPECT_TRUE(store->DropRange(Family::kData, "a", "b").ok()) << "there is nothing to write";
  env.SetFreeBytes(uint64_t{1} << 40);
  EXPECT_TRUE(drop().ok());
}

TEST_F(AdmitTest, EachTransactionIsAskedForAnew) {
  auto writes = Begin("a");
  ASSERT_TRUE(writes->Admit().ok());
  ASSERT_TRUE(writes->Rollback().ok());
  SetFreeBytes(1000);
  writes->Restart();
  ASSERT_TRUE(writes->Put(Family::kData, "a", "1").ok());
  EXPECT_TRUE(writes->Admit().Is(Code::kNoSpace));
  EXPECT_TRUE(writes->Commit(Durability::kOs).Is(Code::kNoSpace));
  SetFreeBytes(uint64_t{1} << 40);
  EXPECT_TRUE(writes->Admit().ok());
  EXPECT_TRUE(writes->Commit(Durability::kOs).ok());
  EXPECT_EQ(Get("a"), "1");
}

TEST_F(AdmitTest, AStoreThatIsClosedByAnErrorRefuses) {
  auto admitted = Begin("a");
  ASSERT_TRUE(admitted->Admit().ok());
  ASSERT_TRUE(Put("k", "1").ok());
  env.FailWrites(".sst", 1);
  ASSERT_FALSE(store->FlushMemtables().ok());
  auto late = Begin("b");
  EXPECT_FALSE(late->Admit().ok());
  EXPECT_FALSE(admitted->Commit(Durability::kOs).ok());
  EXPECT_TRUE(admitted->Rollback().ok());
}

}  // namespace
}  // namespace cairn::store
