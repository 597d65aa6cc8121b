// SPDX-License-Identifier: GPL-2.0-only
// Durable ordered bytes: the one face of RocksDB.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/status.h"
#include "store/batch.h"
#include "store/cursor.h"
#include "store/options.h"
#include "store/types.h"
#include "store/write_transaction.h"

namespace cairn::store {

// One number that describes the store, e.g. {"block_cache_hit", 17}.
struct NamedNumber {
  std::string name;
  uint64_t value = 0;
};

struct Pace;
class CompactionInterrupt;

// Keys begin <= k < end.
struct KeyRange {
  ByteView begin;
  ByteView end;
};

// What lies in a range, as estimates that cost no reading of rows.
struct RangeEstimate {
  uint64_t file_bytes = 0;      // in SST files, compressed
  uint64_t memory_bytes = 0;    // in memtables
  uint64_t memory_entries = 0;  // in memtables; counts every version and deletion
};

// What lies in a range, by where its ends lie.
struct PositionCount {
  uint64_t entries = 0;         // counted or estimated; with all versions and deletions, unless `exact`
  uint64_t bytes_between = 0;   // of what was not looked into, in SST files, compressed
  bool exact = false;           // `entries` are rows, and all of them
  uint64_t looked_entries = 0;  // of the first entries so many were looked at; 0: none
  uint64_t looked_rows = 0;     // and make so many rows
};

// Why writes are refused, if they are.
enum class WriteGate : uint8_t { kOpen, kNoSpace, kReadOnly };

// A directory of ordered bytes with atomic, durable, transactional writes.
//
// Thread rule: all methods may be called from any thread at any time, except Close and
// destruction: then no cursor, snapshot, transaction or call may be left.
// Errors: bytes on disk that make no sense are kCorruption and name the file; a failing device is
// kIoError; while the disk is below its reserve writes are kNoSpace and reads go on, and it opens
// again by itself; after an error that makes further writes unsafe they are kReadOnly with the reason.
class Store {
 public:
  // Opens or creates a store, replaying its log. kBusy when another process (or store) uses the
  // directory, kFormatTooNew when a newer version wrote it (nothing is changed then),
  // kInvalidArgument for option strings RocksDB refuses; each message names the directory.
  static Status Open(const StoreOptions& options, std::unique_ptr<Store>* store);

  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;
  ~Store();

  // Stops background work and closes the files. Called by the destructor too; the status is the
  // only reason to call it. Unfinished transactions must be gone; prepared ones stay on disk.
  Status Close();

  // Reads one key as of `snapshot`, or what is committed now when it is null. kNotFound when
  // there is none; `value` is then empty.
  Status Get(Family family, ByteView key, const Snapshot* snapshot, PinnedValue* value) const;

  // Reads many keys at one moment, faster than one by one. The three spans have the same size;
  // `statuses[i]` is what Get would have returned. `sorted`: the keys ascend.
  void MultiGet(Family family, std::span<const ByteView> keys, const Snapshot* snapshot, bool sorted,
                std::span<PinnedValue> values, std::span<Status> statuses) const;

  // Opens `cursor` (closing what it was) over committed data.
  Status OpenCursor(Family family, const CursorOptions& options, Cursor* cursor) const;

  Snapshot TakeSnapshot();

  // The sequence number of the newest committed change. Unchanged since an earlier call means that
  // nothing was committed in between.
  uint64_t LatestSequence() const;

  // Applies the batch, all or nothing. kTooLarge: it has an entry that cannot be stored.
  Status Write(const Batch& batch, Durability durability, Urgency urgency = Urgency::kNormal);

  std::unique_ptr<WriteTransaction> BeginWrite();

  // The transactions that a crash or shutdown left prepared. Each is given out once, by the
  // first call after Open; resolve or re-lock them before accepting writes.
  std::vector<std::unique_ptr<WriteTransaction>> TakeRecovered();

  // Makes all that was committed or prepared with less than kSync durable now. Unlike a synced write it holds up nobody who writes meanwhile, and
  // who comes while one runs shares the next. On error options.on_wal_failure has been called.
  Status SyncWal();
  // Unchanged since an earlier call means that nothing was written in between that SyncWal() would have to make durable.
  uint64_t LogVersion() const;

  // A prepared transaction that is committed elsewhere could not be committed here, for this reason: ends as a log does that cannot be
  // written, with options.on_wal_failure, so that the next start commits it. Any thread.
  void StopForPromised(const Status& reason);
  // Writes all memtables to files, so that the next open has no log to replay.
  Status FlushMemtables();
  // Compacts a range down to the last level, whose files are written anew too; empty ends mean all. Once `interrupt` (null:
  // never) is requested it ends before long with kInterrupted: what is compacted by then may stay so. kNoSpace: the disk has no room for it, or others
  // took that meanwhile.
  Status CompactRange(Family family, ByteView begin, ByteView end, CompactionInterrupt* interrupt = nullptr);
  // Whether the range of the data family has anything at all, also what was removed and has not been compacted yet. Costs a seek,
  // however much that is. Ranges that were dropped whole (DropRange) may have something for a while.
  Status HasVersions(ByteView begin, ByteView end, bool* has) const;
  // The last key of the range that the data family has anything of, also if that was removed and has not been
  // compacted yet; empty: none. Costs a seek, however much was removed.
  Status FindLastVersion(ByteView begin, ByteView end, std::string* key) const;

  // Flushes the memtable, or compacts level 0, when reads since have lost the time that takes, or part of it before all went idle
  // (store/read_pressure.h). To be called a few times a second, by one thread at a time; a compaction is
  // done before it returns. Does nothing while writes are refused. `now_us`: of a steady clock. `cores_are_busy`: who is served waits
  // for what is done now.
  Status RelieveReads(uint64_t now_us, bool cores_are_busy = false);
  // Compacts some of level 0, or of the level below, when compactions of all of level 0 did not fit on the disk; without
  // that, writers would be held up by its growth for good. Where not even one file fits, writes are refused until
  // compactions are not cancelled any more. Called as RelieveReads, and by the same thread.
  Status RelieveSpace(uint64_t now_us);
  // Sees to it that damaged files, which compactions cannot read, hold nobody up for ever: they are tried again from time to time, and
  // writes are refused (kReadOnly) while level 0 stands full behind them. Called as RelieveReads.
  void MindDamage(uint64_t now_us);
  // From now on the first two start no compaction, and end one that runs.
  void StopRelief();

  // Lets memtables be larger, and level 0 gather more files before they are compacted, while rows pour in
  // (store/load_pace.h). To be called about once a second, by one thread at a time. `now_us`: of a steady clock.
  Status PaceCompactions(uint64_t now_us);
  // Logs of what is in files go (store/log_release.h). To be called about once a second, by any thread. Does nothing while
  // writers are held up.
  Status ReleaseLogs();
  // What the logs take on the disk, and from how much on RocksDB flushes so that the oldest may go; 0: an expert left that to it.
  // Once there is much more, a transaction that has long been prepared keeps them: all from the one on that it is in.
  struct LogSpace {
    uint64_t bytes = 0;
    uint64_t flushed_from_bytes = 0;
  };
  LogSpace MeasureLogs() const;
  // Where there are many files for what the process may have open, those that nobody uses are closed from now on (store/open_files.h). To be
  // called about once a second, by any thread, and before `coming` files come at once.
  Status LimitOpenFiles(uint64_t coming = 0);
  // Once a load has ended, also that of a store which was closed in it: merges all levels into the last, if that
  // writes little more than what is owed anyway (store/settle.cc). Until then, or until PaceCompactions() says
  // that rows pour in again, RocksDB compacts nothing. Called as RelieveReads, and by the same thread.
  Status SettleLoad();
  // With so many files level 0 is compacted.
  int level0_files_max() const;
  // What a memtable holds when it is full.
  uint64_t memtable_bytes_max() const;

  // So many files may still come to level 0 before those who write are slowed down.
  uint64_t FreeLevel0Places() const;

  // Estimates for each range; the spans have the same size.
  Status EstimateRanges(Family family, std::span<const KeyRange> ranges,
                        std::span<RangeEstimate> estimates) const;

  // Counts a range by where its ends lie in each memtable and file that has some of it (store/range_position.h). Costs two
  // searches of an index for each file, and of two blocks if they are near each other; of memtables two descents.
  // Exact where all of it lies side by side in files of one level (or one of level 0) without older versions and deletions,
  // within two neighbouring blocks; and where all sources together have few entries (KeyLists::kKeysMax), which then are
  // merged. Else entries count, with what may be older versions, and deletions; unless those beside the largest source are
  // few, the first ones of each source are merged, as a sample of what they make. What others commit meanwhile counts or not.
  // False: there are too many sources, deletions of ranges, or files that cannot be read; then a cursor tells.
  // Precondition: the range has an end.
  [[nodiscard]] bool CountByPosition(Family family, const KeyRange& range, PositionCount* count) const;

  // Another number after each flush, compaction and ingestion; never 0. Costs nothing.
  uint64_t FilesVersion(Family family) const;

  // Removes a range that no snapshot, cursor or transaction will ever look at again (an index of a
  // dropped table): whole files at once, the rest, which shares files with others, by one range deletion, or by a deletion
  // of each row where these are few; its space is free once compactions come by there. Cheap and quick, however many rows
  // were removed one by one before; safe to repeat. kBusy, to be repeated later: while SettleLoad() merges all, or level 0 holds writers
  // up, and where whole files stay, as they are being compacted, or will be made while the disk is below its reserve.
  Status DropRange(Family family, ByteView begin, ByteView end);

  // Tickers and properties, for people; names are stable within a RocksDB version.
  std::vector<NamedNumber> Statistics() const;
  // A text property of RocksDB ("rocksdb.stats"); empty when there is none of the name.
  std::string TextProperty(Family family, const std::string& name) const;

  // Reads every block of every file and checks it. kCorruption names the first bad file.
  Status VerifyChecksums();

  // How many loads have come with their transactions since the store was opened.
  uint64_t load_count() const;

  // Whether and why writes are refused now.
  WriteGate write_gate() const;
  Status WriteGateStatus() const;

  // Looks at the free space again now, instead of at the next write after a second.
  void CheckFreeSpace();

  const std::string& directory() const;

 private:
  friend class Batch;
  friend class EmptyRanges;
  friend class Snapshot;
  friend class LoadReader;
  friend class PendingLoad;
  friend class PointReader;
  friend class SortedLoad;
  friend class TempFile;
  friend class WriteTransaction;
  class Impl;
  explicit Store(std::unique_ptr<Impl> impl);
  rocks::ColumnFamilyHandle* Handle(Family family) const;
  // Of DropRange. Adds to the batch, which is empty, a deletion of each row of the range. False: they are not few, or that
  // is not known; the batch then has any of them.
  bool DeleteRowsIfFew(Family family, ByteView begin, ByteView end, Batch* batch) const;
  Status DeleteAtOnce(Batch* deletions);
  bool HasWholeFiles(Family family, ByteView begin, ByteView end) const;
  // Of the oldest `files_max` files. *fits: whether the disk has the room, if there was anything to compact.
  Status CompactLevel0(size_t files_max, bool* fits);
  // Of one file of the level that level 0 goes to. *done: whether there was one, and room for it.
  Status CompactBaseLevel(bool* done);
  // *fits: whether the disk has the room; *done: whether it was done, and not by others in the meantime.
  Status CompactFiles(const std::vector<std::string>& names, int output_level, bool* fits, bool* done);
  Status CompactInSteps(bool* fits);
  // Of PaceCompactions.
  Status SetPace(const Pace& pace);
  bool LookAtPace(uint64_t now_us);
  bool LoadMayTakeMemory() const;
  // Of Open: compactions begin, or wait for SettleLoad().
  Status BeginCompactions();
  Status FlushForSettling();
  void StopSettling();
  bool Level0Full() const;
  bool IsNearStop() const;

  std::unique_ptr<Impl> impl_;
};

}  // namespace cairn::store
