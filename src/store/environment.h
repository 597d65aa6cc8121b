// SPDX-License-Identifier: GPL-2.0-only
// The place where a store keeps its files; the real file system unless a test says otherwise.
#pragma once

#include <memory>

#include "store/rocksdb_fwd.h"

namespace cairn::store {

// A replaceable world of files, clocks and threads. Opaque outside store/ and testing/, which
// has an implementation that loses unsynced data and fails on demand.
//
// Lifetime: must outlive every store that was opened with it.
class Environment {
 public:
  virtual ~Environment() = default;
  virtual rocks::Env* rocks_env() = 0;
};

// An empty file system in memory.
std::unique_ptr<Environment> NewMemoryEnvironment();

}  // namespace cairn::store
