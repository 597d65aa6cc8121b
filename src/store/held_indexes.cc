// SPDX-License-Identifier: GPL-2.0-only
// Made outside of the mutex, as learning reads the index; who comes second drops his.
#include "store/held_indexes.h"

#include <atomic>
#include <utility>

#include "file/filename.h"

#include "store/cached_block.h"

namespace cairn::store {
namespace {

// An entry of the map, some pointers.
constexpr uint64_t kBytesBeside = sizeof(HeldIndex) + 128;

std::atomic<uint64_t> next_id{1};

// Into the cache.
void ReadIndex(const rocks::BlockBasedTable::Rep& file, const rocks::ReadOptions& read) {
  rocks::IndexBlockIter block;
  rocks::BlockCacheLookupContext lookup{rocks::TableReaderCaller::kUserGet};
  auto* const index = file.index_reader->NewIterator(read, /*disable_prefix_seek=*/true, &block, /*get_context=*/nullptr, &lookup);
  if (index != &block) delete index;
}

}  // namespace

HeldIndexes::HeldIndexes(uint64_t bytes_max) : id_(next_id.fetch_add(1, std::memory_order_relaxed)), bytes_max_(bytes_max) {}

HeldIndexes::~HeldIndexes() = default;

void HeldIndexes::ReleaseAll() {
  const std::lock_guard lock(mutex_);
  indexes_.clear();
  bytes_ = 0;
}

std::unique_ptr<HeldIndex> HeldIndexes::Make(const rocks::BlockBasedTable& table, const rocks::ReadOptions& read) {
  const rocks::BlockBasedTable::Rep& file = *table.get_rep();
  if (file.table_options.block_cache == nullptr || !IndexSeparators::Serve(file)) return nullptr;
  if (file.table_properties == nullptr || file.table_properties->num_range_deletions != 0) return nullptr;
  const auto look_up = [&] { return LookUpBlock(file, rocks::CacheEntryRole::kIndexBlock, file.index_handle.offset()); };
  rocks::Cache::Handle* handle = look_up();
  if (handle == nullptr) {
    ReadIndex(file, read);
    handle = look_up();
  }
  if (handle == nullptr) return nullptr;
  auto index = std::make_unique<HeldIndex>(table, file.table_options.block_cache, handle);
  BlockEntries entries;
  if (!ReadEntries(BlockOf(file, handle), &entries)) return nullptr;
  index->search_.separators.Load(file, entries);
  index->search_.LearnAll();
  index->bytes_ = file.table_options.block_cache->GetCharge(handle) + index->search_.learned_bytes() + kBytesBeside;
  return index;
}

const HeldIndex* HeldIndexes::Get(uint64_t number, const rocks::BlockBasedTable& table, const rocks::ReadOptions& read) {
  const auto of_this_reader = [&table](const HeldIndex& index) { return &index.table() == &table ? &index : nullptr; };
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = indexes_.find(number); found != indexes_.end()) return of_this_reader(*found->second);
    if (bytes_ >= bytes_max_) return nullptr;
  }
  std::unique_ptr<HeldIndex> made = Make(table, read);
  if (made == nullptr) return nullptr;
  const uint64_t bytes = made->bytes_;
  const std::lock_guard lock(mutex_);
  if (const auto found = indexes_.find(number); found != indexes_.end()) return of_this_reader(*found->second);
  if (bytes > bytes_max_ - bytes_) return nullptr;
  bytes_ += bytes;
  return (indexes_[number] = std::move(made)).get();
}

size_t HeldIndexes::held_count() const {
  const std::lock_guard lock(mutex_);
  return indexes_.size();
}

// Whether or not the deletion succeeded: no version has the file.
void HeldIndexes::OnTableFileDeleted(const rocks::TableFileDeletionInfo& file) {
  const std::lock_guard lock(mutex_);
  const auto found = indexes_.find(rocks::TableFileNameToNumber(file.file_path));
  if (found == indexes_.end()) return;
  bytes_ -= found->second->bytes_;
  indexes_.erase(found);
}

}  // namespace cairn::store
