// SPDX-License-Identifier: GPL-2.0-only
// Blocks are found by their place in the file, which the index tells.
#include "store/cached_blocks.h"

#include <utility>

#include "store/cached_block.h"

namespace cairn::store {
namespace {

constexpr size_t kLineBytes = 64;
constexpr size_t kFetchedBytes = 512;

// Private members have no names outside; an explicit instantiation may name them all the same.
template <auto kTable>
struct TableMember {
  friend const rocks::BlockBasedTable& TableOf(const rocks::BlockBasedTableIterator& table) { return *(table.*kTable); }
};
template struct TableMember<&rocks::BlockBasedTableIterator::table_>;
const rocks::BlockBasedTable& TableOf(const rocks::BlockBasedTableIterator& table);

}  // namespace

void CachedBlocks::CloseOpen() {
  hits_.Tick(*table_);
  if (next_ != nullptr) cache_->Release(next_);
  if (current_ != nullptr) cache_->Release(current_);
  next_ = current_ = nullptr;
  table_ = nullptr;
}

bool CachedBlocks::StandAt(rocks::BlockBasedTableIterator* table, ByteView key) {
  const rocks::BlockBasedTable& file = TableOf(*table);
  cache_ = file.get_rep()->table_options.block_cache.get();
  if (cache_ == nullptr || !IndexSeparators::Serve(*file.get_rep())) return false;
  const auto* const index = dynamic_cast<const rocks::IndexBlockIter*>(table->index_iter_.get());
  if (index == nullptr || !separators_.Load(*file.get_rep(), *index)) return false;
  const auto is_before = [&](ByteView separator) { return separators_.IsBefore(separator, key); };
  // RocksDB's iterator mostly stands there; where it has looked ahead it does not.
  at_ = OpenBlockIter<rocks::IndexValue>::LastPoint(*index);
  ByteView before, here;
  if (at_ >= separators_.point_count || separators_.Read(at_, &here) == nullptr || is_before(here) ||
      (at_ != 0 && (separators_.Read(at_ - 1, &before) == nullptr || !is_before(before)))) {
    at_ = 0;
    if (!separators_.Bisect(is_before, &at_, separators_.point_count) || at_ == separators_.point_count) return false;
  }
  rocks::BlockHandle before_it;
  if (!ReadHandleBefore(at_, &before_it)) return false;
  Stand(file);
  return true;
}

void CachedBlocks::Stand(const rocks::BlockBasedTable& table) {
  table_ = &table;
  reader_ = nullptr;
  is_looked_up_ = false;
}

void CachedBlocks::Stand(const HeldIndex& index) {
  Stand(index.table());
  reader_ = &index.blocks();
  cache_ = table_->get_rep()->table_options.block_cache.get();
  separators_ = index.search().separators;
}

rocks::Cache::Handle* CachedBlocks::Read(const rocks::BlockHandle& handle, BlockEntries* entries) const {
  rocks::Cache::Handle* const found = reader_ == nullptr ? nullptr : reader_->Read(read_, handle, entries);
  return found != nullptr ? found : ReadIntoCache(*table_, read_, handle, entries);
}

// Stands on the block, whose handle separator i has. False: it is not here, and where this stands has not changed. If it could not
// be read, RocksDB's iterator tells why.
bool CachedBlocks::Hold(uint32_t i, const rocks::BlockHandle& handle, Block* block) {
  const rocks::BlockBasedTable::Rep& file = *table_->get_rep();
  rocks::Cache::Handle* found = LookUpDataBlock(file, handle.offset(), &block->entries, &hits_);
  if (found == nullptr && std::exchange(may_read_, false)) found = Read(handle, &block->entries);
  if (found == nullptr) return false;
  block->sequence = file.get_global_seqno(rocks::BlockType::kData);
  if (next_ != nullptr) cache_->Release(std::exchange(next_, nullptr));
  if (current_ != nullptr) cache_->Release(current_);
  current_ = found;
  at_ = i;
  is_looked_up_ = false;
  return true;
}

CachedBlocks::Sought CachedBlocks::Seek(const HeldIndex& index, ByteView key, Block* block) {
  uint32_t at;
  rocks::BlockHandle handle;
  switch (index.search().FindBlock(key, &at, &handle)) {
    case IndexSearch::Where::kInBlock: break;
    case IndexSearch::Where::kBehindAll: return Sought::kBehindAll;
    default: return Sought::kNotHere;
  }
  Stand(index);
  if (Hold(at, handle, block)) return Sought::kStands;
  Close();
  return Sought::kNotHere;
}

bool CachedBlocks::SeekLast(const HeldIndex& index, Block* block) {
  const uint32_t count = index.search().separators.point_count;
  if (count == 0) return false;
  Stand(index);
  rocks::BlockHandle handle;
  if (ReadHandleBefore(count, &handle) && Hold(count - 1, handle, block)) return true;
  Close();
  return false;
}

bool CachedBlocks::Retreat(Block* block) {
  rocks::BlockHandle handle;
  return ReadHandleBefore(at_, &handle) && Hold(at_ - 1, handle, block);
}

void CachedBlocks::LookUp() {
  if (is_looked_up_) return;
  is_looked_up_ = true;
  if (at_ + 1 == separators_.point_count) return;
  rocks::BlockHandle here, next;
  if (!ReadHandleBefore(at_ + 1, &here)) return;
  if (separators_.ReadHandle(at_ + 1, &next) == nullptr) return;
  next_ = LookUpBlock(*table_->get_rep(), rocks::CacheEntryRole::kDataBlock, next.offset());
  if (next_ == nullptr) return;
  const auto* const block = reinterpret_cast<const char*>(&BlockOf(*table_->get_rep(), next_));
  for (size_t line = 0; line < sizeof(rocks::Block); line += kLineBytes) __builtin_prefetch(block + line);
}

void CachedBlocks::Fetch() {
  LookUp();
  if (next_ == nullptr) return;
  const char* const entries = BlockOf(*table_->get_rep(), next_).data();
  for (size_t line = 0; line < kFetchedBytes; line += kLineBytes) __builtin_prefetch(entries + line);
  if (at_ + 2 < separators_.point_count) __builtin_prefetch(separators_.Point(at_ + 2));
}

bool CachedBlocks::Peek(Block* block) {
  LookUp();
  if (next_ == nullptr) return false;
  const rocks::BlockBasedTable::Rep& file = *table_->get_rep();
  block->sequence = file.get_global_seqno(rocks::BlockType::kData);
  return ReadEntries(BlockOf(file, next_), &block->entries);
}

bool CachedBlocks::IsLast() const {
  rocks::BlockHandle handle;
  return at_ + 1 == separators_.point_count && ReadHandleBefore(at_ + 1, &handle);
}

void CachedBlocks::Advance() {
  if (current_ != nullptr) cache_->Release(current_);
  current_ = next_;
  next_ = nullptr;
  ++at_;
  is_looked_up_ = false;
  hits_.Add(*cache_, current_);
}

bool CachedBlocks::is_within_bound() const {
  const rocks::Slice* const upper = read_.iterate_upper_bound;
  ByteView separator;
  return upper == nullptr || (separators_.Read(at_, &separator) != nullptr && separators_.UserKeyOf(separator) < ToView(*upper));
}

}  // namespace cairn::store
