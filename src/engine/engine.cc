// SPDX-License-Identifier: GPL-2.0-only
// Start, stop and background work of the engine.
#include "engine/engine.h"

#include <algorithm>
#include <cstdlib>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/core_load.h"
#include "base/index_bounds.h"
#include "engine/heap_trimmer.h"

namespace cairn::engine {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// One statement alone takes half of it (bulk/sort_memory.h).
constexpr uint64_t kSortBytesMin = uint64_t{8} << 20;
constexpr uint64_t kSortBytesMax = uint64_t{512} << 20;
constexpr uint64_t kHeapSlackBytesMin = uint64_t{16} << 20;
constexpr uint64_t kLogsKeptFactor = 4;  // as many times more than RocksDB would let there be: nobody's memtable keeps them

constexpr char kSyncTask[] = "make the log durable";
constexpr char kReclaimTask[] = "reclaim dropped indexes";
constexpr char kReliefTask[] = "relieve reads";
constexpr char kPaceTask[] = "pace compactions";
constexpr char kSpaceTask[] = "watch free space";
constexpr char kLogTask[] = "release logs";
constexpr char kFilesTask[] = "limit open files";
constexpr char kRollbackTask[] = "roll back what could not be";
constexpr char kPreparedTask[] = "show what is prepared";
constexpr char kTrimTask[] = "trim heaps";

void Report(LogSink* log, LogLevel level, const std::string& line) {
  if (log != nullptr) log->Log(level, line);
}

// The write-ahead log, or the manifest while it takes files over, could not be written, or a load not be brought: what the failing
// commit had written may or may not be there after a restart, so nobody may be told that it was rolled back. Stopping at once lets the next
// start and the binary log decide (docs/errors.md).
[[noreturn]] void FailStop(LogSink* log, const Status& status) {
  Report(log, LogLevel::kError,
         status.ToString() + "; the server stops now so that recovery decides which transactions were committed");
  std::abort();
}

}  // namespace

Status Engine::Start(const EngineOptions& options, std::unique_ptr<Engine>* engine) {
  std::unique_ptr<Engine> started(new Engine());
  started->log_ = options.log;
  started->name_text_ = options.name_text;

  store::StoreOptions store_options;
  store_options.directory = options.directory;
  store_options.memory_bytes = options.memory_bytes != 0 ? options.memory_bytes : DefaultMemoryBytes();
  store_options.cores = options.cores != 0 ? options.cores : std::max(1u, std::thread::hardware_concurrency());
  LimitHeaps(store_options.cores);
  store_options.expert_db_options = options.expert_db_options;
  store_options.expert_family_options = options.expert_family_options;
  store_options.log = options.log;
  store_options.check = catalog::Catalog::CheckFormat;
  store_options.on_wal_failure = [log = options.log](const Status& status) { FailStop(log, status); };
  started->sort_memory_ =
      std::make_unique<bulk::SortMemory>(std::clamp(store_options.memory_bytes / 4, kSortBytesMin, kSortBytesMax));
  started->cores_ = store_options.cores;
  started->heap_slack_bytes_ = std::max(store_options.memory_bytes / 8, kHeapSlackBytesMin);
  CAIRN_RETURN_IF_ERROR(store::Store::Open(store_options, &started->store_));
  CAIRN_RETURN_IF_ERROR(catalog::Catalog::Open(started->store_.get(), &started->catalog_, options.log));

  txn::PointLocks::Options lock_options;
  lock_options.observer = options.observer;
  txn::TransactionHooks hooks;
  hooks.counter_key = [](TableId table, ByteBuffer* key) { key->Append(catalog::CountersKey(table)); };
  hooks.on_commit = [catalog = started->catalog_.get()](TableId table, const store::TableCounters& change,
                                                        uint64_t changed_rows) {
    catalog->OnCommit(table, change, changed_rows);
  };
  hooks.recovered_lock_keys = [catalog = started->catalog_.get()](ByteView key,
                                                                  const std::function<void(ByteView)>& lock) {
    catalog->NoteRecoveredKey(key);
    lock(key);
  };
  hooks.recovered_counters = [catalog = started->catalog_.get()](ByteView key, const store::TableCounters& change,
                                                                 TableId* table) {
    return catalog->NoteRecoveredCounters(key, change, table);
  };
  started->transactions_ =
      std::make_unique<txn::TransactionManager>(*started->store_, lock_options, std::move(hooks));
  CAIRN_RETURN_IF_ERROR(started->transactions_->RecoverPrepared());
  started->StartBackgroundWork(options);
  *engine = std::move(started);
  return Status::Ok();
}

void Engine::StartBackgroundWork(const EngineOptions& options) {
  LogSink* const log = options.log;
  worker_ = std::make_unique<jobs::Worker>();
  worker_->Add(kSyncTask, seconds(1), [this, log, synced = uint64_t{0}]() mutable {
    const uint64_t version = store_->LogVersion();
    if (version == synced) return;
    const Status status = store_->SyncWal();
    if (status.ok()) {
      synced = version;
    } else {
      Report(log, LogLevel::kError, "cannot make the log durable: " + status.ToString());
    }
  });
  worker_->Add(kSpaceTask, seconds(1), [this] { store_->CheckFreeSpace(); });
  worker_->Add(kPaceTask, seconds(1), [this, log] {
    const Status status = store_->PaceCompactions(SteadyTimeUs());
    if (!status.ok()) Report(log, LogLevel::kWarning, "cannot change the pace of compactions: " + status.ToString());
  });
  worker_->Add(kLogTask, seconds(1), [this, log] {
    const Status status = store_->ReleaseLogs();
    if (!status.ok()) Report(log, LogLevel::kWarning, "cannot flush the dictionary, which keeps old logs: " + status.ToString());
    NameKeepersOfLogs();
  });
  worker_->Add(kFilesTask, seconds(1), [this, log] {
    const Status status = store_->LimitOpenFiles();
    if (!status.ok()) Report(log, LogLevel::kWarning, "cannot limit how many files are kept open: " + status.ToString());
  });
  worker_->Add(kRollbackTask, seconds(1), [this] { transactions_->RetryRollbacks(); });
  if (options.on_prepared) {
    worker_->Add(kPreparedTask, seconds(1), [this, visit = options.on_prepared] { transactions_->VisitPrepared(visit); });
  }
  worker_->Add(kTrimTask, seconds(5), [trimmer = HeapTrimmer(heap_slack_bytes_)]() mutable { trimmer.Poll(); });
  worker_->Start();
  // Has a thread of its own, as large tables' files take long to delete, and many tables too.
  reclaimer_ = std::make_unique<jobs::Worker>();
  const auto reclaim = [this, log] {
    const Status status = ReclaimDropped();
    if (!status.ok()) Report(log, LogLevel::kWarning, "cannot reclaim dropped tables: " + status.ToString());
  };
  // Many drops in a row are reclaimed together: each look is at all that an open transaction keeps.
  reclaimer_->Add(kReclaimTask, seconds(10), reclaim, milliseconds(100));
  reclaimer_->Start();
  // So has this, as it may compact files.
  reliever_ = std::make_unique<jobs::Worker>();
  reliever_->Add(kReliefTask, milliseconds(100), [this, log, load = CoreLoad(cores_)]() mutable {
    const Status settled = store_->SettleLoad();
    if (!settled.ok()) Report(log, LogLevel::kWarning, "cannot merge what a load left: " + settled.ToString());
    const uint64_t now_us = SteadyTimeUs();
    const Status reads = store_->RelieveReads(now_us, load.IsBusy(now_us, ProcessCpuTimeUs()));
    if (!reads.ok()) Report(log, LogLevel::kWarning, "cannot make reads cheaper: " + reads.ToString());
    const Status space = store_->RelieveSpace(SteadyTimeUs());
    if (!space.ok()) Report(log, LogLevel::kWarning, "cannot compact in little space: " + space.ToString());
    store_->MindDamage(SteadyTimeUs());
  });
  reliever_->Start();
}

// Removes the entries of dropped indexes. Forgetting comes last, so a crash repeats the removal.
Status Engine::Reclaim(IndexId index) {
  const IndexBounds bounds(index);
  Status removed = store_->DropRange(store::Family::kData, bounds.lower(), bounds.upper());
  if (removed.Is(Status::Code::kBusy)) return Status::Ok();  // tried again before long; what the next one frees may help
  return removed.ok() ? catalog_->ForgetDropped(index) : std::move(removed);
}

// What is wrong with one does not keep the others' space.
Status Engine::ReclaimDropped() {
  catalog_->ReleaseEndedBuilds(transactions_->oldest_transaction_id());
  std::vector<IndexId> dropped;
  Status last_error = catalog_->DroppedIndexes(&dropped);
  // Who has may commit after the id was forgotten: what is prepared, and who has dropped a temporary table of the transaction. Nobody begins to.
  transactions_->EraseMaybeWritten(&dropped);
  for (const IndexId index : dropped) {
    if (reclaimer_->stopping()) break;
    const Status status = Reclaim(index);
    if (!status.ok()) {
      last_error = Status(status.code(), "index " + std::to_string(index.value) + ": " + std::string(status.message()));
    }
  }
  return last_error;
}

// What ends before the next look is not what keeps them. Nor is what has been prepared in a later log than the oldest that any needs: whether
// that keeps too much by itself is seen once those before it have ended.
void Engine::NameKeepersOfLogs() {
  const std::map<uint64_t, bool> before = std::exchange(keepers_, {});
  if (transactions_->ListPrepared().empty()) return;
  std::vector<txn::TransactionRow> rows = transactions_->List();
  std::erase_if(rows, [](const txn::TransactionRow& row) { return row.prepare_log_number == 0; });
  if (rows.empty()) return;
  const uint64_t oldest_log = std::ranges::min(rows, {}, &txn::TransactionRow::prepare_log_number).prepare_log_number;
  const store::Store::LogSpace logs = store_->MeasureLogs();
  const bool are_too_many = logs.flushed_from_bytes != 0 && logs.bytes > kLogsKeptFactor * logs.flushed_from_bytes;
  for (const txn::TransactionRow& row : rows) {
    if (row.prepare_log_number != oldest_log) continue;
    const auto known = before.find(row.id);
    bool& is_named = keepers_[row.id] = known != before.end() && known->second;
    if (!are_too_many || known == before.end() || is_named) continue;
    is_named = true;
    Report(log_, LogLevel::kWarning,
           "the logs take " + std::to_string(logs.bytes >> 20) + " MB and grow at least until the prepared transaction " +
               (name_text_ ? name_text_(row.name) : row.name) + " is committed or rolled back; it was begun " +
               std::to_string(row.age_us / 1'000'000) + " s ago");
  }
}

void Engine::WakeReclaimer() { reclaimer_->Wake(kReclaimTask); }

Engine::~Engine() {
  if (reliever_) {
    store_->StopRelief();
    reliever_->Stop();
  }
  if (reclaimer_) reclaimer_->Stop();
  // Last, as the log is to be durable within a second however long the others take.
  if (worker_) worker_->Stop();
  if (catalog_) {
    const Status status = catalog_->SaveCounters();
    if (!status.ok()) Report(log_, LogLevel::kWarning, "cannot save table counters: " + status.ToString());
  }
  transactions_.reset();
  catalog_.reset();
  if (store_) {
    const Status status = store_->Close();
    if (!status.ok()) Report(log_, LogLevel::kError, "cannot close the store: " + status.ToString());
  }
}

}  // namespace cairn::engine
