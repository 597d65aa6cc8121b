// SPDX-License-Identifier: GPL-2.0-only
// Loads whose files are lost, whose names were not synced, and whose second start fails as well.
#include <gtest/gtest.h>

#include <rocksdb/env.h>

#include "store/load_testing.h"

namespace cairn::store {
namespace {

using Code = Status::Code;

class LoadFaultTest : public ::testing::Test, public LoadFixture {
 protected:
  void SetUp() override {
    options.on_wal_failure = [this](const Status& status) {
      ++stops;
      reason = status.ToString();
      env.Freeze();  // as the process ends
    };
    Open();
  }

  void Rename(const std::string& from, const std::string& to) { ASSERT_TRUE(env.rocks_env()->RenameFile(from, to).ok()); }

  void LeavePrepared() {
    auto transaction = store->BeginWrite();
    ASSERT_TRUE(Attach(*transaction).ok());
    ASSERT_TRUE(transaction->Prepare("name", Durability::kSync).ok());
    transaction.reset();
    Crash();
    ASSERT_EQ(WaitingFiles().size(), 2u);
  }
  void RemoveAll() {
    ASSERT_NO_FATAL_FAILURE(ExpectRemovable());
    ASSERT_NO_FATAL_FAILURE(RemoveCounters());
  }

  int stops = 0;
  std::string reason;
};

TEST_F(LoadFaultTest, APreparedLoadThatLostAFileStopsUntilItIsBack) {
  ASSERT_NO_FATAL_FAILURE(LeavePrepared());
  const std::string file = WaitingFiles()[1];
  ASSERT_NO_FATAL_FAILURE(Rename(file, "/db/elsewhere"));
  Open();
  {
    auto found = store->TakeRecovered();
    ASSERT_EQ(found.size(), 1u);
    const Status status = found[0]->Commit(Durability::kSync);
    EXPECT_TRUE(status.Is(Code::kCorruption)) << status.ToString();
    EXPECT_EQ(stops, 1);
    EXPECT_NE(reason.find(file + " is missing"), std::string::npos) << reason;
    EXPECT_NE(reason.find("prepared transaction name"), std::string::npos) << reason;
    EXPECT_FALSE(Put("k", "v").ok());
  }
  store.reset();
  env.Thaw();
  ASSERT_NO_FATAL_FAILURE(Rename("/db/elsewhere", file));
  Open();
  auto found = store->TakeRecovered();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_TRUE(found[0]->Commit(Durability::kSync).ok());
  EXPECT_EQ(Loaded(), "all");
}

TEST_F(LoadFaultTest, APreparedLoadThatCannotBeStagedOnceIsCommittedAtTheNextStart) {
  ASSERT_NO_FATAL_FAILURE(LeavePrepared());
  Open();
  {
    auto found = store->TakeRecovered();
    ASSERT_EQ(found.size(), 1u);
    env.FailNames(".sst", 1);
    EXPECT_FALSE(found[0]->Commit(Durability::kSync).ok());
    EXPECT_EQ(stops, 1);
  }
  env.Heal();
  Crash();
  Open();
  auto found = store->TakeRecovered();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(Loaded(), "none");
  EXPECT_TRUE(found[0]->Commit(Durability::kSync).ok());
  EXPECT_EQ(Loaded(), "all");
}

// Its rollback needs no files.
TEST_F(LoadFaultTest, APreparedLoadThatLostFilesCanBeRolledBack) {
  ASSERT_NO_FATAL_FAILURE(LeavePrepared());
  ASSERT_TRUE(env.rocks_env()->DeleteFile(WaitingFiles()[0]).ok());
  Open();
  auto found = store->TakeRecovered();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_TRUE(found[0]->Rollback().ok());
  EXPECT_EQ(stops, 0);
  EXPECT_TRUE(WaitingFiles().empty());
  EXPECT_TRUE(CommitLoad().ok());
  EXPECT_EQ(Loaded(), "all");
}

TEST_F(LoadFaultTest, WhoLivesWithDamageOpensWithoutTheRows) {
  ASSERT_TRUE(Put("k", "kept").ok());
  ASSERT_NO_FATAL_FAILURE(LeaveCommitted());
  const std::vector<std::string> files = WaitingFiles();
  ASSERT_TRUE(env.Truncate("/db/loads", files[1].substr(std::string("/db/loads/").size()), 100));
  const Status refused = Store::Open(options, &store);
  EXPECT_TRUE(refused.Is(Code::kCorruption)) << refused.ToString();
  EXPECT_NE(refused.message().find(files[0]), ByteView::npos) << refused.ToString();
  EXPECT_EQ(WaitingFiles(), files);

  options.expert_db_options = "wal_recovery_mode=kPointInTimeRecovery";
  Open();
  EXPECT_NE(log.text().find("rows are lost"), std::string::npos) << log.text();
  EXPECT_NE(log.text().find("indexes 1 2"), std::string::npos) << log.text();
  EXPECT_EQ(Loaded(), "0 rows, counted 1");
  EXPECT_EQ(Records(), 0);
  EXPECT_EQ(env.Files("/db/loads", "lost-").size(), 2u);
  options.expert_db_options.clear();
  Reopen();
  EXPECT_EQ(Get("k"), "kept");
  EXPECT_EQ(env.Files("/db/loads", "lost-").size(), 2u);
  EXPECT_TRUE(CommitLoad().ok());
  EXPECT_EQ(Loaded(), "all");
}

// The start that brings the rows fails in turn, in each of its writes and changes of names.
TEST_F(LoadFaultTest, ASecondStartMayFailAnywhere) {
  for (const bool names : {false, true}) {
    for (const bool loses_power : {false, true}) {
      for (int count = 1;; ++count) {
        SCOPED_TRACE((names ? "name " : "write ") + std::to_string(count));
        ASSERT_NO_FATAL_FAILURE(LeaveCommitted());
        const uint64_t failed_before = env.failed_write_count();
        names ? env.FailNames("/db", count) : env.FailWrites("/db", count);
        const Status status = Store::Open(options, &store);
        const bool is_over = env.failed_write_count() == failed_before;
        EXPECT_TRUE(status.ok() || !is_over) << status.ToString();
        env.Freeze();
        env.Heal();
        store.reset();
        loses_power ? env.LoseUnsynced() : env.Thaw();
        Open();
        EXPECT_EQ(Loaded(), "all");
        EXPECT_EQ(Records(), 0);
        EXPECT_TRUE(WaitingFiles().empty());
        ASSERT_NO_FATAL_FAILURE(RemoveAll());
        if (HasFailure()) return;
        if (is_over) break;
      }
    }
  }
}

// As PendingLoadTest.AnyFailingWriteLeavesAllOrNothing. What the file system refuses to do is done row by row.
TEST_F(LoadFaultTest, AnyRefusedNameLeavesAllOrNothing) {
  for (const bool loses_power : {false, true}) {
    for (int count = 1;; ++count) {
      SCOPED_TRACE("name " + std::to_string(count));
      const uint64_t failed_before = env.failed_write_count();
      env.FailNames("/db", count);
      bool is_prepared = false, is_committed = false;
      {
        auto transaction = store->BeginWrite();
        Status status = Attach(*transaction);
        EXPECT_TRUE(status.ok() || status.Is(Code::kBusy) || status.Is(Code::kIoError)) << status.ToString();
        if (status.ok()) status = transaction->Prepare("name", Durability::kSync);
        is_prepared = status.ok();
        if (status.ok()) status = transaction->Commit(Durability::kSync);
        is_committed = status.ok();
      }
      const bool is_over = env.failed_write_count() == failed_before;
      EXPECT_TRUE(is_committed || !is_over);
      env.Freeze();
      env.Heal();
      store.reset();
      loses_power ? env.LoseUnsynced() : env.Thaw();
      Open();
      auto found = store->TakeRecovered();
      EXPECT_TRUE(found.empty() || !is_committed);
      const bool was_found = !found.empty();
      EXPECT_TRUE(!was_found || found[0]->Commit(Durability::kSync).ok());
      found.clear();
      EXPECT_EQ(Loaded(), is_prepared || was_found ? "all" : "none");
      EXPECT_EQ(Records(), 0);
      EXPECT_TRUE(WaitingFiles().empty());
      if (Loaded() == "all") {
        ASSERT_NO_FATAL_FAILURE(RemoveAll());
      }
      if (HasFailure()) return;
      if (is_over) break;
    }
  }
}

// Power takes back all names whose folders were not synced.
TEST_F(LoadFaultTest, NamesAreSyncedBeforeTheyAreCountedOn) {
  env.LoseNames();
  store.reset();
  options.directory = "/db";
  Open();
  ASSERT_NO_FATAL_FAILURE(LeavePrepared());
  Open();
  auto found = store->TakeRecovered();
  ASSERT_EQ(found.size(), 1u);
  ASSERT_TRUE(found[0]->Commit(Durability::kSync).ok());
  found.clear();
  EXPECT_EQ(Loaded(), "all");
  Crash();
  Open();
  EXPECT_EQ(Loaded(), "all");
  ASSERT_NO_FATAL_FAILURE(RemoveAll());
  ASSERT_NO_FATAL_FAILURE(LeaveCommitted());
  Open();
  EXPECT_EQ(Loaded(), "all");
  Crash();
  Open();
  EXPECT_EQ(Loaded(), "all");
}

// The record is gone for good before the row by which the rest is found to be there may go.
TEST_F(LoadFaultTest, RemovingTheFirstRowIsNotTakenForALoadThatDidNotCome) {
  ASSERT_TRUE(CommitLoad().ok());
  Batch batch(*store);
  batch.SingleDelete(Family::kData, Key(1, 0));
  ASSERT_TRUE(store->Write(batch, Durability::kBuffered).ok());
  ASSERT_TRUE(store->FlushMemtables().ok());
  Crash();
  Open();
  EXPECT_EQ(Get(Key(1, 0)), "-");
  EXPECT_EQ(Get(Key(1, 1)), "loaded");
  EXPECT_EQ(Records(), 0);
}

TEST_F(LoadFaultTest, ARefusedCommitLeavesNoFiles) {
  auto transaction = store->BeginWrite();
  ASSERT_TRUE(Attach(*transaction).ok());
  env.SetFreeBytes(1000);
  store->CheckFreeSpace();
  EXPECT_TRUE(transaction->Commit(Durability::kSync).Is(Code::kNoSpace));
  ASSERT_TRUE(transaction->Rollback().ok());
  EXPECT_TRUE(WaitingFiles().empty());
  EXPECT_EQ(stops, 0);
  std::unique_ptr<PendingLoad> load;
  EXPECT_TRUE(MakeLoad(&load).Is(Code::kNoSpace));
  env.SetFreeBytes(uint64_t{1} << 40);
  store->CheckFreeSpace();
  EXPECT_TRUE(CommitLoad().ok());
  EXPECT_EQ(Loaded(), "all");
}

}  // namespace
}  // namespace cairn::store
