// SPDX-License-Identifier: GPL-2.0-only
// What the compactions that run will still write.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>

#include <rocksdb/listener.h>
#include <rocksdb/sst_file_manager.h>

#include "store/rocksdb_fwd.h"

namespace cairn::store {

// A compaction starts when the disk has room for as much as it reads; this knows how much of that room is not
// written yet, and so not to be given to others. Thread rule: any thread.
class RunningCompactions final : public rocks::EventListener {
 public:
  // `files`: of MakeFileManager().
  explicit RunningCompactions(std::shared_ptr<rocks::SstFileManager> files) : files_(std::move(files)) {}

  // At most; what is dropped or merged on the way is not known before.
  uint64_t BytesToCome() const;

  void OnTableFileCreated(const rocks::TableFileCreationInfo& file) override;
  // The room that was kept for it has been given back by then.
  void OnCompactionCompleted(rocks::DB* db, const rocks::CompactionJobInfo& compaction) override;
  // The same, by those who call DB::CompactFiles: it tells listeners of its files, but not of its end.
  void Forget(int job);

 private:
  const std::shared_ptr<rocks::SstFileManager> files_;
  mutable std::mutex mutex_;
  std::map<int, uint64_t> written_bytes_;  // by job, of those that run
};

}  // namespace cairn::store
