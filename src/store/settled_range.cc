// SPDX-License-Identifier: GPL-2.0-only
// What a range has, where it lies side by side in the files of one level and nowhere else.
#include <typeinfo>

#include "db/column_family.h"
#include "db/db_impl/db_impl.h"
#include "db/table_cache.h"
#include "db/version_set.h"

#include "store/file_run.h"
#include "store/memtable_access.h"
#include "store/range_position.h"
#include "store/rocks_status.h"
#include "store/store.h"
#include "store/store_impl.h"
#include "store/version_files.h"

namespace cairn::store {
namespace {

// Memtables and files as they are now, by the view that each thread has for itself.
class CurrentVersion {
 public:
  CurrentVersion(rocks::DBImpl* db, rocks::ColumnFamilyData* family)
      : db_(db), family_(family), version_(db->GetAndRefSuperVersion(family)) {}
  CurrentVersion(const CurrentVersion&) = delete;
  CurrentVersion& operator=(const CurrentVersion&) = delete;
  ~CurrentVersion() { db_->ReturnAndCleanupSuperVersion(family_, version_); }

  const rocks::SuperVersion& operator*() const { return *version_; }

 private:
  rocks::DBImpl* const db_;
  rocks::ColumnFamilyData* const family_;
  rocks::SuperVersion* const version_;
};

bool IsInNoMemtable(const rocks::SuperVersion& version, ByteView begin, ByteView end) {
  if (version.imm->GetTotalNumEntries() != 0) return false;
  if (version.mem->IsEmpty()) return true;
  ByteBuffer from;
  from.Assign(begin);
  from.AppendLe64(rocks::PackSequenceAndType(rocks::kMaxSequenceNumber, rocks::kValueTypeForSeek));
  return IsActiveMemtableEmpty(version, ToSlice(from.view()), end);
}

bool AddFile(rocks::ColumnFamilyData* family, const rocks::SuperVersion& version, const rocks::ReadOptions& read,
             int level, const rocks::FileMetaData& file, const KeyRange& range, RangePosition::Found* found) {
  rocks::TableCache& tables = *family->table_cache();
  const rocks::MutableCFOptions& options = version.mutable_cf_options;
  rocks::TableReader* table = nullptr;
  rocks::TableCache::TypedHandle* handle = nullptr;
  const rocks::Status status = tables.FindTable(
      read, tables.file_options(), family->internal_comparator(), file, &handle, options, &table, /*no_io=*/false,
      family->internal_stats()->GetFileReadHist(level), /*skip_filters=*/false, level,
      /*prefetch_index_and_filter_in_cache=*/true, rocks::MaxFileSizeForL0MetaPin(options), file.temperature);
  if (!status.ok()) return false;
  const bool known = typeid(*table) == typeid(rocks::BlockBasedTable) &&
                     RangePosition(static_cast<const rocks::BlockBasedTable&>(*table), read)
                         .Add(range.begin, range.end, found);
  if (handle != nullptr) tables.get_cache().Release(handle);
  return known;
}

}  // namespace

bool Store::CountSettled(Family family, const KeyRange& range, SettledCount* count) const {
  PrepareThread();
  *count = SettledCount();
  auto* const data = static_cast<rocks::ColumnFamilyHandleImpl*>(Handle(family))->cfd();
  const CurrentVersion version(static_cast<rocks::DBImpl*>(impl_->root), data);
  FileRuns runs;
  if (!FindFileRuns(*version, range.begin, range.end, &runs) || runs.count > 1) return false;
  if (!IsInNoMemtable(*version, range.begin, range.end)) return false;
  if (runs.count == 0) return true;
  rocks::ReadOptions read;
  read.total_order_seek = true;
  read.io_activity = rocks::Env::IOActivity::kDBIterator;
  const FileRun& run = runs.runs[0];
  RangePosition::Found found;
  for (size_t i = 0; i < run.count; ++i) {
    const rocks::FdWithKeyRange& file = run.files[i];
    if (i != 0 && i + 1 != run.count) {
      found.bytes_between += file.fd.GetFileSize();
      continue;
    }
    if (!AddFile(data, *version, read, run.level, *file.file_metadata, range, &found)) return false;
    // One number for all: there is no second version of a key.
    if (file.fd.smallest_seqno != file.fd.largest_seqno) count->has_versions = true;
  }
  count->entries = found.entries;
  count->bytes_between = found.bytes_between;
  return true;
}

}  // namespace cairn::store
