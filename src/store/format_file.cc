// SPDX-License-Identifier: GPL-2.0-only
// The file that says which version of Cairn's store format a directory has.
#include "store/format_file.h"

#include <algorithm>
#include <charconv>
#include <vector>

#include <rocksdb/env.h>

#include "store/rocks_status.h"

namespace cairn::store {
namespace {

constexpr std::string_view kPrefix = "cairn store format ";

Status Parse(const std::string& path, std::string_view text) {
  unsigned format = 0;
  if (!text.starts_with(kPrefix) || !text.ends_with('\n')) {
    return Status::Corruption(path + " does not hold a format line");
  }
  text.remove_prefix(kPrefix.size());
  text.remove_suffix(1);
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), format);
  if (parsed.ec != std::errc() || parsed.ptr != text.data() + text.size() || format == 0) {
    return Status::Corruption(path + " does not hold a format number");
  }
  if (format > kStoreFormat) {
    return Status(Status::Code::kFormatTooNew, path + " says format " + std::to_string(format) +
                                                   ", this version knows up to " +
                                                   std::to_string(kStoreFormat));
  }
  return Status::Ok();
}

// By rename, so that a crash leaves the whole file or none.
Status Create(rocks::Env* env, const std::string& directory, const std::string& path) {
  CAIRN_RETURN_IF_ERROR(FromRocks(env->CreateDirIfMissing(directory)));
  const std::string text = std::string(kPrefix) + std::to_string(kStoreFormat) + "\n";
  const std::string temporary = path + ".tmp";
  CAIRN_RETURN_IF_ERROR(FromRocks(rocks::WriteStringToFile(env, text, temporary, /*should_sync=*/true)));
  CAIRN_RETURN_IF_ERROR(FromRocks(env->RenameFile(temporary, path)));
  std::unique_ptr<rocks::Directory> handle;
  CAIRN_RETURN_IF_ERROR(FromRocks(env->NewDirectory(directory, &handle)));
  return FromRocks(handle->Fsync());
}

// Nothing where there is no directory. For RocksDB one that may not be listed is not there either.
Status List(rocks::Env* env, const std::string& directory, std::vector<std::string>* names) {
  const rocks::Status listed = env->GetChildren(directory, names);
  if (!listed.IsNotFound() && !listed.IsPathNotFound()) return FromRocks(listed);
  const rocks::Status exists = env->FileExists(directory);
  if (exists.ok()) return Status::IoError(directory + " cannot be listed: " + listed.ToString());
  return exists.IsNotFound() ? Status::Ok() : FromRocks(exists);
}

// Without CURRENT there is no store for RocksDB: it would make an empty one, and the next time delete all files that this one does not know.
Status CheckCurrent(rocks::Env* env, const std::string& directory) {
  const rocks::Status exists = env->FileExists(directory + "/CURRENT");
  if (!exists.IsNotFound()) return FromRocks(exists);
  std::vector<std::string> names;
  CAIRN_RETURN_IF_ERROR(List(env, directory, &names));
  const auto found = std::ranges::find_if(names, IsDataFileOrLog);
  if (found == names.end()) return Status::Ok();
  return Status::Corruption("the file CURRENT is missing, but " + *found + " of a store is here. Nothing was changed. Bring CURRENT back: "
                            "it is one line, the name of the file MANIFEST-<number>, if there are several of the newest that is whole");
}

// A new store sweeps its folders, and RocksDB deletes what it does not know: neither is to happen to files of somebody else. What a file system
// has of its own (lost+found, hidden names) is left alone by both.
Status CheckNothingForeign(rocks::Env* env, const std::string& directory) {
  std::vector<std::string> names;
  CAIRN_RETURN_IF_ERROR(List(env, directory, &names));
  const auto foreign = std::ranges::find_if(
      names, [](const std::string& name) { return !name.starts_with('.') && name != "lost+found" && name != "CAIRN_FORMAT.tmp"; });
  if (foreign == names.end()) return Status::Ok();
  return Status::InvalidArgument(directory + " is no store, and has " + *foreign + " in it. A new store wants a directory of its own, empty or not made yet");
}

}  // namespace

Status CheckFormatFile(rocks::Env* env, const std::string& directory, bool may_create) {
  const std::string path = directory + "/CAIRN_FORMAT";
  const rocks::Status exists = env->FileExists(path);
  if (exists.ok()) {
    std::string text;
    CAIRN_RETURN_IF_ERROR(FromRocks(rocks::ReadFileToString(env, path, &text)));
    CAIRN_RETURN_IF_ERROR(Parse(path, text));
    return CheckCurrent(env, directory);
  }
  if (!exists.IsNotFound()) return FromRocks(exists);
  if (env->FileExists(directory + "/CURRENT").ok()) {
    return Status::InvalidArgument(directory + " holds a RocksDB database that is not Cairn's");
  }
  CAIRN_RETURN_IF_ERROR(CheckCurrent(env, directory));
  if (!may_create) return Status::NotFound("no store in " + directory);
  CAIRN_RETURN_IF_ERROR(CheckNothingForeign(env, directory));
  return Create(env, directory, path);
}

}  // namespace cairn::store
