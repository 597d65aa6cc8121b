// SPDX-License-Identifier: GPL-2.0-only
// Blocks are found by their place in the file, which the index tells.
#include "store/cached_blocks.h"

#include "monitoring/statistics_impl.h"

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
  if (hit_count_ != 0) {
    rocks::Statistics* const statistics = table_->get_rep()->ioptions.stats;
    rocks::RecordTick(statistics, rocks::BLOCK_CACHE_HIT, hit_count_);
    rocks::RecordTick(statistics, rocks::BLOCK_CACHE_DATA_HIT, hit_count_);
    rocks::RecordTick(statistics, rocks::BLOCK_CACHE_BYTES_READ, hit_bytes_);
    hit_count_ = hit_bytes_ = 0;
  }
  if (next_ != nullptr) cache_->Release(next_);
  if (current_ != nullptr) cache_->Release(current_);
  next_ = current_ = nullptr;
  table_ = nullptr;
}

bool CachedBlocks::StandAt(rocks::BlockBasedTableIterator* table, ByteView key, const rocks::Slice* upper) {
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
  table_ = &file;
  upper_ = upper;
  is_looked_up_ = false;
  return true;
}

void CachedBlocks::LookUp() {
  if (is_looked_up_) return;
  is_looked_up_ = true;
  if (at_ + 1 == separators_.point_count) return;
  rocks::BlockHandle here, next;
  // No entry may be between the two.
  if (separators_.ReadHandle(at_, &here) != separators_.Point(at_ + 1)) return;
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
  if (!ReadEntries(BlockOf(*table_->get_rep(), next_), &block->entries)) return false;
  block->sequence = table_->get_rep()->get_global_seqno(rocks::BlockType::kData);
  return true;
}

void CachedBlocks::Advance() {
  if (current_ != nullptr) cache_->Release(current_);
  current_ = next_;
  next_ = nullptr;
  ++at_;
  is_looked_up_ = false;
  ++hit_count_;
  hit_bytes_ += cache_->GetUsage(current_);
}

bool CachedBlocks::is_within_bound() const {
  ByteView separator;
  return upper_ == nullptr || (separators_.Read(at_, &separator) != nullptr &&
                               separators_.UserKeyOf(separator) < ToView(*upper_));
}

}  // namespace cairn::store
