// SPDX-License-Identifier: GPL-2.0-only
// Files that live no longer than a piece of work: written once from front to back, then read likewise.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/status.h"
#include "store/rocksdb_fwd.h"

namespace cairn::store {

class Store;

// A file in the store's folder `temporary`, which is emptied when the store is opened: what a crash leaves
// behind is gone at the next start. Nothing in it is synced.
//
// Lifetime: not longer than its store. The destructor deletes the file.
// Thread rule: one thread at a time.
// Errors: kNoSpace when the disk is full or below the reserve that the store keeps free, for which what is appended counts as a
// transaction's bytes do; kReadOnly; kIoError.
class TempFile {
 public:
  static Status Create(Store& store, std::unique_ptr<TempFile>* file);
  TempFile(const TempFile&) = delete;
  TempFile& operator=(const TempFile&) = delete;
  ~TempFile();

  // Appends; write large pieces, nothing is gathered here.
  Status Append(ByteView bytes);

  // Ends writing and gives back the file's descriptor.
  Status EndWriting();

  // Ends writing and goes to the front for reading.
  Status StartReading();

  // Reads up to `bytes` into `to`; fewer only at the end of the file.
  Status Read(size_t bytes, char* to, size_t* got);

  uint64_t size_bytes() const { return size_bytes_; }
  const std::string& path() const { return path_; }

 private:
  TempFile(Store& store, std::string path);

  Store& store_;
  const std::string path_;
  uint64_t size_bytes_ = 0;
  std::unique_ptr<rocks::WritableFile> writer_;
  std::unique_ptr<rocks::SequentialFile> reader_;
};

// A new path in the store's folder for temporary files, with nothing there. Numbers begin anew with each process, and what an earlier one has left
// may be a data file's second name, as of a load that a crash met while it was taken over: whoever wrote to it would write to the data file.
// Errors: kNoSpace, kIoError when what is there cannot be deleted.
Status NewTemporaryPath(rocks::Env* env, const std::string& store_directory, std::string_view suffix, std::string* path);

// Makes the folder if there is none, and empties it. Precondition: nobody has the store open. What cannot be deleted, as a folder that somebody
// has made there, stays, and is the reason for none of the rest to stay: the first error is returned at the end.
Status EmptyTemporaryFolder(rocks::Env* env, const std::string& store_directory);

}  // namespace cairn::store
