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

}  // namespace

bool HoldsStore(const std::string& directory) {
  if (access((directory + "/CURRENT").c_str(), F_OK) == 0) return true;
  std::error_code failed;
  for (std::filesystem::directory_iterator at(directory, failed), end; at != end; at.increment(failed)) {
    if (store::IsDataFileOrLog(at->path().filename().string())) return true;
  }
  return false;
}

Status CheckWitness(const std::string& path, const std::string& directory) {
  if ((access(path.c_str(), F_OK) != 0 && errno == ENOENT) || HoldsStore(directory)) return Status::Ok();
  std::string recorded = TextOf(path);
  while (!recorded.empty() && recorded.back() == '\n') recorded.pop_back();
  return Status::IoError("this server keeps tables in " + (recorded.empty() ? "a store" : recorded) + ", but " + directory +
                         " holds no store. Bring it back, or remove the file " + path + " to begin with an empty one");
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
