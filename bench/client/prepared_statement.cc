// SPDX-License-Identifier: GPL-2.0-only
// One statement, parsed once by the server and run many times.
#include "prepared_statement.h"

#include <cstring>
#include <utility>

namespace cairn::bench {

PreparedStatement::PreparedStatement(Connection* connection, std::string sql)
    : sql_(std::move(sql)), statement_(mysql_stmt_init(connection->handle())) {
  if (statement_ == nullptr) throw std::bad_alloc();
  if (mysql_stmt_prepare(statement_.get(), sql_.data(), sql_.size()) != 0) Throw();
  parameter_binds_.resize(mysql_stmt_param_count(statement_.get()));
  BindColumns();
}

void PreparedStatement::Throw() {
  const unsigned code = mysql_stmt_errno(statement_.get());
  throw SqlError(code, "error " + std::to_string(code) + " (" + mysql_stmt_sqlstate(statement_.get()) +
                           "): " + mysql_stmt_error(statement_.get()) + "; prepared statement: " + sql_);
}

void PreparedStatement::BindColumns() {
  columns_.resize(mysql_stmt_field_count(statement_.get()));
  if (columns_.empty()) return;
  column_binds_.resize(columns_.size());
  const std::unique_ptr<MYSQL_RES, decltype(&mysql_free_result)> metadata(
      mysql_stmt_result_metadata(statement_.get()), &mysql_free_result);
  if (metadata == nullptr) Throw();
  for (size_t i = 0; i < columns_.size(); ++i) {
    Column& column = columns_[i];
    MYSQL_BIND& bind = column_binds_[i];
    std::memset(&bind, 0, sizeof bind);
    bind.is_null = &column.is_null;
    bind.length = &column.length;
    if (IS_NUM(mysql_fetch_field_direct(metadata.get(), static_cast<unsigned>(i))->type)) {
      bind.buffer_type = MYSQL_TYPE_LONGLONG;
      bind.is_unsigned = 1;
      bind.buffer = &column.number;
    } else {
      column.bytes.resize(kColumnBytes);
      bind.buffer_type = MYSQL_TYPE_STRING;
      bind.buffer = column.bytes.data();
      bind.buffer_length = column.bytes.size();
    }
  }
}

void PreparedStatement::Run(const Parameter* parameters, size_t count) {
  if (count != parameter_binds_.size()) throw SqlError(0, "wrong number of parameters for: " + sql_);
  std::memset(parameter_binds_.data(), 0, count * sizeof(MYSQL_BIND));
  for (size_t i = 0; i < count; ++i) {
    MYSQL_BIND& bind = parameter_binds_[i];
    // Connector/C only reads parameter buffers, but its type is shared with results.
    if (const auto* number = std::get_if<uint64_t>(&parameters[i])) {
      bind.buffer_type = MYSQL_TYPE_LONGLONG;
      bind.is_unsigned = 1;
      bind.buffer = const_cast<uint64_t*>(number);
    } else {
      const std::string_view bytes = std::get<std::string_view>(parameters[i]);
      bind.buffer_type = MYSQL_TYPE_STRING;
      bind.buffer = const_cast<char*>(bytes.data());
      bind.buffer_length = bytes.size();
    }
  }
  if (count != 0 && mysql_stmt_bind_param(statement_.get(), parameter_binds_.data()) != 0) Throw();
  if (mysql_stmt_execute(statement_.get()) != 0) Throw();
}

Connection::Outcome PreparedStatement::Execute(std::span<const Parameter> parameters) {
  Run(parameters.data(), parameters.size());
  return {mysql_stmt_affected_rows(statement_.get()), mysql_stmt_insert_id(statement_.get())};
}

uint64_t PreparedStatement::Query(const std::vector<Parameter>& parameters, const std::function<void()>& visit) {
  Run(parameters.data(), parameters.size());
  if (mysql_stmt_bind_result(statement_.get(), column_binds_.data()) != 0) Throw();
  if (mysql_stmt_store_result(statement_.get()) != 0) Throw();
  const uint64_t rows = mysql_stmt_num_rows(statement_.get());
  int fetched;
  while ((fetched = mysql_stmt_fetch(statement_.get())) == 0 || fetched == MYSQL_DATA_TRUNCATED) {
    if (fetched == MYSQL_DATA_TRUNCATED) FetchLongColumns();
    visit();
  }
  if (fetched != MYSQL_NO_DATA) Throw();
  mysql_stmt_free_result(statement_.get());
  return rows;
}

// A client reads a row whole: what did not fit is fetched again, into a buffer of its size.
void PreparedStatement::FetchLongColumns() {
  for (size_t i = 0; i < columns_.size(); ++i) {
    Column& column = columns_[i];
    if (column_binds_[i].buffer_type != MYSQL_TYPE_STRING || column.length <= column.bytes.size()) continue;
    std::string whole(column.length, '\0');
    MYSQL_BIND bind = column_binds_[i];
    bind.buffer = whole.data();
    bind.buffer_length = whole.size();
    if (mysql_stmt_fetch_column(statement_.get(), &bind, static_cast<unsigned>(i), 0) != 0) Throw();
  }
}

}  // namespace cairn::bench
