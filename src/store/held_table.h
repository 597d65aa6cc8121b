// SPDX-License-Identifier: GPL-2.0-only
// A file's reader out of RocksDB's cache of them.
#pragma once

#include <memory>
#include <typeinfo>
#include <utility>

#include "db/column_family.h"
#include "db/internal_stats.h"
#include "db/table_cache.h"
#include "db/version_set.h"
#include "table/block_based/block_based_table_reader.h"
#include "table/table_reader.h"

#include "store/rocksdb_fwd.h"

namespace cairn::store {

// Holds the reader until this is destroyed or finds another, unless the hold is handed over.
//
// Lifetime: within that of the version that the file is of, which keeps some readers open by itself. Thread rule: one thread
// at a time.
class HeldTable final {
 public:
  HeldTable() = default;
  HeldTable(const HeldTable&) = delete;
  HeldTable& operator=(const HeldTable&) = delete;
  ~HeldTable() { Release(); }

  // Opens the file where it is not open. Not ok: its reader cannot be had.
  rocks::Status Find(rocks::ColumnFamilyData* family, const rocks::SuperVersion& version,
                     const rocks::ReadOptions& read, int level, const rocks::FileMetaData& file) {
    Release();
    tables_ = family->table_cache();
    return tables_->FindTable(read, tables_->file_options(), family->internal_comparator(), file, &handle_,
                              version.mutable_cf_options, &reader_, /*no_io=*/false,
                              family->internal_stats()->GetFileReadHist(level), /*skip_filters=*/false, level,
                              /*prefetch_index_and_filter_in_cache=*/true,
                              rocks::MaxFileSizeForL0MetaPin(version.mutable_cf_options), file.temperature);
  }

  // The same for a file that deletes no ranges. False: it does, or its reader cannot be had.
  [[nodiscard]] bool FindWithoutRangeDeletions(rocks::ColumnFamilyData* family, const rocks::SuperVersion& version,
                                               const rocks::ReadOptions& read, int level, const rocks::FileMetaData& file) {
    if (!Find(family, version, read, level, file).ok()) return false;
    // What the version knows of a file is filled in lazily, by another thread.
    const std::shared_ptr<const rocks::TableProperties> properties = reader_->GetTableProperties();
    return properties != nullptr && properties->num_range_deletions == 0;
  }

  // Precondition: found.
  rocks::TableReader& reader() const { return *reader_; }
  // The same of a file in blocks, as our settings make it; null: of another. Precondition: found.
  const rocks::BlockBasedTable* blocks() const {
    return typeid(*reader_) == typeid(rocks::BlockBasedTable) ? static_cast<const rocks::BlockBasedTable*>(reader_) : nullptr;
  }

  // Gives the hold to `holder`, which ends it when it is cleaned up.
  void HandTo(rocks::Cleanable* holder) {
    if (handle_ != nullptr) tables_->get_cache().RegisterReleaseAsCleanup(std::exchange(handle_, nullptr), *holder);
  }

 private:
  void Release() {
    if (handle_ != nullptr) tables_->get_cache().Release(std::exchange(handle_, nullptr));
  }

  rocks::TableCache* tables_ = nullptr;
  rocks::TableReader* reader_ = nullptr;
  rocks::TableCache::TypedHandle* handle_ = nullptr;
};

}  // namespace cairn::store
