// SPDX-License-Identifier: GPL-2.0-only
// RocksDB's statuses in the engine's words.
#include "store/rocks_status.h"

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

}  // namespace cairn::store
