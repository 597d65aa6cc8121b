// SPDX-License-Identifier: GPL-2.0-only
// Searches of the index, and what lies between the blocks that they find.
#include "store/range_position.h"

#include <algorithm>
#include <cstring>

namespace cairn::store {

// A separator before a bound has its whole block before it. The upper bound is mostly near.
bool RangePosition::FindBlocks() {
  if (!search_.Find(bounds_.internal_lower(), &first_)) return false;
  const IndexSeparators& separators = search_.separators;
  const auto is_before_upper = [&](ByteView separator) { return separators.UserKeyOf(separator) < bounds_.upper(); };
  uint32_t low = first_, high = separators.point_count;
  ByteView separator;
  for (uint32_t step = 1; low < high; step *= 2) {
    if (step > kStepMax) return search_.Find(bounds_.internal_upper(), &last_) && last_ >= low;
    const uint32_t next = std::min(low + step - 1, high - 1);
    if (separators.Read(next, &separator) == nullptr) return false;
    if (!is_before_upper(separator)) {
      high = next;
      break;
    }
    low = next + 1;
  }
  if (!separators.Bisect(is_before_upper, &low, high)) return false;
  last_ = low;
  return true;
}

bool RangePosition::HandleOf(uint32_t i, rocks::BlockHandle* block) const {
  return search_.separators.ReadHandle(i, block) != nullptr && LiesInside(*table_.get_rep(), *block);
}

bool RangePosition::OpenFirst(const rocks::BlockHandle& handle) {
  return first_block_.Open(table_, read_, reader_, handle, &hits_) &&
         FindPlace(first_block_.entries(), interval_, bounds_.internal_lower(), &begin_);
}

bool RangePosition::List(size_t keys_max, bool has_versions, KeyLists* lists) {
  if (!lists->Begin(keys_max, has_versions)) return false;
  rocks::BlockHandle first;
  if (!first_block_.is_open() && (!HandleOf(first_, &first) || !OpenFirst(first))) return false;
  // The first entry of the range shares no more with the one before than with the bound between them.
  const ByteView lower = bounds_.lower();
  char* const copy = lists->Allocate(lower.size());
  if (copy == nullptr) return true;
  std::memcpy(copy, lower.data(), lower.size());
  if (!ListEntries(begin_.at, first_block_.entries().end, in_first_, ByteView(copy, lower.size()), lists)) return false;
  if (last_ > first_ + 1) {
    lists->Cut();
  } else if (last_block_.is_open() && !lists->is_cut()) {
    return ListEntries(last_block_.entries().begin, last_block_.entries().end, in_last_, ByteView(copy, 0), lists);
  }
  return true;
}

// With their share of the file, whose index and filters belong to all of its blocks alike. RocksDB's sizes of ranges have that
// share, too.
void RangePosition::AddBetween(uint64_t block_bytes, Found* found) const {
  const double share = static_cast<double>(block_bytes) / static_cast<double>(std::max<uint64_t>(properties().data_size, 1));
  found->bytes_between += static_cast<uint64_t>(share * static_cast<double>(table_.get_rep()->file_size));
  found->roughly_between += static_cast<uint64_t>(share * static_cast<double>(properties().num_entries));
}

// What the blocks have in which the range begins and ends.
bool RangePosition::CountInBlocks(const rocks::BlockHandle& first, const rocks::BlockHandle* last) {
  if (!OpenFirst(first)) return false;
  uint64_t end;
  BlockPlace upper;
  if (last_ == first_) {
    if (!FindPlaceBehind(first_block_.entries(), interval_, begin_, bounds_.internal_lower(), bounds_.internal_upper(), &upper)) {
      return false;
    }
    end = upper.before;
  } else if (!CountEntries(first_block_.entries(), interval_, &end)) {
    return false;
  }
  if (end < begin_.before) return false;
  in_first_ = end - begin_.before;
  if (last == nullptr) return true;
  if (!last_block_.Open(table_, read_, reader_, *last, &hits_) ||
      !FindPlace(last_block_.entries(), interval_, bounds_.internal_upper(), &upper)) {
    return false;
  }
  in_last_ = upper.before;
  return true;
}

bool RangePosition::Add(Found* found) {
  if (interval_ == 0 || !FindBlocks()) return false;
  const uint32_t count = search_.separators.point_count;
  if (first_ == count) return true;
  rocks::BlockHandle first, last;
  if (!HandleOf(first_, &first)) return false;
  const bool to_the_end = last_ == count;
  if (last_ == first_) {
    last = first;
  } else if (!HandleOf(to_the_end ? last_ - 1 : last_, &last)) {
    return false;
  }
  const uint64_t end = last.offset() + (to_the_end ? last.size() : 0);
  if (end < first.offset() || (last_ != first_ && end - first.offset() < first.size())) return false;
  if (last_ - first_ > kBlocksBetweenMax) {
    AddBetween(end - first.offset(), found);
    return true;
  }
  if (!CountInBlocks(first, last_ == first_ || to_the_end ? nullptr : &last)) return false;
  found->entries += in_first_ + in_last_;
  if (last_ > first_ + 1) AddBetween(end - first.offset() - first.size(), found);
  return true;
}

}  // namespace cairn::store
