// SPDX-License-Identifier: GPL-2.0-only
// Logs are told by the ends of their names.
#include "store/log_files.h"

#include <algorithm>
#include <memory>
#include <string_view>
#include <utility>

#include <rocksdb/env.h>

#include "store/rocks_status.h"

namespace cairn::store {

Status FindLogs(rocks::Env* env, const std::string& directory, std::vector<std::string>* paths) {
  std::vector<std::string> names;
  CAIRN_RETURN_IF_ERROR(FromRocks(env->GetChildren(directory, &names)));
  // Numbers have six digits, or more without zeros before them.
  std::ranges::sort(names, {}, [](const std::string& name) { return std::pair(name.size(), std::string_view(name)); });
  for (const std::string& name : names) {
    if (name.ends_with(".log")) paths->push_back(directory + "/" + name);
  }
  return Status::Ok();
}

Status EmptyLogs(rocks::Env* env, const std::vector<std::string>& paths) {
  for (const std::string& path : paths) {
    std::unique_ptr<rocks::WritableFile> file;
    CAIRN_RETURN_IF_ERROR(FromRocks(env->NewWritableFile(path, &file, rocks::EnvOptions())));
    CAIRN_RETURN_IF_ERROR(FromRocks(file->Sync()));
    CAIRN_RETURN_IF_ERROR(FromRocks(file->Close()));
  }
  return Status::Ok();
}

}  // namespace cairn::store
