// SPDX-License-Identifier: GPL-2.0-only
// Indexes of files that reads have asked, held and learned once for all connections.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "db/version_edit.h"
#include <rocksdb/advanced_cache.h>
#include <rocksdb/listener.h>
#include <rocksdb/options.h>
#include "table/block_based/block_based_table_reader.h"

#include "store/block_read.h"
#include "store/index_search.h"
#include "store/rocksdb_fwd.h"

namespace cairn::store {

// An index block that stays in the block cache, which has it in its budget, what was learned of it, and the dictionary of the data
// blocks, which stays there, too. Its file deletes no ranges. Thread rule: any thread; nothing of it changes once HeldIndexes has given it.
class HeldIndex final {
 public:
  HeldIndex(const rocks::BlockBasedTable& table, std::shared_ptr<rocks::Cache> cache, rocks::Cache::Handle* handle)
      : table_(table), cache_(std::move(cache)), handle_(handle) {}
  HeldIndex(const HeldIndex&) = delete;
  HeldIndex& operator=(const HeldIndex&) = delete;
  ~HeldIndex() { cache_->Release(handle_); }

  const rocks::BlockBasedTable& table() const { return table_; }
  const IndexSearch& search() const { return search_; }
  const BlockReader& blocks() const { return blocks_; }

 private:
  friend class HeldIndexes;
  IndexSearch search_;
  const rocks::BlockBasedTable& table_;
  const std::shared_ptr<rocks::Cache> cache_;
  rocks::Cache::Handle* const handle_;
  BlockReader blocks_;
  uint64_t bytes_ = 0;
};

// Of one store. A file does not change, so what is held of it stays right, and it is given back when the file is deleted:
// RocksDB does so, and tells, when no version has the file any more. So whoever has a version may use what is held of its
// files, without a count of users (decision 41). What is held at once is bounded; of further files nothing is.
//
// They are found by the file's number in a table that nobody who looks writes to. While a reader has a version with the file,
// the place that has the file's number keeps it; of places with other numbers he reads but these.
//
// Thread rule: any thread, but that nobody uses an index or asks for one when ReleaseAll() is called.
class HeldIndexes final : public rocks::EventListener {
 public:
  explicit HeldIndexes(uint64_t bytes_max);
  ~HeldIndexes() override;

  // Before the store closes.
  void ReleaseAll();

  // The index of a file. Null: the file is of another form or deletes ranges, the version does not keep its reader open by itself, its
  // index cannot be read or is not in the cache, or there is no room. The answer holds for as long as the caller has a version
  // that has the file. Precondition: he has one.
  const HeldIndex* Of(const rocks::FileMetaData& file, const rocks::ReadOptions& read);

  size_t held_count() const;

  void OnTableFileDeleted(const rocks::TableFileDeletionInfo& file) override;

 private:
  struct Slot {
    std::atomic<uint64_t> file{0};  // its number; 0: free
    std::atomic<const HeldIndex*> index{nullptr};  // null: the file is of another form
  };
  static constexpr size_t kSlotsOfBucket = 4;
  struct alignas(64) Bucket {
    std::array<Slot, kSlotsOfBucket> slots;
  };

  static bool Serves(const rocks::BlockBasedTable& table);
  // Makes none of a file of another form. False: its index cannot be read or is not in the cache, which may change.
  static bool Make(const rocks::TableReader& reader, const rocks::ReadOptions& read, std::unique_ptr<HeldIndex>* made);
  Bucket& BucketOf(uint64_t file) { return buckets_[file & (buckets_.size() - 1)]; }
  static Slot* Find(Bucket& bucket, uint64_t file);  // 0: a free one. Null: none
  const HeldIndex* Hold(uint64_t file, const rocks::TableReader& reader, const rocks::ReadOptions& read);
  void Release(Slot* slot);

  const uint64_t bytes_max_;
  std::atomic<bool> is_full_{false};  // something found no room since the last was given back
  std::vector<Bucket> buckets_;       // a power of two
  mutable std::mutex mutex_;          // for all that changes a slot
  uint64_t bytes_ = 0;
  size_t count_ = 0;
};

}  // namespace cairn::store
