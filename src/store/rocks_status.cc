// SPDX-License-Identifier: GPL-2.0-only
// RocksDB's statuses in the engine's words.
#include "store/rocks_status.h"

#include <cerrno>
#include <string>
#include <system_error>

namespace cairn::store {

Status FromRocksSlow(const rocks::Status& status) {
  using Rocks = rocks::Status;
  using Code = Status::Code;
  if (status.ok()) return Status::Ok();
  if (status.IsNotFound()) return Status::Of(Code::kNotFound);
  const std::string text = status.ToString();
  if (status.subcode() == Rocks::kNoSpace || status.subcode() == Rocks::kSpaceLimit) {
    return Status(Code::kNoSpace, text);
  }
  switch (status.code()) {
    case Rocks::kCorruption:
      return Status::Corruption(text);
    case Rocks::kNotSupported:
      return Status::NotSupported(text);
    case Rocks::kInvalidArgument:
      return Status::InvalidArgument(text);
    case Rocks::kBusy:
    case Rocks::kTryAgain:
      return Status(Code::kBusy, text);
    default:
      return Status::IoError(text);
  }
}

// An error of the device is told apart by the words of RocksDB's file system, as it has no code for what was asked.
bool IsUnreadable(const rocks::Status& status) {
  if (status.IsCorruption() || status.IsPathNotFound()) return true;
  if (!status.IsIOError() || status.subcode() == rocks::Status::kNoSpace || status.subcode() == rocks::Status::kSpaceLimit) return false;
  if (LacksDescriptor(status)) return false;
  const std::string text = status.ToString();
  return text.find("While pread") != std::string::npos || text.find("for random read") != std::string::npos;
}

// RocksDB has no code for it, only the system's text.
bool LacksDescriptor(const rocks::Status& status) {
  if (!status.IsIOError()) return false;
  const std::string text = status.ToString();
  const auto says = [&text](int error) { return text.find(std::generic_category().message(error)) != std::string::npos; };
  return says(EMFILE) || says(ENFILE);
}

// RocksDB's text names the file, and what the system says may come behind a colon. A folder may have such a name, too.
bool LacksRoomForFile(const rocks::Status& status) {
  if (!status.IsNoSpace()) return false;
  constexpr std::string_view kEnd = ".sst";
  const std::string text = status.ToString();
  for (size_t at = text.find(kEnd); at != std::string::npos; at = text.find(kEnd, at + 1)) {
    const size_t next = at + kEnd.size();
    if (next == text.size() || text[next] == ':') return true;
  }
  return false;
}

}  // namespace cairn::store
