// SPDX-License-Identifier: GPL-2.0-only
// Indexes of files that point reads have asked, held and learned once for all connections.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>

#include <rocksdb/advanced_cache.h>
#include <rocksdb/listener.h>
#include <rocksdb/options.h>
#include "table/block_based/block_based_table_reader.h"

#include "store/index_search.h"
#include "store/rocksdb_fwd.h"

namespace cairn::store {

// An index block that stays in the block cache, which has it in its budget, and what was learned of it.
// Thread rule: any thread; nothing of it changes once HeldIndexes has given it.
class HeldIndex final {
 public:
  HeldIndex(const rocks::BlockBasedTable& table, std::shared_ptr<rocks::Cache> cache, rocks::Cache::Handle* handle)
      : table_(table), cache_(std::move(cache)), handle_(handle) {}
  HeldIndex(const HeldIndex&) = delete;
  HeldIndex& operator=(const HeldIndex&) = delete;
  ~HeldIndex() { cache_->Release(handle_); }

  const rocks::BlockBasedTable& table() const { return table_; }
  const IndexSearch& search() const { return search_; }

 private:
  friend class HeldIndexes;
  IndexSearch search_;
  const rocks::BlockBasedTable& table_;
  const std::shared_ptr<rocks::Cache> cache_;
  rocks::Cache::Handle* const handle_;
  uint64_t bytes_ = 0;
};

// Of one store. A file does not change, so what is held of it stays right, and it is given back when the file is deleted:
// RocksDB does so, and tells, when no version has the file any more. So whoever has a version may use what is held of its
// files, without a count of users (decision 41). What is held at once is bounded; of further files nothing is.
//
// Thread rule: any thread, but that nobody uses an index or asks for one when ReleaseAll() is called.
class HeldIndexes final : public rocks::EventListener {
 public:
  explicit HeldIndexes(uint64_t bytes_max);
  ~HeldIndexes() override;

  // Before the store closes.
  void ReleaseAll();

  // The index of file `number`, whose reader is `table`. Null: the file is of another form or deletes ranges, its index
  // cannot be read or is not in the cache, or there is no room. The answer holds for as long as the caller has a version that has the file.
  // Precondition: he has one, which keeps the reader open.
  const HeldIndex* Get(uint64_t number, const rocks::BlockBasedTable& table, const rocks::ReadOptions& read);

  // No other object of the process has it, before or after.
  uint64_t id() const { return id_; }

  size_t held_count() const;

  void OnTableFileDeleted(const rocks::TableFileDeletionInfo& file) override;

 private:
  static std::unique_ptr<HeldIndex> Make(const rocks::BlockBasedTable& table, const rocks::ReadOptions& read);

  const uint64_t id_;
  const uint64_t bytes_max_;
  mutable std::mutex mutex_;
  uint64_t bytes_ = 0;
  std::unordered_map<uint64_t, std::unique_ptr<HeldIndex>> indexes_;  // by file
};

}  // namespace cairn::store
