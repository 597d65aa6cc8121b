// SPDX-License-Identifier: GPL-2.0-only
// What a load brings is there with its transaction or not at all, whatever fails and whenever.
#include "store/pending_load.h"

#include <array>
#include <thread>

#include <gtest/gtest.h>

#include <rocksdb/env.h>

#include "base/record_envelope.h"
#include "store/empty_ranges.h"
#include "store/load_testing.h"
#include "store/point_reader.h"

namespace cairn::store {
namespace {

using Code = Status::Code;

class PendingLoadTest : public ::testing::Test, public LoadFixture {
 protected:
  void SetUp() override { Open(); }
};

TEST_F(PendingLoadTest, CommitBringsAll) {
  auto transaction = store->BeginWrite();
  ASSERT_TRUE(Attach(*transaction).ok());
  EXPECT_EQ(WaitingFiles().size(), 2u);
  EXPECT_EQ(Loaded(), "none");
  ASSERT_TRUE(transaction->Commit(Durability::kBuffered).ok());
  EXPECT_EQ(Loaded(), "all");
  EXPECT_EQ(Records(), 0);
  EXPECT_TRUE(WaitingFiles().empty());
  EXPECT_TRUE(env.Files("/db/temporary", ".").empty());
  // Whatever was asked for, what is taken over is durable with its counters.
  Crash();
  Open();
  EXPECT_EQ(Loaded(), "all");
  EXPECT_EQ(Records(), 0);
  ExpectRemovable();
}

TEST_F(PendingLoadTest, WhoeverIsRefusedAtTheOpeningLeavesItWaiting) {
  LeaveCommitted();
  options.check = [](const Store& opened) {
    PinnedValue counters;
    EXPECT_TRUE(opened.Get(Family::kDictionary, "counters", nullptr, &counters).ok());
    return Status(Code::kFormatTooNew, "of a newer version");
  };
  for (int attempt = 0; attempt < 2; ++attempt) {
    const Status status = Store::Open(options, &store);
    EXPECT_TRUE(status.Is(Code::kFormatTooNew)) << status.ToString();
    EXPECT_EQ(store, nullptr);
    EXPECT_EQ(WaitingFiles().size(), 2u);
  }
  options.check = nullptr;
  Open();
  EXPECT_EQ(Loaded(), "all");
}

TEST_F(PendingLoadTest, WithoutCommitNothingIsLeft) {
  auto transaction = store->BeginWrite();
  ASSERT_TRUE(Attach(*transaction).ok());
  ASSERT_TRUE(transaction->Rollback().ok());
  EXPECT_TRUE(WaitingFiles().empty());

  transaction->Restart();
  ASSERT_TRUE(transaction->Put(Family::kData, "before", "1").ok());
  transaction->SetSavepoint();
  ASSERT_TRUE(Attach(*transaction).ok());
  ASSERT_TRUE(transaction->RollbackToSavepoint().ok());
  EXPECT_TRUE(WaitingFiles().empty());
  ASSERT_TRUE(transaction->Commit(Durability::kSync).ok());
  EXPECT_EQ(Get("before"), "1");
  EXPECT_EQ(Loaded(), "none");

  transaction->Restart();
  ASSERT_TRUE(Attach(*transaction).ok());
  transaction.reset();
  EXPECT_TRUE(WaitingFiles().empty());
  EXPECT_EQ(Loaded(), "none");
}

TEST_F(PendingLoadTest, ASavepointBeforeOtherChangesKeepsIt) {
  auto transaction = store->BeginWrite();
  ASSERT_TRUE(Attach(*transaction).ok());
  transaction->SetSavepoint();
  ASSERT_TRUE(transaction->Put(Family::kData, "undone", "1").ok());
  ASSERT_TRUE(transaction->RollbackToSavepoint().ok());
  ASSERT_TRUE(transaction->Commit(Durability::kSync).ok());
  EXPECT_EQ(Loaded(), "all");
  EXPECT_EQ(Get("undone"), "-");
}

TEST_F(PendingLoadTest, APreparedOneWaitsForItsOutcome) {
  for (const bool commits : {false, true}) {
    for (const bool loses_power : {false, true}) {
      auto transaction = store->BeginWrite();
      ASSERT_TRUE(Attach(*transaction).ok());
      ASSERT_TRUE(transaction->Prepare("name", Durability::kSync).ok());
      transaction.reset();
      loses_power ? Crash() : Kill();
      Open();
      Reopen();
      EXPECT_EQ(Loaded(), "none");
      EXPECT_EQ(WaitingFiles().size(), 2u);
      auto found = store->TakeRecovered();
      ASSERT_EQ(found.size(), 1u);
      ASSERT_NE(found[0]->load(), nullptr);
      EXPECT_EQ(found[0]->load()->record().indexes, (std::vector{IndexId(1), IndexId(2)}));
      ASSERT_TRUE((commits ? found[0]->Commit(Durability::kOs) : found[0]->Rollback()).ok());
      found.clear();
      EXPECT_EQ(Loaded(), commits ? "all" : "none");
      EXPECT_TRUE(WaitingFiles().empty());
      Crash();
      Open();
      EXPECT_EQ(Loaded(), commits ? "all" : "none");
      EXPECT_TRUE(WaitingFiles().empty());
      if (!commits) continue;
      ExpectRemovable();
      Batch batch(*store);
      batch.Delete(Family::kDictionary, "counters");
      ASSERT_TRUE(store->Write(batch, Durability::kSync).ok());
    }
  }
}

// The commit is written, and the files could not be taken over.
TEST_F(PendingLoadTest, TheNextStartTakesOverWhatWasCommitted) {
  for (const bool loses_power : {false, true}) {
    int stops = 0;
    store.reset();
    options.on_wal_failure = [&](const Status&) {
      ++stops;
      env.Freeze();
    };
    Open();
    auto transaction = store->BeginWrite();
    ASSERT_TRUE(Attach(*transaction).ok());
    ASSERT_TRUE(transaction->Prepare("name", Durability::kSync).ok());
    env.FailWrites("MANIFEST", 1);
    EXPECT_FALSE(transaction->Commit(Durability::kOs).ok());
    EXPECT_TRUE(transaction->is_finished());
    EXPECT_EQ(stops, 1);
    EXPECT_FALSE(Put("later", "1").ok());
    transaction.reset();
    env.Heal();
    store.reset();
    loses_power ? env.LoseUnsynced() : env.Thaw();
    Open();
    EXPECT_EQ(Loaded(), "all");
    EXPECT_EQ(Records(), 0);
    EXPECT_TRUE(WaitingFiles().empty());
    ExpectRemovable();
    ASSERT_NO_FATAL_FAILURE(RemoveCounters());
  }
}

TEST_F(PendingLoadTest, AMissingFileOfACommittedLoadIsNamed) {
  ASSERT_NO_FATAL_FAILURE(LeaveCommitted());
  const std::vector<std::string> files = WaitingFiles();
  ASSERT_TRUE(env.rocks_env()->DeleteFile(files[1]).ok());
  const Status status = Store::Open(options, &store);
  EXPECT_TRUE(status.Is(Code::kCorruption)) << status.ToString();
  EXPECT_NE(status.message().find(files[1]), ByteView::npos) << status.ToString();
}

TEST_F(PendingLoadTest, FilesWithoutATransactionAreDeletedAtStart) {
  std::unique_ptr<PendingLoad> load;
  ASSERT_TRUE(MakeLoad(&load).ok());
  load->Keep();
  load.reset();
  EXPECT_EQ(WaitingFiles().size(), 2u);
  env.WriteFile("/db/loads/notes", "somebody's");
  Crash();
  Open();
  EXPECT_TRUE(WaitingFiles().empty());
  EXPECT_EQ(env.Files("/db/loads", "notes").size(), 1u);
  ASSERT_TRUE(CommitLoad().ok());
  EXPECT_EQ(Loaded(), "all");
}

// Every kind of read, of the two views and of what is newest.
TEST_F(PendingLoadTest, OlderViewsSeeWhatWasThere) {
  Batch batch(*store);
  for (int row = 0; row < kRows; ++row) batch.Put(Family::kData, Key(1, row), "old");
  ASSERT_TRUE(store->Write(batch, Durability::kSync).ok());
  const Snapshot full = store->TakeSnapshot();
  batch.Clear();
  for (int row = 0; row < kRows; ++row) batch.SingleDelete(Family::kData, Key(1, row));
  ASSERT_TRUE(store->Write(batch, Durability::kSync).ok());
  const Snapshot empty = store->TakeSnapshot();
  ASSERT_TRUE(CommitLoad().ok());
  const Snapshot loaded = store->TakeSnapshot();
  const std::string lower = Key(1, 0).substr(0, 4), upper = Key(2, 0).substr(0, 4);
  for (int round = 0; round < 3; ++round) {
    for (const auto& [view, value] : std::initializer_list<std::pair<const Snapshot*, std::string>>{
             {&full, "old"}, {&empty, "-"}, {&loaded, "loaded"}, {nullptr, "loaded"}}) {
      SCOPED_TRACE(value + " in round " + std::to_string(round));
      PointReader points;
      std::string all;
      for (int row = 0; row < kRows; ++row) {
        EXPECT_EQ(Get(Key(1, row), view), value);
        PinnedValue found;
        const Status status = points.Get(*store, Key(1, row), view, &found);
        EXPECT_EQ(status.ok() ? std::string(found.view()) : "-", value) << status.ToString();
        const std::string key = Key(1, row);
        const ByteView keys[] = {key};
        PinnedValue values[1];
        Status statuses[1];
        store->MultiGet(Family::kData, keys, view, true, values, statuses);
        EXPECT_EQ(statuses[0].ok() ? std::string(values[0].view()) : "-", value);
        if (value != "-") all += (row == 0 ? "" : " ") + key + "=" + value;
      }
      points.Close();
      Cursor cursor;
      ASSERT_TRUE(store->OpenCursor(Family::kData, {.snapshot = view, .lower_bound = lower, .upper_bound = upper}, &cursor).ok());
      cursor.SeekToFirst();
      EXPECT_EQ(Forward(cursor), all);
      cursor.SeekToLast();
      int backward = 0;
      for (; cursor.Valid(); cursor.Prev()) backward += cursor.value() == value;
      EXPECT_EQ(backward, value == "-" ? 0 : kRows);
      cursor.Seek(Key(1, 7));
      EXPECT_EQ(cursor.Valid(), value != "-");
    }
    ASSERT_TRUE((round == 0 ? store->FlushMemtables() : store->CompactRange(Family::kData, {}, {})).ok());
  }
}

// Where a range was learned to be empty, it is not any more.
TEST_F(PendingLoadTest, WhoKnewTheRangeEmptyFindsTheRows) {
  PointReader points;
  EmptyRanges empty;
  PinnedValue found;
  for (int row = 0; row < 50; ++row) {
    EXPECT_TRUE(empty.Get(*store, &points, Key(1, row), &found).Is(Code::kNotFound));
  }
  ASSERT_TRUE(CommitLoad().ok());
  for (int row = 0; row < 50; ++row) EXPECT_TRUE(empty.Get(*store, &points, Key(1, row), &found).ok()) << row;
  points.Close();
}

// RocksDB lets views be taken while it writes its manifest.
TEST_F(PendingLoadTest, AViewTakenMeanwhileIsStable) {
  auto transaction = store->BeginWrite();
  ASSERT_TRUE(Attach(*transaction).ok());
  ASSERT_TRUE(transaction->Prepare("name", Durability::kSync).ok());
  env.HoldWrites("MANIFEST");
  Status committed;
  std::thread committer([&] { committed = transaction->Commit(Durability::kOs); });
  env.AwaitHeldWrite();
  const Snapshot view = store->TakeSnapshot();
  EXPECT_EQ(Get(Key(1, 3), &view), "-");
  env.ReleaseWrites();
  committer.join();
  EXPECT_TRUE(committed.ok()) << committed.ToString();
  EXPECT_EQ(Get(Key(1, 3)), "loaded");
  EXPECT_EQ(Get(Key(1, 3), &view), "-");
  EXPECT_EQ(Get(Key(2, 3), &view), "-");
}

// Any write may be the one that fails: what was told to be committed is there, and there is all or nothing.
TEST_F(PendingLoadTest, AnyFailingWriteLeavesAllOrNothing) {
  options.on_wal_failure = [this](const Status&) { env.Freeze(); };  // as the process ends
  for (const bool prepares : {false, true}) {
    for (const bool loses_power : {false, true}) {
      for (int count = 1;; ++count) {
        SCOPED_TRACE("write " + std::to_string(count));
        store.reset();
        env.FailWrites("/db", count);
        const uint64_t failed_before = env.failed_write_count();
        Status status = Store::Open(options, &store);
        bool is_prepared = false, is_committed = false;
        if (status.ok()) {
          auto transaction = store->BeginWrite();
          status = Attach(*transaction);
          if (status.ok() && prepares) {
            status = transaction->Prepare("name", Durability::kSync);
            is_prepared = status.ok();
          }
          if (status.ok()) {
            status = transaction->Commit(Durability::kSync);
            is_committed = status.ok();
          }
        }
        const bool is_over = env.failed_write_count() == failed_before;
        env.Freeze();
        env.Heal();
        store.reset();
        loses_power ? env.LoseUnsynced() : env.Thaw();
        Open();
        auto found = store->TakeRecovered();
        if (!found.empty()) {
          EXPECT_FALSE(is_committed);
          EXPECT_EQ(Loaded(), "none");
          ASSERT_TRUE(found[0]->Commit(Durability::kSync).ok());
          EXPECT_EQ(Loaded(), "all");
          found.clear();
        } else if (is_prepared || is_committed) {
          EXPECT_EQ(Loaded(), "all");
        }
        const std::string loaded = Loaded();
        EXPECT_TRUE(loaded == "all" || loaded == "none") << loaded;
        EXPECT_EQ(Records(), 0);
        EXPECT_TRUE(WaitingFiles().empty());
        if (loaded == "all") {
          ExpectRemovable();
          Batch batch(*store);
          batch.Delete(Family::kDictionary, "counters");
          ASSERT_TRUE(store->Write(batch, Durability::kSync).ok());
        }
        if (HasFailure()) return;
        if (is_over) break;
        // A flush lets go of this turn's logs: each start syncs all that it finds.
        Batch other(*store);
        other.Put(Family::kDictionary, "other", "1");
        ASSERT_TRUE(store->Write(other, Durability::kSync).ok());
        ASSERT_TRUE(store->FlushMemtables().ok());
      }
    }
  }
}

TEST(LoadRecordTest, TheVectorsOfTheFormat) {
  const LoadRecord record{.number = 3, .file_count = 2, .first_key = "\x01\x02", .last_row_key = "\x07", .indexes = {IndexId(9), IndexId(300)}};
  ByteBuffer value;
  EncodeLoadRecord(record, &value);
  const std::string key = LoadRecordKey(3);
  EXPECT_EQ(key, std::string("\x08\0\0\0\0\0\0\0\x03", 9));
  EXPECT_EQ(value.view().substr(0, value.size() - 4), std::string_view("\x01\x02\x02\x01\x02\x01\x07\x02\x09\xac\x02", 11));
  LoadRecord again;
  ASSERT_TRUE(DecodeLoadRecord(key, value.view(), &again).ok());
  EXPECT_EQ(again.number, 3u);
  EXPECT_EQ(again.file_count, 2u);
  EXPECT_EQ(again.first_key, "\x01\x02");
  EXPECT_EQ(again.last_row_key, "\x07");
  EXPECT_EQ(again.indexes, record.indexes);
  for (size_t byte = 0; byte < value.size(); ++byte) {
    std::string damaged = value.ToString();
    damaged[byte] = static_cast<char>(damaged[byte] ^ 0x10);
    EXPECT_TRUE(DecodeLoadRecord(key, damaged, &again).Is(Code::kCorruption)) << byte;
    EXPECT_FALSE(DecodeLoadRecord(key, value.view().substr(0, byte), &again).ok()) << byte;
  }
  EXPECT_TRUE(DecodeLoadRecord(key.substr(1), value.view(), &again).Is(Code::kCorruption));
  ByteBuffer newer;
  newer.AppendU8(2);
  SealRecord(0, &newer);
  EXPECT_TRUE(DecodeLoadRecord(key, newer.view(), &again).Is(Code::kFormatTooNew));
}

}  // namespace
}  // namespace cairn::store
