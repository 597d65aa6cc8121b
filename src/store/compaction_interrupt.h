// SPDX-License-Identifier: GPL-2.0-only
// Ends a compaction that somebody waits for.
#pragma once

#include <atomic>

namespace cairn::store {

// RocksDB has a flag for that, which it sets itself as well where all compactions are aborted: it alone does not tell who wants it.
// Thread rule: Request() by any thread, the rest by the one that waits.
class CompactionInterrupt {
 public:
  // The compaction ends before long.
  void Request() {
    requested_.store(true);
    canceled_.store(true);
  }
  // Nobody has requested it.
  void Clear() {
    canceled_.store(false);
    requested_.store(false);
  }
  bool is_requested() const { return requested_.load(); }

  // For RocksDB. Whatever it has set itself is forgotten; a request, whenever it comes, is not.
  std::atomic<bool>* Rearm() {
    canceled_.store(false);
    if (requested_.load()) canceled_.store(true);
    return &canceled_;
  }

 private:
  std::atomic<bool> requested_{false};
  std::atomic<bool> canceled_{false};
};

}  // namespace cairn::store
