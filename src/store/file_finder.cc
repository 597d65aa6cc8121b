// SPDX-License-Identifier: GPL-2.0-only
// Reading of index and data blocks, every length checked.
#include "store/file_finder.h"

#include <algorithm>
#include <cstring>

#include "db/dbformat.h"
#include "table/format.h"

#include "base/endian.h"
#include "store/block_entry.h"
#include "store/rocks_status.h"

namespace cairn::store {
namespace {

// Eight bytes from `begin` on, as a number that orders as they do; zeros are behind the end.
inline uint64_t NumberAt(ByteView key, size_t begin) {
  if (key.size() >= begin + sizeof(uint64_t)) return LoadBe64(key.data() + begin);
  char bytes[sizeof(uint64_t)] = {};
  if (key.size() > begin) std::memcpy(bytes, key.data() + begin, key.size() - begin);
  return LoadBe64(bytes);
}

}  // namespace

bool FileFinder::Open(const rocks::BlockBasedTable& table, const rocks::ReadOptions& read) {
  const rocks::BlockBasedTable::Rep& file = *table.get_rep();
  if (!IndexSeparators::Serve(file)) return false;
  auto* const index = file.index_reader->NewIterator(read, /*disable_prefix_seek=*/true, &index_,
                                                     /*get_context=*/nullptr, &lookup_);
  if (index != &index_) {
    delete index;
    return false;
  }
  if (!separators_.Load(file, index_)) {
    index_.Invalidate(rocks::Status::OK());
    return false;
  }
  table_ = &table;
  read_ = &read;
  guess_ = Guess();
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

bool FileFinder::MakeGuess() {
  char id[sizeof(uint32_t)];
  StoreBe32(id, guess_.index_id);
  const ByteView begin = AsBytes(id, sizeof id);
  guess_.first = 0;
  if (!separators_.Bisect([&](ByteView separator) { return separator < begin; }, &guess_.first, separators_.point_count)) return false;
  uint32_t end = guess_.first;
  if (!separators_.Bisect([&](ByteView separator) { return separator.starts_with(begin); }, &end, separators_.point_count)) {
    return false;
  }
  if (end - guess_.first < kGuessedCountMin) return true;
  ByteView last_key;
  if (separators_.Read(guess_.first, &guess_.first_key) == nullptr || separators_.Read(end - 1, &last_key) == nullptr) return false;
  const auto apart = std::mismatch(guess_.first_key.begin(), guess_.first_key.end(), last_key.begin(), last_key.end());
  guess_.shared_bytes = static_cast<size_t>(apart.second - last_key.begin());
  guess_.first_number = NumberAt(guess_.first_key, guess_.shared_bytes);
  const uint64_t last_number = NumberAt(last_key, guess_.shared_bytes);
  if (last_number <= guess_.first_number) return true;
  guess_.count = end - guess_.first;
  guess_.per_number = (guess_.count - 1) / static_cast<double>(last_number - guess_.first_number);
  return true;
}

// False: there is no guess.
bool FileFinder::GuessAt(ByteView key, uint32_t* at) {
  if (guess_.count == 0 || guess_.poor_count == kPoorGuessesMax) return false;
  const int order = key.substr(0, guess_.shared_bytes).compare(guess_.first_key.substr(0, guess_.shared_bytes));
  const uint64_t number = NumberAt(key, guess_.shared_bytes);
  double distance = 0;
  if (order > 0) {
    distance = guess_.count;
  } else if (order == 0 && number > guess_.first_number) {
    distance = static_cast<double>(number - guess_.first_number) * guess_.per_number;
  }
  *at = guess_.first + static_cast<uint32_t>(std::min<double>(distance, guess_.count - 1));
  return true;
}

// Bounds the search from `at` on, in steps that double.
bool FileFinder::Gallop(const rocks::LookupKey& key, uint32_t at, uint32_t* low, uint32_t* high) const {
  ByteView separator;
  if (separators_.Read(at, &separator) == nullptr) return false;
  const bool upwards = separators_.IsBefore(separator, ToView(key.internal_key()));
  if (upwards) {
    *low = at + 1;
  } else {
    *high = at;
  }
  for (uint32_t step = 1; *low < *high; step *= 2) {
    const uint32_t next = upwards ? at + std::min(step, *high - 1 - at) : at - std::min(step, at - *low);
    if (separators_.Read(next, &separator) == nullptr) return false;
    if (separators_.IsBefore(separator, ToView(key.internal_key()))) {
      *low = next + 1;
      if (!upwards) break;
    } else {
      *high = next;
      if (upwards) break;
    }
  }
  return true;
}

// The first separator that is not before the key. False: the index is malformed.
bool FileFinder::FindSeparator(const rocks::LookupKey& key, uint32_t* found) {
  const ByteView user_key = ToView(key.user_key());
  uint32_t low = 0, high = separators_.point_count, guessed = 0;
  bool is_guessed = false;
  if (user_key.size() >= sizeof(uint32_t)) {
    const uint32_t index_id = LoadBe32(user_key.data());
    if (index_id != guess_.index_id) {
      guess_ = Guess();
      guess_.index_id = index_id;
    }
    if (guess_.find_count < kFindsBeforeGuess && ++guess_.find_count == kFindsBeforeGuess && !MakeGuess()) return false;
    is_guessed = GuessAt(user_key, &guessed);
    if (is_guessed && !Gallop(key, guessed, &low, &high)) return false;
  }
  if (!separators_.Bisect([&](ByteView separator) { return separators_.IsBefore(separator, ToView(key.internal_key())); }, &low, high)) return false;
  if (is_guessed && std::max(low, guessed) - std::min(low, guessed) > guess_.count / 16) ++guess_.poor_count;
  *found = low;
  return true;
}

// The block of the first separator that is not before the key: the only one that can have the first version that is seen, or
// else it is first in the next one. Unknown: the index does not store each key whole.
FileFinder::Where FileFinder::FindBlock(const rocks::LookupKey& key, rocks::BlockHandle* block) {
  uint32_t found;
  if (!FindSeparator(key, &found)) return Where::kMalformed;
  const bool is_behind_all = found == separators_.point_count;
  if (!is_behind_all && separators_.ReadHandle(found, block) == nullptr) return Where::kMalformed;
  // No entry may be between the one before and this one.
  rocks::BlockHandle before;
  const uint8_t* const begin = is_behind_all ? separators_.end : separators_.Point(found);
  const uint8_t* const end_before = found == 0 ? separators_.begin : separators_.ReadHandle(found - 1, &before);
  if (end_before == nullptr) return Where::kMalformed;
  if (end_before != begin) return Where::kUnknown;
  return is_behind_all ? Where::kBehindAll : Where::kInBlock;
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
  using Data = OpenBlockIter<rocks::Slice>;
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
  uint32_t low = 0, high = entries_.point_count;
  while (low < high) {
    const uint32_t middle = low + (high - low) / 2;
    const uint8_t* at = entries_.Point(middle);
    uint32_t shared, own, value_bytes;
    if (at == nullptr || (at = ReadEntryHead(at, entries_.end, &shared, &own, &value_bytes)) == nullptr || shared != 0 ||
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

// In the whole file.
FileFinder::End FileFinder::Search(const rocks::LookupKey& key, ByteView* value) {
  rocks::BlockHandle block;
  switch (FindBlock(key, &block)) {
    case Where::kInBlock: break;
    case Where::kBehindAll: return End::kBehind;
    case Where::kUnknown: return End::kOtherKind;
    case Where::kMalformed: return End::kMalformed;
  }
  const uint64_t file_bytes = table_->get_rep()->file_size;
  if (block.size() > file_bytes || block.offset() > file_bytes - block.size()) return End::kMalformed;
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
  block_offset_ = kNoBlock;
  if (block_.IsValuePinned()) {
    slice->PinSlice(ToSlice(value), &block_);
  } else {
    slice->PinSelf(ToSlice(value));
  }
}

}  // namespace cairn::store
