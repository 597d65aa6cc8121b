// SPDX-License-Identifier: GPL-2.0-only
// One connection to the server, text protocol.
#pragma once

#include <mysql.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

namespace cairn::bench {

struct ConnectionOptions {
  std::string socket;  // when empty, host and port are used
  std::string host;
  unsigned port = 3306;
  std::string user = "root";
  std::string password;
  std::string database;   // none when empty
  std::string isolation;  // as in SET TRANSACTION ISOLATION LEVEL; the server's default when empty
  bool skip_binlog = false;
};

// An error of the server or of the client library.
class SqlError : public std::runtime_error {
 public:
  SqlError(unsigned code, const std::string& message) : std::runtime_error(message), code_(code) {}

  unsigned code() const { return code_; }
  bool IsConnectionLost() const { return code_ >= 2000 && code_ < 3000; }

 private:
  unsigned code_;
};

// Every call may throw SqlError; after one that IsConnectionLost() the object is of no more use. The
// connection's character set is latin1, multiple statements are allowed, affected rows count what changed.
//
// Thread rule: one thread at a time.
class Connection {
 public:
  enum class Commit { kAutomatic, kExplicit };

  Connection(const ConnectionOptions& options, Commit commit);
  Connection(Connection&&) = default;
  Connection& operator=(Connection&&) = default;

  struct Outcome {
    uint64_t affected_rows = 0;
    uint64_t insert_id = 0;
  };

  // Runs one or more statements sent in one packet; results are read and dropped. Returns the outcome of
  // the first statement.
  Outcome Execute(std::string_view sql);

  // One row: columns in order. NULL is an empty view. Valid during the call.
  using Row = std::span<const std::string_view>;

  // Runs one SELECT and calls `visit` for each row after the whole result has arrived. Returns the number of rows.
  uint64_t Query(std::string_view sql, const std::function<void(Row)>& visit);

  // The first column of the first row, or "" when there is none.
  std::string QueryValue(std::string_view sql);

  // For prepared statements; lives as long as this object.
  MYSQL* handle() { return mysql_.get(); }

  // Appends `bytes` to `*sql` as a quoted and escaped string literal.
  void AppendLiteral(std::string_view bytes, std::string* sql);

 private:
  struct Closer {
    void operator()(MYSQL* mysql) const { mysql_close(mysql); }
  };
  using Result = std::unique_ptr<MYSQL_RES, decltype(&mysql_free_result)>;

  [[noreturn]] void Throw(std::string_view sql);
  void Send(std::string_view sql);
  Result Store(std::string_view sql);

  std::unique_ptr<MYSQL, Closer> mysql_;
};

// The value of an integer column; 0 for NULL.
uint64_t ParseNumber(std::string_view column);

}  // namespace cairn::bench
