// SPDX-License-Identifier: GPL-2.0-only
// One line in one file, which is replaced by a rename.
#include "server/witness.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>

#include "store/format_file.h"

namespace cairn::server {
namespace {

Status Refused(const char* what, const std::string& path) {
  const int reason = errno;
  return Status::IoError(std::string("cannot ") + what + " " + path + ": " + std::strerror(reason));
}

std::string TextOf(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Makes what was written to the file, or named in the directory, durable; closes it in any case.
bool SyncAndClose(int file) {
  const bool synced = fsync(file) == 0;
  const int reason = errno;
  const bool closed = close(file) == 0;
  if (!synced) errno = reason;
  return synced && closed;
}

bool WriteAll(int file, const std::string& text) {
  for (size_t done = 0; done < text.size();) {
    const ssize_t bytes = write(file, text.data() + done, text.size() - done);
    if (bytes < 0 && errno != EINTR) return false;
    if (bytes > 0) done += static_cast<size_t>(bytes);
  }
  return true;
}

Status WriteDurably(const std::string& path, const std::string& text) {
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0660);
  if (file < 0) return Refused("create", path);
  if (!WriteAll(file, text)) {
    Status refused = Refused("write", path);
    close(file);
    return refused;
  }
  return SyncAndClose(file) ? Status::Ok() : Refused("sync", path);
}

constexpr const char* kNoDirectory =
    "cairn_data_dir is empty. In a file of options # begins a comment: put a name that has one into quotation marks, or leave the option out";

// As mariadb-upgrade (mariadb-check --fix-db-names) writes the name of a folder that it takes for a database of an old version.
std::string NameAsDatabase(std::string directory) {
  while (directory.size() > 1 && directory.back() == '/') directory.pop_back();
  const size_t name = directory.rfind('/') + 1;  // 0 without one
  std::string renamed = directory.substr(0, name);
  for (const char letter : directory.substr(name)) renamed += letter == '#' ? std::string("@0023") : std::string(1, letter);
  return renamed;
}

}  // namespace

Status FindStore(const std::string& directory, bool* holds) {
  *holds = true;
  if (access((directory + "/CURRENT").c_str(), F_OK) == 0) return Status::Ok();
  std::error_code failed;
  for (std::filesystem::directory_iterator at(directory, failed), end; at != end; at.increment(failed)) {
    if (store::IsDataFileOrLog(at->path().filename().string())) return Status::Ok();
  }
  *holds = failed && failed != std::errc::no_such_file_or_directory && failed != std::errc::not_a_directory;
  return *holds ? Status::IoError("cannot look into " + directory + ": " + failed.message()) : Status::Ok();
}

Status CheckWitness(const std::string& path, const std::string& directory) {
  const bool is_first = access(path.c_str(), F_OK) != 0 && errno == ENOENT;
  if (directory.empty() && is_first) return Status::InvalidArgument(kNoDirectory);
  bool holds = false;
  if (!directory.empty()) {
    Status found = FindStore(directory, &holds);
    if (is_first || (found.ok() && holds)) return Status::Ok();
    if (!found.ok()) return found;
  }
  std::string recorded = TextOf(path);
  while (!recorded.empty() && recorded.back() == '\n') recorded.pop_back();
  const std::string keeps = "this server keeps tables in " + (recorded.empty() ? "a store" : recorded) + ", but ";
  if (!recorded.empty() && FindStore(recorded, &holds).ok() && holds) {
    return Status::IoError(keeps + "cairn_data_dir is " + (directory.empty() ? "empty" : directory) + ". Set it to " + recorded);
  }
  if (directory.empty()) return Status::IoError(keeps + kNoDirectory);
  const std::string renamed = NameAsDatabase(directory);
  if (FindStore(renamed, &holds).ok() && holds) {
    return Status::IoError(keeps + "it is in " + renamed + " now, as if it were a database whose name was to be upgraded. Move it back to " + directory);
  }
  return Status::IoError(keeps + directory + " holds no store. Bring it back, or remove the file " + path + " to begin with an empty one");
}

Status WriteWitness(const std::string& path, const std::string& directory) {
  const std::string text = directory + "\n";
  if (TextOf(path) == text) return Status::Ok();
  const std::string temporary = path + ".tmp";
  CAIRN_RETURN_IF_ERROR(WriteDurably(temporary, text));
  if (std::rename(temporary.c_str(), path.c_str()) != 0) return Refused("replace", path);
  const std::string folder = std::filesystem::path(path).parent_path();
  const int handle = open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (handle < 0) return Refused("open", folder);
  return SyncAndClose(handle) ? Status::Ok() : Refused("sync", folder);
}

}  // namespace cairn::server
