// SPDX-License-Identifier: GPL-2.0-only
// Decides whether writes are let through.
#include "store/write_gate.h"

#include <algorithm>

#include <rocksdb/env.h>
#include <rocksdb/file_system.h>

#include "base/clock.h"
#include "store/rocks_status.h"

namespace cairn::store {
namespace {

constexpr uint64_t kCheckIntervalUs = 1'000'000;
std::string Megabytes(uint64_t bytes) { return std::to_string(bytes >> 20) + " MB"; }

}  // namespace

WriteGateKeeper::WriteGateKeeper(const Options& options, rocks::Env* env,
                                 std::shared_ptr<rocks::SstFileManager> files,
                                 std::shared_ptr<const RunningCompactions> compactions)
    : options_(options), env_(env), files_(std::move(files)), compactions_(std::move(compactions)) {}

// A large write goes to the log and, as no memory of the usual size holds it, soon to a file as well.
uint64_t WriteGateKeeper::NeededBytes(Urgency urgency, uint64_t bytes) const {
  const uint64_t reserve = options_.reserve_bytes;
  if (urgency == Urgency::kReclaimsSpace) return reserve / 64 + bytes;
  if (urgency == Urgency::kRemovesRows) return reserve / 2 + 2 * bytes;
  return bytes > BytesBetweenChecks() ? reserve + 2 * bytes : reserve;
}

Status WriteGateKeeper::Admit(Urgency urgency, uint64_t bytes) {
  const uint64_t unchecked_bytes = unchecked_bytes_.fetch_add(bytes, std::memory_order_relaxed) + bytes;
  uint64_t due = next_check_us_.load(std::memory_order_relaxed);
  const uint64_t now = CoarseSteadyTimeUs();
  // Space may have gone since the last look; what reclaims it is rare.
  if (__builtin_expect(unchecked_bytes > BytesBetweenChecks() || urgency == Urgency::kReclaimsSpace, false) ||
      (now >= due && next_check_us_.compare_exchange_strong(due, now + kCheckIntervalUs))) {
    unchecked_bytes_.store(0, std::memory_order_relaxed);
    CheckFreeSpace();
  }
  if (__builtin_expect(failed_.load(std::memory_order_relaxed), false)) return Reason();
  const bool low = low_space_.load(std::memory_order_relaxed);
  if (__builtin_expect(low && urgency == Urgency::kNormal, false)) return Reason();
  if (__builtin_expect(low || bytes > BytesBetweenChecks(), false)) {
    const bool stands = damaged_.load(std::memory_order_relaxed) || lacks_descriptors_.load(std::memory_order_relaxed);
    if (urgency != Urgency::kReclaimsSpace && stands) return Reason();
    const uint64_t needed_bytes = NeededBytes(urgency, bytes);
    const uint64_t free_bytes = free_bytes_.load(std::memory_order_relaxed);
    if (free_bytes < needed_bytes) return NoSpace(free_bytes, needed_bytes);
    const bool claimed = urgency == Urgency::kNormal &&
                         unclaimed_bytes_.load(std::memory_order_relaxed) < BytesLeft() + 2 * bytes;
    if (claimed) return Claimed();
    const bool stuck = compactions_stuck_.load(std::memory_order_relaxed);
    if (stuck && urgency == Urgency::kRemovesRows && !TakeRemovable(bytes)) return Stuck();
  }
  return Status::Ok();
}

Status WriteGateKeeper::AdmitPromised(uint64_t bytes) {
  // All writers share the count; nothing would come of a look at the space here.
  if (bytes != 0) unchecked_bytes_.fetch_add(bytes, std::memory_order_relaxed);
  return __builtin_expect(failed_.load(std::memory_order_relaxed), false) ? Reason() : Status::Ok();
}

bool WriteGateKeeper::TakeRemovable(uint64_t bytes) {
  uint64_t left = removable_bytes_.load(std::memory_order_relaxed);
  do {
    if (left < bytes) return false;
  } while (!removable_bytes_.compare_exchange_weak(left, left - bytes, std::memory_order_relaxed));
  return true;
}

WriteGate WriteGateKeeper::state() const {
  const Status reason = Reason();
  if (reason.ok()) return WriteGate::kOpen;
  return reason.Is(Status::Code::kNoSpace) ? WriteGate::kNoSpace : WriteGate::kReadOnly;
}

Status WriteGateKeeper::Reason() const {
  std::lock_guard lock(mutex_);
  if (failed_) return Status(error_.code(), std::string(error_.message()));
  if (!low_space_) return Status::Ok();
  if (lacks_descriptors_) return LacksDescriptors();
  if (damaged_) return Status(damage_.code(), std::string(damage_.message()));
  if (compactions_stuck_) return Stuck();
  if (free_bytes_ >= ReopeningBytes()) return Claimed();
  return NoSpace(free_bytes_, ReopeningBytes());
}

Status WriteGateKeeper::NoSpace(uint64_t free_bytes, uint64_t needed_bytes) const {
  return Status(Status::Code::kNoSpace, options_.directory + " has " + Megabytes(free_bytes) +
                                            " of free space, writes need " + Megabytes(needed_bytes));
}

Status WriteGateKeeper::Stuck() const {
  return Status(Status::Code::kNoSpace, options_.directory + " has " + Megabytes(free_bytes_) +
                                            " of free space, too little for the next compaction");
}

Status WriteGateKeeper::LacksDescriptors() const {
  return Status(Status::Code::kNoSpace, "the store in " + options_.directory + " can open no more files, as connections and others have all "
                                        "that open_files_limit or the system allows");
}

Status WriteGateKeeper::AdmitFiles() {
  if (options_.descriptors == nullptr || options_.descriptors->TakeBack()) return Status::Ok();
  CheckFreeSpace();  // which closes the gate to others
  return LacksDescriptors();
}

Status WriteGateKeeper::Claimed() const {
  return Status(Status::Code::kNoSpace, options_.directory + " has " + Megabytes(free_bytes_) +
                                            " of free space, and compactions that run may need all but " +
                                            Megabytes(unclaimed_bytes_) + " of it");
}

void WriteGateKeeper::CheckFreeSpace() {
  const bool lacks_descriptors = options_.descriptors != nullptr && !options_.descriptors->TakeBack();
  uint64_t free_bytes = 0;
  if (env_->GetFileSystem()->GetFreeSpace(options_.directory, rocks::IOOptions(), &free_bytes, nullptr).ok()) {
    const uint64_t spare = free_bytes > BytesLeft() ? free_bytes - BytesLeft() : 0;
    files_->SetMaxAllowedSpaceUsage(std::max<uint64_t>(files_->GetTotalSize() + spare, 1));  // 0: without bound
  } else {
    free_bytes = free_bytes_;  // a file system that cannot tell does not hold anybody up
  }
  const uint64_t claimed_bytes = compactions_->BytesToCome();
  const uint64_t unclaimed_bytes = free_bytes > claimed_bytes ? free_bytes - claimed_bytes : 0;

  bool low;
  {
    std::lock_guard lock(mutex_);
    free_bytes_.store(free_bytes, std::memory_order_relaxed);
    unclaimed_bytes_.store(unclaimed_bytes, std::memory_order_relaxed);
    lacks_descriptors_ = lacks_descriptors;
    short_of_space_ = free_bytes < (short_of_space_ ? ReopeningBytes() : options_.reserve_bytes) || unclaimed_bytes < BytesLeft();
    low = short_of_space_ || lacks_descriptors || compactions_stuck_ || damaged_;
    if (low == low_space_) return;
    low_space_ = low;
  }
  if (low) {
    Log(LogLevel::kError, "writes are refused: " + Reason().ToString());
  } else {
    Log(LogLevel::kInfo, "writes are accepted: " + options_.directory + " has " + Megabytes(free_bytes) + " of free space");
  }
}

bool WriteGateKeeper::HasRoomFor(uint64_t bytes) const {
  const uint64_t unclaimed_bytes = unclaimed_bytes_.load(std::memory_order_relaxed);
  const uint64_t kept_bytes = 2 * options_.reserve_bytes;
  return unclaimed_bytes >= kept_bytes && unclaimed_bytes - kept_bytes >= bytes;
}

void WriteGateKeeper::SetCompactionsStuck(uint64_t removable_bytes) {
  removable_bytes_.store(removable_bytes, std::memory_order_relaxed);
  if (!compactions_stuck_.exchange(true)) CheckFreeSpace();
}

void WriteGateKeeper::SetCompactionsMove() {
  if (compactions_stuck_.exchange(false)) CheckFreeSpace();
}

void WriteGateKeeper::SetDamaged(const Status& reason) {
  {
    std::lock_guard lock(mutex_);
    if (damaged_ == !reason.ok()) return;
    damage_ = Status(reason.code(), std::string(reason.message()));
    damaged_ = !reason.ok();
  }
  CheckFreeSpace();
}

void WriteGateKeeper::SetError(const rocks::Status& error) {
  const Status translated = FromRocks(error);
  const auto code =
      translated.Is(Status::Code::kNoSpace) ? Status::Code::kNoSpace : Status::Code::kReadOnly;
  std::lock_guard lock(mutex_);
  error_ = Status(code, "writing in " + options_.directory + " failed: " + std::string(translated.message()));
  failed_ = true;
}

void WriteGateKeeper::OnBackgroundError(rocks::BackgroundErrorReason reason, rocks::Status* error) {
  if (error->ok()) return;
  const bool only_reads =
      reason == rocks::BackgroundErrorReason::kCompaction || reason == rocks::BackgroundErrorReason::kAsyncFileOpen;
  if (only_reads && IsUnreadable(*error)) {
    *error = rocks::Status::OK();
    return;
  }
  // Others can take what it was let start with; RocksDB would refuse all writes until a restart. It waits a second before the next one.
  const bool lacks_descriptor = LacksDescriptor(*error);
  if (reason == rocks::BackgroundErrorReason::kCompaction && (lacks_descriptor || LacksRoomForFile(*error))) {
    Log(LogLevel::kWarning, "a compaction in " + options_.directory + " ran out of " + (lacks_descriptor ? "descriptors" : "space") +
                                " and changed nothing: " + error->ToString());
    *error = rocks::Status::OK();
    CheckFreeSpace();  // the next one starts only if there is room by now
    return;
  }
  // Softer errors are retried by RocksDB while writes go on.
  const bool stops_writes = error->severity() >= rocks::Status::kHardError;
  if (stops_writes) SetError(*error);
  Log(stops_writes ? LogLevel::kError : LogLevel::kWarning,
      "background error in " + options_.directory + ": " + error->ToString());
  const bool wal = reason == rocks::BackgroundErrorReason::kWriteCallback ||
                   reason == rocks::BackgroundErrorReason::kMemTable;
  const bool loses_files = reason == rocks::BackgroundErrorReason::kManifestWrite && taking_over_.load() != 0;
  if (((wal && stops_writes) || loses_files) && !wal_failed_.exchange(true) && options_.on_wal_failure) {
    const Status status = FromRocks(*error);
    options_.on_wal_failure(Status(status.code(), (wal ? "the write-ahead log cannot be written (" : "files cannot be taken over (") +
                                                      status.ToString() + ")"));
  }
}

void WriteGateKeeper::StopForCommitted(const Status& status) {
  {
    std::lock_guard lock(mutex_);
    error_ = Status(Status::Code::kReadOnly, "writing in " + options_.directory + " failed: " + std::string(status.message()));
    failed_ = true;
  }
  Log(LogLevel::kError, status.ToString());
  if (!wal_failed_.exchange(true) && options_.on_wal_failure) options_.on_wal_failure(status);
}

void WriteGateKeeper::OnErrorRecoveryEnd(const rocks::BackgroundErrorRecoveryInfo& info) {
  if (!info.new_bg_error.ok()) {
    if (info.new_bg_error.severity() >= rocks::Status::kHardError) SetError(info.new_bg_error);
    return;
  }
  {
    std::lock_guard lock(mutex_);
    failed_ = false;
    error_ = Status::Ok();
  }
  Log(LogLevel::kInfo, options_.directory + " recovered from a background error, writes are accepted");
}

void WriteGateKeeper::Log(LogLevel level, const std::string& line) const {
  if (options_.log != nullptr) options_.log->Log(level, line);
}

}  // namespace cairn::store
