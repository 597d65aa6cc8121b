// SPDX-License-Identifier: GPL-2.0-only
// Steps through the entries of one data block, without a call for each.
#pragma once

#include <cstdint>
#include <cstring>

#include "db/dbformat.h"
#include "table/block_based/block_based_table_iterator.h"

#include "base/bytes.h"
#include "base/endian.h"
#include "store/rocksdb_fwd.h"

namespace cairn::store {

// RocksDB's iterator over a file makes eight calls for each entry; two thirds of what counting an entry costs.
// This takes over where that iterator stands and reads on to the end of its block by itself; it goes
// back to that iterator at the block's end, for moves of other kinds, and for anything that does not look as it should.
//
// Blocks with separate values and with a checksum for each entry are left to RocksDB.
//
// Thread rule: one thread at a time. key() and value() die at the next step.
class BlockSteps final {
 public:
  // From the entry on which `table` stands. False when this block is left to RocksDB.
  bool Enter(rocks::BlockBasedTableIterator* table);
  // Forgets the block; `table` stays where it stood when it was entered, or anywhere in the block.
  void Forget() { at_ = end_ = nullptr; }
  bool is_inside() const { return at_ != nullptr; }

  // Leaves the block so that a Next() of `table` goes on behind the current entry. Precondition: is_inside().
  // False: damaged, as below.
  bool LeaveForNext(rocks::BlockBasedTableIterator* table);
  // Leaves the block with `table` on the current entry. Precondition: is_inside(). False when the block does not
  // find it: its restart points or its order are damaged, and `table` must not be moved on from there.
  bool LeaveHere(rocks::BlockBasedTableIterator* table);

  // To the next entry of the block. False when there is none, or it is not well-formed: nothing has moved then.
  // Precondition: is_inside().
  bool Step() {
    const uint8_t* at = at_;
    if (end_ - at < kHeadBytesMax) return false;  // no entry is that short
    uint32_t shared = at[0], own = at[1], value_bytes = at[2];
    if (__builtin_expect((shared | own) < 0x80, true) && (value_bytes < 0x80 || at[3] < 0x80)) {
      if (value_bytes < 0x80) {
        at += 3;
      } else {
        value_bytes = (value_bytes & 0x7f) | uint32_t{at[3]} << 7;
        at += 4;
      }
    } else if ((at = ReadHead(at, &shared, &own, &value_bytes)) == nullptr) {
      return false;
    }
    if (static_cast<size_t>(end_ - at) < size_t{own} + value_bytes || shared > key_.size()) return false;
    if (size_t{shared} + own < kTrailerBytes) return false;
    if (has_own_trailer_) StoreLe64(key_.data() + key_.size() - kTrailerBytes, stored_trailer_);
    key_.Truncate(shared);
    if (own <= kCopiedAtOnce && end_ - at >= kCopiedAtOnce) {
      key_.Reserve(kCopiedAtOnce);  // more than are the key's: two moves instead of a call
      std::memcpy(key_.data() + shared, at, kCopiedAtOnce);
      key_.Extend(own);
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

  rocks::Slice key() const { return {reinterpret_cast<const char*>(key_.data()), key_.size()}; }
  rocks::Slice value() const { return value_; }

 private:
  static constexpr size_t kTrailerBytes = 8;
  static constexpr ptrdiff_t kCopiedAtOnce = 16;
  static constexpr ptrdiff_t kFetchedAheadBytes = 512;
  static constexpr ptrdiff_t kLineBytes = 64;
  static constexpr ptrdiff_t kHeadBytesMax = 4;  // of those that are read without looking for the end

  const uint8_t* ReadHead(const uint8_t* at, uint32_t* shared, uint32_t* own, uint32_t* value_bytes) const;
  void ReplaceTrailer();

  const uint8_t* at_ = nullptr;  // the next entry
  const uint8_t* end_ = nullptr;
  ByteBuffer key_;
  rocks::Slice value_;
  bool has_own_trailer_ = false;   // all entries of the file have one sequence number, which is not stored with them
  uint64_t sequence_ = 0;          // that
  uint64_t stored_trailer_ = 0;    // of the current key
};

}  // namespace cairn::store
