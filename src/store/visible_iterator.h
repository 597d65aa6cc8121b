// SPDX-License-Identifier: GPL-2.0-only
// Walks the newest visible version of each key of a family, straight over RocksDB's merged stream.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>

#include "memory/arena.h"
#include <rocksdb/options.h>
#include "table/internal_iterator.h"

#include "base/bytes.h"
#include "base/status.h"
#include "store/family_source.h"
#include "store/file_run.h"
#include "store/internal_key.h"
#include "store/merged_runs.h"
#include "store/read_pressure.h"
#include "store/rocksdb_fwd.h"

namespace cairn::store {

// What RocksDB's own iterator (db/db_iter.cc) does for a family that has plain values and point
// deletions only: of all versions of a key, in the merged stream of memtables and files, it gives
// the newest that the snapshot sees, unless that is a deletion. Deletions of ranges the stream
// itself applies. Left out is what costs that iterator a third of a scan: merge operands, wide
// columns, blobs, timestamps, counters, and copies of keys that have one version (sequence number 0).
// Entries of another kind are reported as damage.
//
// The merge itself is RocksDB's only where streams of our own do not serve: file_run.h, merged_runs.h. Files that by their
// filters have nothing in a range are left out: prefix_filter.h.
//
// Going forward the stream stands on the current version, and key() and value() are views into it.
// Going backward it stands before all versions of the current key, of which there are copies; or on the current version,
// where it is known beforehand that the key has no other.
//
// Lifetime: opened, it holds memtables and files of that moment. Close it before the snapshot goes
// and before the database closes. The views die at the next move.
// Thread rule: one thread at a time.
class VisibleIterator final {
 public:
  // What it walks over is reported to `account`, which must outlive it.
  explicit VisibleIterator(WalkAccount* account) : account_(account) {}
  VisibleIterator(const VisibleIterator&) = delete;
  VisibleIterator& operator=(const VisibleIterator&) = delete;
  ~VisibleIterator() { Close(); }

  // Of `read` the snapshot (null: what is committed now), the bounds, and what concerns the block cache
  // and reading ahead count. The slices of the bounds must outlive this. Opened again while open,
  // with the same family and slices, it keeps what it has if that serves, so that a statement's many
  // short ranges cost a seek each. `interrupted`, `hidden_max`: CursorOptions.
  void Open(const FamilySource& source, const rocks::ReadOptions& read,
            const std::atomic<bool>* interrupted = nullptr, uint64_t hidden_max = 0);
  void Close();
  bool is_open() const { return stream_ != nullptr; }

  void Seek(ByteView key);
  void SeekForPrev(ByteView key);
  void SeekToFirst();
  void SeekToLast();
  // Precondition of both: Valid().
  void Next();
  void Prev();

  bool Valid() const { return valid_; }
  ByteView key() const { return key_; }
  ByteView value() const { return value_; }
  Status status() const;  // why it is not valid: ok at the end

  // In place of a walk: the last key that there is any version of, seen or not. Empty: none, or an error. Dies as key() does.
  ByteView FindLastVersion();

  // To be called for each entry that was looked at and is not to be seen: asks now and then whether to go on. False: the walk
  // has ended with kInterrupted.
  bool PassHidden();

 private:
  struct Version {
    ByteView key;
    uint64_t sequence = 0;
    uint8_t type = 0;
  };
  static Version Parse(const rocks::Slice& internal_key);

  // The runs of a version between two bounds.
  struct RangeRuns {
    FileRuns runs;
    bool are_few = false;  // else they are too many, and not all are here
    bool are_filtered = false;
    uint64_t version_number = 0;  // 0: not yet looked for
  };

  bool Serves(const FamilySource& source, const rocks::ReadOptions& read, RangeRuns* range);
  bool FilesServe(const FamilySource& source, const rocks::ReadOptions& read, RangeRuns* range);
  void FindRuns(const FamilySource& source, const rocks::ReadOptions& read, RangeRuns* range) const;
  bool IsActiveMemtableEmpty(ByteView lower, ByteView upper);
  bool OpenFiles(const FamilySource& source, const FileRuns& runs);
  bool OpenMerge(const FamilySource& source, const FileRuns& runs);

  const rocks::Slice& Target(ByteView key, uint64_t sequence, rocks::ValueType type);
  void LoadPosition();
  void CountLevel0();
  void PassOverLoad();
  void CountSeek() {
    EndCountedWalk();
    walked_.in_level0 += entries_per_seek_;
  }
  void EndCountedWalk();
  void Count(const Version& version) {
    walked_.in_memtable += version.sequence >= memtable_sequence_min_;
    walked_.in_level0 += version.sequence >= level0_sequence_min_;
  }
  void Report();
  // The streams of our own are asked without a virtual call.
  template <typename Ask>
  auto AskStream(const Ask& ask) {
    if (files_.has_value()) return ask(*files_);
    return merged_.has_value() ? ask(*merged_) : ask(*stream_);
  }
  // `hides_older`: further versions of the key that the stream stands on are not to be seen, and may be passed by.
  void Advance(bool hides_older) {
    if (files_.has_value()) {
      has_entry_ = files_->NextAndGetResult(&entry_);
    } else if (merged_.has_value()) {
      has_entry_ = hides_older ? merged_->NextKeyAndGetResult(&entry_) : merged_->NextAndGetResult(&entry_);
    } else {
      has_entry_ = stream_->NextAndGetResult(&entry_) && !RefusesShort(entry_.key);
    }
  }
  bool StreamIsValid() {
    if (files_.has_value()) return files_->Valid();
    return merged_.has_value() ? merged_->Valid() : stream_->Valid() && !RefusesShort(stream_->key());
  }
  rocks::Slice StreamKey() {
    return AskStream([](auto& stream) { return stream.key(); });
  }
  rocks::Slice StreamValue() {
    return AskStream([](auto& stream) { return stream.value(); });
  }
  void SeekStreamToLast();
  void Retreat() {
    AskStream([](auto& stream) { stream.Prev(); });
  }
  void FindForward(bool hides_skipped);
  void FindBackward();
  void SkipHiddenForward(const Version& version, bool is_skipped, unsigned* hidden);
  void CountHidden(uint64_t in_memtable);
  bool FindNewestBackward();
  void StepOverKeyBackward(ByteView key);
  void Refuse(const Version& version);
  // Whether it is no internal key, but damage that no checksum has shown. Streams of our own have looked.
  bool RefusesShort(const rocks::Slice& key) {
    const bool is_short = key.size() < kTrailerBytes;
    if (__builtin_expect(is_short, false)) RefuseShort(key);
    return is_short;
  }
  void RefuseShort(const rocks::Slice& key);

  rocks::ReadOptions read_;
  ByteView lower_;
  ByteView upper_;
  std::optional<rocks::Arena> arena_;  // the stream lives in it
  rocks::InternalIterator* stream_ = nullptr;
  rocks::SuperVersion* version_ = nullptr;  // held by the stream
  std::optional<FileRunStream> files_;      // is the stream, which then merges nothing
  std::optional<MergedRuns> merged_;        // is the stream, which then is merged by us
  uint64_t snapshot_sequence_ = 0;
  uint64_t memtable_sequence_min_ = 0;
  uint64_t level0_sequence_min_ = 0;  // from here on, in level 0 or in a memtable
  uint64_t entries_per_seek_ = 0;
  WalkAccount* const account_;
  WalkedEntries walked_;  // not yet reported; in_level0 counts memtables too
  uint64_t ended_in_memtable_ = 0;  // of walked_.in_memtable, what is from walks that have ended
  uint64_t hidden_in_memtable_ = 0;  // during one move
  uint64_t hidden_in_memtable_max_ = 0;

  bool valid_ = false;
  bool forward_ = true;
  bool has_entry_ = false;       // forward: the stream stands on entry_
  rocks::IterateResult entry_;
  uint64_t sequence_ = 0;        // forward: of the current version
  ByteView key_;
  ByteView value_;
  ByteBuffer skipped_;           // forward: further versions of this key are hidden
  bool stands_on_current_ = false;  // backward
  ByteBuffer newest_key_;        // backward: the current entry
  ByteBuffer newest_value_;
  ByteBuffer target_;
  rocks::Slice target_slice_;
  std::string refusal_;          // an entry of a kind this does not know
  const std::atomic<bool>* interrupted_ = nullptr;
  bool was_interrupted_ = false;
  uint64_t hidden_count_ = 0;
  uint64_t hidden_end_ = UINT64_MAX;  // of hidden_count_, for this opening
};

}  // namespace cairn::store
