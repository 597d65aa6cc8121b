// SPDX-License-Identifier: GPL-2.0-only
// Decides whether writes are let through: free space, and errors that make writing unsafe.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include <rocksdb/listener.h>
#include <rocksdb/sst_file_manager.h>

#include "base/log_sink.h"
#include "base/status.h"
#include "store/running_compactions.h"
#include "store/spare_descriptors.h"
#include "store/store.h"

namespace cairn::store {

// Closed for space while the disk has less free than the reserve: writes stop early, so that
// compaction, which frees space, still has room; also while what is free is all claimed by compactions that run, and while spare descriptors are
// given up. Closed for good or until RocksDB recovers when a
// background write failed; not when a compaction cannot read what is damaged (DamagedFiles), or runs out of space or descriptors, which changes nothing. Opens by itself; free space is looked at by the writes themselves: once a
// second, whenever a sixteenth of the reserve has been written, and before a write that is larger than that.
//
// Thread rule: any thread.
class WriteGateKeeper final : public rocks::EventListener {
 public:
  struct Options {
    std::string directory;
    uint64_t reserve_bytes = 0;
    LogSink* log = nullptr;
    std::function<void(const Status&)> on_wal_failure;
    std::shared_ptr<SpareDescriptors> descriptors = nullptr;  // of the files that are written; null: they need none
  };

  WriteGateKeeper(const Options& options, rocks::Env* env, std::shared_ptr<rocks::SstFileManager> files,
                  std::shared_ptr<const RunningCompactions> compactions);

  // Ok, kNoSpace or kReadOnly. `bytes`: of the write.
  Status Admit(Urgency urgency, uint64_t bytes);
  // Ok or kReadOnly, for the end of what was prepared, or had been let through before (no bytes then, which were counted).
  Status AdmitPromised(uint64_t bytes);

  WriteGate state() const;
  Status Reason() const;
  // Looks at the spare descriptors as well.
  void CheckFreeSpace();
  // Ok, or kNoSpace where spare descriptors are missing, for work that begins files by itself.
  Status AdmitFiles();
  // Whether so much can be written for other ends than a user's, and all who write have room as before.
  bool HasRoomFor(uint64_t bytes) const;
  // Whether the last look has found room for a flush of so much, of memory that has nothing to do with what a user writes now.
  bool MayFlush(uint64_t bytes) const {
    return !failed_.load() && !lacks_descriptors_.load() && free_bytes_.load(std::memory_order_relaxed) >= BytesLeft() + bytes;
  }
  // While compactions have no room, writes are refused: held up by a full level 0, they would wait for what cannot
  // happen. Removals of rows go on for so many bytes of writes, which level 0 takes before that.
  void SetCompactionsStuck(uint64_t removable_bytes);
  void SetCompactionsMove();
  // While level 0 stands full behind damage, for this reason, only what makes room by itself is let through. Ok: no more.
  void SetDamaged(const Status& reason);
  bool is_damaged() const { return damaged_.load(std::memory_order_relaxed); }

  // What was committed cannot be shown: ends as a log does that cannot be written.
  void StopForCommitted(const Status& status);
  // on_wal_failure has been called.
  bool has_stopped() const { return wal_failed_.load(); }

  // While files are taken over, a failure to write the manifest ends so as well: it may name the files, and RocksDB
  // deletes them after telling of the failure, so that the store could not be opened any more.
  class TakingOver {
   public:
    explicit TakingOver(WriteGateKeeper& gate) : gate_(gate) { gate_.taking_over_.fetch_add(1); }
    ~TakingOver() { gate_.taking_over_.fetch_sub(1); }
    TakingOver(const TakingOver&) = delete;
    TakingOver& operator=(const TakingOver&) = delete;

   private:
    WriteGateKeeper& gate_;
    const SpareDescriptors::Use files_;
  };

  void OnBackgroundError(rocks::BackgroundErrorReason reason, rocks::Status* error) override;
  void OnErrorRecoveryEnd(const rocks::BackgroundErrorRecoveryInfo& info) override;

 private:
  void Log(LogLevel level, const std::string& line) const;
  void SetError(const rocks::Status& error);
  uint64_t BytesBetweenChecks() const { return options_.reserve_bytes / 16; }
  // Compactions and flushes are left this much: a compaction starts only if it does so, and so do writes
  // while it runs.
  uint64_t BytesLeft() const { return options_.reserve_bytes / 4; }
  // Free space that opens the gate again: more than what closes it, so that it does not flutter.
  uint64_t ReopeningBytes() const { return options_.reserve_bytes + options_.reserve_bytes / 10; }
  // Of free space, for a write to be let through.
  uint64_t NeededBytes(Urgency urgency, uint64_t bytes) const;
  Status NoSpace(uint64_t free_bytes, uint64_t needed_bytes) const;
  Status Stuck() const;
  Status LacksDescriptors() const;
  // Counts a removal against what level 0 still takes; false where that is less.
  bool TakeRemovable(uint64_t bytes);
  Status Claimed() const;

  const Options options_;
  rocks::Env* const env_;
  const std::shared_ptr<rocks::SstFileManager> files_;
  const std::shared_ptr<const RunningCompactions> compactions_;

  std::atomic<uint64_t> next_check_us_{0};
  std::atomic<uint64_t> unchecked_bytes_{0};  // let through since the last look
  std::atomic<uint64_t> free_bytes_{UINT64_MAX};
  std::atomic<uint64_t> unclaimed_bytes_{UINT64_MAX};  // free, and not to be taken by compactions that run
  std::atomic<bool> low_space_{false};
  std::atomic<bool> lacks_descriptors_{false};
  std::atomic<bool> compactions_stuck_{false};
  std::atomic<uint64_t> removable_bytes_{0};  // while they are
  std::atomic<bool> damaged_{false};
  std::atomic<bool> failed_{false};
  std::atomic<bool> wal_failed_{false};
  std::atomic<uint32_t> taking_over_{0};

  mutable std::mutex mutex_;
  bool short_of_space_ = false;  // guarded by mutex_, as the next are
  Status error_;   // why failed_ is set
  Status damage_;  // why damaged_ is
};

}  // namespace cairn::store
