// SPDX-License-Identifier: GPL-2.0-only
// Puts many sorted entries into the store as whole files, past the log and the memtables.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/status.h"
#include "store/rocksdb_fwd.h"
#include "store/types.h"

namespace cairn::store {

class Store;

struct SortedLoadOptions {
  // The more files there are the larger the next ones are, up to eight times as large. What a file keeps in memory until it ends grows with it,
  // for each entry: see filter_bytes_max.
  bool few_files = false;
  // All files must find places in level 0 at the same time, as those of a PendingLoad must: then few ones grow on beyond 128 files, and however
  // many entries they have.
  bool all_at_once = false;
  // So many loads, this one included, are filled at the same time and share the threads that compress.
  unsigned loads_at_once = 1;
  // A file that is larger than the usual one ends once its filter takes more memory than this, counted as kFilterBytesPerEntry; the load has
  // two such files in the making. 0: a 64th of the store's budget, or 4 MiB.
  uint64_t filter_bytes_max = 0;
  // Ingest() waits no longer than this for the next place in level 0.
  uint64_t place_wait_us_max = 300'000'000;
};

// Writes files of the last level's form beside the store and then takes them over.
//
// The caller answers for it that nobody reads or writes the range of keys meanwhile (an index that no
// definition names yet), and that no snapshot older than Ingest() will look at it: the entries become part of
// every snapshot. And for it that the range is dropped if Ingest() fails, or a crash comes before it has ended.
//
// Lifetime: not longer than its store. The destructor deletes what was not ingested; so does the next
// start after a crash.
// Thread rule: one thread at a time.
// Errors: kNoSpace when the disk is full or below its reserve, for which what is written counts as a transaction's bytes do; kReadOnly;
// kIoError; kTooLarge (store/entry_limits.h); kInvalidArgument for keys that do not ascend. After one only destruction may follow.
class SortedLoad {
 public:
  // What RocksDB keeps of an entry until the file ends: the hash of its key, and that of the key's beginning where this is another than before.
  static constexpr uint64_t kFilterBytesPerEntry = 16;

  SortedLoad(Store& store, Family family, SortedLoadOptions options = {});
  SortedLoad(const SortedLoad&) = delete;
  SortedLoad& operator=(const SortedLoad&) = delete;
  ~SortedLoad();

  // Each key must be greater than the one before.
  Status Add(ByteView key, ByteView value);

  // Ends the file that is being written: what comes next is in another one. Its last blocks, its filter and its sync are left to another
  // thread, whose error comes from a later call, once: after an error only destruction may follow.
  Status CutFile();

  // Ends the file that is being written, and waits until all files are whole and synced.
  Status Finish();

  // Makes all entries part of the store, durably. Afterwards it is empty.
  //
  // Files may have to go to level 0, as those of a PendingLoad may. Those who write are not held up by it: so many files come at a time as
  // there are places, and it waits for more in between; all at once where that suffices. If no place comes in all the time that it may
  // wait, the rest comes nevertheless. Where the file system has no links, one file comes after the other: each is copied, and there is room
  // needed for one copy only. `interrupted` is asked while it waits, and between copies; true ends it with kInterrupted. Empty: never.
  Status Ingest(const std::function<bool()>& interrupted = {});

  uint64_t file_count() const { return paths_.size(); }

 private:
  friend class LoadReader;
  friend class PendingLoad;
  class Writer;
  class Places;
  Status OpenFile();
  bool IsFull() const;
  Status WaitForEnd();
  Status TakeOver(size_t files);
  Status Stage(const std::vector<std::string>& paths, std::unique_ptr<rocks::FileIngestionHandle>* staged);
  Status AdmitCopy(const std::string& path);
  void Delete(const std::vector<std::string>& paths);

  Store& store_;
  const Family family_;
  const SortedLoadOptions options_;
  const uint64_t filter_bytes_max_;
  uint64_t file_bytes_max_ = 0;
  std::unique_ptr<Writer> writer_;  // of the newest of paths_; null between files
  std::unique_ptr<Writer> ending_;  // of the one before, while its file is being ended
  std::vector<std::string> paths_;
  std::vector<std::pair<std::string, std::string>> ends_;  // the first and last key of each, once it is whole
  bool by_copies_ = false;  // a link was refused
};

// Reads what a load has written but not handed over, in order.
//
// Lifetime: not longer than the load; and it is at its end when the load is ingested.
// Thread rule: one thread at a time, the load not changing meanwhile.
// Errors: kIoError, kCorruption.
class LoadReader {
 public:
  explicit LoadReader(const SortedLoad& load);
  LoadReader(const LoadReader&) = delete;
  LoadReader& operator=(const LoadReader&) = delete;
  ~LoadReader();

  // Precondition: Finish() was the last call of the load, as for Get().
  Status SeekToFirst();
  bool Valid() const;
  // Views die at the next move.
  ByteView key() const;
  ByteView value() const;
  Status Next();

  // kNotFound when there is no such key. Moves the reader.
  Status Get(ByteView key, std::string* value);

 private:
  class File;
  Status OpenFile(size_t number);
  Status SkipEnds();

  const SortedLoad& load_;
  size_t number_ = 0;  // of the file, in the load's paths
  std::unique_ptr<File> file_;
};

}  // namespace cairn::store
