// SPDX-License-Identifier: GPL-2.0-only
// Giving spare descriptors up for files, and taking them back.
#include "store/spare_descriptors.h"

#include <string>
#include <string_view>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include <rocksdb/env.h>
#include <rocksdb/file_system.h>

#include "store/rocks_status.h"

namespace cairn::store {
namespace {

// A log, a manifest, or what names the manifest in its place (file/filename.h of RocksDB).
bool IsNeeded(std::string_view path) {
  const std::string_view name = path.substr(path.rfind('/') + 1);
  return name.ends_with(".log") || name.ends_with(".dbtmp") || name.starts_with("MANIFEST-");
}

class SparingFileSystem final : public rocks::FileSystemWrapper {
 public:
  explicit SparingFileSystem(std::shared_ptr<SpareDescriptors> spares)
      : FileSystemWrapper(rocks::FileSystem::Default()), spares_(std::move(spares)) {}
  const char* Name() const override { return "CairnSparingFileSystem"; }

  rocks::IOStatus NewRandomAccessFile(const std::string& path, const rocks::FileOptions& options,
                                      std::unique_ptr<rocks::FSRandomAccessFile>* file, rocks::IODebugContext* context) override {
    return Open({}, [&] { return target()->NewRandomAccessFile(path, options, file, context); });
  }
  rocks::IOStatus NewWritableFile(const std::string& path, const rocks::FileOptions& options,
                                  std::unique_ptr<rocks::FSWritableFile>* file, rocks::IODebugContext* context) override {
    return Open(path, [&] { return target()->NewWritableFile(path, options, file, context); });
  }
  rocks::IOStatus ReuseWritableFile(const std::string& path, const std::string& old_path, const rocks::FileOptions& options,
                                    std::unique_ptr<rocks::FSWritableFile>* file, rocks::IODebugContext* context) override {
    return Open(path, [&] { return target()->ReuseWritableFile(path, old_path, options, file, context); });
  }
  rocks::IOStatus SyncFile(const std::string& path, const rocks::FileOptions& file_options, const rocks::IOOptions& options, bool use_fsync,
                           rocks::IODebugContext* context) override {
    return Open({}, [&] { return target()->SyncFile(path, file_options, options, use_fsync, context); });
  }
  // Which the base class keeps to itself.
  rocks::Status RegisterDbPaths(const std::vector<std::string>& paths) override { return target()->RegisterDbPaths(paths); }
  rocks::Status UnregisterDbPaths(const std::vector<std::string>& paths) override { return target()->UnregisterDbPaths(paths); }

 private:
  // Another thread may come first to what was given up.
  template <typename Opened>
  rocks::IOStatus Open(std::string_view path, const Opened& open) {
    rocks::IOStatus status = open();
    while (LacksDescriptor(status) && (SpareDescriptors::InUse() || IsNeeded(path)) && spares_->GiveUp()) status = open();
    return status;
  }

  const std::shared_ptr<SpareDescriptors> spares_;
};

}  // namespace

thread_local bool SpareDescriptors::opens_what_it_needs_ = false;

SpareDescriptors::~SpareDescriptors() {
  while (GiveUp()) {
  }
}

bool SpareDescriptors::GiveUp() {
  std::lock_guard lock(mutex_);
  if (descriptors_.empty()) return false;
  (void)close(descriptors_.back());
  descriptors_.pop_back();
  return true;
}

bool SpareDescriptors::TakeBack() {
  std::lock_guard lock(mutex_);
  while (descriptors_.size() < kCount) {
    // Each is a file of its own, as the system counts those, too.
    const int descriptor = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) return false;
    descriptors_.push_back(descriptor);
  }
  return true;
}

std::unique_ptr<rocks::Env> NewSparingEnv(std::shared_ptr<SpareDescriptors> spares) {
  return rocks::NewCompositeEnv(std::make_shared<SparingFileSystem>(std::move(spares)));
}

}  // namespace cairn::store
