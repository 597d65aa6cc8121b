// SPDX-License-Identifier: GPL-2.0-only
// Where RocksDB's iterator stands in its block, and how it is brought up to date.
#include "store/block_steps.h"

#include <algorithm>
#include <cstring>

#include "db/dbformat.h"
#include "table/block_based/block_based_table_reader.h"
#include "util/coding.h"

#include "store/block_entry.h"

namespace cairn::store {
namespace {

// Private members have no names outside; an explicit instantiation may name them all the same.
template <auto kMember>
struct BlockMember {
  friend rocks::DataBlockIter& BlockMemberOf(rocks::BlockBasedTableIterator& table) { return table.*kMember; }
};
template struct BlockMember<&rocks::BlockBasedTableIterator::block_iter_>;
rocks::DataBlockIter& BlockMemberOf(rocks::BlockBasedTableIterator& table);

using Data = OpenBlockIter<rocks::Slice>;

// Protected members are reached through a class that inherits them.
class Open : private rocks::BlockIter<rocks::Slice> {
 public:
  using Block = rocks::BlockIter<rocks::Slice>;
  static const rocks::IterKey& StoredKey(const Block& block) { return block.*(&Open::raw_key_); }
  // A Next() then finds the block's end.
  static void SkipToEnd(Block* block) {
    block->*(&Open::entry_) = rocks::Slice(Data::Data(*block) + Data::End(*block), 0);
  }
};

}  // namespace

bool BlockSteps::IsEntry(const rocks::BlockBasedTableIterator& table) {
  const rocks::DataBlockIter& block = BlockMemberOf(const_cast<rocks::BlockBasedTableIterator&>(table));
  if (!block.Valid()) return true;
  if (Open::StoredKey(block).GetKey().size() < kTrailerBytes) return false;
  if (!Data::IsPlain(block)) return true;
  // A key that is stored whole ends where its value begins.
  const rocks::Slice value = block.value();
  const auto offset = static_cast<size_t>(value.data() - Data::Data(block));
  return offset <= Data::End(block) && value.size() <= Data::End(block) - offset;
}

bool BlockSteps::Enter(rocks::BlockBasedTableIterator* table) {
  const rocks::DataBlockIter& block = BlockMemberOf(*table);
  if (!block.Valid() || !Data::IsPlain(block) || Open::StoredKey(block).IsUserKey()) return false;
  const rocks::Slice value = block.value();
  at_ = reinterpret_cast<const uint8_t*>(value.data()) + value.size();
  begin_ = reinterpret_cast<const uint8_t*>(Data::Data(block));
  end_ = block_end_ = begin_ + Data::End(block);
  point_count_ = Data::PointCount(block);
  ForgetBefore();
  FetchFirst();
  sequence_ = Data::Sequence(block);
  has_own_trailer_ = sequence_ != rocks::kDisableGlobalSequenceNumber;
  const rocks::Slice key = Open::StoredKey(block).GetKey();
  key_.Assign(ByteView(key.data(), key.size()));
  value_ = value;
  if (has_own_trailer_) ReplaceTrailer();
  return true;
}

// The first steps have nobody who fetched ahead for them, and blocks lie anywhere in memory.
void BlockSteps::FetchFirst() const {
  for (ptrdiff_t ahead = 0; ahead < kFetchedAheadBytes; ahead += kLineBytes) __builtin_prefetch(at_ + ahead);
}

// The first entry has its whole key, and comes behind the current one.
bool BlockSteps::EnterNext(const CachedBlocks::Block& block) {
  const uint8_t* const begin = block.entries.begin;
  const uint8_t* const end = block.entries.end;
  uint32_t shared, own, value_bytes;
  const uint8_t* const key = ReadHead(begin, end, &shared, &own, &value_bytes);
  if (key == nullptr || shared != 0 || own < kTrailerBytes ||
      static_cast<size_t>(end - key) < size_t{own} + value_bytes ||
      AsBytes(key, own - kTrailerBytes) < UserKeyOf(key_.view())) {
    return false;
  }
  StandBefore(block, begin);
  return Step();
}

// Before an entry that has its whole key.
void BlockSteps::StandBefore(const CachedBlocks::Block& block, const uint8_t* at) {
  at_ = at;
  begin_ = block.entries.begin;
  end_ = block_end_ = block.entries.end;
  point_count_ = block.entries.point_count;
  ForgetBefore();
  FetchFirst();
  sequence_ = block.sequence;
  has_own_trailer_ = sequence_ != rocks::kDisableGlobalSequenceNumber;
  stored_trailer_ = 0;
  key_.Clear();
  key_.AppendLe64(stored_trailer_);  // Step() puts the trailer back first
}

// By key, then from new to old.
bool BlockSteps::IsBefore(ByteView internal_key) const {
  const size_t key_bytes = key_.size() - kTrailerBytes, wanted_bytes = internal_key.size() - kTrailerBytes;
  const int order = std::memcmp(key_.data(), internal_key.data(), std::min(key_bytes, wanted_bytes));
  if (order != 0) return order < 0;
  if (key_bytes != wanted_bytes) return key_bytes < wanted_bytes;
  return LoadLe64(key_.data() + key_bytes) > LoadLe64(internal_key.data() + wanted_bytes);
}

BlockSteps::Entered BlockSteps::EnterAt(const CachedBlocks::Block& block, ByteView internal_key) {
  Forget();
  const uint8_t* const point = LastPointBefore(block.entries, UserKeyOf(internal_key));
  if (point == nullptr || point == block.entries.end || *point != 0) return Entered::kMalformed;
  StandBefore(block, point);
  while (Step()) {
    if (!IsBefore(internal_key)) return Entered::kFound;
  }
  if (is_at_end()) return Entered::kBehind;
  Forget();
  return Entered::kMalformed;
}

bool BlockSteps::EnterLast(const CachedBlocks::Block& block) {
  Forget();
  const uint8_t* const point = block.entries.Point(block.entries.point_count - 1);
  if (point == nullptr || *point != 0) return false;
  StandBefore(block, point);
  while (Step()) {
  }
  if (is_at_end()) return true;
  Forget();
  return false;
}

void BlockSteps::ReplaceTrailer() {
  uint8_t* const trailer = key_.data() + key_.size() - kTrailerBytes;
  stored_trailer_ = LoadLe64(trailer);
  StoreLe64(trailer, sequence_ << 8 | (stored_trailer_ & 0xff));
}

bool BlockSteps::LeaveHere(rocks::BlockBasedTableIterator* table) {
  rocks::DataBlockIter& block = BlockMemberOf(*table);
  block.Seek(key());
  Forget();
  return block.Valid() && block.key() == key();
}

bool BlockSteps::LeaveForNext(rocks::BlockBasedTableIterator* table) {
  if (!is_at_end()) return LeaveHere(table);
  Open::SkipToEnd(&BlockMemberOf(*table));
  Forget();
  return true;
}

bool BlockSteps::LeaveForPrev(rocks::BlockBasedTableIterator* table) {
  if (!is_backward_ || point_ != 0 || before_count_ != 0) return LeaveHere(table);
  rocks::DataBlockIter& block = BlockMemberOf(*table);
  block.SeekToFirst();
  if (!block.Valid() || block.key() != key()) return LeaveHere(table);
  Forget();
  return true;
}

// The last restart point before a value. An entry begins before its value; the next one, which may begin where an empty
// value does, not.
uint32_t BlockSteps::PointBefore(const char* value) const {
  const auto offset = static_cast<uint32_t>(reinterpret_cast<const uint8_t*>(value) - begin_);
  uint32_t low = 0, high = point_count_;
  while (low < high) {
    const uint32_t middle = low + (high - low) / 2;
    if (LoadLe32(block_end_ + sizeof(uint32_t) * middle) < offset) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low == 0 ? kNoPoint : low - 1;
}

// Reads what lies before the current entry since a restart point. Precondition: nothing of it is in before_. False:
// there is none, or it is malformed.
bool BlockSteps::LoadBefore() {
  const uint8_t* until = block_end_;
  const char* until_value = nullptr;
  if (!is_backward_) {
    is_backward_ = true;
    at_ = end_ = block_end_;
    until_value = value_.data();
    point_ = PointBefore(until_value);
  } else if (point_ == 0 || point_ == kNoPoint) {
    return false;
  } else {
    until = Point(point_);
    --point_;
  }
  const uint8_t* const from = point_ == kNoPoint ? nullptr : Point(point_);
  if (from == nullptr || until == nullptr || !ReadBefore(from, until, until_value)) {
    point_ = kNoPoint;
    return false;
  }
  before_count_ = before_.size();
  return before_count_ != 0 || LoadBefore();
}

// The entries from a restart point on, up to `until`, or to the entry with that value. False: malformed.
bool BlockSteps::ReadBefore(const uint8_t* from, const uint8_t* until, const char* until_value) {
  before_.clear();
  before_keys_.Clear();
  ByteView last;
  for (const uint8_t* at = from; at != until;) {
    uint32_t shared, own, value_bytes;
    const uint8_t* const key = at < until ? ReadHead(at, until, &shared, &own, &value_bytes) : nullptr;
    if (key == nullptr || static_cast<size_t>(until - key) < size_t{own} + value_bytes) return false;
    if (shared > last.size() || size_t{shared} + own < kTrailerBytes) return false;
    const char* const value = reinterpret_cast<const char*>(key) + own;
    if (value == until_value) break;
    const size_t key_begin = before_keys_.size();
    before_keys_.Reserve(size_t{shared} + own);
    last = before_keys_.view().substr(key_begin - last.size(), shared);
    before_keys_.Append(last);
    before_keys_.Append(key, own);
    last = before_keys_.view().substr(key_begin);
    before_.push_back({static_cast<uint32_t>(key_begin), static_cast<uint32_t>(last.size()), value, value_bytes});
    at = key + own + value_bytes;
    if (at == until && until_value != nullptr) return false;
  }
  // Only now: what a key shares with the one before may be of its trailer.
  for (const Before& before : before_) {
    if (!has_own_trailer_) break;
    uint8_t* const trailer = before_keys_.data() + before.key_begin + before.key_bytes - kTrailerBytes;
    StoreLe64(trailer, sequence_ << 8 | (LoadLe64(trailer) & 0xff));
  }
  before_bytes_ = until - from;
  return until_value != nullptr || !before_.empty();
}

const uint8_t* BlockSteps::ReadLongHead(const uint8_t* at, const uint8_t* end, uint32_t* shared, uint32_t* own,
                                        uint32_t* value_bytes) {
  const char* next = reinterpret_cast<const char*>(at);
  for (uint32_t* number : {shared, own, value_bytes}) {
    next = rocks::GetVarint32Ptr(next, reinterpret_cast<const char*>(end), number);
    if (next == nullptr) return nullptr;
  }
  return reinterpret_cast<const uint8_t*>(next);
}

}  // namespace cairn::store
