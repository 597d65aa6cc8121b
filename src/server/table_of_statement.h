// SPDX-License-Identifier: GPL-2.0-only
// Which table a statement has done something to.
#pragma once

#include <cstdint>
#include <string>

namespace cairn::server {

// The last table of which something is noted in a connection, and the server's number of the statement that it holds for: each execution of a
// prepared statement has another one, and each statement of a stored routine.
//
// Thread rule: one thread at a time.
class TableOfStatement {
 public:
  bool Is(const std::string& table, int64_t query_id) const { return query_id_ == query_id && table_ == table; }
  void Set(const std::string& table, int64_t query_id) {
    table_ = table;
    query_id_ = query_id;
  }

 private:
  std::string table_;
  int64_t query_id_ = 0;
};

}  // namespace cairn::server
