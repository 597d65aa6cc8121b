// SPDX-License-Identifier: GPL-2.0-only
// Starts with little room on the disk, or none: what is there is seen, or the error says what is missing.
#include <gtest/gtest.h>

#include "store/load_testing.h"

namespace cairn::store {
namespace {

using Code = Status::Code;

class StartRoomTest : public ::testing::Test, public LoadFixture {
 protected:
  void SetUp() override {
    options.on_wal_failure = [this](const Status&) {
      ++stops;
      env.Freeze();  // as the process ends
    };
    Open();
    ASSERT_TRUE(Put("k", std::string(1000, 'v')).ok());
  }
  void LeaveRowsToTheNextStart() {
    ASSERT_NO_FATAL_FAILURE(LeaveCommitted());
    stops = 0;
  }
  void ExpectRefused(const std::string& reason) {
    const Status status = Store::Open(options, &store);
    EXPECT_TRUE(status.Is(Code::kNoSpace)) << status.ToString();
    for (const std::string& part : {reason, std::string("its file system has 0 MB of free space, and a start needs up to 16 MB"),
                                    std::string("start again")}) {
      EXPECT_NE(status.message().find(part), ByteView::npos) << status.ToString();
    }
    EXPECT_EQ(stops, 0);
    store.reset();
  }
  void ExpectAll() {
    env.SetFreeBytes(uint64_t{1} << 40);
    Open();
    EXPECT_EQ(Loaded(), "all");
    EXPECT_EQ(Records(), 0);
    EXPECT_TRUE(WaitingFiles().empty());
    EXPECT_EQ(Get("k"), std::string(1000, 'v'));
    EXPECT_EQ(stops, 0);
    EXPECT_TRUE(Put("k", "another").ok());
  }

  int stops = 0;
};

// Reads go on below the reserve, and committed rows are among what is read.
TEST_F(StartRoomTest, BelowTheReserveCommittedRowsAreThere) {
  ASSERT_NO_FATAL_FAILURE(LeaveRowsToTheNextStart());
  env.SetFreeBytes(uint64_t{20} << 20);
  Open();
  EXPECT_EQ(Loaded(), "all");
  EXPECT_TRUE(WaitingFiles().empty());
  EXPECT_TRUE(Put("k", "another").Is(Code::kNoSpace));
  EXPECT_EQ(stops, 0);
  store.reset();
  ASSERT_NO_FATAL_FAILURE(ExpectAll());
}

TEST_F(StartRoomTest, RowsThatCannotBeTakenOverWaitForAStartWithRoom) {
  ASSERT_NO_FATAL_FAILURE(LeaveRowsToTheNextStart());
  const std::vector<std::string> files = WaitingFiles();
  env.SetFreeBytes(100'000);
  for (int start = 0; start < 2; ++start) {
    ASSERT_NO_FATAL_FAILURE(ExpectRefused("committed rows wait in " + files[0] + " and 1 more"));
    EXPECT_EQ(WaitingFiles(), files);
  }
  ASSERT_NO_FATAL_FAILURE(ExpectAll());
}

TEST_F(StartRoomTest, AStartOnAFullDiskSaysWhatIsMissing) {
  ASSERT_NO_FATAL_FAILURE(LeaveRowsToTheNextStart());
  env.SetFreeBytes(0);
  env.FailWrites("/db", 1);
  ASSERT_NO_FATAL_FAILURE(ExpectRefused("simulated lack of space"));
  env.Heal();
  env.FailNames("/db", 1);
  ASSERT_NO_FATAL_FAILURE(ExpectRefused("simulated lack of space"));
  env.Heal();
  EXPECT_EQ(WaitingFiles().size(), 2u);
  ASSERT_NO_FATAL_FAILURE(ExpectAll());
}

// A sort that a crash has ended may be what fills the disk. It is gone when the start needs room, whether that is enough or not.
TEST_F(StartRoomTest, TemporaryFilesGoBeforeRoomIsNeeded) {
  ASSERT_NO_FATAL_FAILURE(LeaveRowsToTheNextStart());
  env.WriteFile("/db/temporary/9.run", "left");
  env.SetFreeBytes(0);
  env.FailWrites("/db", 1);
  ASSERT_NO_FATAL_FAILURE(ExpectRefused("simulated lack of space"));
  EXPECT_TRUE(env.Files("/db/temporary", ".").empty());
  env.Heal();
  ASSERT_NO_FATAL_FAILURE(ExpectAll());
}

}  // namespace
}  // namespace cairn::store
