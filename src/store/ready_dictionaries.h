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

// The tables that Zstandard makes of a dictionary. Threads: any, once it is made.
class ReadyDictionary final {
 public:
  // Null: the dictionary is damaged, or there is no memory for its tables.
  static std::shared_ptr<const ReadyDictionary> Make(std::string_view dictionary);
  ReadyDictionary(const ReadyDictionary&) = delete;
  ReadyDictionary& operator=(const ReadyDictionary&) = delete;
  ~ReadyDictionary() { ZSTD_freeDDict(tables_); }

  const ZSTD_DDict* tables() const { return tables_; }
  std::string_view bytes() const { return bytes_; }
  size_t memory_bytes() const { return sizeof(*this) + bytes_.capacity() + ZSTD_sizeof_DDict(tables_); }

 private:
  ReadyDictionary(std::string_view bytes, ZSTD_DDict* tables) : bytes_(bytes), tables_(tables) {}

  const std::string bytes_;
  ZSTD_DDict* const tables_;
};

// Keeps the last kKept that were asked for. RocksDB asks for a file's dictionary with each block that is read without bringing anything
// into the block cache, as compactions, index builds and checks of tables read: they read file after file, a few at once.
//
// Threads: any.
class ReadyDictionaries final {
 public:
  static constexpr size_t kKept = 8;  // 300 KB

  // As ReadyDictionary::Make().
  std::shared_ptr<const ReadyDictionary> Of(std::string_view dictionary);

 private:
  std::shared_ptr<const ReadyDictionary> Find(std::string_view dictionary);

  std::mutex mutex_;
  std::array<std::shared_ptr<const ReadyDictionary>, kKept> kept_;  // the last one first
};

}  // namespace cairn::store
