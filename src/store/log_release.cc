// SPDX-License-Identifier: GPL-2.0-only
// The dictionary's flushes.
#include "store/log_release.h"

#include "store/log_files.h"
#include "store/rocks_status.h"
#include "store/store_impl.h"

namespace cairn::store {

void LogRelease::OnFlushCompleted(rocks::DB*, const rocks::FlushJobInfo& flush) {
  if (flush.cf_name == rocks::kDefaultColumnFamilyName) owed_.store(true, std::memory_order_relaxed);
}

namespace {

// More than a dictionary's flush and what is written for it.
constexpr uint64_t kFlushBytes = uint64_t{16} << 20;

bool WritersAreHeldUp(rocks::DB* root) {
  uint64_t stopped = 0, delayed_rate = 0;
  root->GetIntProperty(rocks::DB::Properties::kIsWriteStopped, &stopped);
  root->GetIntProperty(rocks::DB::Properties::kActualDelayedWriteRate, &delayed_rate);
  return stopped != 0 || delayed_rate != 0;
}

}  // namespace

// Also where writes are refused for want of space: that makes some.
Status Store::ReleaseLogs() {
  if (!impl_->gate->MayFlush(kFlushBytes) || WritersAreHeldUp(impl_->root) || !impl_->log_release->Take()) return Status::Ok();
  rocks::FlushOptions flush;
  flush.wait = false;
  flush.allow_write_stall = true;  // does not wait for compactions
  const rocks::Status status = impl_->root->Flush(flush, Handle(Family::kDictionary));
  if (status.ok()) return Status::Ok();
  impl_->log_release->PutOff();
  return status.IsTryAgain() ? Status::Ok() : FromRocks(status);  // held up just now
}

// One that is deleted meanwhile takes nothing.
Store::LogSpace Store::MeasureLogs() const {
  LogSpace space{.flushed_from_bytes = impl_->root->GetDBOptions().max_total_wal_size};
  rocks::Env* env = impl_->root->GetEnv();
  std::vector<std::string> paths;
  (void)FindLogs(env, impl_->directory, &paths);
  for (const std::string& path : paths) {
    uint64_t bytes = 0;
    if (env->GetFileSize(path, &bytes).ok()) space.bytes += bytes;
  }
  return space;
}

}  // namespace cairn::store
