// SPDX-License-Identifier: GPL-2.0-only
// Finds keys in one file: a search of its index, of one block's restart points, and a few entries.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

#include "db/lookup_key.h"
#include <rocksdb/options.h>
#include <rocksdb/slice.h>
#include "table/block_based/block.h"
#include "table/block_based/block_based_table_reader.h"

#include "base/bytes.h"
#include "store/block_read.h"
#include "store/cached_block.h"
#include "store/held_indexes.h"
#include "store/index_search.h"
#include "store/internal_key.h"
#include "store/rocksdb_fwd.h"

namespace cairn::store {

// What the seek of RocksDB's iterator over a file does for one key, without its calls: they are half of a read whose blocks
// are cached. Blocks are got from the cache or the file, checksums and all.
//
// An index that is held for all (HeldIndexes) need not be got, and is searched by what was learned of it; one that is
// not is learned once some keys of one index of the server were looked for.
//
// Only files as RocksDB makes them by our settings are read so: one binary searched index with each key stored whole,
// blocks without separate values or checksums for each entry. For any other, for entries of other kinds, and for blocks that
// cannot be read, the answer is kAskTable: RocksDB's own way tells what it is. It does not check where restart points and
// lengths lead, so where these lead out of the block it is not asked.
//
// Lifetime: the table or the held index, and `read`, must outlive it or its Close().
// Thread rule: one thread at a time.
class FileFinder final {
 public:
  enum class Answer : uint8_t {
    kFound,
    kRemoved,   // the newest version that is seen removes the key
    kAbsent,    // the file has no version that is seen
    kAskTable,
    kDamaged,   // a block is not what any writer makes
  };

  FileFinder() = default;
  FileFinder(const FileFinder&) = delete;
  FileFinder& operator=(const FileFinder&) = delete;
  ~FileFinder() { Close(); }

  // False: the file is of another kind, or its index cannot be read. Precondition: closed.
  bool Open(const rocks::BlockBasedTable& table, const rocks::ReadOptions& read);
  // The same by an index that is held. Precondition: closed.
  void Open(const HeldIndex& index, const rocks::ReadOptions& read);
  void Close();
  bool is_open() const { return table_ != nullptr; }

  // What is to be cleaned up when this closes. Precondition: open, and not by an index that is held.
  rocks::Cleanable& held() { return index_; }

  // The newest version of the key up to the sequence number that `key` has. The value lives in a block that is held until
  // the next Find or Close. Precondition: open.
  Answer Find(const rocks::LookupKey& key, ByteView* value);

  // Hands the value that was found last, with its block, to `slice`, which is empty.
  void PinTo(ByteView value, rocks::PinnableSlice* slice);

 private:
  // How a search within a block ended.
  enum class End : uint8_t { kFound, kRemoved, kBehind, kOutOfEntries, kOutOfSteps, kOtherKind, kMalformed };

  static constexpr uint64_t kNoBlock = std::numeric_limits<uint64_t>::max();
  static constexpr ptrdiff_t kCopiedAtOnce = 16;
  // Keys that come in order are looked for right behind the one before, until that was in vain this often.
  static constexpr int kCreditAtFirst = 1;
  static constexpr int kCreditMax = 4;
  // To learn an index is worth its price from so many keys on.
  static constexpr int kFindsBeforeLearning = 5;

  void Reset(const rocks::BlockBasedTable& table, const rocks::ReadOptions& read, const IndexSearch& search,
             const BlockReader* reader);
  void LearnOwn(ByteView key);
  End Search(const rocks::LookupKey& key, ByteView* value);
  bool OpenBlock(const rocks::BlockHandle& block);
  void CloseBlock();
  End FindInBlock(ByteView key, uint64_t sequence, ByteView* value);
  [[gnu::noinline, gnu::flatten]] End Scan(ByteView key, uint64_t sequence, size_t steps_max, ByteView* value);
  ByteView LastKey() const { return UserKeyOf(entry_key_.view()); }

  const rocks::BlockBasedTable* table_ = nullptr;
  const IndexSearch* search_ = nullptr;
  const BlockReader* reader_ = nullptr;  // null: of an index that is not held for all
  const rocks::ReadOptions* read_ = nullptr;

  uint64_t block_offset_ = kNoBlock;
  BlockEntries entries_;
  rocks::Cache::Handle* cached_ = nullptr;  // of the block, unless block_ has it
  uint64_t own_sequence_ = 0;
  bool has_own_sequence_ = false;  // all entries of the file have one, which is not stored with them
  int credit_ = kCreditAtFirst;
  const uint8_t* next_ = nullptr;  // the entry behind entry_key_; null: no position
  ByteBuffer entry_key_;           // as it is stored, with its trailer
  BlockHits hits_;

  // Of an index that is not held for all.
  IndexSearch own_;
  uint32_t last_index_id_ = 0;
  int find_count_ = 0;  // of keys of that index of the server, one after the other

  rocks::BlockCacheLookupContext lookup_{rocks::TableReaderCaller::kUserGet};
  rocks::IndexBlockIter index_;  // both only hold their block
  rocks::DataBlockIter block_;
};

}  // namespace cairn::store
