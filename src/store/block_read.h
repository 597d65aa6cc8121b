// SPDX-License-Identifier: GPL-2.0-only
// Reads data blocks of one file into the block cache: RocksDB's parts, without its way from one to the next.
#pragma once

#include <cstdint>

#include <rocksdb/advanced_cache.h>
#include <rocksdb/advanced_compression.h>
#include <rocksdb/file_system.h>
#include <rocksdb/options.h>
#include "table/block_based/block_based_table_reader.h"
#include "table/format.h"

#include "store/index_separators.h"
#include "store/rocksdb_fwd.h"

namespace cairn::store {

// The block that comes into the cache, its key, charge and priority there are those that RocksDB's way gives; what it costs
// beside reading, checksum and decompression is less (decision 59). The file's dictionary is held, and not looked up for each block.
//
// What is out of the ordinary is left to RocksDB, which reads again and tells what is wrong: a read that fails or is short, a wrong
// checksum, what cannot be decompressed or is of another form than our settings make, a cache that is full; and reads past the
// cache, with a deadline, limited in their rate or traced by a request's number. Whole files: those without compression, mapped
// into memory, read past the system's cache, and those whose dictionary could not be read.
//
// Statistics count misses of the cache, what is added to it, and reads of files of the last level and others, as RocksDB does. Of
// blocks read here they count neither checksums (block_checksum_compute_count) nor decompression (bytes_decompressed_*,
// number_block_decompressed) nor looks for dictionaries, and RocksDB's times of reads (rocksdb.cfstats) lack them.
//
// Lifetime: the table's, of which only the dictionary may outlive it, in the cache. Thread rule: Read() by any thread.
class BlockReader final {
 public:
  BlockReader() = default;
  BlockReader(const BlockReader&) = delete;
  BlockReader& operator=(const BlockReader&) = delete;
  ~BlockReader() {
    if (dictionary_ != nullptr) cache_->Release(dictionary_);
  }

  // Brings the file's dictionary into the cache, where it stays. Without this, nothing is read. To be called once, before all
  // others, by one thread. Precondition: the file has a block cache, which outlives this.
  void Open(const rocks::BlockBasedTable& table, const rocks::ReadOptions& read);
  // Whether blocks are read at all.
  bool is_open() const { return decompressor_ != nullptr; }
  // Of the cache, as long as this holds its dictionary.
  uint64_t held_bytes() const { return dictionary_ == nullptr ? 0 : cache_->GetCharge(dictionary_); }

  // The data block, held until it is released to the cache, and where its entries lie. Null: RocksDB is to be asked, and nothing was
  // ticked. Precondition: LookUpDataBlock() has just found nothing, and that is the miss that is ticked.
  [[gnu::noinline]] rocks::Cache::Handle* Read(const rocks::ReadOptions& read, const rocks::BlockHandle& handle,
                                               BlockEntries* entries) const;

 private:
  bool ReadContents(const rocks::ReadOptions& read, const rocks::BlockHandle& handle, char* buffer,
                    rocks::BlockContents* contents) const;
  rocks::Cache::Handle* Insert(const rocks::BlockHandle& handle, rocks::BlockContents contents, BlockEntries* entries) const;

  const rocks::BlockBasedTable::Rep* file_ = nullptr;
  rocks::Cache* cache_ = nullptr;
  rocks::Decompressor* decompressor_ = nullptr;  // null: nothing is read
  rocks::Cache::Handle* dictionary_ = nullptr;
  bool is_of_last_level_ = false;
  const rocks::IOOptions how_;
};

}  // namespace cairn::store
