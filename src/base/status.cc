// SPDX-License-Identifier: GPL-2.0-only
// Names of the status codes, and what only errors need.
#include "base/status.h"

namespace cairn {

Status::Status(Code code, std::string message)
    : code_(code), message_(message.empty() ? nullptr : new std::string(std::move(message))) {}

Status Status::NotFound(std::string message) { return Status(Code::kNotFound, std::move(message)); }
Status Status::DuplicateKey(std::string message) { return Status(Code::kDuplicateKey, std::move(message)); }
Status Status::InvalidArgument(std::string message) { return Status(Code::kInvalidArgument, std::move(message)); }
Status Status::NotSupported(std::string message) { return Status(Code::kNotSupported, std::move(message)); }
Status Status::Corruption(std::string message) { return Status(Code::kCorruption, std::move(message)); }
Status Status::IoError(std::string message) { return Status(Code::kIoError, std::move(message)); }

void Status::DropMessage::operator()(const std::string* message) const { delete message; }

std::string_view CodeName(Status::Code code) {
  switch (code) {
    case Status::Code::kOk: return "ok";
    case Status::Code::kNotFound: return "not found";
    case Status::Code::kDuplicateKey: return "duplicate key";
    case Status::Code::kLockTimeout: return "lock wait timeout";
    case Status::Code::kDeadlock: return "deadlock";
    case Status::Code::kLockBusy: return "locked by another transaction";
    case Status::Code::kInterrupted: return "interrupted";
    case Status::Code::kAlreadyExists: return "already exists";
    case Status::Code::kInvalidArgument: return "invalid argument";
    case Status::Code::kNotSupported: return "not supported";
    case Status::Code::kSnapshotConflict: return "snapshot conflict";
    case Status::Code::kNoSpace: return "no space";
    case Status::Code::kReadOnly: return "read only";
    case Status::Code::kNoReferencedRow: return "no referenced row";
    case Status::Code::kRowIsReferenced: return "row is referenced";
    case Status::Code::kForeignDuplicate: return "duplicate key by a foreign key";
    case Status::Code::kCascadeTooDeep: return "foreign keys lead too deep";
    case Status::Code::kTooLarge: return "too large";
    case Status::Code::kCorruption: return "corruption";
    case Status::Code::kFormatTooNew: return "format too new";
    case Status::Code::kIoError: return "I/O error";
    case Status::Code::kBusy: return "busy";
  }
  return "unknown";
}

std::string Status::ToString() const {
  std::string text(CodeName(code_));
  if (message_) {
    text += ": ";
    text += *message_;
  }
  return text;
}

}  // namespace cairn
