// SPDX-License-Identifier: GPL-2.0-only
// Searches of the index and of restart points; short walks over the lengths of entries.
#include "store/range_position.h"

#include <algorithm>

#include "store/block_entry.h"

namespace cairn::store {

bool RangePosition::LoadIndex() {
  const rocks::BlockBasedTable::Rep& file = *table_->get_rep();
  const rocks::TableProperties* properties = file.table_properties.get();
  if (properties == nullptr || properties->num_range_deletions != 0 || properties->index_block_restart_interval != 1 || file.data_block_restart_interval == 0 ||
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
  const uint64_t file_bytes = table_->get_rep()->file_size;
  return separators_.ReadHandle(i, block) != nullptr && block->size() <= file_bytes &&
         block->offset() <= file_bytes - block->size();
}

bool RangePosition::OpenBlock(const rocks::BlockHandle& handle, Block* block) {
  rocks::Status status;
  table_->NewDataBlockIterator<rocks::DataBlockIter>(read_, handle, &block->holder, rocks::BlockType::kData,
                                                    /*get_context=*/nullptr, &lookup_, /*prefetch_buffer=*/nullptr,
                                                    /*for_compaction=*/false, /*async_read=*/false, status,
                                                    /*use_block_cache_for_lookup=*/true);
  using Data = OpenBlockIter<rocks::Slice>;
  if (!status.ok() || !Data::IsPlain(block->holder)) return false;
  BlockEntries& entries = block->entries;
  entries.begin = reinterpret_cast<const uint8_t*>(Data::Data(block->holder));
  entries.end = entries.begin + Data::End(block->holder);
  entries.point_count = Data::PointCount(block->holder);
  return entries.point_count != 0;
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

// Entries of a block whose keys are before `key`; `point`: the last restart point before it, or the first of all.
bool RangePosition::CountBefore(const BlockEntries& entries, ByteView key, const uint8_t** point,
                                uint64_t* count) const {
  uint32_t low = 0, high = entries.point_count;
  while (low < high) {
    const uint32_t middle = low + (high - low) / 2;
    const uint8_t* at = entries.Point(middle);
    uint32_t shared, own, value_bytes;
    if (at == nullptr || (at = ReadEntryHead(at, entries.end, &shared, &own, &value_bytes)) == nullptr ||
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
  *point = entries.begin;
  if (low == 0) return true;
  *point = entries.Point(low - 1);
  const uint8_t* const end = low == entries.point_count ? entries.end : entries.Point(low);
  if (*point == nullptr || end == nullptr || *point > end) return false;
  *count = uint64_t{interval_} * (low - 1);
  return ScanBefore(key, *point, end, count);
}

bool RangePosition::CountAll(const BlockEntries& entries, uint64_t* count) const {
  *count = uint64_t{interval_} * (entries.point_count - 1);
  const uint8_t* at = entries.Point(entries.point_count - 1);
  for (; at != entries.end; ++*count) {
    uint32_t shared, own, value_bytes;
    if (at == nullptr || (at = ReadEntryHead(at, entries.end, &shared, &own, &value_bytes)) == nullptr) return false;
    at += size_t{own} + value_bytes;
  }
  return true;
}

// From a restart point on. Keys are put together from what they share.
RangePosition::ListEnd RangePosition::ListBlock(const uint8_t* at, const uint8_t* end, ByteView lower, ByteView upper,
                                                KeyLists* lists) {
  ByteBuffer key;
  bool in_range = false;
  while (at != end) {
    uint32_t shared, own, value_bytes;
    if ((at = ReadEntryHead(at, end, &shared, &own, &value_bytes)) == nullptr) return ListEnd::kMalformed;
    if (shared > key.size() || size_t{shared} + own < kTrailerBytes) return ListEnd::kMalformed;
    key.Truncate(shared);
    key.Append(at, own);
    at += size_t{own} + value_bytes;
    const ByteView user_key = key.view().substr(0, key.size() - kTrailerBytes);
    if (!in_range && user_key < lower) continue;
    in_range = true;
    if (user_key >= upper) return ListEnd::kEnds;
    const uint8_t type = key.data()[user_key.size()];
    const bool is_value = type == rocks::kTypeValue;
    if (!is_value && type != rocks::kTypeDeletion && type != rocks::kTypeSingleDeletion) return ListEnd::kMalformed;
    if (!lists->AddCopy(user_key, is_value)) return ListEnd::kEnds;
  }
  return ListEnd::kBlockEnds;
}

bool RangePosition::List(ByteView lower, ByteView upper, size_t keys_max, KeyLists* lists) {
  if (!lists->Begin(keys_max)) return false;
  if (first_point_ == nullptr) {
    rocks::BlockHandle first;
    uint64_t count;
    if (!HandleOf(first_, &first) || !OpenBlock(first, &first_block_) ||
        !CountBefore(first_block_.entries, lower, &first_point_, &count)) {
      return false;
    }
  }
  ListEnd end = ListBlock(first_point_, first_block_.entries.end, lower, upper, lists);
  if (end == ListEnd::kBlockEnds && last_ > first_ + 1) {
    lists->Cut();
  } else if (end == ListEnd::kBlockEnds && last_ != first_ && last_ != separators_.point_count) {
    end = ListBlock(last_block_.entries.begin, last_block_.entries.end, lower, upper, lists);
  }
  return end != ListEnd::kMalformed;
}

// With their share of the file, whose index and filters belong to all of its blocks alike. RocksDB's sizes of ranges have that
// share, too.
void RangePosition::AddBetween(uint64_t block_bytes, Found* found) const {
  const double share = static_cast<double>(block_bytes) / static_cast<double>(std::max<uint64_t>(properties().data_size, 1));
  found->bytes_between += static_cast<uint64_t>(share * static_cast<double>(table_->get_rep()->file_size));
  found->roughly_between += static_cast<uint64_t>(share * static_cast<double>(properties().num_entries));
}

bool RangePosition::Add(const rocks::BlockBasedTable& table, ByteView lower, ByteView upper, Found* found) {
  table_ = &table;
  if (!LoadIndex() || !FindBlocks(lower, upper)) return false;
  if (first_ == separators_.point_count) return true;
  rocks::BlockHandle first, last;
  if (!HandleOf(first_, &first)) return false;
  const bool to_the_end = last_ == separators_.point_count;
  if (last_ == first_) {
    last = first;
  } else if (!HandleOf(to_the_end ? last_ - 1 : last_, &last)) {
    return false;
  }
  if (to_the_end) last.set_offset(last.offset() + last.size());
  if (last.offset() < first.offset()) return false;
  if (last_ - first_ > kBlocksBetweenMax) {
    AddBetween(last.offset() - first.offset(), found);
    return true;
  }
  uint64_t before_lower, in_first = 0, in_last = 0;
  const uint8_t* point;
  if (!OpenBlock(first, &first_block_) || !CountBefore(first_block_.entries, lower, &first_point_, &before_lower)) return false;
  if (last_ == first_) {
    if (!CountBefore(first_block_.entries, upper, &point, &in_last)) return false;
  } else {
    if (!CountAll(first_block_.entries, &in_first)) return false;
    if (!to_the_end &&
        (!OpenBlock(last, &last_block_) || !CountBefore(last_block_.entries, upper, &point, &in_last))) {
      return false;
    }
  }
  if (in_first + in_last < before_lower) return false;
  found->entries += in_first + in_last - before_lower;
  if (last_ > first_ + 1) AddBetween(last.offset() - first.offset() - first.size(), found);
  return true;
}

}  // namespace cairn::store
