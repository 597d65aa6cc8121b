// SPDX-License-Identifier: GPL-2.0-only
// Owns every part of the storage engine; starts and stops them in a fixed order.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "base/status.h"
#include "bulk/sort_memory.h"
#include "catalog/catalog.h"
#include "engine/options.h"
#include "jobs/worker.h"
#include "store/store.h"
#include "txn/transaction_manager.h"

namespace cairn::engine {

// Order of start: store (which replays its log), dictionary, transactions (which lock again what was
// prepared), background work. Stopping goes the other way round.
//
// Background work: once a second the log is made durable, so that commits with less than full
// durability are at risk for no longer; the disk's free space is looked at; what could not be rolled back is tried
// again; what is prepared is shown to who asked for it, and named if it keeps logs beyond measure. Ten times a
// second it is looked whether reads have paid for a flush or a compaction. Indexes of dropped tables are removed when
// there are any. What may take long of that holds up nothing else: each has a thread.
//
// Thread rule: accessors from any thread; destruction when no transaction, cursor or call is left.
class Engine {
 public:
  // Errors are those of Store::Open and Catalog::Open. Nothing is left running after one.
  static Status Start(const EngineOptions& options, std::unique_ptr<Engine>* engine);

  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;
  ~Engine();

  store::Store& store() { return *store_; }
  catalog::Catalog& catalog() { return *catalog_; }
  txn::TransactionManager& transactions() { return *transactions_; }

  // For sorting, all statements together: copies, loads, indexes that are built.
  bulk::SortMemory& sort_memory() { return *sort_memory_; }

  // The space of dropped indexes is worth looking at now.
  void WakeReclaimer();

 private:
  Engine() = default;
  void StartBackgroundWork(const EngineOptions& options);
  // The last error, which names its index.
  Status ReclaimDropped();
  Status Reclaim(IndexId index);
  // Warns, once of each, of transactions that stay prepared while the logs grow, which are kept from theirs on.
  void NameKeepersOfLogs();

  std::unique_ptr<store::Store> store_;
  std::unique_ptr<catalog::Catalog> catalog_;
  std::unique_ptr<txn::TransactionManager> transactions_;
  std::unique_ptr<jobs::Worker> worker_;  // of what is short
  std::unique_ptr<jobs::Worker> reclaimer_;
  std::unique_ptr<jobs::Worker> reliever_;
  unsigned cores_ = 1;
  uint64_t heap_slack_bytes_ = 0;  // of memory freed, what the process may keep
  std::unique_ptr<bulk::SortMemory> sort_memory_;
  LogSink* log_ = nullptr;
  std::function<std::string(ByteView)> name_text_;
  std::map<uint64_t, bool> keepers_;  // of the oldest log that is kept so, at the last look, and whether they have been named
};

}  // namespace cairn::engine
