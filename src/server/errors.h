// SPDX-License-Identifier: GPL-2.0-only
// Status, as the server's error numbers and messages. The only place that maps one to the other.
#pragma once

#include "base/status.h"

class THD;

namespace cairn::server {

// A number of our own: the handler holds a message for the user (Status::kNotSupported and others
// that have no number of the server's). handler::print_error asks for it.
inline constexpr int kErrorWithMessage = 20'000;
// Whether `error` is that, or a number of the server's for which it asks the handler too.
bool HasMessage(int error);

// Whether it is one of those for which ServerError() has marked the whole transaction to be rolled back.
bool UndoesTransaction(int error);

// The server's error for a status; 0 for ok. A deadlock's victim, and who met a snapshot conflict, is marked for rollback of its whole
// transaction; but where its statement has been killed, that is the error, and the statement is all that is undone. `message` (may be null) receives the text for errors that have one, and damage and
// failing devices are written to the server's error log.
int ServerError(THD* thd, const Status& status, std::string* message);

// Raises the error at once, for calls outside a handler; returns 1 for an error, 0 for ok.
int RaiseError(THD* thd, const Status& status);

}  // namespace cairn::server
