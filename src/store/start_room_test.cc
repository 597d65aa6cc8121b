// SPDX-License-Identifier: GPL-2.0-only
// Starts with little room on the disk, or none: what is there is seen, or the error says what is missing.
#include <algorithm>

#include <gtest/gtest.h>
#include <rocksdb/env.h>

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
  std::vector<std::string> DataFiles() { return env.Files("/db", ".sst"); }
  // The disk is full from the first write on, and nothing changes by such a start.
  void ExpectRefusedAndNothingDeleted() {
    const std::vector<std::string> files = DataFiles();
    env.SetFreeBytes(0);
    env.FailWrites("/db", 1);
    ASSERT_NO_FATAL_FAILURE(ExpectRefused("simulated lack of space"));
    env.Heal();
    EXPECT_EQ(DataFiles(), files);
  }
  std::string TextOf(const std::string& path) {
    std::string text;
    EXPECT_TRUE(rocks::ReadFileToString(env.rocks_env(), path, &text).ok());
    return text;
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

TEST_F(StartRoomTest, DataFilesThatACrashHasLeftGoBeforeRoomIsNeeded) {
  ASSERT_TRUE(store->FlushMemtables().ok());
  const std::vector<std::string> needed = DataFiles();
  ASSERT_FALSE(needed.empty());
  ASSERT_NO_FATAL_FAILURE(LeaveRowsToTheNextStart());
  for (const char* name : {"999999.sst", "999998.sst.trash", "999997.sst0.trash"}) env.WriteFile(std::string("/db/") + name, "left");
  const std::vector<std::string> others = {"/db/999996.sst.copy", "/db/a999995.sst", "/db/999994.sstx.trash", "/db/999993.sst,trash"};
  for (const std::string& path : others) env.WriteFile(path, "not the engine's");
  const std::vector<std::string> waiting = WaitingFiles();
  env.SetFreeBytes(0);
  env.FailWrites("/db", 1);
  ASSERT_NO_FATAL_FAILURE(ExpectRefused("simulated lack of space"));
  std::vector<std::string> left = others;
  left.insert(left.end(), needed.begin(), needed.end());
  std::ranges::sort(left);
  EXPECT_EQ(DataFiles(), left);
  EXPECT_EQ(WaitingFiles(), waiting);
  EXPECT_NE(log.text().find("that a crash, or a start without room, has left"), std::string::npos) << log.text();
  env.Heal();
  ASSERT_NO_FATAL_FAILURE(ExpectAll());
}

// The names under which the load's files were to be taken over go, and the files stay.
TEST_F(StartRoomTest, FilesOfAPreparedLoadStay) {
  ASSERT_TRUE(store->FlushMemtables().ok());
  const std::vector<std::string> needed = DataFiles();
  {
    auto transaction = store->BeginWrite();
    ASSERT_TRUE(Attach(*transaction).ok());
    ASSERT_TRUE(transaction->Prepare("name", Durability::kSync).ok());
    env.Freeze();
  }
  Crash();
  const std::vector<std::string> waiting = WaitingFiles();
  ASSERT_EQ(waiting.size(), 2u);
  EXPECT_GT(DataFiles().size(), needed.size());
  env.SetFreeBytes(0);
  env.FailWrites("/db", 1);
  ASSERT_NO_FATAL_FAILURE(ExpectRefused("simulated lack of space"));
  env.Heal();
  EXPECT_EQ(DataFiles(), needed);
  EXPECT_EQ(WaitingFiles(), waiting);
  env.SetFreeBytes(uint64_t{1} << 40);
  Open();
  auto found = store->TakeRecovered();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_TRUE(found[0]->Commit(Durability::kSync).ok());
  EXPECT_EQ(Loaded(), "all");
  EXPECT_EQ(Get("k"), std::string(1000, 'v'));
}

// Else each of them would leave less room than it has found.
TEST_F(StartRoomTest, AStartWithoutRoomTakesWhatItHasWrittenAway) {
  constexpr int kLongRows = 50;
  const std::string value(100'000, 'v');
  ASSERT_TRUE(store->FlushMemtables().ok());
  for (int row = 0; row < kLongRows; ++row) ASSERT_TRUE(Put(Key(1, row), value, Durability::kOs).ok());
  Kill();
  options.expert_family_options = "write_buffer_size=1000000;disable_auto_compactions=true";
  const std::vector<std::string> needed = DataFiles();
  env.SetFreeBytes(0);
  uint64_t count = 1;
  for (;; ++count) {
    SCOPED_TRACE(count);
    env.FailWrites(".sst", count);
    const Status status = Store::Open(options, &store);
    env.Heal();
    if (status.ok()) break;
    ASSERT_TRUE(status.Is(Code::kNoSpace)) << status.ToString();
    ASSERT_EQ(DataFiles(), needed);
  }
  EXPECT_GT(count, 5u);
  EXPECT_NE(log.text().find("that a crash, or a start without room, has left"), std::string::npos) << log.text();
  for (int row = 0; row < kLongRows; ++row) ASSERT_EQ(Get(Key(1, row)), value) << row;
  EXPECT_EQ(Get("k"), std::string(1000, 'v'));
}

TEST_F(StartRoomTest, NoDataFileGoesUnlessTheManifestIsUnderstood) {
  ASSERT_TRUE(store->FlushMemtables().ok());
  const std::vector<std::string> needed = DataFiles();
  ASSERT_FALSE(needed.empty());
  Kill();
  for (const char* name : {"999999.sst", "999998.sst.trash"}) env.WriteFile(std::string("/db/") + name, "left");
  const std::string current = TextOf("/db/CURRENT");
  ASSERT_TRUE(current.starts_with("MANIFEST-")) << current;
  const std::string path = "/db/" + current.substr(0, current.size() - 1);
  const std::string manifest = TextOf(path), data = TextOf(needed[0]);

  std::string damaged = manifest;
  damaged[damaged.size() / 2] = static_cast<char>(damaged[damaged.size() / 2] ^ 1);
  for (const std::string& text : {damaged, manifest.substr(0, manifest.size() - 1), manifest.substr(0, manifest.size() - 8)}) {
    env.WriteFile(path, text);
    ASSERT_NO_FATAL_FAILURE(ExpectRefusedAndNothingDeleted());
  }
  env.WriteFile(path, manifest);
  env.WriteFile("/db/CURRENT", current.substr(0, current.size() - 1));
  ASSERT_NO_FATAL_FAILURE(ExpectRefusedAndNothingDeleted());
  env.WriteFile("/db/CURRENT", current);
  ASSERT_TRUE(env.rocks_env()->DeleteFile(needed[0]).ok());
  ASSERT_NO_FATAL_FAILURE(ExpectRefusedAndNothingDeleted());
  env.WriteFile(needed[0], data);
  EXPECT_NE(log.text().find("cannot delete data files that nobody needs: "), std::string::npos) << log.text();

  env.FailWrites("/db", 1);
  ASSERT_NO_FATAL_FAILURE(ExpectRefused("simulated lack of space"));
  env.Heal();
  EXPECT_EQ(DataFiles(), needed);
  env.SetFreeBytes(uint64_t{1} << 40);
  Open();
  EXPECT_EQ(Get("k"), std::string(1000, 'v'));
}

// With room it is left to RocksDB, which does it once the store is open.
TEST_F(StartRoomTest, WithRoomNothingIsDeletedBeforeTheStoreIsOpen) {
  Kill();
  env.WriteFile("/db/999999.sst", "left");
  env.FailWrites("/db", 1);
  EXPECT_FALSE(Store::Open(options, &store).ok());
  EXPECT_EQ(DataFiles(), std::vector<std::string>{"/db/999999.sst"});
  env.Heal();
  Open();
  EXPECT_EQ(Get("k"), std::string(1000, 'v'));
}

}  // namespace
}  // namespace cairn::store
