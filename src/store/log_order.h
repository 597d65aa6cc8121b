// SPDX-License-Identifier: GPL-2.0-only
// Syncs of logs: those that are asked for, and those that see to it that no log has a record before all older logs are durable.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <utility>

#include <rocksdb/listener.h>

#include "base/status.h"
#include "store/rocksdb_fwd.h"
#include "store/write_gate.h"

namespace cairn::store {

// Syncs all logs and the folder that names them. Whatever of it cannot be synced ends as a log that cannot be written; RocksDB tells the
// gate of the logs alone. Any thread.
Status SyncLogs(rocks::DB* root, WriteGateKeeper* gate);

// Below flush setting 1 a log is written to the system and synced once a second. The system may write a younger log to disk before an older
// one, and lose the older one's end with the power. RocksDB replays the younger one all the same, unless the older one ends in the
// midst of a record (include/rocksdb/options.h, wal_bytes_per_sync): a later transaction would be there without an
// earlier one, or a commit without what was prepared. So the old log is synced when a memtable is full and the next log begins: whatever
// power takes then is an end of everything.
//
// Thread rule: any thread; RocksDB calls while nobody else writes.
class LogOrder final : public rocks::EventListener {
 public:
  explicit LogOrder(std::shared_ptr<WriteGateKeeper> gate) : gate_(std::move(gate)) {}

  // From here on; null: no more.
  void Watch(rocks::DB* root) { root_.store(root); }

  void OnMemTableSealed(const rocks::MemTableInfo& memtable) override;

 private:
  const std::shared_ptr<WriteGateKeeper> gate_;
  std::atomic<rocks::DB*> root_{nullptr};
};

// The same for logs that a process left which has died: they are read from the system's memory, and RocksDB syncs only logs that it has
// begun itself. Of a store that is not open. kIoError.
Status SyncFoundLogs(rocks::Env* env, const std::string& directory);

}  // namespace cairn::store
