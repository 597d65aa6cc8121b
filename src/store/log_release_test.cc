// SPDX-License-Identifier: GPL-2.0-only
// Logs whose rows are in files do not stay for the dictionary's sake, and no log goes early.
#include "store/log_release.h"

#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "store/store_testing.h"

namespace cairn::store {
namespace {

class LogReleaseTest : public ::testing::Test, public StoreFixture {
 protected:
  // A row, and what its commit writes to the dictionary.
  void Write(const std::string& text) {
    Batch batch(*store);
    batch.Put(Family::kData, "row", text);
    batch.Put(Family::kDictionary, "count", text);
    ASSERT_TRUE(store->Write(batch, Durability::kSync).ok());
  }
  // With a new memtable of rows comes a new log.
  void FlushRows() {
    const uint64_t files = Number("flush_write_bytes");
    ASSERT_TRUE(store->CompactRange(Family::kData, "row", "rox").ok());
    ASSERT_GT(Number("flush_write_bytes"), files);
  }
  // The listener may be told of the flush a moment later than the flush's caller.
  void ReleaseUntilLogsAre(size_t count) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (Logs().size() != count) {
      ASSERT_TRUE(store->ReleaseLogs().ok());
      ASSERT_LT(std::chrono::steady_clock::now(), deadline) << Logs().size() << " logs";
      std::this_thread::yield();
    }
  }
  std::vector<std::string> Logs() { return env.Files("/db", ".log"); }
};

TEST_F(LogReleaseTest, TheDictionaryLetsGoOfTheLog) {
  Open();
  ASSERT_NO_FATAL_FAILURE(Write("1"));
  ASSERT_NO_FATAL_FAILURE(FlushRows());
  EXPECT_EQ(Logs().size(), 2u);
  ASSERT_NO_FATAL_FAILURE(ReleaseUntilLogsAre(1));
  EXPECT_EQ(Get("count", nullptr, Family::kDictionary), "1");
  ASSERT_NO_FATAL_FAILURE(Write("2"));
  Crash();
  Open();
  EXPECT_EQ(Get("row"), "2");
  EXPECT_EQ(Get("count", nullptr, Family::kDictionary), "2");
}

TEST_F(LogReleaseTest, OnceForEachFlush) {
  Open();
  ASSERT_NO_FATAL_FAILURE(Write("1"));
  ASSERT_NO_FATAL_FAILURE(FlushRows());
  ASSERT_NO_FATAL_FAILURE(ReleaseUntilLogsAre(1));
  ASSERT_NO_FATAL_FAILURE(Write("2"));
  const size_t files = env.Files("/db", ".sst").size();
  ASSERT_TRUE(store->ReleaseLogs().ok());
  // What it would have begun were done before this one.
  ASSERT_TRUE(Put("other", "3").ok());
  ASSERT_NO_FATAL_FAILURE(FlushRows());
  EXPECT_LE(env.Files("/db", ".sst").size(), files + 1);
  EXPECT_EQ(Get("count", nullptr, Family::kDictionary), "2");
}

TEST_F(LogReleaseTest, WhatIsPreparedKeepsItsLog) {
  Open();
  auto prepared = store->BeginWrite();
  ASSERT_TRUE(prepared->Put(Family::kData, "prepared", "p").ok());
  ASSERT_TRUE(prepared->Prepare("x", Durability::kSync).ok());
  const std::string its_log = Logs().front();
  for (int log = 0; log < 3; ++log) {
    ASSERT_NO_FATAL_FAILURE(Write(std::to_string(log)));
    ASSERT_NO_FATAL_FAILURE(FlushRows());
  }
  // Those between that of the prepared one and the newest may stay as long as it does.
  const uint64_t flushed = Number("flush_write_bytes");
  while (Number("flush_write_bytes") == flushed) ASSERT_TRUE(store->ReleaseLogs().ok());
  for (const char* text : {"4", "5"}) {
    ASSERT_NO_FATAL_FAILURE(Write(text));
    ASSERT_NO_FATAL_FAILURE(FlushRows());
  }
  ASSERT_EQ(Logs().front(), its_log);
  ASSERT_TRUE(prepared->Commit(Durability::kSync).ok());
  prepared.reset();
  Crash();
  Open();
  EXPECT_EQ(Get("prepared"), "p");
  EXPECT_EQ(Get("count", nullptr, Family::kDictionary), "5");
}

// Not where a flush would find no room; where writes are only refused, it makes some.
TEST_F(LogReleaseTest, AsLongAsThereIsRoomForAFlush) {
  options.free_space_reserve_bytes = uint64_t{100} << 20;
  Open();
  ASSERT_NO_FATAL_FAILURE(Write("1"));
  ASSERT_NO_FATAL_FAILURE(FlushRows());
  env.SetFreeBytes(uint64_t{30} << 20);
  store->CheckFreeSpace();
  ASSERT_EQ(store->write_gate(), WriteGate::kNoSpace);
  const uint64_t flushed = Number("flush_write_bytes");
  for (int calls = 0; calls < 100; ++calls) ASSERT_TRUE(store->ReleaseLogs().ok());
  EXPECT_EQ(Number("flush_write_bytes"), flushed);
  EXPECT_EQ(Logs().size(), 2u);
  env.SetFreeBytes(uint64_t{60} << 20);
  store->CheckFreeSpace();
  ASSERT_EQ(store->write_gate(), WriteGate::kNoSpace);
  ASSERT_NO_FATAL_FAILURE(ReleaseUntilLogsAre(1));
  EXPECT_EQ(Get("row"), "1");
}

}  // namespace
}  // namespace cairn::store
