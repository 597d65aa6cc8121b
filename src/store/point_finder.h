// SPDX-License-Identifier: GPL-2.0-only
// Where keys lie: a view of memtables and files with positions in the files that were read last.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>

#include "db/column_family.h"
#include <rocksdb/options.h>
#include "table/block_based/filter_block.h"

#include "base/bytes.h"
#include "store/family_source.h"
#include "store/file_finder.h"
#include "store/held_indexes.h"
#include "store/rocksdb_fwd.h"

namespace cairn::store {

class HeldTable;

// What DBImpl::Get does for a family that has plain values and point deletions only, without what it does anew for each
// key: memtables and files of one moment are kept while they are the current ones, and of files that come up again the
// block that was found last, and the index where that is not held for all (HeldIndexes). It ticks what Get ticks.
//
// A key can be in memtables, in any files of level 0 and in one file of each other level, or in neighbours: a compaction
// may end a file between two versions of a key. All of these files but the last are asked by their filters, as Get does. The
// last has most of the keys that are there at all, so it is asked without; while more than one in nine of the keys is missing
// there, filters are asked again.
//
// Lifetime and threads: see PointReader.
class PointFinder final {
 public:
  enum class Answer : uint8_t {
    kFound,
    kAbsent,
    kAskStore,  // nothing that is meant to happen here: DBImpl::Get tells what it is
    kDamaged,   // a block of damaged_file(), which DBImpl::Get might read beyond its end
  };

  // `asks_filters`: also the last file's, always.
  explicit PointFinder(bool asks_filters);
  PointFinder(const PointFinder&) = delete;
  PointFinder& operator=(const PointFinder&) = delete;
  ~PointFinder() { Close(); }

  // The newest version of `key` that `snapshot` sees (null: that is committed now). The value is in `slice`, or is a
  // view into a block held until the next Get or Close: `*view`.
  Answer Get(const FamilySource& source, ByteView key, const rocks::Snapshot* snapshot, rocks::PinnableSlice* slice, ByteView* view);

  // The same for a key after which none may come: nothing is held but what `slice` pins. Precondition: closed.
  Answer GetOnce(const FamilySource& source, ByteView key, const rocks::Snapshot* snapshot, rocks::PinnableSlice* slice,
                 ByteView* view);
  void Close();

  uint64_t damaged_file() const { return damaged_file_; }  // its number

 private:
  // An open file.
  struct Place {
    bool MayHave(const rocks::LookupKey& key, const rocks::ReadOptions& read) const;  // by the file's filter

    uint64_t file_number = 0;
    rocks::FilterBlockReader* filter = nullptr;  // of whole keys
    std::unique_ptr<FileFinder> finder;          // null: the table is to be asked
  };
  // What is ticked when the statement is over.
  struct Tally {
    uint64_t keys = 0;
    uint64_t memtable_hits = 0;
    uint64_t memtable_misses = 0;
    std::array<uint64_t, 3> level_hits{};  // the last: all levels from 2 on
    uint64_t value_bytes = 0;
  };
  struct Candidate {
    const rocks::FdWithKeyRange* file = nullptr;
    int level = 0;
  };
  class Candidates;
  static constexpr size_t kPlaceCount = 8;
  static constexpr uint32_t kFoundCountTrusted = 8;
  static constexpr uint32_t kRememberedCountMax = 256;

  Answer Find(ByteView key, const rocks::Snapshot* snapshot, bool once, rocks::PinnableSlice* slice, ByteView* view);
  Answer FindInFiles(const rocks::LookupKey& key, bool once, rocks::PinnableSlice* slice, ByteView* view);
  void HoldCurrent(const FamilySource& source);
  Answer AskMemtables(const rocks::LookupKey& key, rocks::PinnableSlice* slice, ByteView* view, bool* decided);
  Answer AskFile(const Candidate& candidate, const rocks::LookupKey& key, rocks::PinnableSlice* slice, ByteView* view,
                 bool* decided);
  Answer AskPlace(Place* place, const Candidate& candidate, bool is_last, bool once, const rocks::LookupKey& key,
                  rocks::PinnableSlice* slice, ByteView* view, bool* decided);
  // False: the file cannot be read, or has deletions of ranges.
  bool OpenPlace(const Candidate& candidate, Place* place);
  void ClosePlace(Place* place);
  void Tick();
  bool FindTable(const Candidate& candidate, HeldTable* table);
  bool MayMiss() const { return asks_filters_ || missed_count_ * 8 > found_count_; }

  const bool asks_filters_;
  FamilySource source_;
  rocks::SuperVersion* version_ = nullptr;
  rocks::ReadOptions read_;
  std::array<Place, kPlaceCount> places_;
  std::unique_ptr<FileFinder> spare_;  // closed; most statements need one
  Tally tally_;
  uint64_t damaged_file_ = 0;
  // Of late, in the last file that could have had the key; kept from statement to statement.
  uint32_t found_count_ = 0;
  uint32_t missed_count_ = 0;
};

}  // namespace cairn::store
