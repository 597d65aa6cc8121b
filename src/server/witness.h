// SPDX-License-Identifier: GPL-2.0-only
// A file in the server's data directory that says where its store is: so that a store that has gone (not mounted, moved) is missed instead
// of being replaced by an empty one (docs/decisions/0010-no-server-without-its-store.md).
#pragma once

#include <string>

#include "base/status.h"

namespace cairn::server {

// A directory that holds a store, or data files or logs of one that has lost CURRENT, holds tables, perhaps the only copy of them. So may one that
// cannot be looked into: kIoError, `holds` is true.
Status FindStore(const std::string& directory, bool* holds);

// kIoError when there is a witness, whatever is in it, and no store in `directory`, or it cannot be looked into. kInvalidArgument: `directory` is
// empty, and there is no witness.
Status CheckWitness(const std::string& path, const std::string& directory);

// Makes the witness say `directory`, if it does not yet. It is there whole at each moment from the first time on, also after a loss of
// power. kIoError: it is as before.
Status WriteWitness(const std::string& path, const std::string& directory);

}  // namespace cairn::server
