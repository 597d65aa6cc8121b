// SPDX-License-Identifier: GPL-2.0-only
// Repeats a transaction that lost against another.
#pragma once

#include <cstdint>

#include "connection.h"

namespace cairn::bench {

// How often a transaction was repeated, by the server's error.
struct Retries {
  uint64_t deadlock = 0;           // 1213
  uint64_t lock_wait_timeout = 0;  // 1205
  uint64_t record_changed = 0;     // 1020

  void Merge(const Retries& other) {
    deadlock += other.deadlock;
    lock_wait_timeout += other.lock_wait_timeout;
    record_changed += other.record_changed;
  }

  // Counts `code` if it is one of the above; false if not.
  bool Count(unsigned code) {
    switch (code) {
      case 1213: ++deadlock; return true;
      case 1205: ++lock_wait_timeout; return true;
      case 1020: ++record_changed; return true;
      default: return false;
    }
  }
};

// Runs `transaction` until it succeeds, repeating it at once after the errors above, at most 1000 times.
// After every failure with a live connection the transaction is rolled back on `connection`. Any other
// error, and the last one, is thrown on.
template <typename Transaction>
auto WithRetries(Connection& connection, Retries* retries, Transaction&& transaction) {
  constexpr int kRetriesMax = 1000;
  for (int attempt = 0;; ++attempt) {
    try {
      return transaction();
    } catch (const SqlError& error) {
      if (error.IsConnectionLost()) throw;
      connection.Execute("ROLLBACK");
      if (!retries->Count(error.code()) || attempt == kRetriesMax) throw;
    }
  }
}

}  // namespace cairn::bench
