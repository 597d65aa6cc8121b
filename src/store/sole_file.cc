// SPDX-License-Identifier: GPL-2.0-only
// Which files a range meets, and the stream of one.
#include "store/sole_file.h"

#include <memory>

#include "db/column_family.h"
#include "db/memtable.h"
#include "db/range_del_aggregator.h"
#include "db/table_cache.h"
#include "table/merging_iterator.h"

#include "store/version_files.h"

namespace cairn::store {
SoleFile FindSoleFile(const rocks::SuperVersion& version, ByteView lower, ByteView upper) {
  if (!version.mem->IsEmpty() || version.imm->GetTotalNumEntries() != 0) return {};
  const rocks::VersionStorageInfo& storage = *version.current->storage_info();
  const auto begins_below_upper = [upper](const rocks::FdWithKeyRange& file) {
    return upper.empty() || UserKey(file.smallest_key) < upper;
  };
  SoleFile sole;
  for (int level = 0; level < storage.num_non_empty_levels(); ++level) {
    const rocks::LevelFilesBrief& files = storage.LevelFilesBrief(level);
    const rocks::FdWithKeyRange* const end = files.files + files.num_files;
    const rocks::FdWithKeyRange* file = files.files;
    if (level != 0) {
      file = FirstFileFrom(files, lower);
    }
    for (; file != end; ++file) {
      const bool meets = begins_below_upper(*file) && UserKey(file->largest_key) >= lower;
      if (!meets && level != 0) break;
      if (!meets) continue;
      if (sole.file != nullptr) return {};
      sole = {file->file_metadata, level};
    }
  }
  return sole;
}

rocks::InternalIterator* NewSoleFileStream(rocks::DBImpl* db, rocks::ColumnFamilyData* family,
                                           rocks::SuperVersion* version, const rocks::ReadOptions& read,
                                           const SoleFile& sole, uint64_t sequence, rocks::Arena* arena) {
  rocks::MergeIteratorBuilder sources(&family->internal_comparator(), arena, /*prefix_seek_mode=*/false,
                                      read.iterate_upper_bound);
  std::unique_ptr<rocks::TruncatedRangeDelIterator> deletions;
  rocks::TableCache& tables = *family->table_cache();
  // A file opened without its filters would stay so for everyone; that a walk in total order does not ask them is said
  // by `read`.
  rocks::InternalIterator* const entries = tables.NewIterator(
      read, tables.file_options(), family->internal_comparator(), *sole.file, /*range_del_agg=*/nullptr,
      version->mutable_cf_options, /*table_reader_ptr=*/nullptr, family->internal_stats()->GetFileReadHist(sole.level),
      rocks::TableReaderCaller::kUserIterator, arena, /*skip_filters=*/false, sole.level,
      rocks::MaxFileSizeForL0MetaPin(version->mutable_cf_options), /*smallest_compaction_key=*/nullptr,
      /*largest_compaction_key=*/nullptr, /*allow_unprepared_value=*/false, &sequence, &deletions);
  sources.AddPointAndTombstoneIterator(entries, std::move(deletions));
  rocks::InternalIterator* const stream = sources.Finish();
  HoldVersion(stream, db, version);
  return stream;
}

}  // namespace cairn::store
