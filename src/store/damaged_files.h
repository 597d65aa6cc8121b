// SPDX-License-Identifier: GPL-2.0-only
// Files that compactions cannot read.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <utility>

#include <rocksdb/db.h>
#include <rocksdb/listener.h>

#include "base/log_sink.h"
#include "base/status.h"
#include "store/rocksdb_fwd.h"

namespace cairn::store {

// A compaction that comes upon damage changes nothing: its files stay as they are, and what cannot be read is lost to those who ask for it
// alone. RocksDB would refuse all writes from then on, and go on doing so after each start. Here the gate lets it pass
// (WriteGateKeeper::OnBackgroundError), and the damaged file is set aside, as if a compaction had it for good: RocksDB passes over it and
// over what would be merged with it, and compacts the rest. Level 0 may come to stand behind it: Store::MindDamage().
//
// What is set aside is so until the process ends, or LetGo(): what the next compaction makes of it is told again.
//
// Thread rule: any thread that does not hold RocksDB's mutex.
class DamagedFiles final : public rocks::EventListener {
 public:
  explicit DamagedFiles(LogSink* log) : log_(log) {}

  void OnCompactionCompleted(rocks::DB* db, const rocks::CompactionJobInfo& compaction) override;
  // The same, by those who call DB::CompactFiles, which tells listeners nothing of its end. `inputs`: names of files.
  void NoteCompaction(rocks::DB* db, uint32_t family, const rocks::Status& status, std::span<const std::string> inputs);

  // Has compactions take them again: what was damaged may be gone, or be readable by now.
  void LetGo();
  // The same, if none was set aside for so long: then RocksDB should be told to look for work. `now_us`: of a steady clock.
  bool LetGoAfter(uint64_t age_us, uint64_t now_us);

  // While it lives all are let go, and none is set aside: a range that is compacted for somebody would wait for it for ever.
  class AllTaken {
   public:
    explicit AllTaken(DamagedFiles& files) : files_(files) { files_.TakeAll(); }
    AllTaken(const AllTaken&) = delete;
    AllTaken& operator=(const AllTaken&) = delete;
    ~AllTaken() { files_.taken_count_.fetch_sub(1); }

   private:
    DamagedFiles& files_;
  };

  // How many are set aside.
  size_t count() const { return count_.load(std::memory_order_relaxed); }
  // What has been found last; ok: nothing.
  Status reason() const;

 private:
  void TakeAll();
  void LetGoAll();

  LogSink* const log_;
  std::atomic<int> taken_count_{0};
  std::atomic<size_t> count_{0};
  mutable std::mutex mutex_;  // before RocksDB's
  std::map<std::pair<rocks::DB*, uint32_t>, std::set<uint64_t>> aside_;  // numbers by family; guarded by mutex_, as the next two are
  uint64_t last_found_us_ = 0;
  Status reason_;
};

}  // namespace cairn::store
