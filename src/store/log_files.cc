// SPDX-License-Identifier: GPL-2.0-only
// Logs are told by the ends of their names.
#include "store/log_files.h"

#include <algorithm>

#include <rocksdb/env.h>

#include "store/rocks_status.h"

namespace cairn::store {

Status FindLogs(rocks::Env* env, const std::string& directory, std::vector<std::string>* paths) {
  std::vector<std::string> names;
  CAIRN_RETURN_IF_ERROR(FromRocks(env->GetChildren(directory, &names)));
  std::sort(names.begin(), names.end());
  for (const std::string& name : names) {
    if (name.ends_with(".log")) paths->push_back(directory + "/" + name);
  }
  return Status::Ok();
}

}  // namespace cairn::store
