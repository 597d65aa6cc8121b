// SPDX-License-Identifier: GPL-2.0-only
// What a lock costs without conflicts.
#include "txn/point_locks.h"

#include <benchmark/benchmark.h>

#include "base/endian.h"

namespace cairn::txn {
namespace {

class Owner final : public LockOwner {
 public:
  Owner() { id_ = 1; }
};

// A transaction that locks `range(0)` rows and ends.
void LockAndReleaseAll(benchmark::State& state) {
  static PointLocks locks{PointLocks::Options{}};
  Owner owner;
  char key[20] = {};
  uint64_t next = static_cast<uint64_t>(state.thread_index()) << 40;
  for (auto _ : state) {
    for (int64_t i = 0; i < state.range(0); ++i) {
      StoreBe64(key + 12, ++next);
      benchmark::DoNotOptimize(locks.Lock(owner, AsBytes(key, sizeof key), LockOptions{}, nullptr));
    }
    locks.ReleaseAll(owner);
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(LockAndReleaseAll)->Arg(1)->Arg(100)->Arg(100'000);
BENCHMARK(LockAndReleaseAll)->Arg(10)->Threads(2)->UseRealTime();

// A row that the transaction holds already.
void LockAgain(benchmark::State& state) {
  PointLocks locks{PointLocks::Options{}};
  Owner owner;
  (void)locks.Lock(owner, "some key of a row", LockOptions{}, nullptr);
  for (auto _ : state) {
    benchmark::DoNotOptimize(locks.Lock(owner, "some key of a row", LockOptions{}, nullptr));
  }
  locks.ReleaseAll(owner);
}
BENCHMARK(LockAgain);

}  // namespace
}  // namespace cairn::txn
