// SPDX-License-Identifier: GPL-2.0-only
// One sync for all who want one while another runs.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>

#include "base/status.h"

namespace cairn::store {

// RocksDB's SyncWAL() syncs for each caller, one after the other. Here, who comes while a sync runs waits for its end, as it may have begun
// before he wrote; then one of those who wait syncs for all of them.
//
// Thread rule: any thread.
class SharedSync {
 public:
  // Returns when a `sync` that began after this call has succeeded; all callers bring the same. A failure is of him alone who ran it: those
  // who waited try by themselves. A system may tell of a lost write once only, so whatever failure is to mean for all, `sync` sees to.
  Status Run(const std::function<Status()>& sync);

  // How many wait for another one's sync.
  size_t waiting_count() const;

 private:
  mutable std::mutex mutex_;
  // Guarded by mutex_, as are all below. One runs while it has begun and not ended.
  std::condition_variable ended_;
  uint64_t begun_count_ = 0;
  uint64_t ended_count_ = 0;
  uint64_t last_success_ = 0;  // the number of that sync, from 1
  size_t waiting_count_ = 0;
};

}  // namespace cairn::store
