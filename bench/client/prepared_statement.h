// SPDX-License-Identifier: GPL-2.0-only
// One statement, parsed once by the server and run many times.
#pragma once

#include <mysql.h>

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "connection.h"

namespace cairn::bench {

// A parameter's value: a number or bytes. Bytes are borrowed until the call ends.
using Parameter = std::variant<uint64_t, std::string_view>;

// Every call may throw SqlError. The connection must outlive the object.
//
// Thread rule: one thread, the connection's.
class PreparedStatement {
 public:
  PreparedStatement(Connection* connection, std::string sql);

  // Runs a statement that has no result set.
  Connection::Outcome Execute(std::span<const Parameter> parameters);
  Connection::Outcome Execute(std::initializer_list<Parameter> parameters) {
    return Execute(std::span(parameters.begin(), parameters.size()));
  }

  // Runs a SELECT; `visit` is called for each row, in which it may call Number(). Returns the number of rows.
  uint64_t Query(const std::vector<Parameter>& parameters, const std::function<void()>& visit);

  // An integer column of the current row; 0 for NULL.
  uint64_t Number(size_t column) const { return columns_[column].is_null ? 0 : columns_[column].number; }

 private:
  struct Column {
    uint64_t number = 0;
    std::string bytes;
    unsigned long length = 0;
    my_bool is_null = 0;
  };
  struct Closer {
    void operator()(MYSQL_STMT* statement) const { mysql_stmt_close(statement); }
  };

  static constexpr size_t kColumnBytes = 4096;

  void Run(const Parameter* parameters, size_t count);
  void BindColumns();
  void FetchLongColumns();
  [[noreturn]] void Throw();

  std::string sql_;
  std::unique_ptr<MYSQL_STMT, Closer> statement_;
  std::vector<MYSQL_BIND> parameter_binds_;
  std::vector<MYSQL_BIND> column_binds_;
  std::vector<Column> columns_;  // never resized after binding, which keeps their addresses
};

}  // namespace cairn::bench
