// SPDX-License-Identifier: GPL-2.0-only
// The data blocks of a file that a walk begins with or comes to next, as far as they are in the block cache.
#pragma once

#include <cstddef>
#include <cstdint>

#include <rocksdb/advanced_cache.h>
#include <rocksdb/options.h>
#include "table/block_based/block_based_table_iterator.h"
#include "table/internal_iterator.h"

#include "base/bytes.h"
#include "store/block_read.h"
#include "store/cached_block.h"
#include "store/held_indexes.h"
#include "store/index_separators.h"
#include "store/rocksdb_fwd.h"

namespace cairn::store {

// RocksDB's iterator looks for the next block when the one before has ended, and then waits for memory three or four times:
// a sixth of a count. This looks for it while entries of the one before are still being read, in two steps, so
// that each finds what the one before it asked memory for. By an index that is held it also finds the block that a walk begins
// with, and the one before. One such block in a walk is read from the file where the cache does not have it, as most walks end in
// it. For all others RocksDB's iterator goes on, which reads ahead.
//
// Lifetime: holds up to two blocks in the cache until Close(). The file's reader must outlive that, and `read` this.
// Thread rule: one thread at a time.
class CachedBlocks final {
 public:
  // A block's entries, as the file has them.
  struct Block {
    BlockEntries entries;
    uint64_t sequence = 0;  // of all entries, if the file has one for them; else rocks::kDisableGlobalSequenceNumber
  };

  // Its upper bound is looked at anew each time.
  explicit CachedBlocks(const rocks::ReadOptions& read) : read_(read) {}
  CachedBlocks(const CachedBlocks&) = delete;
  CachedBlocks& operator=(const CachedBlocks&) = delete;
  ~CachedBlocks() { Close(); }
  void Close() {
    if (table_ != nullptr) CloseOpen();
  }

  // A walk begins: it may read a block.
  void BeginWalk() { may_read_ = read_.fill_cache; }

  // Stands on the block that has the entry of that internal key. False: the file's index is of another form.
  // Precondition: closed.
  bool StandAt(rocks::BlockBasedTableIterator* table, ByteView key);

  enum class Sought : uint8_t {
    kStands,
    kBehindAll,  // the file ends before the key
    kNotHere,    // the block is neither in the cache nor was it read, or not of our form, or the index is damaged
  };
  // Looks for the first entry not before that internal key: stands on the block that it is in, unless it is first in the next
  // one, and holds it. Otherwise it stays closed. `index` must be held until Close(). Precondition: closed.
  Sought Seek(const HeldIndex& index, ByteView key, Block* block);
  // Stands on the last block of the file, and holds it. False: it is not here, as above. Precondition: closed.
  bool SeekLast(const HeldIndex& index, Block* block);
  // Stands on the block before, and holds it. False: it is not here, as above, and nothing has changed. Precondition:
  // is_standing(), and not is_first().
  bool Retreat(Block* block);
  bool is_standing() const { return table_ != nullptr; }

  // The three steps to the next block. Each does what the ones before it would have done. Precondition: is_standing().
  void LookUp();
  void Fetch();
  bool Peek(Block* block);  // false: it is not in the cache, or not of our form, or there is none

  // Stands on the block that Peek() gave, and lets go of the one before.
  void Advance();
  // Whether that block is held by this: it is after a seek, and since the first Advance().
  bool holds_current() const { return current_ != nullptr; }
  // Whether all of the block that it stands on is below the upper bound.
  bool is_within_bound() const;
  // Whether the file has no block behind it. Where the index is damaged it is not known: false.
  bool IsLast() const;
  // Whether it has none before it.
  bool is_first() const { return at_ == 0; }

 private:
  void CloseOpen();
  void Stand(const rocks::BlockBasedTable& table);
  void Stand(const HeldIndex& index);
  // Of the block before separator i, which may be behind all. False: malformed, or another entry may be before that separator.
  bool ReadHandleBefore(uint32_t i, rocks::BlockHandle* handle) const {
    return separators_.ReadHandleBefore(i, handle) == IndexSeparators::Between::kNothing;
  }
  rocks::Cache::Handle* Read(const rocks::BlockHandle& handle, BlockEntries* entries) const;
  bool Hold(uint32_t i, const rocks::BlockHandle& handle, Block* block);

  const rocks::ReadOptions& read_;
  bool may_read_ = false;
  const rocks::BlockBasedTable* table_ = nullptr;  // null: closed
  const BlockReader* reader_ = nullptr;            // null: of an index that is not held for all
  rocks::Cache* cache_ = nullptr;
  IndexSeparators separators_;
  uint32_t at_ = 0;  // the separator of the block that it stands on
  bool is_looked_up_ = false;
  rocks::Cache::Handle* current_ = nullptr;
  rocks::Cache::Handle* next_ = nullptr;
  BlockHits hits_;
};

}  // namespace cairn::store
