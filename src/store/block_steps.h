// SPDX-License-Identifier: GPL-2.0-only
// Steps through the entries of one data block, without a call for each.
#pragma once

#include <cstdint>
#include <cstring>
#include <vector>

#include "db/dbformat.h"
#include "table/block_based/block_based_table_iterator.h"

#include "base/bytes.h"
#include "base/endian.h"
#include "store/cached_blocks.h"
#include "store/internal_key.h"
#include "store/rocksdb_fwd.h"

namespace cairn::store {

// RocksDB's iterator over a file makes eight calls for each entry; two thirds of what counting an entry costs.
// This takes over where that iterator stands, or enters a block at a key, and reads on to the end of its block, or back to its begin, by itself; it goes
// back to that iterator there, and for moves of other kinds. What does not look as it should is damage: RocksDB's iterator
// would follow lengths out of the block.
//
// Backward, an entry's key is told only by those before it, from the restart point on. What lies between two of these is read
// at once, and then given from its end.
//
// Blocks with separate values and with a checksum for each entry are left to RocksDB.
//
// Thread rule: one thread at a time. key() and value() die at the next step.
class BlockSteps final {
 public:
  // From the entry on which `table` stands. False when this block is left to RocksDB.
  bool Enter(rocks::BlockBasedTableIterator* table);
  // Whether the entry on which `table` stands is an internal key and a value inside its block. RocksDB looks at neither.
  static bool IsEntry(const rocks::BlockBasedTableIterator& table);
  // From the first entry of a block of the same file, behind the current one. False: it is left to RocksDB; nothing has
  // changed. Precondition: is_inside().
  bool EnterNext(const CachedBlocks::Block& block);
  enum class Entered : uint8_t {
    kFound,
    kBehind,     // the block ends before the key: stands on its last entry
    kMalformed,  // nothing is entered
  };
  // At the first entry of a block that is not before that internal key.
  Entered EnterAt(const CachedBlocks::Block& block, ByteView internal_key);
  // At the last entry of a block. False: it is malformed, and nothing is entered.
  bool EnterLast(const CachedBlocks::Block& block);
  // Forgets the block; `table` stays where it stood when it was entered, or anywhere in the block.
  void Forget() {
    at_ = end_ = block_end_ = nullptr;
    ForgetBefore();
  }
  bool is_inside() const { return at_ != nullptr; }

  // Has Step() stop twice on the way to the end of the block, at marks half and three quarters down the rest of it.
  void SetMarks() {
    if (block_end_ - at_ < kMarkedBytesMin) return;
    end_ = at_ + (block_end_ - at_) / 2;
    mark_ = 0;
  }
  // After Step() found none: the mark that was passed, 1 or 2, and then Step() is to be tried again; 0: there was none.
  int PassMark() {
    if (end_ == block_end_) return 0;
    end_ = ++mark_ == 1 ? end_ + (block_end_ - end_) / 2 : block_end_;
    return mark_;
  }
  // After Step() or StepBack() found none, and no mark was passed: whether that is because the block is damaged.
  bool is_malformed() const { return is_backward_ ? point_ == kNoPoint : at_ != block_end_; }
  // Whether there is nothing behind the current entry. Precondition: is_inside().
  bool is_at_end() const { return !is_backward_ && at_ == block_end_; }

  // Leaves the block so that a Next() of `table` goes on behind the current entry. Precondition: is_inside().
  // False: damaged, as below.
  bool LeaveForNext(rocks::BlockBasedTableIterator* table);
  // The same for a Prev() of `table`.
  bool LeaveForPrev(rocks::BlockBasedTableIterator* table);
  // Leaves the block with `table` on the current entry. Precondition: is_inside(). False when the block does not
  // find it: its restart points or its order are damaged, and `table` must not be moved on from there.
  bool LeaveHere(rocks::BlockBasedTableIterator* table);

  // To the next entry of the block. False when there is none, or it is not well-formed: nothing has moved then.
  // Precondition: is_inside().
  [[gnu::always_inline]] bool Step() {
    uint32_t shared, own, value_bytes;
    const uint8_t* const at = ReadHead(at_, end_, &shared, &own, &value_bytes);
    if (at == nullptr) return false;
    if (static_cast<size_t>(end_ - at) < size_t{own} + value_bytes || shared > key_.size()) return false;
    if (size_t{shared} + own < kTrailerBytes) return false;
    if (has_own_trailer_) StoreLe64(key_.data() + key_.size() - kTrailerBytes, stored_trailer_);
    key_.Truncate(shared);
    if (own <= kCopiedAtOnce && end_ - at >= kCopiedAtOnce) {
      key_.Reserve(kCopiedAtOnce);  // more than are the key's: four moves instead of a call
      std::memcpy(key_.data() + shared, at, kCopiedAtOnce);
      key_.AddWritten(own);
    } else {
      key_.Append(at, own);
    }
    if (has_own_trailer_) ReplaceTrailer();
    value_ = rocks::Slice(reinterpret_cast<const char*>(at) + own, value_bytes);
    at_ = at + own + value_bytes;
    const uint8_t* const ahead = at_ + kFetchedAheadBytes;
    __builtin_prefetch(ahead);
    // A long value moves on by several lines. Of a very long one most is not read before the next step.
    if (value_bytes > static_cast<uint32_t>(kLineBytes)) {
      __builtin_prefetch(ahead + kLineBytes);
      __builtin_prefetch(ahead + 2 * kLineBytes);
      __builtin_prefetch(ahead + 3 * kLineBytes);
    }
    return true;
  }

  // To the entry before. False when there is none in the block, or it is not well-formed: nothing has moved then.
  // Precondition: is_inside().
  bool StepBack() {
    if (__builtin_expect(before_count_ == 0, false) && !LoadBefore()) return false;
    const Before& before = before_[--before_count_];
    key_.Assign(KeyOf(before));
    value_ = rocks::Slice(before.value, before.value_bytes);
    // What is read next lies about so far below as what was read at once has bytes.
    const char* const ahead = before.value - before_bytes_;
    for (ptrdiff_t line = 0; line < 4; ++line) __builtin_prefetch(ahead + line * kLineBytes);
    // At once, so that the entry before is known.
    if (__builtin_expect(before_count_ == 0, false)) LoadBefore();
    return true;
  }

  // After StepBack(): whether the entry before is known, and of another key than the current one.
  bool HasOtherKeyBefore() const {
    if (before_count_ == 0) return false;
    const ByteView before = KeyOf(before_[before_count_ - 1]);
    return before.size() != key_.size() ||
           std::memcmp(before.data(), key_.data(), key_.size() - kTrailerBytes) != 0;
  }

  rocks::Slice key() const { return {reinterpret_cast<const char*>(key_.data()), key_.size()}; }
  rocks::Slice value() const { return value_; }

 private:
  static constexpr ptrdiff_t kCopiedAtOnce = 32;
  static constexpr ptrdiff_t kFetchedAheadBytes = 512;
  static constexpr ptrdiff_t kLineBytes = 64;
  static constexpr uint32_t kNoPoint = UINT32_MAX;
  static constexpr ptrdiff_t kMarkedBytesMin = 512;
  static constexpr ptrdiff_t kHeadBytesMax = 4;  // of those that are read without looking for the end

  // An entry that was read on the way to the current one.
  struct Before {
    uint32_t key_begin;  // in before_keys_
    uint32_t key_bytes;
    const char* value;
    uint32_t value_bytes;
  };

  // The lengths before an entry's key, which begins where this returns; null: they are malformed. Whether key and value
  // end before `end` is not looked at.
  [[gnu::always_inline]] static const uint8_t* ReadHead(const uint8_t* at, const uint8_t* end, uint32_t* shared,
                                                        uint32_t* own, uint32_t* value_bytes) {
    if (end - at < kHeadBytesMax) return nullptr;  // no entry is that short
    *shared = at[0];
    *own = at[1];
    *value_bytes = at[2];
    if (__builtin_expect((*shared | *own) < 0x80, true) && (*value_bytes < 0x80 || at[3] < 0x80)) {
      if (*value_bytes < 0x80) return at + 3;
      *value_bytes = (*value_bytes & 0x7f) | uint32_t{at[3]} << 7;
      return at + 4;
    }
    return ReadLongHead(at, end, shared, own, value_bytes);
  }
  static const uint8_t* ReadLongHead(const uint8_t* at, const uint8_t* end, uint32_t* shared, uint32_t* own,
                                     uint32_t* value_bytes);
  void ReplaceTrailer();
  ByteView KeyOf(const Before& before) const { return before_keys_.view().substr(before.key_begin, before.key_bytes); }
  void StandBefore(const CachedBlocks::Block& block, const uint8_t* at);
  bool IsBefore(ByteView internal_key) const;
  [[gnu::noinline]] bool LoadBefore();
  bool ReadBefore(const uint8_t* from, const uint8_t* until, const char* until_value);
  const uint8_t* Point(uint32_t i) const { return BlockEntries{begin_, block_end_, point_count_}.Point(i); }
  void FetchFirst() const;
  uint32_t PointBefore(const char* value) const;
  void ForgetBefore() {
    before_count_ = 0;
    is_backward_ = false;
  }

  const uint8_t* at_ = nullptr;   // the next entry; backward: end_, so that Step() finds none
  const uint8_t* end_ = nullptr;  // where Step() stops: the block's end, or a mark before it
  const uint8_t* begin_ = nullptr;
  const uint8_t* block_end_ = nullptr;
  uint32_t point_count_ = 0;  // of the block's restart points, which lie behind its end
  int mark_ = 0;              // that was passed last
  ByteBuffer key_;
  rocks::Slice value_;
  bool has_own_trailer_ = false;   // all entries of the file have one sequence number, which is not stored with them
  uint64_t sequence_ = 0;          // that
  uint64_t stored_trailer_ = 0;    // of the current key; backward not kept
  bool is_backward_ = false;       // since the last StepBack()
  uint32_t point_ = 0;             // backward: from which before_ was read, or kNoPoint
  ptrdiff_t before_bytes_ = 0;     // of the block, that were read into before_
  std::vector<Before> before_;
  size_t before_count_ = 0;        // of before_, what comes before the current entry
  ByteBuffer before_keys_;
};

}  // namespace cairn::store
