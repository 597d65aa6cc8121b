// SPDX-License-Identifier: GPL-2.0-only
// Whether RocksDB starts compactions by itself.
#pragma once

#include <mutex>
#include <string>
#include <unordered_map>

#include <rocksdb/db.h>

#include "store/rocksdb_fwd.h"

namespace cairn::store {

// The pace of loads holds compactions up, and so does whoever commits a load while level 0 is full; they begin again once nobody
// does. Of a store in which an expert has held them up they stay so.
//
// Lifetime: shorter than that of the database and the family.
// Thread rule: any thread; SetPace() by one at a time.
class CompactionHold {
 public:
  using OptionTexts = std::unordered_map<std::string, std::string>;

  // They are held up as the family says, by the pace.
  CompactionHold(rocks::DB* db, rocks::ColumnFamilyHandle* family);

  // Changes options of the family, and whether the pace holds compactions up, at once. Success says that all are in force: they are
  // before they are written to RocksDB's file of options, which may fail and which nobody reads, as each start has its own.
  rocks::Status SetPace(bool holds, OptionTexts options);

  // Holds compactions up for as long as it lives.
  class Commit {
   public:
    explicit Commit(CompactionHold& hold) : hold_(hold) { hold_.CountCommit(1); }
    Commit(const Commit&) = delete;
    Commit& operator=(const Commit&) = delete;
    ~Commit() { hold_.CountCommit(-1); }

   private:
    CompactionHold& hold_;
  };

 private:
  void CountCommit(int difference);
  rocks::Status Set(bool held, OptionTexts options);

  rocks::DB* const db_;
  rocks::ColumnFamilyHandle* const family_;
  std::mutex mutex_;
  bool held_by_pace_;
  int commit_count_ = 0;
};

}  // namespace cairn::store
