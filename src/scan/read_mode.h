// SPDX-License-Identifier: GPL-2.0-only
// How a statement reads a table: through the read view, or locking what it reads.
#pragma once

#include "base/status.h"
#include "txn/row_locks.h"

namespace cairn::scan {

struct ReadMode {
  bool locking = false;         // false: a consistent read through the read view
  bool skip_locked = false;     // pass over rows others have locked
  bool only_look = false;       // a consistent look, at a row or entry or, by one cursor, at a range; the only one through its view: none is taken
  bool ranges = false;          // when locking: lock what is walked over against insertions, too
  txn::LockOptions lock;        // when locking

  static ReadMode Consistent() { return ReadMode(); }
};

}  // namespace cairn::scan
