// SPDX-License-Identifier: GPL-2.0-only
// Which shard of a sharded counter a thread uses.
#pragma once

#include <atomic>
#include <cstddef>

namespace cairn {

// So many shards keep the threads of a busy server apart well enough.
inline constexpr size_t kThreadShards = 16;

// The calling thread's shard, below kThreadShards: given in turn at the first call, then always the same. Costs no
// system call and no lock. Thread rule: any thread.
inline size_t ThreadShard() {
  static std::atomic<size_t> threads{0};
  static thread_local size_t mine = kThreadShards;
  if (__builtin_expect(mine == kThreadShards, false)) {
    mine = threads.fetch_add(1, std::memory_order_relaxed) % kThreadShards;
  }
  return mine;
}

}  // namespace cairn
