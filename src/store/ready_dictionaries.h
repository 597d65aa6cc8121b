// SPDX-License-Identifier: GPL-2.0-only
// Dictionaries as Zstandard reads blocks with them, made once for all files that have the same.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include <zstd.h>

#include <rocksdb/advanced_cache.h>

#include "store/rocksdb_fwd.h"

namespace cairn::store {

// The tables that Zstandard makes of a dictionary, of which it keeps a copy. Threads: any.
using ReadyDictionary = std::shared_ptr<const ZSTD_DDict>;

// Who asks for the bytes of one that somebody has gets the same. The last kKept that were asked for have nobody else to be kept: RocksDB
// asks for a file's dictionary with each block that is read without bringing anything into the block cache, as compactions, index
// builds and checks of tables read: they read file after file, a few at once.
//
// The cache, if there is one, is charged for each as long as somebody has it, and longer: it is told of those that have gone when
// others are made. Entries of the cache may have dictionaries, but none may share this object, which has a share of the cache. Dictionaries
// that outlive this object are not charged.
//
// Threads: any.
class ReadyDictionaries final {
 public:
  static constexpr size_t kKept = 8;  // 350 KB

  // `cache` may be null: nobody is charged.
  explicit ReadyDictionaries(std::shared_ptr<rocks::Cache> cache = nullptr) : cache_(std::move(cache)) {}

  bool charges() const { return cache_ != nullptr; }
  // Null: the dictionary is damaged, or there is no memory for its tables.
  ReadyDictionary Of(std::string_view dictionary);

 private:
  class Tables;
  // What the cache is charged, as an entry that nobody finds. Threads: one at a time.
  class Charge {
   public:
    // `charged`: what lies in memory of its own as long as the charge lasts.
    Charge(std::shared_ptr<rocks::Cache> cache, const void* charged, size_t bytes);
    Charge(Charge&& other) noexcept;
    Charge& operator=(Charge&&) = delete;
    ~Charge();

   private:
    std::shared_ptr<rocks::Cache> cache_;
    rocks::Cache::Handle* handle_ = nullptr;
  };
  struct Shared {
    std::weak_ptr<const Tables> tables;
    Charge charge;
  };

  static ReadyDictionary From(const std::shared_ptr<const Tables>& tables);
  std::shared_ptr<const Tables> Find(std::string_view dictionary) const;
  void Keep(std::shared_ptr<const Tables> tables);
  void ForgetThoseThatAreGone();

  const std::shared_ptr<rocks::Cache> cache_;
  // Tables count themselves here when they go: whoever lets go of them, maybe the cache in the midst of its work, does nothing else.
  const std::shared_ptr<std::atomic<size_t>> gone_ = std::make_shared<std::atomic<size_t>>(0);
  std::mutex mutex_;
  std::array<std::shared_ptr<const Tables>, kKept> kept_;  // the last one first; null: an empty place
  std::unordered_multimap<uint32_t, Shared> shared_;       // all that somebody has, by what their bytes begin with
};

}  // namespace cairn::store
