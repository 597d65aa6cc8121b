// SPDX-License-Identifier: GPL-2.0-only
// Where the write-ahead log is.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "store/rocksdb_fwd.h"

namespace cairn::store {

// The paths of the logs in a store's directory, in order of their numbers, from old to new. kIoError: it cannot be listed.
Status FindLogs(rocks::Env* env, const std::string& directory, std::vector<std::string>* paths);

// Cuts logs to nothing, for good: they are still empty after a loss of power. kIoError: one cannot be.
Status EmptyLogs(rocks::Env* env, const std::vector<std::string>& paths);

}  // namespace cairn::store
