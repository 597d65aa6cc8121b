// SPDX-License-Identifier: GPL-2.0-only
// For tests: a store in memory and loads that come with a transaction.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/endian.h"
#include "store/pending_load.h"
#include "store/store_testing.h"

namespace cairn::store {

inline std::string Key(uint32_t index, int row) {
  std::string key(4, '\0');
  StoreBe32(key.data(), index);
  return key + std::to_string(100'000 + row);
}

class LoadFixture : public StoreFixture {
 public:
  static constexpr int kRows = 200;

  std::vector<std::string> WaitingFiles() { return env.Files("/db/loads", ".sst"); }

  // Rows of `first` and an entry for each in the next index.
  Status MakeLoad(std::unique_ptr<PendingLoad>* made, uint32_t first = 1) {
    SortedLoad load(*store, Family::kData, {.few_files = true});
    for (uint32_t index : {first, first + 1}) {
      for (int row = 0; row < kRows; ++row) CAIRN_RETURN_IF_ERROR(load.Add(Key(index, row), "loaded"));
      CAIRN_RETURN_IF_ERROR(load.CutFile());
    }
    const std::array indexes = {IndexId(first), IndexId(first + 1)};
    CAIRN_RETURN_IF_ERROR(PendingLoad::Make(*store, &load, indexes, made));
    if (*made != nullptr) return Status::Ok();
    // All is there still.
    LoadReader reader(load);
    CAIRN_RETURN_IF_ERROR(reader.SeekToFirst());
    int rows = 0;
    for (; reader.Valid(); ++rows) CAIRN_RETURN_IF_ERROR(reader.Next());
    EXPECT_EQ(rows, 2 * kRows);
    return Status::Of(Status::Code::kBusy);
  }
  Status Attach(WriteTransaction& transaction) {
    std::unique_ptr<PendingLoad> load;
    CAIRN_RETURN_IF_ERROR(MakeLoad(&load));
    CAIRN_RETURN_IF_ERROR(transaction.MergeCounters("counters", {.row_count = kRows, .auto_increment_next = 0}));
    return transaction.AttachLoad(std::move(load));
  }
  Status CommitLoad(Durability durability = Durability::kSync) {
    auto transaction = store->BeginWrite();
    CAIRN_RETURN_IF_ERROR(Attach(*transaction));
    return transaction->Commit(durability);
  }
  // The commit is written, and its files are not taken over.
  void LeaveCommitted() {
    auto transaction = store->BeginWrite();
    ASSERT_TRUE(Attach(*transaction).ok());
    ASSERT_TRUE(transaction->Prepare("name", Durability::kSync).ok());
    env.FailWrites("MANIFEST", 1);
    EXPECT_FALSE(transaction->Commit(Durability::kOs).ok());
    transaction.reset();
    env.Heal();
    Crash();
    ASSERT_EQ(WaitingFiles().size(), 2u);
  }

  // "all", "none", or what is odd.
  std::string Loaded() {
    int found = 0;
    for (uint32_t index : {1, 2}) {
      for (int row = 0; row < kRows; ++row) found += Get(Key(index, row)) == "loaded";
    }
    const bool counted = Get("counters", nullptr, Family::kDictionary) != "-";
    if (found == 0 && !counted) return "none";
    if (found == 2 * kRows && counted) return "all";
    return std::to_string(found) + " rows, counted " + std::to_string(counted);
  }
  int Records() {
    Cursor cursor;
    EXPECT_TRUE(store->OpenCursor(Family::kDictionary, {.lower_bound = "\x08", .upper_bound = "\x09"}, &cursor).ok());
    int count = 0;
    for (cursor.SeekToFirst(); cursor.Valid(); cursor.Next()) ++count;
    return count;
  }
  // Each entry is there once: one removal takes it away for good, also of entries that RocksDB must find singly.
  void ExpectRemovable() {
    Batch batch(*store);
    for (uint32_t index : {1, 2}) {
      for (int row = 0; row < kRows; ++row) batch.SingleDelete(Family::kData, Key(index, row));
    }
    ASSERT_TRUE(store->Write(batch, Durability::kSync).ok());
    EXPECT_EQ(Get(Key(1, 0)), "-");
    ASSERT_TRUE(store->FlushMemtables().ok());
    ASSERT_TRUE(store->CompactRange(Family::kData, {}, {}).ok());
    for (uint32_t index : {1, 2}) {
      for (int row = 0; row < kRows; ++row) ASSERT_EQ(Get(Key(index, row)), "-");
    }
  }
  void RemoveCounters() {
    Batch batch(*store);
    batch.Delete(Family::kDictionary, "counters");
    ASSERT_TRUE(store->Write(batch, Durability::kSync).ok());
  }
};

}  // namespace cairn::store
