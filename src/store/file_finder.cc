// SPDX-License-Identifier: GPL-2.0-only
// Reading of index and data blocks, every length checked.
#include "store/file_finder.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "db/dbformat.h"
#include "table/format.h"

#include "base/endian.h"
#include "store/block_entry.h"
#include "store/cached_block.h"
#include "store/rocks_status.h"

namespace cairn::store {

bool FileFinder::Open(const rocks::BlockBasedTable& table, const rocks::ReadOptions& read) {
  const rocks::BlockBasedTable::Rep& file = *table.get_rep();
  if (!IndexSeparators::Serve(file)) return false;
  auto* const index = file.index_reader->NewIterator(read, /*disable_prefix_seek=*/true, &index_,
                                                     /*get_context=*/nullptr, &lookup_);
  if (index != &index_) {
    delete index;
    return false;
  }
  if (!own_.separators.Load(file, index_)) {
    index_.Invalidate(rocks::Status::OK());
    return false;
  }
  own_.Forget();
  find_count_ = 0;
  Reset(table, read, own_, /*reader=*/nullptr);
  return true;
}

void FileFinder::Open(const HeldIndex& index, const rocks::ReadOptions& read) {
  Reset(index.table(), read, index.search(), &index.blocks());
}

void FileFinder::Reset(const rocks::BlockBasedTable& table, const rocks::ReadOptions& read, const IndexSearch& search,
                       const BlockReader* reader) {
  table_ = &table;
  search_ = &search;
  reader_ = reader;
  read_ = &read;
  own_sequence_ = table.get_rep()->get_global_seqno(rocks::BlockType::kData);
  has_own_sequence_ = own_sequence_ != rocks::kDisableGlobalSequenceNumber;
  credit_ = kCreditAtFirst;
}

void FileFinder::Close() {
  if (table_ == nullptr) return;
  CloseBlock();
  hits_.Tick(*table_);
  table_ = nullptr;
  if (search_ == &own_) index_.Invalidate(rocks::Status::OK());  // may end the table
}

void FileFinder::LearnOwn(ByteView key) {
  if (key.size() < sizeof(uint32_t)) return;
  const uint32_t index_id = LoadBe32(key.data());
  if (index_id != last_index_id_) {
    last_index_id_ = index_id;
    find_count_ = 0;
  }
  if (find_count_ < kFindsBeforeLearning && ++find_count_ == kFindsBeforeLearning && !own_.HasLearned(index_id)) own_.Learn(index_id);
}

void FileFinder::CloseBlock() {
  next_ = nullptr;
  if (block_offset_ == kNoBlock) return;
  block_offset_ = kNoBlock;
  if (cached_ != nullptr) {
    table_->get_rep()->table_options.block_cache->Release(std::exchange(cached_, nullptr));
  } else {
    block_.Invalidate(rocks::Status::OK());
  }
}

bool FileFinder::OpenBlock(const rocks::BlockHandle& block) {
  if (block.offset() == block_offset_) return true;
  CloseBlock();
  cached_ = LookUpDataBlock(*table_->get_rep(), block.offset(), &entries_, &hits_);
  if (cached_ == nullptr && reader_ != nullptr) cached_ = reader_->Read(*read_, block, &entries_);
  if (cached_ == nullptr && !ReadDataBlock(*table_, *read_, block, &lookup_, &block_, &entries_)) return false;
  block_offset_ = block.offset();
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
    const uint8_t* const at = ReadEntryHead(next_, entries_.end, &shared, &own, &value_bytes);
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
      default: return End::kOtherKind;
    }
  }
  return End::kOutOfSteps;
}

// From the last restart point that is before all versions of the key.
FileFinder::End FileFinder::FindInBlock(ByteView key, uint64_t sequence, ByteView* value) {
  const uint8_t* const point = LastPointBefore(entries_, key);
  if (point == nullptr) return End::kMalformed;
  next_ = point;
  entry_key_.Clear();
  return Scan(key, sequence, std::numeric_limits<size_t>::max(), value);
}

// In the whole file.
FileFinder::End FileFinder::Search(const rocks::LookupKey& key, ByteView* value) {
  if (search_ == &own_) LearnOwn(ToView(key.user_key()));
  uint32_t at;
  rocks::BlockHandle block;
  switch (search_->FindBlock(ToView(key.internal_key()), &at, &block)) {
    case IndexSearch::Where::kInBlock: break;
    case IndexSearch::Where::kBehindAll: return End::kBehind;
    case IndexSearch::Where::kUnknown: return End::kOtherKind;
    case IndexSearch::Where::kMalformed: return End::kMalformed;
  }
  if (!LiesInside(*table_->get_rep(), block)) return End::kMalformed;
  if (!OpenBlock(block)) return End::kOtherKind;
  return FindInBlock(ToView(key.user_key()), rocks::GetInternalKeySeqno(key.internal_key()), value);
}

FileFinder::Answer FileFinder::Find(const rocks::LookupKey& key, ByteView* value) {
  const ByteView user_key = ToView(key.user_key());
  End end = End::kOutOfSteps;
  if (credit_ > 0 && next_ != nullptr && LastKey() < user_key) {
    end = Scan(user_key, rocks::GetInternalKeySeqno(key.internal_key()), /*steps_max=*/1, value);
    if (end == End::kFound) credit_ = kCreditMax;
    if (end == End::kOutOfEntries || end == End::kOutOfSteps) {
      --credit_;
      end = End::kOutOfSteps;
    }
  }
  if (end == End::kOutOfSteps) end = Search(key, value);
  switch (end) {
    case End::kFound: return Answer::kFound;
    case End::kRemoved: return Answer::kRemoved;
    case End::kBehind: return Answer::kAbsent;
    default: break;
  }
  next_ = nullptr;
  return end == End::kMalformed ? Answer::kDamaged : Answer::kAskTable;
}

void FileFinder::PinTo(ByteView value, rocks::PinnableSlice* slice) {
  next_ = nullptr;
  if (cached_ != nullptr) {
    const auto release = [](void* cache, void* handle) {
      static_cast<rocks::Cache*>(cache)->Release(static_cast<rocks::Cache::Handle*>(handle));
    };
    slice->PinSlice(ToSlice(value), release, table_->get_rep()->table_options.block_cache.get(), std::exchange(cached_, nullptr));
    block_offset_ = kNoBlock;
  } else if (block_.IsValuePinned()) {
    slice->PinSlice(ToSlice(value), &block_);  // which takes what releases the block
    block_.Invalidate(rocks::Status::OK());
    block_offset_ = kNoBlock;
  } else {
    slice->PinSelf(ToSlice(value));
  }
}

}  // namespace cairn::store
