// SPDX-License-Identifier: GPL-2.0-only
// Options of tables that a user gives by name (NAME = value) for whatever engine it is. This one knows none of them.
//
// The server refuses those that a statement names, but says nothing of those that a table brings along from another engine, and on a
// replica of none.
#pragma once

#include "server/server_headers.h"

#include "base/status.h"

namespace cairn::server {

// Whether a table can be made with the options it is to have: kNotSupported where it is to be encrypted, as its rows would be written in
// clear.
Status CheckOptions(THD* thd, const TABLE& form, const HA_CREATE_INFO& create_info);

// The same of the options that ALTER TABLE names, which may change nothing but them.
Status CheckAlteredOptions(THD* thd);

// Warns of what is without effect, of each option once in a statement. For a table that was made.
void WarnOfOptions(THD* thd, const TABLE& form, const HA_CREATE_INFO& create_info);

}  // namespace cairn::server
