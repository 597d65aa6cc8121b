// SPDX-License-Identifier: GPL-2.0-only
// Lets go of logs that only the dictionary keeps.
#pragma once

#include <atomic>
#include <cstdint>

#include <rocksdb/listener.h>

#include "store/rocksdb_fwd.h"

namespace cairn::store {

// A log is kept until all that it has is in files. What commits write to the dictionary is little, so that its memtable hardly
// ever fills: it would keep the logs of rows that have been in files for long. So it is flushed after the data family was.
// That is put off while writers are held up: a flush waits for who writes now, and its caller has other things to do.
//
// Thread rule: any thread.
class LogRelease final : public rocks::EventListener {
 public:
  void OnFlushCompleted(rocks::DB* db, const rocks::FlushJobInfo& flush) override;

  // Whether data have been flushed since the last call, or what that call was for has been put off.
  bool Take() { return owed_.exchange(false, std::memory_order_relaxed); }
  void PutOff() { owed_.store(true, std::memory_order_relaxed); }

 private:
  std::atomic<bool> owed_{false};
};

}  // namespace cairn::store
