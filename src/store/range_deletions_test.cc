// SPDX-License-Identifier: GPL-2.0-only
// Walks beside deletions of ranges.
#include "store/range_deletions.h"

#include <string>

#include "store/store_testing.h"

namespace cairn::store {
namespace {

class RangeDeletionsTest : public ::testing::Test, public StoreFixture {};

// A deletion of a range hides nothing outside of it, and all within it, also where a walk that was elsewhere goes there.
TEST_F(RangeDeletionsTest, DeletionsOfOtherRanges) {
  Open();
  for (const bool flushed : {false, true}) {
    SCOPED_TRACE(flushed);
    for (const char* key : {"a1", "a2", "m1", "m2", "z1"}) ASSERT_TRUE(Put(key, "old", Durability::kOs).ok());
    ASSERT_TRUE(store->CompactRange(Family::kData, {}, {}).ok());
    ASSERT_TRUE(Put("a2", "new", Durability::kOs).ok());
    const Snapshot before = store->TakeSnapshot();
    Batch batch(*store);
    batch.DeleteRange(Family::kData, "m", "n");
    ASSERT_TRUE(store->Write(batch, Durability::kOs).ok());
    if (flushed) {
      ASSERT_TRUE(store->FlushMemtables().ok());
    }
    Cursor cursor;
    const auto walk = [&](const Snapshot* snapshot, ByteView lower, ByteView upper) {
      EXPECT_TRUE(store->OpenCursor(Family::kData, {.snapshot = snapshot, .lower_bound = lower, .upper_bound = upper}, &cursor).ok());
      cursor.SeekToFirst();
      return Forward(cursor);
    };
    for (int turn = 0; turn < 2; ++turn) {
      EXPECT_EQ(walk(nullptr, "a", "b"), "a1=old a2=new");
      EXPECT_EQ(walk(nullptr, "m1", "m2"), "");
      EXPECT_EQ(walk(nullptr, "n", "zz"), "z1=old");
      EXPECT_EQ(walk(nullptr, "a", "zz"), "a1=old a2=new z1=old");
    }
    EXPECT_EQ(walk(&before, "a2", "m2"), "a2=new m1=old");
    cursor.Close();
  }
}

}  // namespace
}  // namespace cairn::store
