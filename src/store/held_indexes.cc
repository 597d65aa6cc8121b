// SPDX-License-Identifier: GPL-2.0-only
// Made outside of the mutex, as learning reads the index; who comes second drops his.
#include "store/held_indexes.h"

#include <algorithm>
#include <bit>
#include <typeinfo>
#include <utility>

#include "file/filename.h"

#include "store/cached_block.h"

namespace cairn::store {
namespace {

// So much of what may be held has a bucket. Where files are large, whose indexes take more than a quarter of it, buckets have room.
constexpr uint64_t kBytesOfBucket = uint64_t{128} << 10;
constexpr uint64_t kBucketsMin = 64;

// Into the cache, whatever the walk that comes first brings there.
void ReadIndex(const rocks::BlockBasedTable::Rep& file, rocks::ReadOptions read) {
  read.fill_cache = true;
  rocks::IndexBlockIter block;
  rocks::BlockCacheLookupContext lookup{rocks::TableReaderCaller::kUserGet};
  auto* const index = file.index_reader->NewIterator(read, /*disable_prefix_seek=*/true, &block, /*get_context=*/nullptr, &lookup);
  if (index != &block) delete index;
}

}  // namespace

HeldIndexes::HeldIndexes(uint64_t bytes_max)
    : bytes_max_(bytes_max), buckets_(std::bit_ceil(std::max(bytes_max / kBytesOfBucket, kBucketsMin))) {}

HeldIndexes::~HeldIndexes() { ReleaseAll(); }

void HeldIndexes::ReleaseAll() {
  const std::lock_guard lock(mutex_);
  for (Bucket& bucket : buckets_) {
    for (Slot& slot : bucket.slots) Release(&slot);
  }
}

// The place is empty before what it had is gone. `mutex_` is held.
void HeldIndexes::Release(Slot* slot) {
  const std::unique_ptr<const HeldIndex> index(slot->index.load(std::memory_order_relaxed));
  slot->file.store(0, std::memory_order_release);
  slot->index.store(nullptr, std::memory_order_relaxed);
  if (index == nullptr) return;
  --count_;
  bytes_ -= index->bytes_;
  is_full_.store(false, std::memory_order_relaxed);
}

HeldIndexes::Slot* HeldIndexes::Find(Bucket& bucket, uint64_t file) {
  for (Slot& slot : bucket.slots) {
    if (slot.file.load(std::memory_order_acquire) == file) return &slot;
  }
  return nullptr;
}

const HeldIndex* HeldIndexes::Of(const rocks::FileMetaData& file, const rocks::ReadOptions& read) {
  // A reader that the version does not keep may be closed, and the file opened again, while the file is there.
  const rocks::TableReader* const reader = file.fd.pinned_reader.Get();
  if (reader == nullptr) return nullptr;
  const uint64_t number = file.fd.GetNumber();
  const HeldIndex* index;
  if (const Slot* const slot = Find(BucketOf(number), number)) {
    index = slot->index.load(std::memory_order_relaxed);
  } else if (is_full_.load(std::memory_order_relaxed)) {
    return nullptr;
  } else {
    index = Hold(number, *reader, read);
  }
  return index != nullptr && &index->table() == reader ? index : nullptr;
}

bool HeldIndexes::Serves(const rocks::BlockBasedTable& table) {
  const rocks::BlockBasedTable::Rep& file = *table.get_rep();
  return file.table_options.block_cache != nullptr && IndexSeparators::Serve(file) &&
         file.table_properties->num_range_deletions == 0;
}

bool HeldIndexes::Make(const rocks::TableReader& reader, const rocks::ReadOptions& read, std::unique_ptr<HeldIndex>* made) {
  if (typeid(reader) != typeid(rocks::BlockBasedTable)) return true;
  const auto& table = static_cast<const rocks::BlockBasedTable&>(reader);
  if (!Serves(table)) return true;
  const rocks::BlockBasedTable::Rep& file = *table.get_rep();
  const auto look_up = [&] { return LookUpBlock(file, rocks::CacheEntryRole::kIndexBlock, file.index_handle.offset()); };
  rocks::Cache::Handle* handle = look_up();
  if (handle == nullptr) {
    ReadIndex(file, read);
    handle = look_up();
  }
  if (handle == nullptr) return false;
  auto index = std::make_unique<HeldIndex>(table, file.table_options.block_cache, handle);
  BlockEntries entries;
  if (!ReadEntries(BlockOf(file, handle), &entries)) return true;
  index->search_.separators.Load(file, entries);
  index->search_.LearnAll();
  index->blocks_.Open(table, read);
  index->bytes_ = file.table_options.block_cache->GetCharge(handle) + index->search_.learned_bytes() +
                  index->blocks_.held_bytes() + sizeof(HeldIndex);
  *made = std::move(index);
  return true;
}

const HeldIndex* HeldIndexes::Hold(uint64_t file, const rocks::TableReader& reader, const rocks::ReadOptions& read) {
  Bucket& bucket = BucketOf(file);
  if (Find(bucket, 0) == nullptr) return nullptr;
  std::unique_ptr<HeldIndex> made;
  if (!Make(reader, read, &made)) return nullptr;
  const std::lock_guard lock(mutex_);
  if (const Slot* const slot = Find(bucket, file)) return slot->index.load(std::memory_order_relaxed);
  Slot* const slot = Find(bucket, 0);
  if (slot == nullptr) return nullptr;
  if (made != nullptr) {
    if (made->bytes_ > bytes_max_ - bytes_) {
      is_full_.store(true, std::memory_order_relaxed);
      return nullptr;
    }
    bytes_ += made->bytes_;
    ++count_;
  }
  const HeldIndex* const index = made.release();
  slot->index.store(index, std::memory_order_relaxed);
  slot->file.store(file, std::memory_order_release);
  return index;
}

size_t HeldIndexes::held_count() const {
  const std::lock_guard lock(mutex_);
  return count_;
}

// Whether or not the deletion succeeded: no version has the file.
void HeldIndexes::OnTableFileDeleted(const rocks::TableFileDeletionInfo& file) {
  const uint64_t number = rocks::TableFileNameToNumber(file.file_path);
  const std::lock_guard lock(mutex_);
  if (Slot* const slot = number == 0 ? nullptr : Find(BucketOf(number), number)) Release(slot);
}

}  // namespace cairn::store
