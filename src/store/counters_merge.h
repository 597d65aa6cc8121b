// SPDX-License-Identifier: GPL-2.0-only
// Lets RocksDB add up changes of table counters.
#pragma once

#include <memory>

#include <rocksdb/merge_operator.h>

#include "store/rocksdb_fwd.h"

namespace cairn::store {

// The operator of the dictionary family; see table_counters.h. Bytes that are no counters make the
// merge fail, which RocksDB reports as corruption of the key.
std::shared_ptr<rocks::MergeOperator> NewCountersMergeOperator();

}  // namespace cairn::store
