// SPDX-License-Identifier: GPL-2.0-only
// Dictionaries as Zstandard reads blocks with them; the last ones are made but once.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include <zstd.h>

namespace cairn::store {

// The tables that Zstandard makes of a dictionary, of which it keeps a copy. Threads: any.
using ReadyDictionary = std::shared_ptr<const ZSTD_DDict>;

// Keeps the last kKept that were asked for. RocksDB asks for a file's dictionary with each block that is read without bringing anything
// into the block cache, as compactions, index builds and checks of tables read: they read file after file, a few at once.
//
// Threads: any.
class ReadyDictionaries final {
 public:
  static constexpr size_t kKept = 8;  // 300 KB

  // Null: the dictionary is damaged, or there is no memory for its tables.
  ReadyDictionary Of(std::string_view dictionary);

 private:
  // The bytes are here, not with the tables, so that those who share them do not hold a copy more.
  struct Kept {
    std::string bytes;
    ReadyDictionary ready;  // null: an empty place
  };

  ReadyDictionary Find(std::string_view dictionary);

  std::mutex mutex_;
  std::array<Kept, kKept> kept_;  // the last one first
};

}  // namespace cairn::store
