// SPDX-License-Identifier: GPL-2.0-only
// What the store's calls cost with everything in memory.
#include "store/store.h"

#include <algorithm>
#include <random>
#include <vector>

#include <benchmark/benchmark.h>

#include "base/endian.h"
#include "store/environment.h"

namespace cairn::store {
namespace {

constexpr uint64_t kRowCount = 200'000;
constexpr size_t kKeySize = 12;

struct Key {
  explicit Key(uint64_t number, uint32_t index = 1) {
    StoreBe32(bytes, index);
    StoreBe64(bytes + 4, number);
  }
  ByteView view() const { return AsBytes(bytes, sizeof bytes); }
  char bytes[kKeySize];
};

std::unique_ptr<Store> OpenInMemory() {
  static auto environment = NewMemoryEnvironment();
  static int stores = 0;
  std::unique_ptr<Store> opened;
  StoreOptions options;
  options.directory = "/bench" + std::to_string(++stores);
  options.memory_bytes = uint64_t{512} << 20;
  options.environment = environment.get();
  if (!Store::Open(options, &opened).ok()) std::abort();
  return opened;
}

// Puts every `distance`-th of 200 000 rows of 200 bytes, in any order.
void PutRows(Store* store, uint64_t distance) {
  std::mt19937_64 random(distance);
  Batch batch(*store);
  std::string value(200, '\0');
  std::vector<uint64_t> rows;
  for (uint64_t row = 0; row < kRowCount; row += distance) rows.push_back(row);
  std::shuffle(rows.begin(), rows.end(), random);
  for (const uint64_t row : rows) {
    for (char& c : value) c = static_cast<char>(random() % 16);
    batch.Put(Family::kData, Key(row).view(), value);
  }
  if (!store->Write(batch, Durability::kOs).ok()) std::abort();
}

std::unique_ptr<Store> OpenFilled() {
  std::unique_ptr<Store> store = OpenInMemory();
  PutRows(store.get(), 1);
  if (!store->FlushMemtables().ok() || !store->CompactRange(Family::kData, {}, {}).ok()) std::abort();
  return store;
}

// 200 000 compacted rows of 200 bytes.
Store& Filled() {
  static std::unique_ptr<Store> store = OpenFilled();
  return *store;
}

void CursorNext(benchmark::State& state) {
  Cursor cursor;
  const Key lower(0), upper(0, 2);
  if (!Filled().OpenCursor(Family::kData, {.lower_bound = lower.view(), .upper_bound = upper.view()}, &cursor).ok()) {
    std::abort();
  }
  cursor.SeekToFirst();
  uint64_t bytes = 0;
  for (auto _ : state) {
    bytes += cursor.key().size() + cursor.value().size();
    cursor.Next();
    if (!cursor.Valid()) cursor.SeekToFirst();
  }
  benchmark::DoNotOptimize(bytes);
}
BENCHMARK(CursorNext);

// The same rows, of which every n-th has been changed since; a range is a tenth of all. All bytes of them are read.
void WalkOverChanges(benchmark::State& state, bool flushed, bool forward, uint64_t range_rows = kRowCount / 10) {
  const std::unique_ptr<Store> store = OpenFilled();
  PutRows(store.get(), static_cast<uint64_t>(state.range(0)));
  if (flushed && !store->FlushMemtables().ok()) std::abort();
  Cursor cursor;
  std::mt19937_64 random(8);
  uint64_t rows = 0, sum = 0;
  for (auto _ : state) {
    const uint64_t first = random() % (kRowCount - range_rows);
    const Key lower(first), upper(first + range_rows);
    (void)store->OpenCursor(Family::kData, {.lower_bound = lower.view(), .upper_bound = upper.view()}, &cursor);
    for (forward ? cursor.SeekToFirst() : cursor.SeekToLast(); cursor.Valid(); forward ? cursor.Next() : cursor.Prev()) {
      ++rows;
      for (size_t at = 0; at + 8 <= cursor.value().size(); at += 8) sum += LoadLe64(cursor.value().data() + at);
    }
    cursor.Close();
  }
  benchmark::DoNotOptimize(sum);
  state.SetItemsProcessed(static_cast<int64_t>(rows));
}
void NextBesideMemtable(benchmark::State& state) { WalkOverChanges(state, false, true); }
void NextBesideLevel0(benchmark::State& state) { WalkOverChanges(state, true, true); }
void ShortRangeBesideMemtable(benchmark::State& state) { WalkOverChanges(state, false, true, 100); }
void PrevBesideMemtable(benchmark::State& state) { WalkOverChanges(state, false, false); }
BENCHMARK(NextBesideMemtable)->Arg(1)->Arg(3)->Arg(10)->Arg(1000);
BENCHMARK(NextBesideLevel0)->Arg(1)->Arg(3)->Arg(10)->Arg(1000);
BENCHMARK(ShortRangeBesideMemtable)->Arg(1)->Arg(2);
BENCHMARK(PrevBesideMemtable)->Arg(1)->Arg(10)->Arg(1000);

void CursorPrev(benchmark::State& state) {
  Cursor cursor;
  const Key lower(0), upper(0, 2);
  (void)Filled().OpenCursor(Family::kData, {.lower_bound = lower.view(), .upper_bound = upper.view()}, &cursor);
  cursor.SeekToLast();
  for (auto _ : state) {
    cursor.Prev();
    if (!cursor.Valid()) cursor.SeekToLast();
  }
}
BENCHMARK(CursorPrev);

// The same rows through a transaction that wrote one of them.
void OverlayNext(benchmark::State& state) {
  auto txn = Filled().BeginWrite();
  (void)txn->Put(Family::kData, Key(77).view(), "own");
  Cursor cursor;
  const Key lower(0), upper(0, 2);
  (void)txn->OpenCursor({.lower_bound = lower.view(), .upper_bound = upper.view()}, &cursor);
  cursor.SeekToFirst();
  for (auto _ : state) {
    cursor.Next();
    if (!cursor.Valid()) cursor.SeekToFirst();
  }
}
BENCHMARK(OverlayNext);

void CursorSeek(benchmark::State& state) {
  std::mt19937_64 random(2);
  Cursor cursor;
  const Key lower(0), upper(0, 2);
  (void)Filled().OpenCursor(Family::kData, {.lower_bound = lower.view(), .upper_bound = upper.view()}, &cursor);
  for (auto _ : state) cursor.Seek(Key(random() % kRowCount).view());
}
BENCHMARK(CursorSeek);

void CursorOpenAndSeek(benchmark::State& state) {
  std::mt19937_64 random(3);
  Cursor cursor;
  for (auto _ : state) {
    const uint64_t row = random() % kRowCount;
    const Key lower(row), upper(row + 10);
    (void)Filled().OpenCursor(Family::kData, {.lower_bound = lower.view(), .upper_bound = upper.view()}, &cursor);
    cursor.SeekToFirst();
  }
}
BENCHMARK(CursorOpenAndSeek);

void Get(benchmark::State& state) {
  std::mt19937_64 random(4);
  PinnedValue value;
  for (auto _ : state) {
    benchmark::DoNotOptimize(Filled().Get(Family::kData, Key(random() % kRowCount).view(), nullptr, &value));
  }
}
BENCHMARK(Get);

void GetOfAMissingKey(benchmark::State& state) {
  std::mt19937_64 random(5);
  PinnedValue value;
  for (auto _ : state) {
    benchmark::DoNotOptimize(Filled().Get(Family::kData, Key(kRowCount + random() % kRowCount).view(), nullptr, &value));
  }
}
BENCHMARK(GetOfAMissingKey);

void TakeSnapshot(benchmark::State& state) {
  for (auto _ : state) {
    Snapshot snapshot = Filled().TakeSnapshot();
    benchmark::DoNotOptimize(snapshot.taken());
  }
}
BENCHMARK(TakeSnapshot);

// One transaction of three changes, committed to the operating system.
void SmallCommit(benchmark::State& state) {
  std::mt19937_64 random(6);
  auto txn = Filled().BeginWrite();
  const std::string value(200, 'v');
  for (auto _ : state) {
    for (uint32_t index = 3; index < 6; ++index) {
      (void)txn->Put(Family::kData, Key(random() % kRowCount, index).view(), value);
    }
    (void)txn->Commit(Durability::kOs);
    txn->Restart();
  }
}
BENCHMARK(SmallCommit);

// A batch of a load: 1000 rows in order of their key, each with an entry of an index in the same order
// and one of an index without any.
void LoadCommit(benchmark::State& state) {
  constexpr unsigned kBatchRows = 1000;
  std::mt19937_64 random(7);
  auto txn = Filled().BeginWrite();
  const std::string value(200, 'v');
  uint64_t row = 0;
  for (auto _ : state) {
    for (unsigned i = 0; i < kBatchRows; ++i, ++row) {
      (void)txn->Put(Family::kData, Key(row, 7).view(), value);
      (void)txn->Put(Family::kData, Key(row, 8).view(), {});
      (void)txn->Put(Family::kData, Key(random(), 9).view(), {});
    }
    (void)txn->Commit(Durability::kOs);
    txn->Restart();
  }
  state.SetItemsProcessed(state.iterations() * kBatchRows);
}
BENCHMARK(LoadCommit);

}  // namespace
}  // namespace cairn::store
