// SPDX-License-Identifier: GPL-2.0-only
// Searches of the index and of restart points; short walks over the lengths of entries.
#include "store/range_position.h"

#include <algorithm>

#include "store/block_entry.h"

namespace cairn::store {

bool RangePosition::LoadIndex() {
  const rocks::BlockBasedTable::Rep& file = *table_.get_rep();
  const rocks::TableProperties* properties = file.table_properties.get();
  if (properties == nullptr || properties->num_deletions != 0 || properties->num_range_deletions != 0 ||
      properties->index_block_restart_interval != 1 || file.data_block_restart_interval == 0 ||
      !IndexSeparators::Serve(file)) {
    return false;
  }
  interval_ = file.data_block_restart_interval;
  auto* const index = file.index_reader->NewIterator(read_, /*disable_prefix_seek=*/true, &index_,
                                                     /*get_context=*/nullptr, &lookup_);
  if (index != &index_) {
    delete index;
    return false;
  }
  return separators_.Load(file, index_);
}

// A separator before a bound has its whole block before it. The upper bound is mostly near.
bool RangePosition::FindBlocks(ByteView lower, ByteView upper) {
  const auto is_before = [this](ByteView bound) {
    return [this, bound](ByteView separator) { return separators_.UserKeyOf(separator) < bound; };
  };
  const uint32_t count = separators_.point_count;
  first_ = 0;
  if (!separators_.Bisect(is_before(lower), &first_, count)) return false;
  uint32_t low = first_, high = count;
  ByteView separator;
  for (uint32_t step = 1; low < high; step *= 2) {
    const uint32_t next = std::min(low + step - 1, high - 1);
    if (separators_.Read(next, &separator) == nullptr) return false;
    if (separators_.UserKeyOf(separator) >= upper) {
      high = next;
      break;
    }
    low = next + 1;
  }
  if (!separators_.Bisect(is_before(upper), &low, high)) return false;
  last_ = low;
  return true;
}

bool RangePosition::HandleOf(uint32_t i, rocks::BlockHandle* block) const {
  const uint64_t file_bytes = table_.get_rep()->file_size;
  return separators_.ReadHandle(i, block) != nullptr && block->size() <= file_bytes &&
         block->offset() <= file_bytes - block->size();
}

bool RangePosition::OpenBlock(const rocks::BlockHandle& block) {
  block_.Invalidate(rocks::Status::OK());
  rocks::Status status;
  table_.NewDataBlockIterator<rocks::DataBlockIter>(read_, block, &block_, rocks::BlockType::kData,
                                                    /*get_context=*/nullptr, &lookup_, /*prefetch_buffer=*/nullptr,
                                                    /*for_compaction=*/false, /*async_read=*/false, status,
                                                    /*use_block_cache_for_lookup=*/true);
  using Data = OpenBlockIter<rocks::Slice>;
  if (!status.ok() || !Data::IsPlain(block_)) return false;
  entries_.begin = reinterpret_cast<const uint8_t*>(Data::Data(block_));
  entries_.end = entries_.begin + Data::End(block_);
  entries_.point_count = Data::PointCount(block_);
  return entries_.point_count != 0;
}

// Entries from a restart point on whose keys are before `key`. Of each key those bytes are compared that the one before it
// has not, and of that one is known how many of its bytes are as in `key`.
bool RangePosition::ScanBefore(ByteView key, const uint8_t* at, const uint8_t* end, uint64_t* count) const {
  const auto* const wanted = reinterpret_cast<const uint8_t*>(key.data());
  size_t same = 0, before_bytes = 0;
  while (at != end) {
    uint32_t shared, own, value_bytes;
    if ((at = ReadEntryHead(at, end, &shared, &own, &value_bytes)) == nullptr) return false;
    if (size_t{shared} + own < kTrailerBytes) return false;
    const size_t bytes = size_t{shared} + own - kTrailerBytes;
    if (shared > same) {
      // It differs from `key` where the one before does; a beginning of `key` would have to be put together for that.
      if (same >= before_bytes || bytes <= same) return false;
    } else {
      const size_t common = std::min(bytes, key.size());
      if (common < shared) return false;
      for (same = shared; same < common && at[same - shared] == wanted[same];) ++same;
      if (same == key.size() || (same < common && at[same - shared] > wanted[same])) return true;
    }
    before_bytes = bytes;
    at += size_t{own} + value_bytes;
    ++*count;
  }
  return true;
}

// Entries of the open block whose keys are before `key`.
bool RangePosition::CountBefore(ByteView key, uint64_t* count) const {
  uint32_t low = 0, high = entries_.point_count;
  while (low < high) {
    const uint32_t middle = low + (high - low) / 2;
    const uint8_t* at = entries_.Point(middle);
    uint32_t shared, own, value_bytes;
    if (at == nullptr || (at = ReadEntryHead(at, entries_.end, &shared, &own, &value_bytes)) == nullptr ||
        shared != 0 || own < kTrailerBytes) {
      return false;
    }
    if (AsBytes(at, own - kTrailerBytes) < key) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  *count = 0;
  if (low == 0) return true;
  const uint8_t* const begin = entries_.Point(low - 1);
  const uint8_t* const end = low == entries_.point_count ? entries_.end : entries_.Point(low);
  if (begin == nullptr || end == nullptr || begin > end) return false;
  *count = uint64_t{interval_} * (low - 1);
  return ScanBefore(key, begin, end, count);
}

bool RangePosition::CountAll(uint64_t* count) const {
  *count = uint64_t{interval_} * (entries_.point_count - 1);
  const uint8_t* at = entries_.Point(entries_.point_count - 1);
  for (; at != entries_.end; ++*count) {
    uint32_t shared, own, value_bytes;
    if (at == nullptr || (at = ReadEntryHead(at, entries_.end, &shared, &own, &value_bytes)) == nullptr) return false;
    at += size_t{own} + value_bytes;
  }
  return true;
}

// Of the file, whose index and filters belong to all of its blocks alike. RocksDB's sizes of ranges have that share, too.
uint64_t RangePosition::ShareOf(uint64_t block_bytes) const {
  const rocks::BlockBasedTable::Rep& file = *table_.get_rep();
  const uint64_t data_bytes = std::max<uint64_t>(file.table_properties->data_size, 1);
  return static_cast<uint64_t>(static_cast<double>(block_bytes) / static_cast<double>(data_bytes) *
                               static_cast<double>(file.file_size));
}

bool RangePosition::Add(ByteView lower, ByteView upper, Found* found) {
  if (!LoadIndex() || !FindBlocks(lower, upper)) return false;
  if (first_ == separators_.point_count) return true;
  rocks::BlockHandle first, last;
  if (!HandleOf(first_, &first)) return false;
  if (last_ == first_) {
    last = first;
  } else if (last_ == separators_.point_count) {
    if (!HandleOf(last_ - 1, &last)) return false;
    last.set_offset(last.offset() + last.size());
  } else if (!HandleOf(last_, &last)) {
    return false;
  }
  if (last.offset() < first.offset()) return false;
  if (last_ - first_ > kBlocksBetweenMax) {
    found->bytes_between += ShareOf(last.offset() - first.offset());
    return true;
  }
  uint64_t before_lower, in_first = 0, in_last = 0;
  if (!OpenBlock(first) || !CountBefore(lower, &before_lower)) return false;
  if (last_ != first_) {
    if (!CountAll(&in_first) || (last_ != separators_.point_count && !OpenBlock(last))) return false;
  }
  if (last_ != separators_.point_count && !CountBefore(upper, &in_last)) return false;
  if (in_first + in_last < before_lower) return false;
  found->entries += in_first + in_last - before_lower;
  if (last_ > first_ + 1) found->bytes_between += ShareOf(last.offset() - first.offset() - first.size());
  return true;
}

}  // namespace cairn::store
