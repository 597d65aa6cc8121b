// SPDX-License-Identifier: GPL-2.0-only
// The table from status codes to the server's errors.
#include "server/server_headers.h"

#include "server/errors.h"

#include <string>

#include "server/killed.h"

namespace cairn::server {

bool UndoesTransaction(int error) { return error == HA_ERR_LOCK_DEADLOCK || error == HA_ERR_RECORD_CHANGED; }

bool HasMessage(int error) { return error == kErrorWithMessage || error == HA_ERR_TO_BIG_ROW; }

int ServerError(THD* thd, const Status& status, std::string* message) {
  using Code = Status::Code;
  switch (status.code()) {
    case Code::kOk: return 0;
    case Code::kNotFound: return HA_ERR_KEY_NOT_FOUND;
    case Code::kDuplicateKey: return HA_ERR_FOUND_DUPP_KEY;
    case Code::kLockTimeout:
    case Code::kLockBusy:
      // No handler of a function or trigger is to go on with a part of what its statement was to do.
      if (thd->in_sub_stmt != 0) thd->mark_transaction_to_rollback(thd->transaction_rollback_request);
      return HA_ERR_LOCK_WAIT_TIMEOUT;
    case Code::kDeadlock:
    case Code::kSnapshotConflict:
      // The client hears of the kill, unless an error is raised already: then no more than the statement may be undone.
      if (IsKilled(thd) && !thd->is_error()) return HA_ERR_ABORTED_BY_USER;
      thd->mark_transaction_to_rollback(true);
      return status.Is(Code::kDeadlock) ? HA_ERR_LOCK_DEADLOCK : HA_ERR_RECORD_CHANGED;
    case Code::kInterrupted: return HA_ERR_ABORTED_BY_USER;
    case Code::kAlreadyExists: return HA_ERR_TABLE_EXIST;
    case Code::kNoReferencedRow: return HA_ERR_NO_REFERENCED_ROW;
    case Code::kRowIsReferenced: return HA_ERR_ROW_IS_REFERENCED;
    case Code::kForeignDuplicate: return HA_ERR_FOREIGN_DUPLICATE_KEY;
    case Code::kCascadeTooDeep: return HA_ERR_FK_DEPTH_EXCEEDED;
    case Code::kCorruption:
      sql_print_error("CAIRN: %s", status.ToString().c_str());
      return HA_ERR_CRASHED;
    case Code::kIoError:
      sql_print_error("CAIRN: %s", status.ToString().c_str());
      break;
    case Code::kTooLarge:
    case Code::kNoSpace:
    case Code::kReadOnly:
    case Code::kInvalidArgument:
    case Code::kNotSupported:
    case Code::kFormatTooNew:
    case Code::kBusy: break;
  }
  if (message != nullptr) *message = status.Is(Code::kNotSupported) ? std::string(status.message()) : status.ToString();
  if (status.Is(Code::kTooLarge)) return HA_ERR_TO_BIG_ROW;
  return status.Is(Code::kNotSupported) ? HA_ERR_UNSUPPORTED : kErrorWithMessage;
}

int RaiseError(THD* thd, const Status& status) {
  if (status.ok()) return 0;
  std::string message;
  const int error = ServerError(thd, status, &message);
  if (error == HA_ERR_UNSUPPORTED) {
    my_error(ER_NOT_SUPPORTED_YET, MYF(0), message.c_str());
  } else {
    if (message.empty()) message = status.ToString();
    my_printf_error(ER_GET_ERRMSG, "Engine CAIRN: %s", MYF(0), message.c_str());
  }
  return 1;
}

}  // namespace cairn::server
