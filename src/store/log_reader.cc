// SPDX-License-Identifier: GPL-2.0-only
// Reads logs, and manifests, by RocksDB's own reader.
#include "store/log_reader.h"

#include <utility>

#include <rocksdb/env.h>
#include <rocksdb/file_system.h>

#include "file/sequence_file_reader.h"

#include "store/rocks_status.h"

namespace cairn::store {

Status OpenLogReader(rocks::Env* env, const std::string& path, uint64_t log_number, LogReports* reports,
                     std::unique_ptr<rocks::log::Reader>* reader) {
  std::unique_ptr<rocks::FSSequentialFile> file;
  CAIRN_RETURN_IF_ERROR(FromRocks(env->GetFileSystem()->NewSequentialFile(path, rocks::FileOptions(), &file, nullptr)));
  *reader = std::make_unique<rocks::log::Reader>(nullptr, std::make_unique<rocks::SequentialFileReader>(std::move(file), path), reports,
                                                 /*checksum=*/true, log_number);
  return Status::Ok();
}

}  // namespace cairn::store
