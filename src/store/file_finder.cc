// SPDX-License-Identifier: GPL-2.0-only
// Reading of index and data blocks, every length checked.
#include "store/file_finder.h"

#include <algorithm>
#include <cstring>

#include "db/dbformat.h"
#include "table/format.h"
#include "util/coding.h"

#include "base/endian.h"
#include "store/rocks_status.h"

namespace cairn::store {
namespace {

// Protected members are reached through a class that inherits them.
template <typename Value>
class Open : private rocks::BlockIter<Value> {
 public:
  using Block = rocks::BlockIter<Value>;
  static const char* Data(const Block& block) { return block.*(&Open::data_); }
  static uint32_t End(const Block& block) { return block.*(&Open::restarts_); }
  static uint32_t PointCount(const Block& block) { return block.*(&Open::num_restarts_); }
  static uint64_t Sequence(const Block& block) { return block.*(&Open::global_seqno_); }
  static bool IsPlain(const Block& block) {
    return Data(block) != nullptr && block.status().ok() && block.*(&Open::values_section_) == nullptr &&
           block.*(&Open::protection_bytes_per_key_) == 0 && !(block.*(&Open::pad_min_timestamp_));
  }
};

const uint8_t* ReadNumber(const uint8_t* at, const uint8_t* end, uint32_t* number) {
  return reinterpret_cast<const uint8_t*>(
      rocks::GetVarint32Ptr(reinterpret_cast<const char*>(at), reinterpret_cast<const char*>(end), number));
}

// The lengths before an entry's key; null: they are malformed, or reach beyond `end`.
inline const uint8_t* ReadHead(const uint8_t* at, const uint8_t* end, uint32_t* shared, uint32_t* own,
                               uint32_t* value_bytes) {
  if (end - at < 4) return nullptr;  // no entry is that short
  *shared = at[0];
  *own = at[1];
  *value_bytes = at[2];
  if (__builtin_expect((*shared | *own) < 0x80 && (*value_bytes < 0x80 || at[3] < 0x80), true)) {
    if (*value_bytes < 0x80) {
      at += 3;
    } else {
      *value_bytes = (*value_bytes & 0x7f) | uint32_t{at[3]} << 7;
      at += 4;
    }
  } else {
    for (uint32_t* number : {shared, own, value_bytes}) {
      if ((at = ReadNumber(at, end, number)) == nullptr) return nullptr;
    }
  }
  return static_cast<size_t>(end - at) < size_t{*own} + *value_bytes ? nullptr : at;
}

}  // namespace

inline const uint8_t* FileFinder::Entries::Point(uint32_t i) const {
  const uint32_t offset = LoadLe32(end + sizeof(uint32_t) * i);
  return offset < static_cast<size_t>(end - begin) ? begin + offset : nullptr;
}

bool FileFinder::Open(const rocks::BlockBasedTable& table, const rocks::ReadOptions& read) {
  const rocks::BlockBasedTable::Rep& file = *table.get_rep();
  if (file.index_type != rocks::BlockBasedTableOptions::kBinarySearch || file.index_has_first_key ||
      file.index_value_is_full || file.has_embedded_blobs ||
      file.internal_comparator.user_comparator() != rocks::BytewiseComparator()) {
    return false;
  }
  auto* const index = file.index_reader->NewIterator(read, /*disable_prefix_seek=*/true, &index_,
                                                     /*get_context=*/nullptr, &lookup_);
  if (index != &index_) {
    delete index;
    return false;
  }
  using Index = store::Open<rocks::IndexValue>;
  if (!Index::IsPlain(index_)) {
    index_.Invalidate(rocks::Status::OK());
    return false;
  }
  table_ = &table;
  read_ = &read;
  separators_.begin = reinterpret_cast<const uint8_t*>(Index::Data(index_));
  separators_.end = separators_.begin + Index::End(index_);
  separators_.point_count = Index::PointCount(index_);
  separators_have_trailers_ = file.index_key_includes_seq;
  credit_ = kCreditAtFirst;
  return true;
}

void FileFinder::Close() {
  if (table_ == nullptr) return;
  block_.Invalidate(rocks::Status::OK());
  block_offset_ = kNoBlock;
  next_ = nullptr;
  table_ = nullptr;
  index_.Invalidate(rocks::Status::OK());  // may end the table
}

// Where the entry's key ends, and its block's handle begins; null: it is malformed.
inline const uint8_t* FileFinder::ReadSeparator(const Entries& index, uint32_t i, ByteView* key) {
  const uint8_t* at = index.Point(i);
  if (at == nullptr || index.end - at < 3) return nullptr;
  uint32_t shared = at[0], own = at[1];
  if ((shared | own) < 0x80) {
    at += 2;
  } else if ((at = ReadNumber(at, index.end, &shared)) == nullptr || (at = ReadNumber(at, index.end, &own)) == nullptr) {
    return nullptr;
  }
  if (shared != 0 || static_cast<size_t>(index.end - at) < own) return nullptr;
  *key = AsBytes(at, own);
  return at + own;
}

// Internal keys are in the order of the users', and of those that are equal the newest is first.
inline bool FileFinder::IsBefore(ByteView separator, const rocks::LookupKey& key) const {
  const ByteView user_key = ToView(key.user_key());
  if (!separators_have_trailers_) return separator < user_key;
  const ByteView separator_key = separator.substr(0, separator.size() - kTrailerBytes);
  const int order = separator_key.compare(user_key);
  if (order != 0) return order < 0;
  return LoadLe64(separator.data() + separator_key.size()) > LoadLe64(user_key.data() + user_key.size());
}

// The block of the first separator that is not before the key: the only one that can have the first version that is seen, or
// else it is first in the next one. False: the index is malformed, or does not store each key whole.
bool FileFinder::FindBlock(const rocks::LookupKey& key, rocks::BlockHandle* block, bool* is_behind_all) const {
  const size_t least_bytes = separators_have_trailers_ ? kTrailerBytes : 0;
  ByteView separator;
  uint32_t low = 0, high = separators_.point_count;
  while (low < high) {
    const uint32_t middle = low + (high - low) / 2;
    if (ReadSeparator(separators_, middle, &separator) == nullptr || separator.size() < least_bytes) return false;
    if (IsBefore(separator, key)) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  // No entry may be between the one before and this one.
  const uint8_t* const found = low == separators_.point_count ? separators_.end : separators_.Point(low);
  const auto read_handle = [&](uint32_t i, rocks::BlockHandle* handle) -> const uint8_t* {
    const uint8_t* const at = ReadSeparator(separators_, i, &separator);
    if (at == nullptr) return nullptr;
    rocks::Slice rest(reinterpret_cast<const char*>(at), static_cast<size_t>(separators_.end - at));
    return handle->DecodeFrom(&rest).ok() ? reinterpret_cast<const uint8_t*>(rest.data()) : nullptr;
  };
  rocks::BlockHandle before;
  if (low == 0 ? found != separators_.begin : read_handle(low - 1, &before) != found) return false;
  *is_behind_all = low == separators_.point_count;
  return *is_behind_all || read_handle(low, block) != nullptr;
}

bool FileFinder::OpenBlock(const rocks::BlockHandle& block) {
  if (block.offset() == block_offset_) return true;
  next_ = nullptr;
  block_offset_ = kNoBlock;
  block_.Invalidate(rocks::Status::OK());
  rocks::Status status;
  table_->NewDataBlockIterator<rocks::DataBlockIter>(*read_, block, &block_, rocks::BlockType::kData,
                                                     /*get_context=*/nullptr, &lookup_, /*prefetch_buffer=*/nullptr,
                                                     /*for_compaction=*/false, /*async_read=*/false, status,
                                                     /*use_block_cache_for_lookup=*/true);
  using Data = store::Open<rocks::Slice>;
  if (!status.ok() || !Data::IsPlain(block_)) return false;
  block_offset_ = block.offset();
  entries_.begin = reinterpret_cast<const uint8_t*>(Data::Data(block_));
  entries_.end = entries_.begin + Data::End(block_);
  entries_.point_count = Data::PointCount(block_);
  own_sequence_ = Data::Sequence(block_);
  has_own_sequence_ = own_sequence_ != rocks::kDisableGlobalSequenceNumber;
  return true;
}

// Looks at entries from next_ on. Of a key's bytes those are not compared that it shares with the key before.
FileFinder::End FileFinder::Scan(ByteView key, uint64_t sequence, size_t steps_max, ByteView* value) {
  const auto* const wanted = reinterpret_cast<const uint8_t*>(key.data());
  size_t last_bytes = entry_key_.size() < kTrailerBytes ? 0 : entry_key_.size() - kTrailerBytes;
  size_t same = 0;  // bytes that the key before has as `key` has them; it is before `key`, or an unseen version of it
  while (same < std::min(last_bytes, key.size()) && entry_key_.data()[same] == wanted[same]) ++same;
  for (; steps_max != 0; --steps_max) {
    if (next_ == entries_.end) return End::kOutOfEntries;
    uint32_t shared, own, value_bytes;
    const uint8_t* const at = ReadHead(next_, entries_.end, &shared, &own, &value_bytes);
    if (at == nullptr || shared > entry_key_.size() || size_t{shared} + own < kTrailerBytes) return End::kMalformed;
    entry_key_.Truncate(shared);
    if (own <= kCopiedAtOnce && entries_.end - at >= kCopiedAtOnce) {
      entry_key_.Reserve(kCopiedAtOnce);  // more than are the key's: two moves instead of a call
      std::memcpy(entry_key_.data() + shared, at, kCopiedAtOnce);
      entry_key_.Extend(own);
    } else {
      entry_key_.Append(at, own);
    }
    next_ = at + own + value_bytes;
    const size_t bytes = entry_key_.size() - kTrailerBytes;
    const bool differs_as_before = shared > same && same < last_bytes;
    last_bytes = bytes;
    if (differs_as_before) {
      if (bytes <= same) return End::kMalformed;
      continue;
    }
    const size_t common = std::min(bytes, key.size());
    same = std::min({same, size_t{shared}, common});
    while (same < common && entry_key_.data()[same] == wanted[same]) ++same;
    if (same < common ? entry_key_.data()[same] > wanted[same] : bytes > key.size()) return End::kBehind;
    if (same < common || bytes < key.size()) continue;
    const uint64_t trailer = LoadLe64(entry_key_.data() + bytes);
    if ((has_own_sequence_ ? own_sequence_ : trailer >> 8) > sequence) continue;
    *value = AsBytes(at + own, value_bytes);
    switch (static_cast<rocks::ValueType>(trailer & 0xff)) {
      case rocks::kTypeValue: return End::kFound;
      case rocks::kTypeDeletion:
      case rocks::kTypeSingleDeletion: return End::kRemoved;
      default: return End::kMalformed;
    }
  }
  return End::kOutOfSteps;
}

// From the last restart point that is before all versions of the key.
FileFinder::End FileFinder::FindInBlock(ByteView key, uint64_t sequence, ByteView* value) {
  uint32_t low = 0, high = entries_.point_count;
  while (low < high) {
    const uint32_t middle = low + (high - low) / 2;
    const uint8_t* at = entries_.Point(middle);
    uint32_t shared, own, value_bytes;
    if (at == nullptr || (at = ReadHead(at, entries_.end, &shared, &own, &value_bytes)) == nullptr || shared != 0 ||
        own < kTrailerBytes) {
      return End::kMalformed;
    }
    if (AsBytes(at, own - kTrailerBytes) < key) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  next_ = low == 0 ? entries_.begin : entries_.Point(low - 1);
  entry_key_.Clear();
  return Scan(key, sequence, std::numeric_limits<size_t>::max(), value);
}

FileFinder::Answer FileFinder::Find(const rocks::LookupKey& key, ByteView* value) {
  const ByteView user_key = ToView(key.user_key());
  const uint64_t sequence = rocks::GetInternalKeySeqno(key.internal_key());
  End end = End::kOutOfSteps;
  if (credit_ > 0 && next_ != nullptr && LastKey() < user_key) {
    end = Scan(user_key, sequence, /*steps_max=*/1, value);
    if (end == End::kFound) credit_ = kCreditMax;
    if (end == End::kOutOfEntries || end == End::kOutOfSteps) {
      --credit_;
      end = End::kOutOfSteps;
    }
  }
  if (end == End::kOutOfSteps) {
    rocks::BlockHandle block;
    bool is_behind_all;
    if (!FindBlock(key, &block, &is_behind_all)) return Answer::kAskTable;
    if (is_behind_all) return Answer::kAbsent;
    if (!OpenBlock(block)) return Answer::kAskTable;
    end = FindInBlock(user_key, sequence, value);
  }
  switch (end) {
    case End::kFound: return Answer::kFound;
    case End::kRemoved: return Answer::kRemoved;
    case End::kBehind: return Answer::kAbsent;
    default: break;
  }
  next_ = nullptr;
  return Answer::kAskTable;
}

void FileFinder::PinTo(ByteView value, rocks::PinnableSlice* slice) {
  next_ = nullptr;
  block_offset_ = kNoBlock;
  if (block_.IsValuePinned()) {
    slice->PinSlice(ToSlice(value), &block_);
  } else {
    slice->PinSelf(ToSlice(value));
  }
}

}  // namespace cairn::store
