// SPDX-License-Identifier: GPL-2.0-only
// Which files may have keys with a certain beginning, by their filters. A file remembers the length it was written with, and is asked
// accordingly (decision 20).
#pragma once

#include <cstddef>

#include "db/column_family.h"
#include "db/dbformat.h"
#include <rocksdb/options.h>

#include "store/family_source.h"
#include "store/rocksdb_fwd.h"

namespace cairn::store {

// Of a range within which all keys begin alike as far as filters know beginnings.
//
// Lifetime: `source`, `version` and `read`, with its bounds, must outlive it. Thread rule: one thread at a time.
class PrefixFilter final {
 public:
  PrefixFilter(const FamilySource& source, const rocks::SuperVersion& version, const rocks::ReadOptions& read);

  // Whether it is such a range; of others filters tell nothing.
  bool is_alike() const { return target_.Size() != 0; }

  // False: the file has nothing in the range, and deletes no ranges. Precondition: is_alike().
  bool MayHave(int level, const rocks::FdWithKeyRange& file) const;

 private:
  bool Ask(const rocks::BlockBasedTable& table, bool* asked) const;

  const FamilySource& source_;
  const rocks::SuperVersion& version_;
  const rocks::ReadOptions& read_;
  const size_t known_bytes_;  // of a walked index, what all keys of the range begin with: a long or a short beginning; or 0
  rocks::IterKey target_;  // internal key, before all of the range
};

}  // namespace cairn::store
