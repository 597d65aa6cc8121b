// SPDX-License-Identifier: GPL-2.0-only
// Opens an index in one of two ways.
#include "store/file_index.h"

#include "store/held_table.h"

namespace cairn::store {

struct FileIndex::Own {
  HeldTable table;
  rocks::BlockCacheLookupContext lookup{rocks::TableReaderCaller::kUserApproximateSize};
  rocks::IndexBlockIter block;  // only holds it
  IndexSearch search;
};

FileIndex::FileIndex() = default;

FileIndex::~FileIndex() = default;

bool FileIndex::Open(const CurrentVersion& version, HeldIndexes* held, const rocks::ReadOptions& read, int level,
                     const rocks::FileMetaData& file) {
  const HeldIndex* const index = held->Of(file, read);
  if (index == nullptr) return OpenOwn(version, read, level, file);
  table_ = &index->table();
  search_ = &index->search();
  reader_ = &index->blocks();
  return true;
}

bool FileIndex::OpenOwn(const CurrentVersion& version, const rocks::ReadOptions& read, int level, const rocks::FileMetaData& file) {
  own_ = std::make_unique<Own>();
  if (!own_->table.FindWithoutRangeDeletions(version.family(), *version, read, level, file)) return false;
  const rocks::BlockBasedTable* const table = own_->table.blocks();
  if (table == nullptr || !IndexSeparators::Serve(*table->get_rep())) return false;
  const rocks::BlockBasedTable::Rep& rep = *table->get_rep();
  auto* const index = rep.index_reader->NewIterator(read, /*disable_prefix_seek=*/true, &own_->block, /*get_context=*/nullptr,
                                                    &own_->lookup);
  if (index != &own_->block) {
    delete index;
    return false;
  }
  if (!own_->search.separators.Load(rep, own_->block)) return false;
  table_ = table;
  search_ = &own_->search;
  return true;
}

}  // namespace cairn::store
