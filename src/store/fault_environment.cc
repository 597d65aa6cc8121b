// SPDX-License-Identifier: GPL-2.0-only
// For tests: a file system in memory that loses power, runs full and fails on demand.
#include "store/fault_environment.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <map>
#include <mutex>

#include <rocksdb/env.h>
#include <rocksdb/file_system.h>

namespace cairn::store {

// The file system: RocksDB's in memory, with a record of what was synced.
class FaultEnvironment::Faults final : public rocks::FileSystemWrapper {
 public:
  explicit Faults(const std::shared_ptr<rocks::FileSystem>& memory) : FileSystemWrapper(memory) {}
  const char* Name() const override { return "cairn.FaultFileSystem"; }

  rocks::IOStatus NewWritableFile(const std::string& path, const rocks::FileOptions& options,
                                  std::unique_ptr<rocks::FSWritableFile>* file, rocks::IODebugContext* dbg) override;
  rocks::IOStatus ReopenWritableFile(const std::string& path, const rocks::FileOptions& options,
                                     std::unique_ptr<rocks::FSWritableFile>* file,
                                     rocks::IODebugContext* dbg) override;
  rocks::IOStatus ReuseWritableFile(const std::string& path, const std::string& /*old_path*/,
                                    const rocks::FileOptions& options, std::unique_ptr<rocks::FSWritableFile>* file,
                                    rocks::IODebugContext* dbg) override {
    return NewWritableFile(path, options, file, dbg);
  }

  rocks::IOStatus DeleteFile(const std::string& path, const rocks::IOOptions& options,
                             rocks::IODebugContext* dbg) override {
    if (frozen_) return rocks::IOStatus::OK();
    std::lock_guard lock(mutex_);
    synced_.erase(path);
    return target()->DeleteFile(path, options, dbg);
  }

  rocks::IOStatus RenameFile(const std::string& from, const std::string& to, const rocks::IOOptions& options,
                             rocks::IODebugContext* dbg) override {
    if (frozen_) return rocks::IOStatus::OK();
    std::lock_guard lock(mutex_);
    if (const auto at = synced_.find(from); at != synced_.end()) {
      synced_[to] = at->second;
      synced_.erase(from);
    }
    return target()->RenameFile(from, to, options, dbg);
  }

  rocks::IOStatus GetFreeSpace(const std::string& /*path*/, const rocks::IOOptions& /*options*/, uint64_t* bytes,
                               rocks::IODebugContext* /*dbg*/) override {
    *bytes = free_bytes_;
    return rocks::IOStatus::OK();
  }

  // Decides about one write or sync.
  rocks::IOStatus Judge(const std::string& path) {
    std::lock_guard lock(mutex_);
    if (fail_part_.empty() || path.find(fail_part_) == std::string::npos) return rocks::IOStatus::OK();
    if (writes_until_failure_ > 1) {
      --writes_until_failure_;
      return rocks::IOStatus::OK();
    }
    ++failed_count_;
    return rocks::IOStatus::IOError("simulated failure of " + path);
  }

  void WaitWhileHeld(const std::string& path) {
    std::unique_lock lock(mutex_);
    while (!hold_part_.empty() && path.find(hold_part_) != std::string::npos) {
      is_holding_ = true;
      hold_changed_.notify_all();
      hold_changed_.wait(lock);
    }
  }

  void HoldWrites(const std::string& part) {
    std::lock_guard lock(mutex_);
    hold_part_ = part;
    is_holding_ = false;
    hold_changed_.notify_all();
  }

  void AwaitHeldWrite() {
    std::unique_lock lock(mutex_);
    hold_changed_.wait(lock, [this] { return is_holding_; });
  }

  void Synced(const std::string& path, uint64_t bytes) {
    std::lock_guard lock(mutex_);
    synced_[path] = bytes;
  }

  void CutToSynced() {
    std::lock_guard lock(mutex_);
    for (const auto& [path, bytes] : synced_) {
      target()->Truncate(path, bytes, rocks::IOOptions(), nullptr).PermitUncheckedError();
    }
  }

  void FailWrites(const std::string& part, uint64_t count) {
    std::lock_guard lock(mutex_);
    fail_part_ = part;
    writes_until_failure_ = count;
  }

  uint64_t failed_count() {
    std::lock_guard lock(mutex_);
    return failed_count_;
  }

  std::atomic<bool> frozen_{false};
  std::atomic<uint64_t> free_bytes_{uint64_t{1} << 40};

 private:
  std::mutex mutex_;
  std::map<std::string, uint64_t> synced_;  // guarded by mutex_, as are all below
  std::string hold_part_;
  bool is_holding_ = false;
  std::condition_variable hold_changed_;
  std::string fail_part_;
  uint64_t writes_until_failure_ = 0;
  uint64_t failed_count_ = 0;
};

class FaultEnvironment::File final : public rocks::FSWritableFileOwnerWrapper {
 public:
  File(Faults* faults, std::string path, std::unique_ptr<rocks::FSWritableFile>&& file)
      : FSWritableFileOwnerWrapper(std::move(file)), faults_(faults), path_(std::move(path)) {}

  rocks::IOStatus Append(const rocks::Slice& data, const rocks::IOOptions& options,
                         rocks::IODebugContext* dbg) override {
    faults_->WaitWhileHeld(path_);
    if (faults_->frozen_) return rocks::IOStatus::OK();
    if (auto status = faults_->Judge(path_); !status.ok()) return status;
    return target()->Append(data, options, dbg);
  }
  rocks::IOStatus Append(const rocks::Slice& data, const rocks::IOOptions& options,
                         const rocks::DataVerificationInfo& /*checksum*/, rocks::IODebugContext* dbg) override {
    return Append(data, options, dbg);
  }
  rocks::IOStatus Truncate(uint64_t size, const rocks::IOOptions& options, rocks::IODebugContext* dbg) override {
    if (faults_->frozen_) return rocks::IOStatus::OK();
    return target()->Truncate(size, options, dbg);
  }
  rocks::IOStatus Sync(const rocks::IOOptions& options, rocks::IODebugContext* dbg) override {
    if (faults_->frozen_) return rocks::IOStatus::OK();
    if (auto status = faults_->Judge(path_); !status.ok()) return status;
    const uint64_t bytes = target()->GetFileSize(options, dbg);
    rocks::IOStatus status = target()->Sync(options, dbg);
    if (status.ok()) faults_->Synced(path_, bytes);
    return status;
  }
  bool IsSyncThreadSafe() const override { return true; }
  rocks::IOStatus Fsync(const rocks::IOOptions& options, rocks::IODebugContext* dbg) override {
    return Sync(options, dbg);
  }

 private:
  Faults* const faults_;
  const std::string path_;
};

rocks::IOStatus FaultEnvironment::Faults::NewWritableFile(const std::string& path, const rocks::FileOptions& options,
                                                          std::unique_ptr<rocks::FSWritableFile>* file,
                                                          rocks::IODebugContext* dbg) {
  if (frozen_) return rocks::IOStatus::IOError("frozen");
  std::unique_ptr<rocks::FSWritableFile> inner;
  rocks::IOStatus status = target()->NewWritableFile(path, options, &inner, dbg);
  if (!status.ok()) return status;
  Synced(path, 0);
  *file = std::make_unique<File>(this, path, std::move(inner));
  return status;
}

rocks::IOStatus FaultEnvironment::Faults::ReopenWritableFile(const std::string& path,
                                                             const rocks::FileOptions& options,
                                                             std::unique_ptr<rocks::FSWritableFile>* file,
                                                             rocks::IODebugContext* dbg) {
  if (frozen_) return rocks::IOStatus::IOError("frozen");
  std::unique_ptr<rocks::FSWritableFile> inner;
  rocks::IOStatus status = target()->ReopenWritableFile(path, options, &inner, dbg);
  if (status.ok()) *file = std::make_unique<File>(this, path, std::move(inner));
  return status;
}

std::unique_ptr<Environment> NewMemoryEnvironment() { return std::make_unique<FaultEnvironment>(); }

FaultEnvironment::FaultEnvironment() : memory_(rocks::NewMemEnv(rocks::Env::Default())) {
  faults_ = std::make_shared<Faults>(memory_->GetFileSystem());
  env_ = rocks::NewCompositeEnv(faults_);
}
FaultEnvironment::~FaultEnvironment() = default;

rocks::Env* FaultEnvironment::rocks_env() { return env_.get(); }
void FaultEnvironment::Freeze() { faults_->frozen_ = true; }
void FaultEnvironment::Thaw() { faults_->frozen_ = false; }

void FaultEnvironment::LoseUnsynced() {
  faults_->CutToSynced();
  Thaw();
}

void FaultEnvironment::FailWrites(const std::string& part, uint64_t count) { faults_->FailWrites(part, count); }
void FaultEnvironment::Heal() { faults_->FailWrites(std::string(), 0); }
void FaultEnvironment::HoldWrites(const std::string& part) { faults_->HoldWrites(part); }
void FaultEnvironment::AwaitHeldWrite() { faults_->AwaitHeldWrite(); }
void FaultEnvironment::ReleaseWrites() { faults_->HoldWrites(std::string()); }
uint64_t FaultEnvironment::failed_write_count() const { return faults_->failed_count(); }
void FaultEnvironment::SetFreeBytes(uint64_t bytes) { faults_->free_bytes_ = bytes; }

std::vector<std::string> FaultEnvironment::Files(const std::string& directory, const std::string& part) {
  std::vector<std::string> names;
  memory_->GetChildren(directory, &names).PermitUncheckedError();
  std::vector<std::string> paths;
  for (const std::string& name : names) {
    if (name.find(part) != std::string::npos) paths.push_back(directory + "/" + name);
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

void FaultEnvironment::WriteFile(const std::string& path, const std::string& text) {
  rocks::WriteStringToFile(memory_.get(), text, path, /*should_sync=*/true).PermitUncheckedError();
}

bool FaultEnvironment::FlipBit(const std::string& directory, const std::string& part, uint64_t byte) {
  const auto paths = Files(directory, part);
  std::string text;
  if (paths.empty() || !rocks::ReadFileToString(memory_.get(), paths.front(), &text).ok()) return false;
  if (byte >= text.size()) return false;
  text[byte] = static_cast<char>(text[byte] ^ 1);
  WriteFile(paths.front(), text);
  return true;
}

bool FaultEnvironment::Truncate(const std::string& directory, const std::string& part, uint64_t bytes_cut_off) {
  const auto paths = Files(directory, part);
  std::string text;
  if (paths.empty() || !rocks::ReadFileToString(memory_.get(), paths.front(), &text).ok()) return false;
  if (bytes_cut_off > text.size()) return false;
  text.resize(text.size() - bytes_cut_off);
  WriteFile(paths.front(), text);
  return true;
}

}  // namespace cairn::store
