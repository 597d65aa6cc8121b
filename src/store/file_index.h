// SPDX-License-Identifier: GPL-2.0-only
// The index of a file of a version, for a short look.
#pragma once

#include <memory>

#include <rocksdb/options.h>
#include "table/block_based/block_based_table_reader.h"

#include "store/current_version.h"
#include "store/held_indexes.h"
#include "store/index_search.h"
#include "store/rocksdb_fwd.h"

namespace cairn::store {

// The one that is held for all connections, or else this file's reader and index block, got by RocksDB for this look.
//
// Lifetime: within that of the version. Thread rule: one thread at a time.
class FileIndex final {
 public:
  FileIndex();
  FileIndex(const FileIndex&) = delete;
  FileIndex& operator=(const FileIndex&) = delete;
  ~FileIndex();

  // False: the file is of another form than our settings make or deletes ranges, or it cannot be read.
  // Precondition: not open. `read` must outlive this.
  [[nodiscard]] bool Open(const CurrentVersion& version, HeldIndexes* held, const rocks::ReadOptions& read, int level,
                          const rocks::FileMetaData& file);

  // Precondition: open.
  const rocks::BlockBasedTable& table() const { return *table_; }
  const IndexSearch& search() const { return *search_; }
  // Null: of an index that is not held for all.
  const BlockReader* reader() const { return reader_; }

 private:
  struct Own;  // of a file whose index is not held for all
  bool OpenOwn(const CurrentVersion& version, const rocks::ReadOptions& read, int level, const rocks::FileMetaData& file);

  const rocks::BlockBasedTable* table_ = nullptr;
  const IndexSearch* search_ = nullptr;
  const BlockReader* reader_ = nullptr;
  std::unique_ptr<Own> own_;
};

}  // namespace cairn::store
