// SPDX-License-Identifier: GPL-2.0-only
// What walks and looks of a family are made from.
#pragma once

#include "db/column_family.h"
#include "db/db_impl/db_impl.h"

#include "store/rocksdb_fwd.h"

namespace cairn::store {

class HeldIndexes;

// A family of a store, and what is held of its files. All of it outlives whatever is made from it.
struct FamilySource {
  rocks::DBImpl* db = nullptr;
  rocks::ColumnFamilyData* family = nullptr;
  HeldIndexes* held = nullptr;
};

}  // namespace cairn::store
