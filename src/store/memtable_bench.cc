// SPDX-License-Identifier: GPL-2.0-only
// The memtable's tree beside RocksDB's skip list: inserts, seeks, walks.
#include <memory>
#include <mutex>
#include <numeric>
#include <optional>
#include <random>

#include <benchmark/benchmark.h>

#include "base/endian.h"
#include "db/memtable.h"
#include "memory/concurrent_arena.h"
#include <rocksdb/write_batch.h>

#include "store/insert_ahead.h"
#include "store/memtable_rep.h"

namespace cairn::store {
namespace {

enum Kind : int64_t { kTree, kSkipList };
enum Order : int64_t { kUniform, kAscending };

constexpr uint64_t kEntries = 500'000;
constexpr size_t kKeyBytes = 20;  // an index id and two numbers
constexpr size_t kValueBytes = 100;
constexpr size_t kInternalBytes = kKeyBytes + 8;
constexpr size_t kEntryBytes = 1 + kInternalBytes + kValueBytes;

// As RocksDB encodes them; `number` is the key's second number: the first is the same for all.
void Encode(uint64_t number, char* entry) {
  entry[0] = kInternalBytes;
  StoreBe32(entry + 1, 7);
  StoreBe64(entry + 5, 123);
  StoreBe64(entry + 13, number);
  StoreLe64(entry + 21, uint64_t{1} << 8 | 1);
}

struct Table {
  explicit Table(int64_t kind, uint64_t memtable_bytes = 0)
      : comparator(rocks::InternalKeyComparator(rocks::BytewiseComparator())) {
    if (kind == kTree) {
      rep.reset(MemtableTreeFactory(memtable_bytes).CreateMemTableRep(comparator, &arena, nullptr, nullptr));
    } else {
      rep.reset(rocks::SkipListFactory().CreateMemTableRep(comparator, &arena, nullptr, nullptr));
    }
  }

  void Insert(uint64_t number, bool concurrently) {
    char* entry;
    rocks::KeyHandle handle = rep->Allocate(kEntryBytes, &entry);
    Encode(number, entry);
    if (!(concurrently ? rep->InsertKeyConcurrently(handle) : rep->InsertKey(handle))) std::abort();
  }

  rocks::MemTable::KeyComparator comparator;
  rocks::ConcurrentArena arena{1 << 20};
  std::unique_ptr<rocks::MemTableRep> rep;
};

const std::vector<uint64_t>& Numbers(int64_t order) {
  static const std::vector<uint64_t> ascending = [] {
    std::vector<uint64_t> all(kEntries);
    std::iota(all.begin(), all.end(), 0);
    return all;
  }();
  static const std::vector<uint64_t> shuffled = [] {
    std::vector<uint64_t> all = ascending;
    std::shuffle(all.begin(), all.end(), std::mt19937_64(1));
    return all;
  }();
  return order == kAscending ? ascending : shuffled;
}

Table& Filled(int64_t kind) {
  static std::unique_ptr<Table> tables[2];
  static std::once_flag once[2];
  std::call_once(once[kind], [kind] {
    tables[kind] = std::make_unique<Table>(kind);
    for (const uint64_t number : Numbers(kUniform)) tables[kind]->Insert(number, false);
  });
  return *tables[kind];
}

void MemtableInsert(benchmark::State& state) {
  static std::unique_ptr<Table> table;
  const uint64_t threads = static_cast<uint64_t>(state.threads());
  const std::vector<uint64_t>& numbers = Numbers(state.range(1));
  if (state.thread_index() == 0) table = std::make_unique<Table>(state.range(0));
  uint64_t next = static_cast<uint64_t>(state.thread_index());
  for (auto _ : state) {
    table->Insert(numbers[next], threads > 1);
    next += threads;
  }
  if (state.thread_index() == 0) {
    const size_t bytes = table->arena.ApproximateMemoryUsage();
    state.counters["overhead_bytes"] = static_cast<double>(bytes) / kEntries - kEntryBytes;
  }
}
BENCHMARK(MemtableInsert)->ArgsProduct({{kTree, kSkipList}, {kUniform, kAscending}})->Iterations(kEntries);
BENCHMARK(MemtableInsert)
    ->ArgsProduct({{kTree, kSkipList}, {kUniform, kAscending}})
    ->Threads(2)
    ->UseRealTime()
    ->Iterations(kEntries / 2);

// Keys in no order, in batches that are told of before they are inserted (1), or not (0).
void MemtableInsertBatch(benchmark::State& state) {
  constexpr size_t kBatch = 400;
  static std::vector<rocks::WriteBatch> batches;
  if (batches.empty()) {
    char entry[kEntryBytes];
    for (size_t i = 0; i < kEntries; ++i) {
      if (i % kBatch == 0) batches.emplace_back();
      Encode(Numbers(kUniform)[i], entry);
      (void)batches.back().Put(rocks::Slice(entry + 1, kKeyBytes), rocks::Slice(entry, 8));
    }
  }
  const bool told = state.range(0) != 0;
  Table table(kTree, /*memtable_bytes=*/64 << 20);
  size_t next = 0;
  for (auto _ : state) {
    std::optional<InsertAhead> ahead;
    if (told) ahead.emplace(batches[next / kBatch], 0);
    for (const size_t end = next + kBatch; next < end; ++next) table.Insert(Numbers(kUniform)[next], false);
  }
  state.SetItemsProcessed(static_cast<int64_t>(next));
}
BENCHMARK(MemtableInsertBatch)->Arg(0)->Arg(1)->Iterations(kEntries / 400);

void MemtableSeek(benchmark::State& state) {
  Table& table = Filled(state.range(0));
  std::unique_ptr<rocks::MemTableRep::Iterator> iterator(table.rep->GetIterator());
  std::mt19937_64 random(2);
  char entry[kEntryBytes];
  for (auto _ : state) {
    Encode(random() % kEntries, entry);
    iterator->Seek({}, entry);
    benchmark::DoNotOptimize(iterator->key());
  }
}
BENCHMARK(MemtableSeek)->Arg(kTree)->Arg(kSkipList);

// Reads something of each entry, as who walks does.
void MemtableWalk(benchmark::State& state) {
  Table& table = Filled(state.range(0));
  std::unique_ptr<rocks::MemTableRep::Iterator> iterator(table.rep->GetIterator());
  uint64_t sum = 0;
  for (auto _ : state) {
    if (!iterator->Valid()) iterator->SeekToFirst();
    sum += LoadLe64(iterator->key() + 13) + LoadLe64(iterator->key() + 100);
    state.range(1) == 0 ? iterator->Next() : iterator->Prev();
    if (!iterator->Valid() && state.range(1) != 0) iterator->SeekToLast();
  }
  benchmark::DoNotOptimize(sum);
}
BENCHMARK(MemtableWalk)->ArgsProduct({{kTree, kSkipList}, {0}});
BENCHMARK(MemtableWalk)->ArgsProduct({{kTree, kSkipList}, {1}})->Iterations(kEntries);

}  // namespace
}  // namespace cairn::store
