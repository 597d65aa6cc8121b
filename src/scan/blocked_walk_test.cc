// SPDX-License-Identifier: GPL-2.0-only
// A locking walk that has to wait for one row leaves those behind it alone.
#include <atomic>
#include <chrono>
#include <future>
#include <thread>

#include <gtest/gtest.h>

#include "scan/index_scan.h"
#include "scan/scan_testing.h"

namespace cairn::scan {
namespace {

using Code = Status::Code;

class BlockedWalkTest : public ::testing::Test, public ScanFixture {
 protected:
  void SetUp() override { OpenAll(); }

  // How a walk over a whole index ends that locks ranges, gets no row and does not wait.
  Status Walk(txn::Transaction& transaction, size_t index) {
    ReadMode mode = Locking();
    mode.ranges = true;
    RowReader reader;
    IndexScan scan;
    FoundRow row;
    transaction.StartStatement();
    reader.Bind(store.get(), &transaction, access.get(), mode);
    scan.Open(&reader, {.index = index});
    const auto [lower, upper] = Whole(index);
    return scan.First(lower, upper, &row);
  }
};

// Somebody tries all the time to lock the row behind: the walk would have it for moments only.
TEST_F(BlockedWalkTest, ARowBehindOneThatIsWaitedForIsLeftAlone) {
  CommitRows({{5, 5, 5}});
  auto writer = Begin(), walker = Begin(), locker = Begin();
  writer->StartStatement();
  ASSERT_TRUE(PutRow(*writer, {3, 3, 3}).ok());
  std::atomic<bool> ends = false;
  std::thread walking([&] {
    for (int i = 0; i < 3000; ++i) {
      for (const size_t index : {kPrimary, kUnique}) EXPECT_TRUE(Walk(*walker, index).Is(Code::kLockBusy));
    }
    ends = true;
  });
  locker->StartStatement();
  int refused = 0;
  while (!ends) {
    txn::LockResult lock;
    const Status status = locker->Lock(PrimaryKey(5), txn::kNoWait, &lock);
    status.ok() ? locker->GiveBack(lock) : static_cast<void>(++refused);
  }
  walking.join();
  EXPECT_EQ(refused, 0);
}

// Nobody has locked what it walks over, but what the commit brings there is not known before it is over.
TEST_F(BlockedWalkTest, ALongCommitIsNotWaitedForByWhoDoesNotWait) {
  auto writer = Begin(), walker = Begin();
  writer->StartStatement();
  ASSERT_TRUE(PutRow(*writer, {3, 3, 3}).ok());
  env.HoldWrites(".log");
  auto committed = std::async(std::launch::async, [&] { return writer->Commit(store::Durability::kOs); });
  env.AwaitHeldWrite();
  auto walked = std::async(std::launch::async, [&] { return Walk(*walker, kPrimary); });
  EXPECT_EQ(walked.wait_for(std::chrono::seconds(20)), std::future_status::ready);
  env.ReleaseWrites();
  EXPECT_TRUE(walked.get().Is(Code::kLockBusy));
  EXPECT_TRUE(committed.get().ok());
}

}  // namespace
}  // namespace cairn::scan
