// SPDX-License-Identifier: GPL-2.0-only
// Memtables and a few runs of files, read as one order without RocksDB's merge.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "db/column_family.h"
#include <rocksdb/options.h>
#include "table/internal_iterator.h"

#include "base/bytes.h"
#include "store/file_run.h"
#include "store/internal_key.h"
#include "store/memtable_key.h"
#include "store/memtable_tree.h"
#include "store/rocksdb_fwd.h"

namespace cairn::store {

// The merge of a few sources, of which one mostly has many entries in a row: settled files, with a few changes beside
// them. It remembers the next entry of all others. The source that it stands on goes on without them, for one short comparison
// an entry, until it comes behind that. RocksDB's merge keeps a heap and reads each source through virtual
// calls; this steps through blocks (block_steps.h) and through memtables' trees (memtable_walk.cc) by itself.
//
// It knows no deletions of ranges across sources: Add() refuses what may have some between the bounds. Those in the files of
// the oldest run reach nothing else, as what lies above is newer, and are applied there.
//
// Lifetime: whoever makes it has `version` referenced until it dies; `read` must outlive it.
// Thread rule: one thread at a time; others may write into the active memtable. What they write has higher sequence
// numbers than what was committed when this was made, and is met or not met.
class MergedRuns final : public rocks::InternalIterator {
 public:
  MergedRuns() = default;

  // All entries of `version` between the bounds that `runs` was found with, and in memtables. False: RocksDB's merge has
  // to do it, and this is good for nothing. To be called once.
  [[nodiscard]] bool Add(const FamilySource& source, const rocks::SuperVersion& version, const rocks::ReadOptions& read,
                         const FileRuns& runs, uint64_t sequence);

  // The files it was made of, which serve any bounds within.
  const FileRuns& runs() const { return runs_; }
  // Whether there are deletions of ranges elsewhere: it serves other bounds only where these have none either.
  bool has_deletions_elsewhere() const { return has_deletions_elsewhere_; }

  void Seek(const rocks::Slice& target) override;
  void SeekForPrev(const rocks::Slice& target) override;
  void SeekToFirst() override;
  void SeekToLast() override;
  void Next() override { NextAndGetResult(&ignored_); }
  void Prev() override;

  bool NextAndGetResult(rocks::IterateResult* result) override { return Advance<false>(result); }
  // The same, but may pass by older versions of the current key.
  bool NextKeyAndGetResult(rocks::IterateResult* result) { return Advance<true>(result); }

  bool Valid() const override { return current_ != kNone; }
  rocks::Slice key() const override {
    const Source& at = sources_[current_];
    return at.files != nullptr ? at.files->key() : at.InternalKey();
  }
  rocks::Slice value() const override {
    const Source& at = sources_[current_];
    return at.files != nullptr ? at.files->value() : at.ValueInTree();
  }
  rocks::Status status() const override { return status_; }
  rocks::IterBoundCheck UpperBoundCheckResult() override {
    const Source& at = sources_[current_];
    return at.files != nullptr ? at.files->UpperBoundCheckResult() : rocks::IterBoundCheck::kUnknown;
  }

 private:
  template <bool kMayPassOlder>
  bool Advance(rocks::IterateResult* result) {
    if (__builtin_expect(!forward_, false)) {
      Turn<true>();
      if (current_ == kNone) return false;
    }
    Source& at = sources_[current_];
    if (at.files != nullptr) {
      if (at.files->NextAndGetResult(result) && ComesFirst<true>(EntryKey::OfInternal(ToBytes(result->key)))) return true;
    } else {
      kMayPassOlder ? at.tree->NextKey(&at.position) : at.tree->Next(&at.position);
      if (at.position.entry != nullptr) {
        at.key = EntryKey::Of(at.position.entry);
        if (ComesFirst<true>(at.key)) {
          result->key = at.InternalKey();
          result->bound_check_result = rocks::IterBoundCheck::kUnknown;
          result->value_prepared = true;
          return true;
        }
      }
    }
    return GoOnForward(result);
  }

  static constexpr size_t kMemtablesMax = 4;
  static constexpr size_t kSourcesMax = FileRuns::kMax + kMemtablesMax;
  static constexpr size_t kNone = SIZE_MAX;

  // Of a run of files, or of a memtable.
  struct Source {
    bool Valid() const { return files != nullptr ? files->Valid() : position.entry != nullptr; }
    EntryKey Key() const { return files != nullptr ? EntryKey::OfInternal(ToBytes(files->key())) : key; }
    rocks::Slice InternalKey() const { return {key.data, key.size + kTrailerBytes}; }
    rocks::Slice ValueInTree() const;
    void LoadKey() {
      if (position.entry != nullptr) key = EntryKey::Of(position.entry);
    }

    std::unique_ptr<FileRunStream> files;
    const MemtableTree* tree = nullptr;
    MemtableTree::Position position;
    EntryKey key{};  // where the tree stands
  };

  static ByteView ToBytes(const rocks::Slice& slice) { return {slice.data(), slice.size()}; }
  bool AddMemtable(const rocks::ReadOnlyMemTable& memtable);

  // Whether an entry of the current source comes before what all others have, in the direction of the walk.
  template <bool kForward>
  bool ComesFirst(const EntryKey& key) const {
    if (next_source_ == kNone) return true;
    for (size_t i = 0; i < next_words_.size(); ++i) {
      const uint64_t word = key.WordAt(8 * i);
      if (word != next_words_[i]) return (word < next_words_[i]) == kForward;
    }
    return (CompareEntries(key, next_key_) < 0) == kForward;
  }
  static int CompareEntries(const EntryKey& left, const EntryKey& right);

  // A move of all sources: what they then stand on is compared anew.
  template <bool kForward, typename Move>
  void MoveAll(const Move& move);
  template <bool kForward>
  size_t FirstBeside(size_t but) const;
  template <bool kForward>
  void FindNext();
  template <bool kForward>
  void Take(size_t source);
  template <bool kForward>
  void Turn();
  bool HasFailed(const Source& source);
  [[gnu::noinline]] bool GoOnForward(rocks::IterateResult* result);

  static void Seek(Source* source, const rocks::Slice& target);
  static void SeekForPrev(Source* source, const rocks::Slice& target);

  FileRuns runs_;
  bool has_deletions_elsewhere_ = false;
  std::array<Source, kSourcesMax> sources_;
  size_t count_ = 0;
  size_t current_ = kNone;      // the source it stands on
  size_t next_source_ = kNone;  // the one that has the first entry beside it
  EntryKey next_key_{};         // that entry
  std::array<uint64_t, 3> next_words_{};
  bool forward_ = true;
  rocks::Status status_;
  rocks::IterateResult ignored_;
};

}  // namespace cairn::store
