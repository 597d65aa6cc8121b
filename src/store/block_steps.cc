// SPDX-License-Identifier: GPL-2.0-only
// Where RocksDB's iterator stands in its block, and how it is brought up to date.
#include "store/block_steps.h"

#include "db/dbformat.h"
#include "table/block_based/block_based_table_reader.h"
#include "util/coding.h"

namespace cairn::store {
namespace {

// Private members have no names outside; an explicit instantiation may name them all the same.
template <auto kMember>
struct BlockMember {
  friend rocks::DataBlockIter& BlockMemberOf(rocks::BlockBasedTableIterator& table) { return table.*kMember; }
};
template struct BlockMember<&rocks::BlockBasedTableIterator::block_iter_>;
rocks::DataBlockIter& BlockMemberOf(rocks::BlockBasedTableIterator& table);

// Protected members are reached through a class that inherits them.
class Open : private rocks::BlockIter<rocks::Slice> {
 public:
  using Block = rocks::BlockIter<rocks::Slice>;
  static const char* Data(const Block& block) { return block.*(&Open::data_); }
  static uint32_t End(const Block& block) { return block.*(&Open::restarts_); }
  static const rocks::IterKey& StoredKey(const Block& block) { return block.*(&Open::raw_key_); }
  static uint64_t Sequence(const Block& block) { return block.*(&Open::global_seqno_); }
  static bool IsPlain(const Block& block) {
    return block.*(&Open::values_section_) == nullptr && block.*(&Open::protection_bytes_per_key_) == 0 &&
           !(block.*(&Open::pad_min_timestamp_)) && !(block.*(&Open::raw_key_)).IsUserKey();
  }
  // A Next() then finds the block's end.
  static void SkipToEnd(Block* block) {
    block->*(&Open::entry_) = rocks::Slice(Data(*block) + End(*block), 0);
  }
};

}  // namespace

bool BlockSteps::Enter(rocks::BlockBasedTableIterator* table) {
  const rocks::DataBlockIter& block = BlockMemberOf(*table);
  if (!block.Valid() || !Open::IsPlain(block)) return false;
  const rocks::Slice value = block.value();
  at_ = reinterpret_cast<const uint8_t*>(value.data()) + value.size();
  end_ = reinterpret_cast<const uint8_t*>(Open::Data(block)) + Open::End(block);
  // The first steps have nobody who fetched ahead for them, and blocks lie anywhere in memory.
  for (ptrdiff_t ahead = 0; ahead < kFetchedAheadBytes; ahead += kLineBytes) __builtin_prefetch(at_ + ahead);
  sequence_ = Open::Sequence(block);
  has_own_trailer_ = sequence_ != rocks::kDisableGlobalSequenceNumber;
  const rocks::Slice key = Open::StoredKey(block).GetKey();
  key_.Assign(ByteView(key.data(), key.size()));
  value_ = value;
  if (has_own_trailer_) ReplaceTrailer();
  return true;
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
  if (at_ != end_) return LeaveHere(table);
  Open::SkipToEnd(&BlockMemberOf(*table));
  Forget();
  return true;
}

const uint8_t* BlockSteps::ReadHead(const uint8_t* at, uint32_t* shared, uint32_t* own, uint32_t* value_bytes) const {
  const char* const end = reinterpret_cast<const char*>(end_);
  const char* next = reinterpret_cast<const char*>(at);
  for (uint32_t* number : {shared, own, value_bytes}) {
    next = rocks::GetVarint32Ptr(next, end, number);
    if (next == nullptr) return nullptr;
  }
  return reinterpret_cast<const uint8_t*>(next);
}

}  // namespace cairn::store
