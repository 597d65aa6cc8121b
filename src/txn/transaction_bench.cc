// SPDX-License-Identifier: GPL-2.0-only
// What a change costs a transaction, and what range locks add to it.
#include <benchmark/benchmark.h>

#include <cstdlib>

#include "base/endian.h"
#include "store/environment.h"
#include "store/store.h"
#include "txn/transaction_manager.h"

namespace cairn::txn {
namespace {

struct Database {
  Database() : environment(store::NewMemoryEnvironment()) {
    store::StoreOptions options;
    options.directory = "/bench";
    options.memory_bytes = uint64_t{64} << 20;
    options.environment = environment.get();
    if (!store::Store::Open(options, &store).ok()) std::abort();
    manager = std::make_unique<TransactionManager>(*store, PointLocks::Options{}, TransactionHooks{});
  }
  std::unique_ptr<store::Environment> environment;
  std::unique_ptr<store::Store> store;
  std::unique_ptr<TransactionManager> manager;
};

constexpr IndexId kIndex{1};

// A transaction that changes 100 keys and rolls back. `range(0)`: by Insert, which asks for range locks,
// instead of Put. `range(1)`: while another transaction holds a range elsewhere in the index.
void ChangeKeys(benchmark::State& state) {
  Database database;
  auto holder = database.manager->NewTransaction(), transaction = database.manager->NewTransaction();
  holder->Begin(Isolation::kRepeatableRead);
  char key[12];
  StoreBe32(key, kIndex.value);
  StoreBe64(key + 4, uint64_t{1} << 60);
  RangeWalk walk;
  if (state.range(1) != 0) {
    if (!walk.Begin(holder.get(), kIndex, AsBytes(key, sizeof key), AsBytes("\0\0\0\2", 4), true, true).ok()) {
      std::abort();
    }
    if (!walk.Look({}).ok() || !walk.ExtendToEnd()) std::abort();
  }
  uint64_t next = 0;
  for (auto _ : state) {
    transaction->Begin(Isolation::kRepeatableRead);
    transaction->StartStatement();
    for (int i = 0; i < 100; ++i) {
      StoreBe64(key + 4, ++next);
      const ByteView view = AsBytes(key, sizeof key);
      benchmark::DoNotOptimize(state.range(0) != 0 ? transaction->Insert(view, "a value", LockOptions{})
                                                   : transaction->Put(store::Family::kData, view, "a value"));
    }
    (void)transaction->Rollback();
  }
  walk.End();
  state.SetItemsProcessed(state.iterations() * 100);
}
BENCHMARK(ChangeKeys)->Args({0, 0})->Args({1, 0})->Args({1, 1});

}  // namespace
}  // namespace cairn::txn
