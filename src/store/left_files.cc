// SPDX-License-Identifier: GPL-2.0-only
// Tells left data files by their numbers.
#include "store/left_files.h"

#include <algorithm>
#include <memory>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include <rocksdb/env.h>

#include "file/filename.h"

#include "store/manifest.h"
#include "store/rocks_status.h"

namespace cairn::store {
namespace {

constexpr std::string_view kSuffix = ".sst";
constexpr std::string_view kTrashSuffix = ".trash";

struct DataFile {
  std::string name;
  uint64_t number = 0;
  bool is_trash = false;
};

// False: no name that RocksDB gives to data files, or trash of such.
bool ParseName(const std::string& name, DataFile* file) {
  const size_t at = name.find(kSuffix);
  if (at == std::string::npos) return false;
  const size_t end = at + kSuffix.size();
  std::string_view rest = std::string_view(name).substr(end);
  file->is_trash = rest.ends_with(kTrashSuffix);
  if (file->is_trash) {
    rest.remove_suffix(kTrashSuffix.size());
    // A number, where the same name was taken.
    if (rest.find_first_not_of("0123456789") != std::string_view::npos) return false;
  } else if (!rest.empty()) {
    return false;
  }
  file->name = name;
  rocks::FileType type = rocks::kTempFile;
  return rocks::ParseFileName(name.substr(0, end), &file->number, &type) && type == rocks::kTableFile;
}

Status FindFiles(rocks::Env* env, const std::string& directory, std::vector<DataFile>* files) {
  std::vector<std::string> names;
  CAIRN_RETURN_IF_ERROR(FromRocks(env->GetChildren(directory, &names)));
  for (const std::string& name : names) {
    DataFile file;
    if (ParseName(name, &file)) files->push_back(std::move(file));
  }
  return Status::Ok();
}

// A manifest of which the end is lost would give away what the end names. Then files are missing, mostly, that an older state had.
Status CheckManifest(const Manifest& manifest, const std::string& directory, const std::vector<DataFile>& files) {
  if (!manifest.is_whole) return Status::Corruption("the manifest in " + directory + " has an incomplete end");
  std::set<uint64_t> there;
  for (const DataFile& file : files) {
    if (!file.is_trash) there.insert(file.number);
  }
  for (const auto& [id, family] : manifest.families) {
    for (const uint64_t number : family.files) {
      if (!there.contains(number)) return Status::Corruption("data file " + std::to_string(number) + " is not in " + directory);
    }
  }
  return Status::Ok();
}

Status SyncFolder(rocks::Env* env, const std::string& directory) {
  std::unique_ptr<rocks::Directory> folder;
  CAIRN_RETURN_IF_ERROR(FromRocks(env->NewDirectory(directory, &folder)));
  return FromRocks(folder->Fsync());
}

}  // namespace

Status DeleteLeftFiles(rocks::Env* env, const std::string& directory, LeftFiles* deleted) {
  *deleted = LeftFiles();
  std::vector<DataFile> files;
  CAIRN_RETURN_IF_ERROR(FindFiles(env, directory, &files));
  if (files.empty()) return Status::Ok();  // also of a store that is yet to be made, which has no manifest
  Manifest manifest;
  CAIRN_RETURN_IF_ERROR(ReadManifest(env, directory, &manifest));
  CAIRN_RETURN_IF_ERROR(CheckManifest(manifest, directory, files));
  std::erase_if(files, [&](const DataFile& file) {
    return file.is_trash ? manifest.HasFile(file.number) : manifest.named_files.contains(file.number);
  });
  if (files.empty()) return Status::Ok();
  // A loss of power must not bring back an older CURRENT, whose manifest has not been asked.
  CAIRN_RETURN_IF_ERROR(SyncFolder(env, directory));
  Status first;
  for (const DataFile& file : files) {
    const std::string path = directory + "/" + file.name;
    uint64_t bytes = 0;
    env->GetFileSize(path, &bytes).PermitUncheckedError();
    Status gone = FromRocks(env->DeleteFile(path));
    if (gone.ok()) {
      ++deleted->count;
      deleted->bytes += bytes;
    } else if (first.ok()) {
      first = std::move(gone);
    }
  }
  return first;
}

}  // namespace cairn::store
