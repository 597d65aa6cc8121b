// SPDX-License-Identifier: GPL-2.0-only
// The index block of a file, read without RocksDB's iterator: which data block may have a key, and where that lies.
#pragma once

#include <cstddef>
#include <cstdint>

#include "db/dbformat.h"
#include "table/block_based/block.h"
#include "table/block_based/block_based_table_reader.h"
#include "table/format.h"
#include "util/coding.h"

#include "base/bytes.h"
#include "base/endian.h"
#include "store/internal_key.h"
#include "store/rocks_status.h"
#include "store/rocksdb_fwd.h"

namespace cairn::store {

// Entries in order with where some of them begin: those whose keys are stored whole.
struct BlockEntries {
  const uint8_t* begin = nullptr;
  const uint8_t* end = nullptr;  // the restart points follow
  uint32_t point_count = 0;

  // Null: not within.
  const uint8_t* Point(uint32_t i) const {
    const uint32_t offset = LoadLe32(end + sizeof(uint32_t) * i);
    return offset < static_cast<size_t>(end - begin) ? begin + offset : nullptr;
  }
};

// What RocksDB's iterators over blocks keep to themselves. Protected members are reached through a class that inherits
// them.
template <typename Value>
class OpenBlockIter : private rocks::BlockIter<Value> {
 public:
  using Block = rocks::BlockIter<Value>;
  static const char* Data(const Block& block) { return block.*(&OpenBlockIter::data_); }
  static uint32_t End(const Block& block) { return block.*(&OpenBlockIter::restarts_); }
  static uint32_t PointCount(const Block& block) { return block.*(&OpenBlockIter::num_restarts_); }
  static uint32_t LastPoint(const Block& block) { return block.*(&OpenBlockIter::restart_index_); }
  static uint64_t Sequence(const Block& block) { return block.*(&OpenBlockIter::global_seqno_); }
  static bool IsPlain(const Block& block) {
    return Data(block) != nullptr && block.status().ok() && block.*(&OpenBlockIter::values_section_) == nullptr &&
           block.*(&OpenBlockIter::protection_bytes_per_key_) == 0 && !(block.*(&OpenBlockIter::pad_min_timestamp_));
  }
  // False: it has none, is not read, or is of another form than our settings make.
  static bool ReadEntries(const Block& block, BlockEntries* entries) {
    if (!IsPlain(block)) return false;
    entries->begin = reinterpret_cast<const uint8_t*>(Data(block));
    entries->end = entries->begin + End(block);
    entries->point_count = PointCount(block);
    return true;
  }
};

// Of one binary searched index with each key stored whole, as our settings make it. Each separator is at or behind the
// last entry of its block and before the first of the next. Every length is checked.
//
// Lifetime: whoever loads it has the index block held, by the iterator that it was loaded from or in the cache.
class IndexSeparators : public BlockEntries {
 public:
  // Whether a file's index may be of that form. Then the file's properties are known.
  static bool Serve(const rocks::BlockBasedTable::Rep& file) {
    return file.table_properties != nullptr && file.table_properties->index_block_restart_interval == 1 &&
           file.index_type == rocks::BlockBasedTableOptions::kBinarySearch && !file.index_has_first_key &&
           !file.index_value_is_full && !file.has_embedded_blobs &&
           file.internal_comparator.user_comparator() == rocks::BytewiseComparator();
  }

  // False: of another form, or not read. Precondition: Serve(file).
  bool Load(const rocks::BlockBasedTable::Rep& file, const rocks::IndexBlockIter& index) {
    if (!OpenBlockIter<rocks::IndexValue>::ReadEntries(index, this)) return false;
    have_trailers_ = file.index_key_includes_seq;
    return true;
  }

  // The entries of an index block. Precondition: Serve(file).
  void Load(const rocks::BlockBasedTable::Rep& file, const BlockEntries& entries) {
    static_cast<BlockEntries&>(*this) = entries;
    have_trailers_ = file.index_key_includes_seq;
  }

  // Where the key ends, and its block's handle begins; null: it is malformed.
  const uint8_t* Read(uint32_t i, ByteView* key) const {
    const uint8_t* at = Point(i);
    if (at == nullptr || end - at < 3) return nullptr;
    uint32_t shared = at[0], own = at[1];
    if ((shared | own) < 0x80) {
      at += 2;
    } else if ((at = ReadNumber(at, &shared)) == nullptr || (at = ReadNumber(at, &own)) == nullptr) {
      return nullptr;
    }
    if (shared != 0 || static_cast<size_t>(end - at) < own) return nullptr;
    if (have_trailers_ && own < kTrailerBytes) return nullptr;
    *key = AsBytes(at, own);
    return at + own;
  }

  // Where the entry ends; null: it is malformed.
  const uint8_t* ReadHandle(uint32_t i, rocks::BlockHandle* handle) const {
    ByteView separator;
    uint64_t offset, size;
    const uint8_t* at = Read(i, &separator);
    if (at == nullptr || (at = ReadWide(at, &offset)) == nullptr || (at = ReadWide(at, &size)) == nullptr) return nullptr;
    *handle = rocks::BlockHandle(offset, size);
    return at;
  }

  enum class Between : uint8_t { kNothing, kUnknown, kMalformed };
  // Reads the handle of separator i - 1, if i is not 0. What is between that separator and separator i: where there are not
  // only restart points, there may be another entry. Before the first one is the begin, and the last one is followed by the
  // end, for which i is point_count.
  Between ReadHandleBefore(uint32_t i, rocks::BlockHandle* handle) const {
    const uint8_t* const end_before = i == 0 ? begin : ReadHandle(i - 1, handle);
    const uint8_t* const here = i == point_count ? end : Point(i);
    if (end_before == nullptr || here == nullptr) return Between::kMalformed;
    return end_before == here ? Between::kNothing : Between::kUnknown;
  }

  ByteView UserKeyOf(ByteView separator) const {
    return have_trailers_ ? store::UserKeyOf(separator) : separator;
  }

  // Internal keys are in the order of the users', and of those that are equal the newest is first.
  [[gnu::always_inline]] bool IsBefore(ByteView separator, ByteView internal_key) const {
    const ByteView user_key = store::UserKeyOf(internal_key);
    if (!have_trailers_) return separator < user_key;
    const ByteView separator_key = store::UserKeyOf(separator);
    const int order = separator_key.compare(user_key);
    if (order != 0) return order < 0;
    return LoadLe64(separator.data() + separator_key.size()) > LoadLe64(internal_key.data() + user_key.size());
  }

  // Brings `low` to the first separator that is not before what is wanted, which is at or before `high`. False: malformed.
  template <typename IsBeforeWanted>
  bool Bisect(const IsBeforeWanted& is_before, uint32_t* low, uint32_t high) const {
    ByteView separator;
    while (*low < high) {
      const uint32_t middle = *low + (high - *low) / 2;
      if (Read(middle, &separator) == nullptr) return false;
      if (is_before(separator)) {
        *low = middle + 1;
      } else {
        high = middle;
      }
    }
    return true;
  }

 private:
  const uint8_t* ReadNumber(const uint8_t* at, uint32_t* number) const {
    return reinterpret_cast<const uint8_t*>(
        rocks::GetVarint32Ptr(reinterpret_cast<const char*>(at), reinterpret_cast<const char*>(end), number));
  }

  const uint8_t* ReadWide(const uint8_t* at, uint64_t* number) const {
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64 && at != end; shift += 7) {
      const uint64_t byte = *at++;
      value |= (byte & 0x7f) << shift;
      if (byte < 0x80) {
        *number = value;
        return at;
      }
    }
    return nullptr;
  }

  bool have_trailers_ = false;
};

}  // namespace cairn::store
