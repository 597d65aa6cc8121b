// SPDX-License-Identifier: GPL-2.0-only
// Deletes data files that nobody needs before a store is opened.
#pragma once

#include <cstdint>
#include <string>

#include "base/status.h"
#include "store/rocksdb_fwd.h"

namespace cairn::store {

struct LeftFiles {
  uint64_t count = 0;
  uint64_t bytes = 0;  // another name may keep some of them
};

// RocksDB deletes what a crash has left only once the store is open: what a compaction had written, the names under which files were to be taken
// over, dropped tables' files. A start that fails for want of room leaves the files that it has written, and the next one writes all of them
// again. On a full disk that is what keeps the store from opening, and so it goes before.
//
// A data file goes if the manifest has never named it, and trash (a name that RocksDB gives to what it is done with) if no family has that file.
// Nothing else is touched, as files in other folders, or with other names. None is deleted unless the manifest is read to its very end and all
// files are there that it asks for. What the manifest names and needs no more stays: RocksDB deletes that once its next manifest is durable.
//
// `deleted` is right also where an error is returned: kNotFound, kIoError, kNoSpace, kCorruption. For a store that nobody has open.
Status DeleteLeftFiles(rocks::Env* env, const std::string& directory, LeftFiles* deleted);

}  // namespace cairn::store
