// SPDX-License-Identifier: GPL-2.0-only
// Puts many sorted entries into the store as whole files, past the log and the memtables.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/status.h"
#include "store/types.h"

namespace cairn::store {

class Store;

// Writes files of the last level's form beside the store and then takes them over, all at once.
//
// The caller answers for it that nobody reads or writes the range of keys meanwhile (an index that no
// definition names yet), and that no snapshot older than Ingest() will look at it: the entries become part of
// every snapshot.
//
// Lifetime: not longer than its store. The destructor deletes what was not ingested; so does the next
// start after a crash.
// Thread rule: one thread at a time.
// Errors: kNoSpace when the disk is full or below its reserve; kIoError; kInvalidArgument for keys that do
// not ascend.
class SortedLoad {
 public:
  SortedLoad(Store& store, Family family);
  SortedLoad(const SortedLoad&) = delete;
  SortedLoad& operator=(const SortedLoad&) = delete;
  ~SortedLoad();

  // Each key must be greater than the one before.
  Status Add(ByteView key, ByteView value);

  // Makes all entries part of the store, durably and atomically. Afterwards it is empty.
  Status Ingest();

  uint64_t file_count() const { return paths_.size(); }

 private:
  class Writer;
  Status OpenFile();
  Status FinishFile();

  Store& store_;
  const Family family_;
  uint64_t file_bytes_max_ = 0;
  std::unique_ptr<Writer> writer_;  // of the newest of paths_; null between files
  std::vector<std::string> paths_;
};

}  // namespace cairn::store
