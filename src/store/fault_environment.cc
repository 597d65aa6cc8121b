// SPDX-License-Identifier: GPL-2.0-only
// For tests: a file system in memory that loses power, runs full and fails on demand.
#include "store/fault_environment.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <map>
#include <mutex>
#include <utility>

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
    if (auto status = JudgeName(path); !status.ok()) return status;
    NoteRemoval(path);
    synced_.erase(path);
    return target()->DeleteFile(path, options, dbg);
  }

  rocks::IOStatus LinkFile(const std::string& from, const std::string& to, const rocks::IOOptions& options,
                           rocks::IODebugContext* dbg) override {
    if (frozen_) return rocks::IOStatus::OK();
    std::lock_guard lock(mutex_);
    if (auto status = JudgeName(to); !status.ok()) return status;
    if (refuses_links_) return rocks::IOStatus::IOError("simulated lack of links for " + to);
    rocks::IOStatus status = target()->LinkFile(from, to, options, dbg);
    if (status.ok()) NoteCreation(to);
    return status;
  }

  rocks::IOStatus CreateDirIfMissing(const std::string& path, const rocks::IOOptions& options,
                                     rocks::IODebugContext* dbg) override {
    if (frozen_) return rocks::IOStatus::OK();
    std::lock_guard lock(mutex_);
    if (auto status = JudgeName(path); !status.ok()) return status;
    return target()->CreateDirIfMissing(path, options, dbg);
  }

  rocks::IOStatus NewDirectory(const std::string& path, const rocks::IOOptions& options,
                               std::unique_ptr<rocks::FSDirectory>* directory, rocks::IODebugContext* dbg) override;
  rocks::IOStatus NewRandomRWFile(const std::string& path, const rocks::FileOptions& options,
                                  std::unique_ptr<rocks::FSRandomRWFile>* file, rocks::IODebugContext* dbg) override;

  rocks::IOStatus RenameFile(const std::string& from, const std::string& to, const rocks::IOOptions& options,
                             rocks::IODebugContext* dbg) override {
    if (frozen_) return rocks::IOStatus::OK();
    std::lock_guard lock(mutex_);
    if (auto status = JudgeName(to); !status.ok()) return status;
    NoteRemoval(to);
    NoteRename(from, to);
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
    return failing_writes_.Judge(path, free_bytes_ == 0, &failed_count_);
  }

  rocks::IOStatus FolderSynced(const std::string& path) {
    if (frozen_) return rocks::IOStatus::OK();
    std::lock_guard lock(mutex_);
    if (auto status = JudgeName(path); !status.ok()) return status;
    std::erase_if(unsynced_names_, [&path](const NameChange& change) { return FolderOf(change.path) == path; });
    return rocks::IOStatus::OK();
  }

  rocks::IOStatus Created(const std::string& path) {
    std::lock_guard lock(mutex_);
    if (auto status = JudgeName(path); !status.ok()) return status;
    NoteCreation(path);
    return rocks::IOStatus::OK();
  }

  void WaitWhileHeld(bool is_sync, const std::string& path) {
    std::unique_lock lock(mutex_);
    while (!hold_part_.empty() && holds_syncs_ == is_sync && path.find(hold_part_) != std::string::npos) {
      if (std::exchange(passes_one_, false)) return;
      is_holding_ = true;
      hold_changed_.notify_all();
      hold_changed_.wait(lock);
    }
  }

  void Hold(bool syncs, const std::string& part) {
    std::lock_guard lock(mutex_);
    holds_syncs_ = syncs;
    hold_part_ = part;
    is_holding_ = false;
    passes_one_ = false;
    hold_changed_.notify_all();
  }

  void PassHeld() {
    std::lock_guard lock(mutex_);
    is_holding_ = false;
    passes_one_ = true;
    hold_changed_.notify_all();
  }

  void AwaitHeld() {
    std::unique_lock lock(mutex_);
    hold_changed_.wait(lock, [this] { return is_holding_; });
  }

  void Synced(const std::string& path, uint64_t bytes) {
    std::lock_guard lock(mutex_);
    synced_[path] = bytes;
  }

  void CutToSynced() {
    std::lock_guard lock(mutex_);
    for (; !unsynced_names_.empty(); unsynced_names_.pop_back()) Undo(unsynced_names_.back());
    for (const auto& [path, bytes] : synced_) {
      if (!kept_part_.empty() && path.find(kept_part_) != std::string::npos) continue;
      const bool fill = zeroes_logs_ && path.ends_with(".log");
      fill ? FillFrom(path, bytes) : CutTo(path, bytes);
    }
  }

  void CutUnsynced(const std::string& path, uint64_t bytes_cut_off) {
    std::lock_guard lock(mutex_);
    uint64_t bytes = 0;
    target()->GetFileSize(path, rocks::IOOptions(), &bytes, nullptr).PermitUncheckedError();
    CutTo(path, std::max(synced_[path], bytes - std::min(bytes, bytes_cut_off)));
  }

  void KeepUnsynced(const std::string& part) {
    std::lock_guard lock(mutex_);
    kept_part_ = part;
  }

  void ZeroUnsyncedLogs() {
    std::lock_guard lock(mutex_);
    zeroes_logs_ = true;
  }

  void FailWrites(const std::string& part, uint64_t count) {
    std::lock_guard lock(mutex_);
    failing_writes_ = {part, count};
  }

  void FailNames(const std::string& part, uint64_t count) {
    std::lock_guard lock(mutex_);
    failing_names_ = {part, count};
  }

  void LoseNames() {
    std::lock_guard lock(mutex_);
    loses_names_ = true;
  }

  uint64_t failed_count() {
    std::lock_guard lock(mutex_);
    return failed_count_;
  }

  std::atomic<bool> frozen_{false};
  std::atomic<bool> refuses_links_{false};
  std::atomic<uint64_t> free_bytes_{uint64_t{1} << 40};

 private:
  struct Failing {
    std::string part;  // empty: nothing
    uint64_t until = 0;

    rocks::IOStatus Judge(const std::string& path, bool is_full, uint64_t* failed_count) {
      if (part.empty() || path.find(part) == std::string::npos || path.ends_with("/LOG")) return rocks::IOStatus::OK();
      if (until > 1) {
        --until;
        return rocks::IOStatus::OK();
      }
      ++*failed_count;
      if (is_full) return rocks::IOStatus::NoSpace("simulated lack of space for " + path);
      return rocks::IOStatus::IOError("simulated failure of " + path);
    }
  };
  // One that power may take back.
  struct NameChange {
    enum class Kind { kCreated, kRemoved, kRenamed } kind;
    std::string path;
    std::string text;  // of a removed file; the old name
    uint64_t synced_bytes = 0;
  };

  static std::string FolderOf(const std::string& path) { return path.substr(0, path.rfind('/')); }

  // All below: mutex_ is held.
  rocks::IOStatus JudgeName(const std::string& path) { return failing_names_.Judge(path, free_bytes_ == 0, &failed_count_); }
  void CutTo(const std::string& path, uint64_t bytes) {
    target()->Truncate(path, bytes, rocks::IOOptions(), nullptr).PermitUncheckedError();
  }
  void FillFrom(const std::string& path, uint64_t bytes) {
    std::string text;
    if (!rocks::ReadFileToString(target(), path, &text).ok() || text.size() <= bytes) return;
    std::fill(text.begin() + static_cast<ptrdiff_t>(bytes), text.end(), '\0');
    rocks::WriteStringToFile(target(), text, path).PermitUncheckedError();
  }
  void NoteCreation(const std::string& path) {
    if (loses_names_) unsynced_names_.push_back({NameChange::Kind::kCreated, path, {}});
  }
  void NoteRename(const std::string& from, const std::string& to) {
    if (loses_names_) unsynced_names_.push_back({NameChange::Kind::kRenamed, to, from});
  }
  void NoteRemoval(const std::string& path) {
    std::string text;
    if (!loses_names_ || !rocks::ReadFileToString(target(), path, &text).ok()) return;
    const auto synced = synced_.find(path);
    const uint64_t synced_bytes = synced == synced_.end() ? text.size() : synced->second;
    unsynced_names_.push_back({NameChange::Kind::kRemoved, path, std::move(text), synced_bytes});
  }
  void Undo(const NameChange& change) {
    const rocks::IOOptions options;
    switch (change.kind) {
      case NameChange::Kind::kCreated:
        target()->DeleteFile(change.path, options, nullptr).PermitUncheckedError();
        synced_.erase(change.path);
        break;
      case NameChange::Kind::kRemoved:
        rocks::WriteStringToFile(target(), change.text, change.path).PermitUncheckedError();
        synced_[change.path] = change.synced_bytes;
        break;
      case NameChange::Kind::kRenamed:
        target()->RenameFile(change.path, change.text, options, nullptr).PermitUncheckedError();
        if (const auto at = synced_.find(change.path); at != synced_.end()) {
          synced_[change.text] = at->second;
          synced_.erase(change.path);
        }
        break;
    }
  }

  std::mutex mutex_;
  std::vector<NameChange> unsynced_names_;
  bool loses_names_ = false;
  std::map<std::string, uint64_t> synced_;  // guarded by mutex_, as are all below
  std::string kept_part_;
  bool zeroes_logs_ = false;
  std::string hold_part_;
  bool holds_syncs_ = false;  // instead of appends
  bool is_holding_ = false;
  bool passes_one_ = false;
  std::condition_variable hold_changed_;
  Failing failing_writes_;
  Failing failing_names_;
  uint64_t failed_count_ = 0;
};

class FaultEnvironment::File final : public rocks::FSWritableFileOwnerWrapper {
 public:
  File(Faults* faults, std::string path, std::unique_ptr<rocks::FSWritableFile>&& file)
      : FSWritableFileOwnerWrapper(std::move(file)), faults_(faults), path_(std::move(path)) {}

  rocks::IOStatus Append(const rocks::Slice& data, const rocks::IOOptions& options,
                         rocks::IODebugContext* dbg) override {
    faults_->WaitWhileHeld(/*is_sync=*/false, path_);
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
    faults_->WaitWhileHeld(/*is_sync=*/true, path_);
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

// Nobody writes to such a file.
class FaultEnvironment::FoundFile final : public rocks::FSRandomRWFileOwnerWrapper {
 public:
  FoundFile(Faults* faults, std::string path, std::unique_ptr<rocks::FSRandomRWFile>&& file)
      : FSRandomRWFileOwnerWrapper(std::move(file)), faults_(faults), path_(std::move(path)) {}

  rocks::IOStatus Sync(const rocks::IOOptions& options, rocks::IODebugContext* dbg) override {
    if (faults_->frozen_) return rocks::IOStatus::OK();
    if (auto status = faults_->Judge(path_); !status.ok()) return status;
    uint64_t bytes = 0;
    rocks::IOStatus status = faults_->GetFileSize(path_, options, &bytes, dbg);
    if (status.ok()) faults_->Synced(path_, bytes);
    return status;
  }
  rocks::IOStatus Fsync(const rocks::IOOptions& options, rocks::IODebugContext* dbg) override {
    return Sync(options, dbg);
  }

 private:
  Faults* const faults_;
  const std::string path_;
};

class FaultEnvironment::Folder final : public rocks::FSDirectoryWrapper {
 public:
  Folder(Faults* faults, std::string path, std::unique_ptr<rocks::FSDirectory>&& folder)
      : FSDirectoryWrapper(std::move(folder)), faults_(faults), path_(std::move(path)) {}

  rocks::IOStatus Fsync(const rocks::IOOptions&, rocks::IODebugContext*) override { return faults_->FolderSynced(path_); }
  rocks::IOStatus FsyncWithDirOptions(const rocks::IOOptions& options, rocks::IODebugContext* dbg,
                                      const rocks::DirFsyncOptions&) override {
    return Fsync(options, dbg);
  }

 private:
  Faults* const faults_;
  const std::string path_;
};

rocks::IOStatus FaultEnvironment::Faults::NewDirectory(const std::string& path, const rocks::IOOptions& options,
                                                       std::unique_ptr<rocks::FSDirectory>* directory,
                                                       rocks::IODebugContext* dbg) {
  std::unique_ptr<rocks::FSDirectory> inner;
  rocks::IOStatus status = target()->NewDirectory(path, options, &inner, dbg);
  if (status.ok()) *directory = std::make_unique<Folder>(this, path, std::move(inner));
  return status;
}

rocks::IOStatus FaultEnvironment::Faults::NewWritableFile(const std::string& path, const rocks::FileOptions& options,
                                                          std::unique_ptr<rocks::FSWritableFile>* file,
                                                          rocks::IODebugContext* dbg) {
  if (frozen_) return rocks::IOStatus::IOError("frozen");
  std::unique_ptr<rocks::FSWritableFile> inner;
  rocks::IOStatus status = Created(path);
  if (status.ok()) status = target()->NewWritableFile(path, options, &inner, dbg);
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

rocks::IOStatus FaultEnvironment::Faults::NewRandomRWFile(const std::string& path, const rocks::FileOptions& options,
                                                          std::unique_ptr<rocks::FSRandomRWFile>* file,
                                                          rocks::IODebugContext* dbg) {
  if (frozen_) return rocks::IOStatus::IOError("frozen");
  std::unique_ptr<rocks::FSRandomRWFile> inner;
  rocks::IOStatus status = target()->NewRandomRWFile(path, options, &inner, dbg);
  if (status.ok()) *file = std::make_unique<FoundFile>(this, path, std::move(inner));
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
void FaultEnvironment::FailNames(const std::string& part, uint64_t count) { faults_->FailNames(part, count); }
void FaultEnvironment::Heal() {
  faults_->FailWrites(std::string(), 0);
  faults_->FailNames(std::string(), 0);
}
void FaultEnvironment::RefuseLinks() { faults_->refuses_links_ = true; }
void FaultEnvironment::LoseNames() { faults_->LoseNames(); }
void FaultEnvironment::KeepUnsynced(const std::string& part) { faults_->KeepUnsynced(part); }
void FaultEnvironment::ZeroUnsyncedLogs() { faults_->ZeroUnsyncedLogs(); }
void FaultEnvironment::CutUnsynced(const std::string& path, uint64_t bytes_cut_off) {
  faults_->CutUnsynced(path, bytes_cut_off);
}
void FaultEnvironment::HoldWrites(const std::string& part) { faults_->Hold(/*syncs=*/false, part); }
void FaultEnvironment::HoldSyncs(const std::string& part) { faults_->Hold(/*syncs=*/true, part); }
void FaultEnvironment::AwaitHeldWrite() { faults_->AwaitHeld(); }
void FaultEnvironment::PassHeldWrite() { faults_->PassHeld(); }
void FaultEnvironment::ReleaseWrites() { faults_->Hold(/*syncs=*/false, std::string()); }
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
