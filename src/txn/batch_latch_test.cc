// SPDX-License-Identifier: GPL-2.0-only
// Looks that take long, and the owner beside them.
#include "txn/batch_latch.h"

#include <future>
#include <thread>

#include <gtest/gtest.h>

namespace cairn::txn {
namespace {

class BatchLatchTest : public ::testing::Test {
 protected:
  // The state that all is in at the end, too.
  void ExpectFree() {
    EXPECT_FALSE(latch.is_wanted());
    ASSERT_TRUE(latch.TryLook());
    latch.EndLook();
  }
  std::future<void> MarkSoonElsewhere() {
    auto marked = std::async(std::launch::async, [this] { latch.MarkSoon(); });
    while (!latch.is_wanted()) std::this_thread::yield();
    return marked;
  }

  BatchLatch latch;
};

TEST_F(BatchLatchTest, TheOwnerSleepsUntilALongLookEnds) {
  ASSERT_TRUE(latch.TryLook());
  latch.MarkLook();
  EXPECT_FALSE(latch.TryLook());
  auto changed = std::async(std::launch::async, [this] { BatchLatch::Hold hold(latch); });
  while (!latch.is_awaited()) std::this_thread::yield();
  EXPECT_FALSE(latch.is_wanted());
  latch.EndLook();
  changed.get();
  ExpectFree();
}

TEST_F(BatchLatchTest, ALongLookHearsOfAnOwnerInAHurry) {
  ASSERT_TRUE(latch.TryLook());
  latch.MarkLook();
  auto marked = MarkSoonElsewhere();
  latch.EndLook();
  marked.get();
  EXPECT_FALSE(latch.TryLook());
  latch.Unmark();
  ExpectFree();
}

TEST_F(BatchLatchTest, WhoSleepsIsToldWhoseTheMarkIs) {
  EXPECT_FALSE(latch.AwaitUnmarked());
  for (const bool is_look : {true, false}) {
    if (is_look) {
      ASSERT_TRUE(latch.TryLook());
      latch.MarkLook();
    } else {
      latch.Mark();
    }
    auto first = std::async(std::launch::async, [this] { return latch.AwaitUnmarked(); });
    while (!latch.is_awaited()) std::this_thread::yield();
    EXPECT_EQ(latch.AwaitUnmarked(), is_look);  // the second one to sleep
    is_look ? latch.EndLook() : latch.Unmark();
    EXPECT_EQ(first.get(), is_look);
  }
  ExpectFree();
}

TEST_F(BatchLatchTest, NobodyGetsInBeforeAnOwnerInAHurry) {
  ASSERT_TRUE(latch.TryLook());
  auto marked = MarkSoonElsewhere();
  EXPECT_FALSE(latch.TryLook());
  latch.EndLook();
  marked.get();
  latch.Unmark();
  ExpectFree();
}

}  // namespace
}  // namespace cairn::txn
