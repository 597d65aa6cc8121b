// SPDX-License-Identifier: GPL-2.0-only
// What a store's manifest says of its logs and data files.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "base/status.h"
#include "store/rocksdb_fwd.h"

namespace cairn::store {

// As of its end.
struct Manifest {
  struct Family {
    uint64_t log_number = 0;  // what was in older logs is in files
    std::set<uint64_t> files;
  };

  uint64_t oldest_log = 0;  // RocksDB passes over older ones
  std::map<uint32_t, Family> families;
  // All files that it has ever named, of all families: whatever state a cut of its end would bring back has files of these only.
  std::set<uint64_t> named_files;
  // Nothing follows what was read: not the beginning of a record, nor of a group of them.
  bool is_whole = false;

  // Whether some family has files with all that was in the log, and perhaps in later ones.
  bool IsInFiles(uint64_t log_number) const;
  // Whether the data file is one of a family's.
  bool HasFile(uint64_t number) const;
};

// Reads the one that CURRENT names, by RocksDB's own reader. It ends at a torn record as RocksDB does, which is no error. For a store that nobody
// has open. kNotFound, kIoError, kCorruption: CURRENT or the manifest cannot be read.
Status ReadManifest(rocks::Env* env, const std::string& directory, Manifest* manifest);

}  // namespace cairn::store
