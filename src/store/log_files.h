// SPDX-License-Identifier: GPL-2.0-only
// Where the write-ahead log is.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "store/rocksdb_fwd.h"

namespace cairn::store {

// The paths of the logs in a store's directory, in order of their names. kIoError: it cannot be listed.
Status FindLogs(rocks::Env* env, const std::string& directory, std::vector<std::string>* paths);

}  // namespace cairn::store
