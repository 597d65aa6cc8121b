// SPDX-License-Identifier: GPL-2.0-only
// Compactions are held up for as long as anybody wants it.
#include "store/compaction_hold.h"

#include <memory>
#include <optional>

#include <gtest/gtest.h>

#include <rocksdb/env.h>

namespace cairn::store {
namespace {

class CompactionHoldTest : public ::testing::Test {
 protected:
  void Open(bool held) {
    rocks::Options options;
    options.env = env_.get();
    options.create_if_missing = true;
    options.disable_auto_compactions = held;
    ASSERT_TRUE(rocks::DB::Open(options, "/db", &db_).ok());
    hold_ = std::make_unique<CompactionHold>(db_.get(), db_->DefaultColumnFamily());
  }
  bool Held() { return db_->GetOptions().disable_auto_compactions; }

  const std::unique_ptr<rocks::Env> env_{rocks::NewMemEnv(rocks::Env::Default())};
  std::unique_ptr<rocks::DB> db_;
  std::unique_ptr<CompactionHold> hold_;
};

TEST_F(CompactionHoldTest, ThePaceSetsAllAtOnce) {
  ASSERT_NO_FATAL_FAILURE(Open(true));
  EXPECT_TRUE(hold_->SetPace(false, {{"level0_file_num_compaction_trigger", "17"}}).ok());
  EXPECT_FALSE(Held());
  EXPECT_EQ(db_->GetOptions().level0_file_num_compaction_trigger, 17);
  EXPECT_FALSE(hold_->SetPace(true, {{"no_such_option", "1"}}).ok());
  EXPECT_FALSE(Held());
}

TEST_F(CompactionHoldTest, TheLastOfSeveralCommitsLetsThemGo) {
  ASSERT_NO_FATAL_FAILURE(Open(false));
  std::optional<CompactionHold::Commit> first(*hold_), second(*hold_);
  EXPECT_TRUE(Held());
  first.reset();
  EXPECT_TRUE(Held());
  second.reset();
  EXPECT_FALSE(Held());
}

// Which would have a full level 0 stop the commit.
TEST_F(CompactionHoldTest, APaceThatLetsThemGoLeavesACommitAlone) {
  ASSERT_NO_FATAL_FAILURE(Open(true));
  std::optional<CompactionHold::Commit> commit(*hold_);
  EXPECT_TRUE(hold_->SetPace(false, {}).ok());
  EXPECT_TRUE(Held());
  commit.reset();
  EXPECT_FALSE(Held());
}

TEST_F(CompactionHoldTest, ACommitLeavesThePaceAlone) {
  ASSERT_NO_FATAL_FAILURE(Open(false));
  std::optional<CompactionHold::Commit> commit(*hold_);
  EXPECT_TRUE(hold_->SetPace(true, {}).ok());
  commit.reset();
  EXPECT_TRUE(Held());
}

TEST_F(CompactionHoldTest, WhatWasHeldFromTheBeginningStaysSo) {
  ASSERT_NO_FATAL_FAILURE(Open(true));
  { const CompactionHold::Commit commit(*hold_); }
  EXPECT_TRUE(Held());
}

}  // namespace
}  // namespace cairn::store
