// SPDX-License-Identifier: GPL-2.0-only
// What is handed over between a version and its number is seen with what comes after it, or neither is.
#include "store/read_point.h"

#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "db/db_impl/db_impl.h"
#include "memory/arena.h"
#include <rocksdb/db.h>
#include <rocksdb/sst_file_writer.h>

#include "store/fault_environment.h"

namespace cairn::store {
namespace {

class ReadPointTest : public ::testing::Test {
 protected:
  void SetUp() override {
    rocks::Options options;
    options.env = environment_.rocks_env();
    options.create_if_missing = true;
    ASSERT_TRUE(rocks::DB::Open(options, "/db", &db_).ok());
    auto* const handle = static_cast<rocks::ColumnFamilyHandleImpl*>(db_->DefaultColumnFamily());
    source_ = {.db = static_cast<rocks::DBImpl*>(db_.get()), .family = handle->cfd(), .held = nullptr};
  }

  void Put(const std::string& key) { ASSERT_TRUE(db_->Put(rocks::WriteOptions(), key, "").ok()); }
  void HandOver(const std::string& key) {
    rocks::Options options;
    options.env = environment_.rocks_env();
    rocks::SstFileWriter file(rocks::EnvOptions(), options);
    ASSERT_TRUE(file.Open("/loaded").ok());
    ASSERT_TRUE(file.Put(key, "").ok());
    ASSERT_TRUE(file.Finish().ok());
    ASSERT_TRUE(db_->IngestExternalFile({"/loaded"}, rocks::IngestExternalFileOptions()).ok());
  }

  // Releases it.
  std::vector<std::string> KeysOf(const ReadPoint& point) {
    std::vector<std::string> keys;
    rocks::Arena arena;
    rocks::InternalIterator* const stream = source_.db->NewInternalIterator(
        rocks::ReadOptions(), source_.family, point.version, &arena, point.sequence, /*allow_unprepared_value=*/false);
    for (stream->SeekToFirst(); stream->Valid(); stream->Next()) {
      if (rocks::GetInternalKeySeqno(stream->key()) <= point.sequence) keys.push_back(stream->user_key().ToString());
    }
    EXPECT_TRUE(stream->status().ok());
    std::destroy_at(stream);
    return keys;
  }

  FaultEnvironment environment_;
  std::unique_ptr<rocks::DB> db_;
  FamilySource source_;
};

using Keys = std::vector<std::string>;

TEST_F(ReadPointTest, WhatComesAfterALoadIsNotSeenWithoutIt) {
  Put("first");
  int taken = 0;
  const ReadPoint point = TakeReadPoint(source_, /*view=*/nullptr, [&] {
    if (++taken != 1) return;
    HandOver("loaded");
    Put("later");
  });
  EXPECT_EQ(KeysOf(point), (Keys{"first", "later", "loaded"}));
  EXPECT_EQ(taken, 2);
}

TEST_F(ReadPointTest, OtherCommitsMeanwhileAreSeen) {
  Put("first");
  int taken = 0;
  const ReadPoint point = TakeReadPoint(source_, /*view=*/nullptr, [&] {
    ++taken;
    Put("later");
  });
  EXPECT_EQ(KeysOf(point), (Keys{"first", "later"}));
  EXPECT_EQ(taken, 1);
}

TEST_F(ReadPointTest, AViewSeesNeither) {
  Put("first");
  const rocks::Snapshot* const view = db_->GetSnapshot();
  HandOver("loaded");
  Put("later");
  EXPECT_EQ(KeysOf(TakeReadPoint(source_, view)), Keys{"first"});
  db_->ReleaseSnapshot(view);
}

}  // namespace
}  // namespace cairn::store
