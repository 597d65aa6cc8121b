// SPDX-License-Identifier: GPL-2.0-only
// Syncs of logs, also at the moments at which RocksDB makes none.
#include "store/log_order.h"

#include <memory>
#include <vector>

#include <rocksdb/db.h>
#include <rocksdb/env.h>

#include "store/log_files.h"
#include "store/rocks_status.h"

namespace cairn::store {

void LogOrder::OnMemTableSealed(const rocks::MemTableInfo&) {
  rocks::DB* const root = root_.load();
  if (root != nullptr) (void)SyncLogs(root, gate_.get());
}

Status SyncLogs(rocks::DB* root, WriteGateKeeper* gate) {
  Status status = FromRocks(root->SyncWAL());
  if (!status.ok() && !gate->has_stopped()) {
    gate->StopForCommitted(Status(status.code(), "the write-ahead log cannot be synced (" + std::string(status.message()) + ")"));
  }
  return status;
}

Status SyncFoundLogs(rocks::Env* env, const std::string& directory) {
  std::vector<std::string> paths;
  CAIRN_RETURN_IF_ERROR(FindLogs(env, directory, &paths));
  if (paths.empty()) return Status::Ok();
  for (const std::string& path : paths) {
    // Whoever has the store open, which is found out later, may delete a log in between: it must not be made anew.
    std::unique_ptr<rocks::RandomRWFile> file;
    const rocks::Status opened = env->NewRandomRWFile(path, &file, rocks::EnvOptions());
    if (opened.IsNotFound() || opened.IsPathNotFound()) continue;
    CAIRN_RETURN_IF_ERROR(FromRocks(opened));
    CAIRN_RETURN_IF_ERROR(FromRocks(file->Fsync()));
    CAIRN_RETURN_IF_ERROR(FromRocks(file->Close()));
  }
  std::unique_ptr<rocks::Directory> folder;
  CAIRN_RETURN_IF_ERROR(FromRocks(env->NewDirectory(directory, &folder)));
  return FromRocks(folder->Fsync());
}

}  // namespace cairn::store
