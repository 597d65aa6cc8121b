// SPDX-License-Identifier: GPL-2.0-only
// RocksDB has a memtable's deletions in fragments that do not overlap, as a file's are.
#include "store/range_deletions.h"

#include <algorithm>
#include <memory>
#include <span>

#include "db/memtable.h"
#include "db/range_tombstone_fragmenter.h"
#include "db/table_cache.h"

#include "store/held_indexes.h"
#include "store/held_table.h"
#include "store/memtable_access.h"
#include "store/rocks_status.h"

namespace cairn::store {
namespace {

// Of a longer run it is not asked, file by file, what is in it.
constexpr size_t kAskedFilesMax = 32;

RangeDeletions Find(rocks::FragmentedRangeTombstoneIterator* deletions, const rocks::ReadOptions& read) {
  if (deletions == nullptr || deletions->empty()) return RangeDeletions::kNone;
  if (read.iterate_lower_bound == nullptr) {
    deletions->SeekToTopFirst();
  } else {
    deletions->Seek(*read.iterate_lower_bound);  // the first that ends behind it
  }
  const bool within = deletions->Valid() && (read.iterate_upper_bound == nullptr ||
                                             ToView(deletions->start_key()) < ToView(*read.iterate_upper_bound));
  return within ? RangeDeletions::kWithin : RangeDeletions::kElsewhere;
}

RangeDeletions OfMemtable(rocks::ReadOnlyMemTable* memtable, bool is_active, const rocks::ReadOptions& read,
                          uint64_t sequence) {
  if (memtable->NumRangeDeletion() == 0) return RangeDeletions::kNone;
  const std::unique_ptr<rocks::FragmentedRangeTombstoneIterator> deletions(
      memtable->NewRangeTombstoneIterator(read, sequence, /*immutable_memtable=*/!is_active));
  return Find(deletions.get(), read);
}

RangeDeletions OfRun(const FamilySource& source, const rocks::SuperVersion& version, const rocks::ReadOptions& read,
                     const FileRun& run, uint64_t sequence) {
  if (run.count > kAskedFilesMax) return RangeDeletions::kWithin;
  RangeDeletions found = RangeDeletions::kNone;
  for (const rocks::FdWithKeyRange& file : std::span(run.files, run.count)) {
    if (source.held->Of(*file.file_metadata, read) != nullptr) continue;
    HeldTable table;
    if (!table.Find(source.family, version, read, run.level, *file.file_metadata).ok()) return RangeDeletions::kWithin;
    const std::unique_ptr<rocks::FragmentedRangeTombstoneIterator> deletions(
        table.reader().NewRangeTombstoneIterator(sequence, /*timestamp=*/nullptr));
    found = std::max(found, Find(deletions.get(), read));
  }
  return found;
}

}  // namespace

RangeDeletions RangeDeletionsAbove(const FamilySource& source, const rocks::SuperVersion& version,
                                   const rocks::ReadOptions& read, const FileRuns& runs, uint64_t sequence) {
  RangeDeletions found = OfMemtable(version.mem, /*is_active=*/true, read, sequence);
  for (rocks::ReadOnlyMemTable* memtable : OlderMemtables(version)) {
    found = std::max(found, OfMemtable(memtable, /*is_active=*/false, read, sequence));
  }
  for (size_t run = 0; run + 1 < runs.count && found != RangeDeletions::kWithin; ++run) {
    found = std::max(found, OfRun(source, version, read, runs.runs[run], sequence));
  }
  return found;
}

}  // namespace cairn::store
