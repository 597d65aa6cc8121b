// SPDX-License-Identifier: GPL-2.0-only
// What a store is made of.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <rocksdb/db.h>
#include <rocksdb/statistics.h>
#include <rocksdb/utilities/transaction_db.h>

#include "store/compaction_hold.h"
#include "store/damaged_files.h"
#include "store/family_source.h"
#include "store/held_indexes.h"
#include "store/load_pace.h"
#include "store/log_order.h"
#include "store/log_release.h"
#include "store/open_files.h"
#include "store/read_pressure.h"
#include "store/rocks_options.h"
#include "store/shared_sync.h"
#include "store/store.h"
#include "store/write_gate.h"

namespace cairn::store {

class Store::Impl {
 public:
  class Layout;

  rocks::WriteOptions MakeWriteOptions(Durability durability) const {
    rocks::WriteOptions write;
    write.sync = durability == Durability::kSync;
    write.protection_bytes_per_key = protection_bytes_per_key;
    return write;
  }

  // Past RocksDB's locks.
  rocks::Status Write(const rocks::WriteOptions& options, rocks::WriteBatch* batch) {
    rocks::TransactionDBWriteOptimizations unlocked;
    unlocked.skip_concurrency_control = true;
    return db->Write(options, unlocked, batch);
  }

  FamilySource SourceOf(Family family) const;

  // Where the files are that the store is opened with; the real ones have spare descriptors.
  rocks::Env* PrepareEnv(const StoreOptions& options);
  // Before the store is opened with `derived`: what SetPace() will need.
  void PreparePaces(const StoreOptions& options, RocksOptions* derived);

  static rocks::TransactionOptions MakeTransactionOptions() {
    rocks::TransactionOptions transaction;
    transaction.skip_concurrency_control = true;  // txn/ has its own locks
    return transaction;
  }

  std::string directory;
  size_t protection_bytes_per_key = 0;
  unsigned cores = 1;
  uint64_t memory_bytes = 0;  // the budget
  LogSink* log = nullptr;

  std::shared_ptr<SpareDescriptors> spare_descriptors;  // null, as the next: an environment of its own
  std::unique_ptr<rocks::Env> env;
  std::shared_ptr<RunningCompactions> compactions;
  std::shared_ptr<WriteGateKeeper> gate;
  std::shared_ptr<DamagedFiles> damaged_files;
  std::shared_ptr<HeldIndexes> held_indexes;
  std::shared_ptr<LogRelease> log_release;
  std::shared_ptr<LogOrder> log_order;
  std::unique_ptr<OpenFiles> open_files;
  std::shared_ptr<rocks::Statistics> statistics;
  std::unique_ptr<rocks::TransactionDB> db;
  rocks::DB* root = nullptr;  // under the transactions: reads need not pass through them
  SharedSync shared_sync;     // of its log
  std::array<rocks::ColumnFamilyHandle*, kFamilyCount> handles{};
  std::atomic<bool> recovered_taken{false};
  // Of prepares and rollbacks of what was prepared, that were not synced: they go into the log alone.
  std::atomic<uint64_t> log_writes_without_sequence{0};
  std::atomic<uint64_t> load_count{0};        // handed over
  std::atomic<uint64_t> next_load_number{1};  // of a PendingLoad
  std::atomic<uint64_t> reserved_level0_places{0};  // by those that wait
  std::unique_ptr<CompactionHold> compaction_hold;  // of the data family

  // Of PaceCompactions: `load_pace` and `pace` are its thread's.
  uint64_t level0_files_usual = 0;  // 0: an expert's number, which stays
  uint64_t base_bytes_usual = 0;    // of the level below
  WriteBuffers usual_buffers;
  WriteBuffers load_buffers;  // an expert's are the usual ones in loads too
  std::shared_ptr<MemtableTreeFactory> memtables;  // of the data family; null: an expert's
  LoadPace load_pace{0};
  Pace pace;  // in force

  // Of SettleLoad, which ends what PaceCompactions asks for.
  std::atomic<bool> settling_owed{false};
  std::atomic<uint64_t> settling_bytes_max{0};  // so much is worth it in any case
  std::mutex settling_flush_mutex;      // guards these two, for as long as it flushes what is in memory
  uint64_t settling_flushed_bytes = 0;  // by itself: no load
  bool settling_flushed = false;        // since the last look at the pace
  std::atomic<bool> settling{false};            // a compaction of it runs, or is about to
  std::atomic<uint64_t> settlings{0};
  std::atomic<uint64_t> stopped_settlings{0};
  std::mutex abort_mutex;  // while its end aborts all compactions

  WalkAccount walked;
  // Of RelieveReads and RelieveSpace: the first three are their thread's.
  ReadPressurePolicy read_pressure;
  uint64_t cancelled_looked_at = 0;  // compactions
  uint64_t cancelled_us = 0;         // when one was, last
  std::atomic<bool> relief_stopped{false};
  std::atomic<bool> relief_compacts{false};
  std::atomic<uint64_t> relief_flushes{0};
  std::atomic<uint64_t> relief_compactions{0};
};

}  // namespace cairn::store
