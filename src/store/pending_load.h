// SPDX-License-Identifier: GPL-2.0-only
// Files of sorted entries that come into the store with a transaction.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/status.h"
#include "store/load_record.h"
#include "store/rocksdb_fwd.h"
#include "store/sorted_load.h"

namespace cairn::store {

class Store;

// A load waits in the store's folder `loads` for what becomes of the transaction that has its record
// (WriteTransaction::AttachLoad), which is the only one to use this class but for tests and the opening of a store:
//
//   Make;  Stage;  the record is written, with the commit or with what prepares it;  HandOver after the commit.
//
// From HandOver on its entries are there, as of that moment: views that are older do not see them. A crash after the commit
// leaves the rest to the next start (FinishLoads), one before it leaves files that are deleted there.
//
// The caller answers for it that from Stage to HandOver nobody else has, gets or writes keys of the load's indexes, and that
// none are there.
//
// Files may have to go to level 0: where others of the last level, or compactions that run, reach across their keys. Therefore so
// many of its places must be free, less those that other waiting loads may need; and those who write are not held up by it.
//
// Lifetime: not longer than the store. The destructor deletes the files unless Keep() or HandOver() was called.
// Thread rule: one thread at a time.
class PendingLoad {
 public:
  // Takes the files over from `load`, which has entries of these indexes and of no others, the first one's to begin with and in files of
  // their own, and stages them. They are durable then. Null: level 0 has no places for so many files, or the file system refused something, which
  // the log is told; `load` has its entries still.
  static Status Make(Store& store, SortedLoad* load, std::span<const IndexId> indexes,
                     std::unique_ptr<PendingLoad>* made);
  // That of a transaction found prepared, or committed, at start.
  PendingLoad(Store& store, LoadRecord record);
  PendingLoad(const PendingLoad&) = delete;
  PendingLoad& operator=(const PendingLoad&) = delete;
  ~PendingLoad();

  const LoadRecord& record() const { return record_; }

  // All that may fail of HandOver for want of room, files or memory. Errors, which name the files: kNoSpace, kReadOnly, kIoError,
  // kCorruption (a file is missing or damaged); then nothing has changed.
  Status Stage();

  // Makes the entries a part of the store, durably and all at once; stages first if that was not done. Afterwards the record may go.
  Status HandOver();

  // Leaves the files where they are.
  void Keep() { keeps_ = true; }

  // What was committed before the store was closed, or died, and is not handed over is so now; files of transactions that are neither
  // committed nor prepared are deleted. kNoSpace: nothing has changed, and a start with more room finishes it. Part of opening a store. `gives_up_damaged`: committed loads whose files are missing or damaged
  // are forgotten, which the log is told, and what is left of their files gets other names; else the store does not open.
  static Status FinishLoads(Store& store, bool gives_up_damaged);

 private:
  std::vector<std::string> Paths() const;
  bool HasPlaces() const;
  Status MoveHere(SortedLoad* load);
  Status StageFiles();
  Status FlushOverlapping();
  Status GiveUp(const Status& why);
  Status CheckRoom() const;
  static Status FinishCommitted(Store& store, const LoadRecord& record, bool gives_up_damaged);

  Store& store_;
  LoadRecord record_;
  uint64_t reserved_places_;
  std::unique_ptr<rocks::FileIngestionHandle> staged_;
  bool keeps_ = false;
};

// The records of loads among the changes of a batch.
Status ReadLoadRecords(const rocks::WriteBatch& batch, std::vector<LoadRecord>* records);

}  // namespace cairn::store
