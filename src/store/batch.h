// SPDX-License-Identifier: GPL-2.0-only
// A set of changes applied all or not at all, outside any transaction.
#pragma once

#include <cstddef>
#include <memory>

#include "base/bytes.h"
#include "base/status.h"
#include "store/rocksdb_fwd.h"
#include "store/table_counters.h"
#include "store/types.h"

namespace cairn::store {

// An ordered list of changes over both families, for Store::Write. It takes no row locks: its
// users are the dictionary, and clean-up of what no transaction can reach. What is too large to be stored (store/entry_limits.h) Store::Write
// refuses, and all the rest with it.
//
// The keys and values are copied. Lifetime: must not outlive its store.
// Thread rule: one thread at a time.
class Batch {
 public:
  explicit Batch(const Store& store);
  Batch(Batch&&) noexcept;
  Batch& operator=(Batch&&) noexcept;
  ~Batch();

  void Put(Family family, ByteView key, ByteView value);
  void Delete(Family family, ByteView key);
  // Contract as in WriteTransaction::SingleDelete.
  void SingleDelete(Family family, ByteView key);
  // Adds to a counter record of the dictionary; see table_counters.h.
  void MergeCounters(ByteView dictionary_key, const TableCounters& delta);
  // Removes begin <= key < end. Costs every later read of its neighbourhood a little until
  // compaction, and a hundred of them have the memtable flushed: for whole indexes, never for a few rows.
  void DeleteRange(Family family, ByteView begin, ByteView end);

  void Clear();
  bool empty() const;
  size_t change_count() const;
  size_t size_bytes() const;

 private:
  friend class Store;
  const Store* store_;
  std::unique_ptr<rocks::WriteBatch> rocks_;
  Status refused_;  // the first Put that was
};

}  // namespace cairn::store
