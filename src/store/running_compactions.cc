// SPDX-License-Identifier: GPL-2.0-only
// What the compactions that run will still write.
#include "store/running_compactions.h"

#include "store/file_manager.h"

namespace cairn::store {

uint64_t RunningCompactions::BytesToCome() const {
  const uint64_t reserved_bytes = CompactionsReservedBytes(*files_);
  uint64_t written_bytes = 0;
  std::lock_guard lock(mutex_);
  for (const auto& [job, bytes] : written_bytes_) written_bytes += bytes;
  return reserved_bytes > written_bytes ? reserved_bytes - written_bytes : 0;
}

void RunningCompactions::OnTableFileCreated(const rocks::TableFileCreationInfo& file) {
  if (file.reason != rocks::TableFileCreationReason::kCompaction || !file.status.ok()) return;
  std::lock_guard lock(mutex_);
  written_bytes_[file.job_id] += file.file_size;
}

void RunningCompactions::OnCompactionCompleted(rocks::DB*, const rocks::CompactionJobInfo& compaction) {
  Forget(compaction.job_id);
}

void RunningCompactions::Forget(int job) {
  std::lock_guard lock(mutex_);
  written_bytes_.erase(job);
}

}  // namespace cairn::store
