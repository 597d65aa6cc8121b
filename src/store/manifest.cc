// SPDX-License-Identifier: GPL-2.0-only
// Reads a manifest by RocksDB's own reader.
#include "store/manifest.h"

#include <algorithm>
#include <memory>

#include <rocksdb/env.h>

#include "db/manifest_ops.h"
#include "db/version_edit_handler.h"

#include "store/log_reader.h"
#include "store/rocks_status.h"

namespace cairn::store {
namespace {

class EditReader final : public rocks::VersionEditHandlerBase {
 public:
  EditReader(const rocks::ReadOptions& read, Manifest* manifest) : VersionEditHandlerBase(read), manifest_(manifest) {}

 protected:
  rocks::Status ApplyVersionEdit(rocks::VersionEdit& edit, rocks::ColumnFamilyData**) override {
    if (edit.HasMinLogNumberToKeep()) manifest_->oldest_log = std::max(manifest_->oldest_log, edit.GetMinLogNumberToKeep());
    Manifest::Family& family = manifest_->families[edit.GetColumnFamily()];
    if (edit.HasLogNumber()) family.log_number = std::max(family.log_number, edit.GetLogNumber());
    // A file that goes to another level is deleted and added.
    for (const auto& [level, number] : edit.GetDeletedFiles()) family.files.erase(number);
    for (const auto& [level, file] : edit.GetNewFiles()) {
      family.files.insert(file.fd.GetNumber());
      manifest_->named_files.insert(file.fd.GetNumber());
    }
    return rocks::Status::OK();
  }

 private:
  Manifest* const manifest_;
};

}  // namespace

bool Manifest::IsInFiles(uint64_t log_number) const {
  return std::ranges::any_of(families, [&](const auto& numbered) {
    return !numbered.second.files.empty() && numbered.second.log_number > log_number;
  });
}

bool Manifest::HasFile(uint64_t number) const {
  return std::ranges::any_of(families, [&](const auto& numbered) { return numbered.second.files.contains(number); });
}

Status ReadManifest(rocks::Env* env, const std::string& directory, Manifest* manifest) {
  *manifest = Manifest();
  std::string path;
  uint64_t number = 0;
  CAIRN_RETURN_IF_ERROR(
      FromRocks(rocks::GetCurrentManifestPath(directory, env->GetFileSystem().get(), /*is_retry=*/false, &path, &number)));
  LogReports reports;
  std::unique_ptr<rocks::log::Reader> reader;
  CAIRN_RETURN_IF_ERROR(OpenLogReader(env, path, /*log_number=*/0, &reports, &reader));
  const rocks::ReadOptions read;
  EditReader edits(read, manifest);
  edits.Iterate(*reader, &reports.first);
  CAIRN_RETURN_IF_ERROR(FromRocks(edits.status()));
  uint64_t bytes = 0;
  CAIRN_RETURN_IF_ERROR(FromRocks(env->GetFileSize(path, &bytes)));
  manifest->is_whole = edits.GetLastValidRecordEnd() == bytes;
  return Status::Ok();
}

}  // namespace cairn::store
