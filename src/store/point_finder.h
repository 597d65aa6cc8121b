// SPDX-License-Identifier: GPL-2.0-only
// Where keys lie: a view of memtables and files with positions in the files that were read last.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>

#include "db/column_family.h"
#include "db/db_impl/db_impl.h"
#include <rocksdb/options.h>
#include "table/block_based/filter_block.h"
#include "table/internal_iterator.h"

#include "base/bytes.h"
#include "store/rocksdb_fwd.h"

namespace cairn::store {

// What DBImpl::Get does for a family that has plain values and point deletions only, without what it does anew for each
// key: memtables and files of one moment are kept while they are the current ones, and in a file that comes up again
// an iterator stays on the block and the index it has found.
//
// A key can be in memtables, in any files of level 0 and in one file of each other level, or in neighbours: a compaction
// may end a file between two versions of a key. All of these files but the last are asked by their filters, as Get does. The last has most of the keys that are there at all, so it is asked without, by the iterator;
// once keys are missing there, filters are asked again.
//
// Lifetime and threads: see PointReader.
class PointFinder final {
 public:
  enum class Answer : uint8_t {
    kFound,
    kAbsent,
    kAskStore,  // nothing that is meant to happen here: DBImpl::Get tells what it is
  };

  // `asks_filters`: also the last file's, always.
  explicit PointFinder(bool asks_filters);
  PointFinder(const PointFinder&) = delete;
  PointFinder& operator=(const PointFinder&) = delete;
  ~PointFinder() { Close(); }

  // The newest version of `key` that `snapshot` sees (null: that is committed now). The value is in `slice`, or is a
  // view into a block held until the next Get or Close: `*view`.
  Answer Get(rocks::DBImpl* db, rocks::ColumnFamilyHandle* family, ByteView key, const rocks::Snapshot* snapshot,
             rocks::PinnableSlice* slice, ByteView* view);

  // The same for a key after which none may come: nothing is held but what `slice` pins. Precondition: closed.
  Answer GetOnce(rocks::DBImpl* db, rocks::ColumnFamilyHandle* family, ByteView key, const rocks::Snapshot* snapshot,
                 rocks::PinnableSlice* slice, ByteView* view);
  void Close();

 private:
  // A file with the iterator in it, made when the file comes up the second time.
  struct Place {
    bool MayHave(const rocks::LookupKey& key, const rocks::ReadOptions& read) const;  // by the file's filter

    uint64_t file_number = 0;
    rocks::FilterBlockReader* filter = nullptr;  // of whole keys
    std::unique_ptr<rocks::InternalIterator> entries;
    int credit = 0;  // how often the next entry may still be looked at before the index is asked
  };
  struct Candidate {
    const rocks::FdWithKeyRange* file = nullptr;
    int level = 0;
  };
  class Candidates;
  static constexpr size_t kPlaceCount = 8;

  Answer Find(ByteView key, const rocks::Snapshot* snapshot, bool once, rocks::PinnableSlice* slice, ByteView* view);
  void HoldCurrent(rocks::DBImpl* db, rocks::ColumnFamilyData* family);
  Answer AskMemtables(const rocks::LookupKey& key, rocks::PinnableSlice* slice, ByteView* view, bool* decided);
  Answer AskFile(const Candidate& candidate, const rocks::LookupKey& key, rocks::PinnableSlice* slice, ByteView* view,
                 bool* decided);
  Answer AskPlace(Place* place, const rocks::LookupKey& key, uint64_t sequence, ByteView* view, bool* decided);
  Answer ReadEntry(const rocks::InternalIterator& entries, ByteView* view);
  bool OpenPlace(const Candidate& candidate, Place* place);
  // False: it cannot be read, or has deletions of ranges.
  bool FindTable(const Candidate& candidate, rocks::TableReader** table, rocks::TableCache::TypedHandle** handle);
  bool MayMiss() const { return asks_filters_ || missed_count_ * 8 > found_count_; }

  const bool asks_filters_;
  rocks::DBImpl* db_ = nullptr;
  rocks::ColumnFamilyData* family_ = nullptr;
  rocks::SuperVersion* version_ = nullptr;
  rocks::ReadOptions read_;
  std::array<Place, kPlaceCount> places_;
  uint32_t found_count_ = 0;  // in places asked without filters, since the last Close
  uint32_t missed_count_ = 0;
};

}  // namespace cairn::store
